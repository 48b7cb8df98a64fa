"""What jobs draw, and how far each of them is: the watts of a cluster, and its budget (PARM, equation 5).

The budget is a limit like any other: each start and each change of a job is tested here first. A job is charged its cap
and what its nodes draw beside that; jobs that share a node are each charged the whole node.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from math import ceil
from typing import TYPE_CHECKING, Final

from slurmsim.capacity import CapacityProfile
from slurmsim.core.occupancy.metering import Metering
from slurmsim.core.records.shape import Shape
from slurmsim.core.state.interfaces import RunWay, WattsWay
from slurmsim.errors import InvariantError
from slurmsim.model.power import SCALE, PowerSpec

if TYPE_CHECKING:
    from slurmsim.core.records.allocation import Allocation
    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.holders import Entry
    from slurmsim.energy.profile import Profile

Phase = tuple[int, int, int | None, int, int, int, int]
ONE_YEAR_S: Final = 365 * 86400  # a limit of that long is none
UNLIMITED: Final = 1 << 60  # milliwatts before the first budget


class Watts(WattsWay):
    """The shapes of all jobs that run or are suspended, and sums over them."""

    def __init__(self, state: ControllerState, spec: PowerSpec, runs: RunWay) -> None:
        self.state, self.spec, self._runs = state, spec, runs
        self.limited = bool(spec.budget)
        self.shapes: dict[int, Shape] = {}  # by job id
        # charged_mw, drawn_mw: of all nodes with jobs: what counts against the budget, and what they draw by the model
        self.charged_mw = self.drawn_mw = 0
        self.spent_mj: dict[int, int] = {}  # what jobs have used so far and was not yet taken, millijoules by the model
        # rows of the trace that were not yet taken: (job, start, end, nodes, cap, charged, drawn)
        self.phases: list[Phase] = []
        # seconds every job stands still that is resized in the decision now carried out; None: by itself
        self.joint_s: float | None = None
        self.at_once = False  # who is resized now is charged his new size at once
        self._wanted: dict[int, int] = {}
        self.metering: Metering | None = None  # of measured jobs
        for time in [step for step, _ in spec.budget if step > state.start_time]:
            state.timers.set(time, self._budget_changed)

    # -- questions ----------------------------------------------------------------------------------------------------

    @property
    def budget_mw(self) -> int | None:
        """The budget in force; None for none."""
        if not self.limited:
            return None
        return self.spec.budget_at(self.state.now)

    @property
    def idle_mw(self) -> int:
        """What nodes without a job draw."""
        if not self.spec.idle_mw:
            return 0
        return self._awake(self.state.usage.whole.nodes) * self.spec.idle_mw

    @property
    def total_mw(self) -> int:
        """What is charged to the budget now."""
        return self.charged_mw + self.idle_mw

    def _awake(self, busy: int) -> int:
        state = self.state
        return state.table.n - busy - (state.power.off & state.table.idle).bit_count()

    def room(self, more_mw: int, more_nodes: int) -> bool:
        """Return True if jobs may be charged so much more, on so many more nodes."""
        budget = self.budget_mw
        return budget is None or self.total_mw + more_mw - more_nodes * self.spec.idle_mw <= budget

    def want(self, job: Job, cap_mw: int | None) -> None:
        """Under which cap `job` is to start, if it does; None for the one of everybody."""
        if cap_mw is None:
            self._wanted.pop(job.id, None)
        else:
            self._wanted[job.id] = cap_mw

    def cap_of(self, job: Job) -> int:
        """Under which cap `job` would start now."""
        profile = job.sub.profile
        wanted = self._wanted.get(job.id) if self._wanted else None
        return wanted or self.spec.default_cap(0 if profile is None else profile.lowest_mw)

    def allows(self, job: Job, alloc: Allocation) -> bool:
        """Return True if the budget lets `job` start on that."""
        if not self.spec.budget:
            return True
        fresh = (alloc.mask & self.state.table.idle & ~self.state.power.off).bit_count()
        return self.room(alloc.n_nodes * (self.cap_of(job) + self.spec.base_mw), fresh)

    def end_after(self, job: Job, nodes: int, cap_mw: int, still_s: float) -> int:
        """Return when running `job` would reach its limit if it had those nodes and that cap once its data have moved.

        `still_s`: seconds it would stand still for that.
        """
        assert job.end_limit is not None
        shape = copy(self.shapes[job.id])
        if shape.limit_s is None or shape.paused:
            return job.end_limit
        shape.advance(self.state.now)
        shape.take(nodes, cap_mw, self.spec.base_mw)
        shape.lost_s += still_s
        return shape.end_of(shape.limit_s)

    def start_mw(self, job: Job, nodes: int) -> int:
        """Return what a start of `job` on so many idle nodes takes of the budget."""
        return nodes * (self.cap_of(job) + self.spec.base_mw - self.spec.idle_mw)

    def outlook(self, releases: Iterable[Entry]) -> CapacityProfile:
        """Return what the budget leaves from now on: it changes as it is known to, and jobs end as `releases` say."""
        now, idle_mw = self.state.now, self.spec.idle_mw
        before = self.spec.budget_at(now)
        level = UNLIMITED if before is None else before
        changes = dict[int, int]()
        for time, watts in self.spec.budget:
            if time > now:
                changes[time] = changes.get(time, 0) + watts - level
                level = watts
        for end, _, job in releases:
            shape = self.shapes[job.id]
            moved = shape.moving_until if now < shape.moving_until < end else max(end, now + 1)
            own, end = shape.own_mw - shape.nodes * idle_mw, max(end, now + 1)
            changes[end] = changes.get(end, 0) + own
            changes[moved] = changes.get(moved, 0) + shape.charged_mw - shape.own_mw
        times, left = [now], [(UNLIMITED if before is None else before) - self.total_mw]
        for time in sorted(changes):
            if changes[time]:
                times.append(time)
                left.append(left[-1] + changes[time])
        return CapacityProfile.of_steps(times, left)

    # -- what happens to jobs -----------------------------------------------------------------------------------------

    def started(self, job: Job, now: int) -> None:
        profile = job.sub.profile
        shape = self.shapes[job.id] = Shape(profile, job.n_nodes, self.cap_of(job), self.spec.base_mw, now)
        if self._wanted:
            self._wanted.pop(job.id, None)
        self._charge(shape.charged_mw, shape.drawn_mw)
        if profile is not None and self._scales(job.time_limit_s):
            shape.limit_s = job.time_limit_s / self.asked_slowdown(job, profile)
            self._move_limit(job, shape)
        self._read_meter(job.id)

    def _scales(self, limit_s: int) -> bool:
        """Return True if a limit of that length moves with the shape of a job that has an application."""
        return self.spec.limit == SCALE and limit_s < ONE_YEAR_S

    def limit_of_start(self, job: Job, nodes: int, limit_s: int) -> int:
        """Return what a limit of `limit_s` seconds becomes when `job` starts on so many nodes."""
        profile = job.sub.profile
        if profile is None or not self._scales(limit_s):
            return limit_s
        shape = Shape(profile, nodes, self.cap_of(job), self.spec.base_mw, 0)
        return shape.end_of(limit_s / self.asked_slowdown(job, profile))

    def asked_slowdown(self, job: Job, profile: Profile) -> float:
        """Return how slow `job` is as it asks for it, which is what its limit is about."""
        return profile.slowdown(job.sub.request.min_nodes, self.spec.default_cap(profile.lowest_mw))

    def ready(self, job: Job) -> None:
        """Begin the work of `job` now, as its nodes have booted."""
        shape = self.shapes[job.id]
        shape.since, shape.done_s = self.state.now, 0.0
        self._read_meter(job.id)

    def released(self, job: Job, now: int) -> None:
        shape = self.shapes.pop(job.id)
        if self.metering is not None:
            self.metering.stop(job.id)
        self._close(job.id, shape, now)
        self._charge(-shape.charged_mw, -shape.drawn_mw)

    def resized(self, job: Job, now: int) -> None:
        shape = self.shapes[job.id]
        if shape.nodes == job.n_nodes:
            return
        lost_s = 0.0
        if shape.profile is not None:
            alone_s = 2 * self.spec.resize_s(shape.nodes, job.n_nodes)
            lost_s = alone_s if self.joint_s is None else self.joint_s
        shape.resized_at = now
        self._alter(job, shape, job.n_nodes, shape.cap_mw, lost_s)

    def set_cap(self, job: Job, cap_mw: int) -> None:
        """Change the cap of the running `job` now."""
        shape = self.shapes[job.id]
        if shape.cap_mw != cap_mw:
            self._alter(job, shape, shape.nodes, cap_mw, 0.0)
            self.state.record("CAP", job, value=cap_mw)

    def limit_set(self, job: Job) -> None:
        """Take a new time limit of `job` as work in its present shape; changes of the shape move the limit."""
        shape = self.shapes.get(job.id)
        if shape is not None and shape.limit_s is not None and job.end_limit is not None:
            left = max(0.0, job.end_limit - self.state.now - shape.lost_at(self.state.now))
            shape.limit_s = shape.done_by(self.state.now) + left / shape.slowdown

    def pause(self, job: Job) -> None:
        """Take note that `job` is suspended: it draws nothing, and nothing of it is done."""
        shape, now = self.shapes[job.id], self.state.now
        self._close(job.id, shape, now)
        shape.advance(now)
        shape.paused = True
        self._charge(-shape.charged_mw, -shape.drawn_mw)
        shape.charged_mw = shape.drawn_mw = 0
        if self.metering is not None:
            self.metering.stop(job.id)

    def go_on(self, job: Job) -> None:
        """Suspended `job` runs again."""
        shape, now = self.shapes[job.id], self.state.now
        shape.paused = shape.by_budget = False
        shape.since = shape.phase_since = now
        shape.charged_mw, shape.drawn_mw = shape.own_mw, shape.own_drawn_mw
        self._charge(shape.charged_mw, shape.drawn_mw)
        self._read_meter(job.id)

    def draws(self, job_id: int, milliwatts: int) -> None:
        """Let a job that runs draw so much from now on, whatever its cap is."""
        shape = self.shapes[job_id]
        if milliwatts != shape.drawn_mw:
            self._close(job_id, shape, self.state.now)
            self._charge(0, milliwatts - shape.drawn_mw)
            shape.own_drawn_mw = shape.drawn_mw = milliwatts

    def _read_meter(self, job_id: int) -> None:
        if self.metering is not None:
            self.metering.read(job_id)

    # -- bookkeeping --------------------------------------------------------------------------------------------------

    def _alter(self, job: Job, shape: Shape, nodes: int, cap_mw: int, lost_s: float) -> None:
        now = self.state.now
        self._close(job.id, shape, now)
        shape.advance(now)
        charged, drawn = shape.charged_mw, shape.drawn_mw
        fresh = (nodes - shape.nodes) * self.spec.idle_mw  # nodes it gives back are charged as idle ones already
        shape.take(nodes, cap_mw, self.spec.base_mw)
        if lost_s and not shape.paused:
            shape.lost_s += lost_s
            shape.moving_until = now + ceil(shape.lost_s)
            self.state.timers.set(shape.moving_until, self._moved, job.id)
        if not shape.paused:
            moving = now < shape.moving_until and not self.at_once
            shape.charged_mw = max(charged + fresh, shape.own_mw) if moving else shape.own_mw
            shape.drawn_mw = max(drawn + fresh, shape.own_drawn_mw) if moving else shape.own_drawn_mw
            self._charge(shape.charged_mw - charged, shape.drawn_mw - drawn)
            self._read_meter(job.id)
        self._move_limit(job, shape)

    def _moved(self, job_id: int) -> None:
        """End the move of data: the job draws what its own nodes draw."""
        shape, now = self.shapes.get(job_id), self.state.now
        if shape is None or shape.paused or shape.moving_until != now:
            return
        if shape.charged_mw != shape.own_mw or shape.drawn_mw != shape.own_drawn_mw:
            self._close(job_id, shape, now)
            self._charge(shape.own_mw - shape.charged_mw, shape.own_drawn_mw - shape.drawn_mw)
            shape.charged_mw, shape.drawn_mw = shape.own_mw, shape.own_drawn_mw
        self.state.look_again()

    def _charge(self, charged: int, drawn: int) -> None:
        self.charged_mw += charged
        self.drawn_mw += drawn
        self.state.usage.whole.touched = True

    def _close(self, job_id: int, shape: Shape, now: int) -> None:
        """End the phase of `shape` now; a phase of no length leaves no row."""
        seconds = now - shape.phase_since
        if seconds and not shape.paused:
            self.spent_mj[job_id] = self.spent_mj.get(job_id, 0) + seconds * shape.drawn_mw
            self.phases.append(
                (job_id, shape.phase_since, now, shape.nodes, shape.cap_mw, shape.charged_mw, shape.drawn_mw)
            )
        shape.phase_since = now

    def _move_limit(self, job: Job, shape: Shape) -> None:
        """Set the limit of `job` to the time its work takes in its present shape."""
        if shape.limit_s is None or shape.paused:
            return
        end = shape.end_of(shape.limit_s)
        assert job.start_time is not None
        if end != job.end_limit:
            job.time_limit_s = end - job.start_time - job.suspended_s
            self._runs.move_end(job, end)
            self.state.record("LIMIT", job, value=job.time_limit_s)

    def _budget_changed(self) -> None:
        state = self.state
        state.events.append((state.now, "BUDGET", None, "", "", "", "", self.budget_mw, ""))
        state.usage.whole.touched = True
        state.look_again()

    # -- for the trace ------------------------------------------------------------------------------------------------

    def still_open(self) -> None:
        """Write rows without an end for phases that are open, as the run is cut off now."""
        for job_id, shape in sorted(self.shapes.items()):
            if not shape.paused:
                seconds = self.state.now - shape.phase_since
                self.spent_mj[job_id] = self.spent_mj.get(job_id, 0) + seconds * shape.drawn_mw
                self.phases.append(
                    (job_id, shape.phase_since, None, shape.nodes, shape.cap_mw, shape.charged_mw, shape.drawn_mw)
                )

    def joules(self, job_id: int) -> int:
        """Return what the job has used up so far in all its phases that are over, to the nearest joule."""
        return (self.spent_mj.get(job_id, 0) + 500) // 1000

    def taken_joules(self, job_id: int) -> int:
        """Return the same and forget it; called once, for the job's row."""
        found = self.joules(job_id)
        self.spent_mj.pop(job_id, None)
        return found

    def gone(self, job: Job) -> None:
        """Nothing: its joules are kept until its row is written."""

    def check(self) -> None:
        """Recount; raises InvariantError on any difference."""
        entries = [*self.state.running, *self.state.suspended]
        jobs = {job.id: job for _, _, job in entries}
        if jobs.keys() != self.shapes.keys():
            raise InvariantError("jobs with a shape are not those that run or are suspended")
        for job_id, shape in self.shapes.items():
            if shape.nodes != jobs[job_id].n_nodes:
                raise InvariantError(f"job {job_id} has {jobs[job_id].n_nodes} nodes, its shape {shape.nodes}")
        if sum(shape.charged_mw for shape in self.shapes.values()) != self.charged_mw:
            raise InvariantError("watts charged differ from a recount")
        budget = self.budget_mw
        if budget is not None and self.total_mw > budget:
            raise InvariantError(f"{self.total_mw} mW are charged, the budget is {budget}")
