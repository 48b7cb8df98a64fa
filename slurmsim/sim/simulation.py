"""One simulation: a workload told to the network, in virtual time.

Each later submission or cancel is a process; the node events are another one. Frequent events are timeouts with a
callback, as a process cost 6 µs more a job (ADR 0004): the next arrival, the end of each running job, and the next
wake-up. The timeout of a running job is void if the controller took the job away meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

import numpy as np
from simpy.events import Event

from slurmsim.core.occupancy.metering import Metering
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Action, Cancel, Fact, JobEnded, Refused, Requeue, Submit
from slurmsim.data_classes import dataclass
from slurmsim.errors import WorkloadError
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.submission import Submission
from slurmsim.policy import Policy
from slurmsim.sim.end_of_run import EndOfRun
from slurmsim.sim.event_loop import run_until
from slurmsim.sim.failed_runs import FailedRuns
from slurmsim.sim.listener import Listener
from slurmsim.sim.measured import Measured, is_measured
from slurmsim.sim.network import Behaviour, Durations, Network
from slurmsim.sim.sources import Sources
from slurmsim.sim.submissions import Submissions
from slurmsim.sim.timers import Timer
from slurmsim.states import JobState
from slurmsim.workload import Workload


@dataclass(slots=True)
class Timed:
    """A fact that comes at a fixed time whatever happens: a node event, an edit."""

    time: int
    fact: Fact


class Simulation(Network):
    """A workload under a policy on a cluster, in virtual time.

    Parameters
    ----------
    timed
        Facts at given times (node events and edits), ascending.
    endless
        A generator of timed facts without an end (failures drawn from MTBF); stops when all jobs are done.
    until
        Stop there; jobs may be left running or pending.
    seed
        Of the streams of the workload, unless they have one.
    enforce_limits
        False replays recorded run times even beyond the limit.
    durations
        How long nodes and processes take for what is theirs.

    Notes
    -----
    A run is a pure function of its arguments.
    """

    def __init__(
        self,
        cluster: ClusterSpec,
        workload: Workload,
        policy: Policy,
        *,
        accounting: Accounting | None = None,
        timed: Sequence[Timed] = (),
        endless: Iterable[Timed] = (),
        until: int | None = None,
        seed: int = 0,
        start_time: int | None = None,
        enforce_limits: bool = True,
        durations: Durations | None = None,
        listener: Listener | None = None,
    ) -> None:
        self.workload = workload
        begins = [stream.start for stream in workload.streams.streams] if workload.streams is not None else []
        first = int(workload.ints["submit"].min()) if len(workload) else min(begins, default=0)
        if start_time is None:
            start_time = min([first, *(t.time for t in timed[:1])])
        super().__init__(
            cluster, policy, start_time, accounting=accounting, enforce_limits=enforce_limits, durations=durations
        )
        if self.controller.predictions is not None:
            self.controller.predictions.run_time_of = self._run_time_of
        if self.controller.watts is not None and is_measured(workload):
            self.controller.watts.metering = Metering(self.controller.watts, Measured(workload))
        self._failed_runs = FailedRuns(workload)
        self.until = until
        self.n_jobs = len(workload)
        self.n_done = 0
        self._listener = listener or Listener()
        self._followers = _followers(workload)
        self._rows = Submissions(workload, cluster.power).rows()
        self._sources = self._sources_of(workload, len(cluster.nodes), seed)
        self._over = self.env.event()
        follow = (self._job_over, self._ended, self._booted)
        self._end = EndOfRun(self.controller, self.env._queue, (self._ring, self._answered), follow)
        self._submits: Any = np.ascontiguousarray(workload.ints["submit"]).data
        self._arrive_calls: list[Callable[[Any], None]] = [self._arrive]
        self.timers.tell(0, self._arrive_calls, next(self._rows, None))
        if self._sources is not None:
            self._sources.begin()
        if timed:
            self.env.process(self._walk(timed))
        if endless:
            self._end.drawn = self.env.process(self._walk(endless))

    def run(self) -> None:
        """Simulate to the end, or to `until`. May be interrupted (KeyboardInterrupt) and leaves a consistent state.

        The end is there when every job has ended, or when nothing can start any more (`slurmsim.sim.end_of_run`).
        """
        if self._none_to_come():
            return
        if self.until is not None:
            self.env.run(until=self.env.any_of([self._over, self.env.timeout(max(0, self.until - self.start_time))]))
        else:
            run_until(self.env, self._over)

    @property
    def stopped(self) -> bool:
        """True if `until` came before the end."""
        return self.until is not None and not self._over.triggered and not self._none_to_come()

    def _none_to_come(self) -> bool:
        """Return True if every job there will be has ended."""
        return self.n_done == self.n_jobs and not (self._sources is not None and self._sources.open)

    def _be_over(self) -> None:
        """Let nothing more happen after this instant."""
        if not self._over.triggered:
            self._over.succeed()

    # -- what sources ask for -------------------------------------------------------------------------------------

    def _sources_of(self, workload: Workload, n_nodes: int, seed: int) -> Sources | None:
        """Return the streams of `workload`, on top of its jobs. Raises WorkloadError for one without an end."""
        streams, ids = workload.streams, workload.ints["job_id"]
        if streams is None:
            return None
        for one in streams.streams:
            if one.jobs is None and one.last is None and self.until is None:
                raise WorkloadError("never ends", file=streams.file or None, field=f"stream {one.name}",
                                    expected="jobs, hours, or --until")  # fmt: skip
        if not len(ids):
            return Sources(self, streams, n_nodes, seed=seed)
        origin = int(workload.ints["submit"].min())
        return Sources(self, streams, n_nodes, seed=seed, origin=origin, first=int(ids.max()) + 1)

    def submit(self, item: tuple[Submission, Behaviour], arrived: int) -> int:
        """Submit a job that its stream came to at `arrived`, if need be in another turn; return its id."""
        self.n_jobs += 1
        job_id = item[0].job_id
        self._listener.arrived(job_id, arrived)
        self._submit(*item)
        self._call_controller()
        return job_id

    def source_broke(self, error: WorkloadError) -> None:
        """Raise the error: a run of half of the jobs would be none."""
        raise error

    @property
    def dropped(self) -> dict[str, int]:
        """Jobs of streams that came to a full queue and were dropped, by stream."""
        return self._sources.dropped if self._sources is not None else {}

    def source_dry(self) -> None:
        """Take note that a stream has submitted its last job."""
        if self._none_to_come():
            self._be_over()

    def _launch(self, job: Job) -> None:
        super()._launch(job)
        if self._sources is not None:
            self._sources.started(job.id)

    def _length(self, job_id: int) -> int:
        fails_s = self._failed_runs.next_s(job_id)
        return super()._length(job_id) if fails_s is None else fails_s

    def _work_s(self, job_id: int) -> int:
        fails_s = self._failed_runs.next_s(job_id)
        return super()._work_s(job_id) if fails_s is None else fails_s

    def _end_of(self, job: Job, behaviour: Behaviour) -> Fact:
        if self._failed_runs.next_s(job.id) is None:
            return super()._end_of(job, behaviour)
        if not self.controller.requeues.wanted(job):
            return JobEnded(job.id, JobState.NODE_FAIL, "0:0", job.restarts)
        self._failed_runs.failed(job.id)
        self._end.advanced(self.timers.now)
        return Requeue(job.id)

    def _run_time_of(self, job_id: int) -> int:
        """Return what an oracle is told."""
        return self._length(job_id)

    # -- processes ------------------------------------------------------------------------------------------------

    def _arrive(self, timer: Timer) -> None:
        """Submit every row that is due and wait for the next; rows that follow another job wait for its end."""
        now, submits, waits = self.timers.now, self._submits, self._followers.waits
        item: Any = timer.value
        while item is not None:
            row, sub, behaviour = item
            at: int = submits[row]
            if at > now:
                self.timers.tell(at - now, self._arrive_calls, item)
                break
            if row in waits:
                delay = self._followers.hold(row, (sub, behaviour), now)
                if delay is not None:
                    self._follow((sub, behaviour), delay)
            else:
                self._submit(sub, behaviour)
            item = next(self._rows, None)
        if self._facts:
            self._settle(timer)

    def _submit(self, sub: Submission, behaviour: Behaviour) -> None:
        self.behaviour[sub.job_id] = behaviour
        if behaviour.cancel_at >= 0:
            self.env.process(self._cancel_later(sub.job_id, behaviour.cancel_at))
        self._facts.append(Submit(sub))

    def _follow(self, item: tuple[Submission, Behaviour], delay: int) -> None:
        self.env.process(self._submit_later(item, delay))

    def _submit_later(self, item: tuple[Submission, Behaviour], delay: int) -> Generator[Event, Any, None]:
        yield self.env.timeout(delay)
        self._submit(*item)
        self._call_controller()

    def _cancel_later(self, job_id: int, at: int) -> Generator[Event, Any, None]:
        yield self.env.timeout(max(0, at - self.timers.now))
        if job_id in self.behaviour:
            self._tell(Cancel(job_id))

    def _walk(self, timed: Iterable[Timed]) -> Generator[Event, Any, None]:
        for item in timed:
            yield self.env.timeout(max(0, item.time - self.timers.now))
            if self._none_to_come():
                return
            self._tell(item.fact)

    def _step(self, now: int, facts: list[Fact]) -> list[Action]:
        over, n_running = self._end.reached(now), len(self.controller.state.running)
        actions = super()._step(now, facts)
        if over and (n_running or not self.controller.state.running):  # else a failure has let a job start
            self._be_over()
        return actions

    def _turned(self, now: int) -> None:
        self._listener.turn(now)
        self._end.turned(now)

    # -- what ends --------------------------------------------------------------------------------------------------

    def _finished(self, job: Job) -> None:
        super()._finished(job)
        self._done(job.id)
        self._listener.finished(job)

    def _requeued(self, run: Job) -> None:
        work = self.saved_work
        before = 0 if work is None else work.saved.get(run.id, 0)
        super()._requeued(run)
        if work is not None and work.saved.get(run.id, 0) > before:
            self._end.advanced(self.timers.now)
        else:
            self._end.undone(run.id)

    def _run_over(self, run: Job) -> None:
        self._listener.requeued(run)

    def _refused(self, action: Refused) -> None:
        super()._refused(action)
        self._listener.refused(action.sub, action.text)
        self._done(action.sub.job_id)

    def _done(self, job_id: int) -> None:
        self.n_done += 1
        self._end.job_ended(self.timers.now)
        if self._followers.waits:
            for item, delay in self._followers.ended(job_id, self.timers.now):
                self._follow(item, delay)
        if self._sources is not None:
            self._sources.ended(job_id)
        if self._none_to_come():
            self._be_over()


class _Followers:
    """Rows submitted a think time after the end of another job (SWF fields 17 and 18)."""

    def __init__(self) -> None:
        self.waits: dict[int, tuple[int, int]] = {}  # row -> (preceding job, think time)
        self._items: dict[int, list[tuple[tuple[Submission, Behaviour], int]]] = {}
        self._targets: set[int] = set()
        self._ended: dict[int, int] = {}  # preceding job -> when it ended

    def add(self, row: int, job_id: int, think: int) -> None:
        self.waits[row] = (job_id, think)
        self._targets.add(job_id)

    def hold(self, row: int, item: tuple[Submission, Behaviour], now: int) -> int | None:
        """`row` has been read: its delay from `now` if the job it waits for has ended, else it is kept."""
        job_id, think = self.waits[row]
        if job_id in self._ended:
            return max(0, self._ended[job_id] + think - now)
        self._items.setdefault(job_id, []).append((item, think))
        return None

    def ended(self, job_id: int, now: int) -> list[tuple[tuple[Submission, Behaviour], int]]:
        """Return what to submit, and how much later, now that `job_id` has ended."""
        if job_id not in self._targets:
            return []
        self._ended[job_id] = now
        return self._items.pop(job_id, [])


def _followers(workload: Workload) -> _Followers:
    found = _Followers()
    before, think = workload.ints["depends_on"], workload.ints["think_after"]
    if not (think >= 0).any():
        return found
    ids = workload.ints["job_id"].tolist()
    known = {job_id: row for row, job_id in enumerate(ids)}
    for row in ((before > 0) & (think >= 0)).nonzero()[0].tolist():
        target = int(before[row])
        if target in known:
            found.add(row, target, int(think[row]))
    _refuse_cycles(found, ids, workload)
    return found


def _refuse_cycles(found: _Followers, ids: list[int], workload: Workload) -> None:
    """Raise for a chain of preceding jobs that comes back to itself: it would never start."""
    precedes = {ids[row]: job for row, (job, _) in found.waits.items()}
    clean: set[int] = set()
    for start in precedes:
        path: set[int] = set()
        at = start
        while at in precedes and at not in clean:
            if at in path:
                raise WorkloadError(f"job {at} waits for itself through its preceding jobs",
                                    file=workload.header.source or None, field="preceding job",
                                    expected="no circle of preceding jobs")  # fmt: skip
            path.add(at)
            at = precedes[at]
        clean |= path
