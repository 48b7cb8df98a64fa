"""Preemption: which running jobs make way for one that waits, and how.

Mirrors slurmctld's preempt.c, the plugins preempt/partition_prio and preempt/qos, _run_now and _will_run_test of
select/cons_common job_test.c, and the sort of job_scheduler.c (22.05; PreemptParameters and PRIORITY as in 23.11).
What stops a victim is its mode: CANCEL and REQUEUE are carried out here, at once or after a grace time; SUSPEND is the
gang scheduler's (`slurmsim.core.occupancy.gang`).

The lapse of an exempt time causes no pass; it only makes the next full pass look (`next_time`).
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap
from slurmsim.core.occupancy.preempt_modes import CANCEL, OFF, REQUEUE, SUSPEND, PreemptModes
from slurmsim.core.placement.free_state import Supposed
from slurmsim.core.placement.node_release_times import NodeReleaseTimes
from slurmsim.core.placement.selector import Forecast, Trim, Try
from slurmsim.core.placement.shares import Suppositions
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job import Job
from slurmsim.core.records.observer import Observer
from slurmsim.errors import ConfigError
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.occupancy.gang import Gang
    from slurmsim.core.records.job_queue import Record
    from slurmsim.core.reservations.access import ReservationAccess
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay
    from slurmsim.model.cluster import ClusterSpec

_STOPS: Final = (CANCEL, REQUEUE)
_NODES_MASK: Final = 0xFFFF


def _parameters(cluster: ClusterSpec) -> dict[str, str]:
    """PreemptParameters, or their older spelling in SchedulerParameters."""
    found = {k.removeprefix("preempt_"): v for k, v in cluster.scheduler_parameters.items() if k.startswith("preempt_")}
    for word in cluster.option("PreemptParameters"):
        name, _, value = word.partition("=")
        found[name] = value
    return found


class Preemption(Observer):
    """The rules of one controller.

    Parameters
    ----------
    state, runs, modes
        Of a cluster with a PreemptType other than preempt/none, or with GANG in PreemptMode.
    gang, access
        The gang scheduler, if there is one; the nodes that reservations leave.
    """

    def __init__(
        self, state: ControllerState, runs: RunWay, modes: PreemptModes, gang: Gang | None, access: ReservationAccess
    ) -> None:
        self.state, self._runs, self.modes, self.gang, self._access = state, runs, modes, gang, access
        cluster = state.spec
        option = cluster.option
        self.by_qos = modes.by_qos
        self._nobody = option("PreemptType") == "preempt/none"
        words = frozenset(option("PreemptMode"))
        self._within, self._by_priority = "WITHIN" in words, "PRIORITY" in words
        parameters = _parameters(cluster)
        self._youngest, self._strict = "youngest_first" in parameters, "strict_order" in parameters
        self._reorder = int(parameters.get("reorder_count") or 1)
        least = parameters.get("min_exempt_priority")
        self._exempt_priority = int(least) if least else None
        self._patience = option("KillWait") + option("MessageTimeout")
        # jobs for which others were stopped in the present pass or cycle: they are not tried in another partition
        self.in_progress: set[int] = set()
        self.freed = False  # victims gave nodes back at once: their last epilog asks for another pass
        self._doomed: list[Job] = []  # told to go, in their grace time
        self._lapses: set[int] = set()  # when victims now exempt, or preemptors now patient, no longer are
        self._stamp = (-1, -1, -1)
        self._memory: dict[tuple[object, ...], list[Job]] = {}
        self._states: dict[tuple[object, ...], Supposed] = {}
        self._forecasts: dict[tuple[object, ...], Forecast | None] = {}
        self._supposed = Suppositions()  # without the candidates, by `_key`
        if state.tree is not None:
            for qos in state.tree.qos.values():
                if self.by_qos and "SUSPEND" in qos.preempt_mode.upper():
                    raise ConfigError("suspension by QOS is not modelled", field=f"QOS {qos.name} PreemptMode",
                                      expected="CANCEL or REQUEUE")  # fmt: skip
        if self.by_qos and not state.queue.fifo:
            state.queue.arrange = self._arrange

    def started(self, job: Job, now: int) -> None:
        """Note when `job` may first be preempted: jobs that wait for that are looked at then.

        Noted here, not where candidates are looked for: plans differ in which jobs they look for candidates of.
        """
        if not self._nobody and (until := self.modes.exempt_until(job)) > now:
            self._lapses.add(until)

    def ready(self, job: Job) -> None:
        """Its exempt time counts from now."""
        self.started(job, self.state.now)

    # -- which job may preempt which --------------------------------------------------------------------------------

    def _may(self, tier: int, by: Job, victim: Job) -> bool:
        """Return True if `by`, in a partition of `tier`, may preempt `victim` (preemptable of the two plugins)."""
        if not self.by_qos:
            return victim.partition.tier < tier and not self.modes.protected(victim.partition.index)
        mine, theirs = by.qos_spec, victim.qos_spec
        if mine is None or theirs is None:
            return False
        if mine.name == theirs.name:
            within = self._within or "WITHIN" in mine.preempt_mode.upper()
            return within and by.priority > victim.priority
        return theirs.name in mine.preempt

    def _fresh(self) -> None:
        """Forget what was remembered when the running jobs or the time have changed."""
        stamp = (self.state.now, self.state.generation, self.state.selector.forgotten)
        if stamp != self._stamp:
            self._stamp = stamp
            self._memory, self._states, self._forecasts = {}, {}, {}
            self._supposed.clear()

    def _key(self, record: Record) -> tuple[object, ...]:
        """Return the key of a record; records of one key have the same victims."""
        job = record.job
        if not self.by_qos and not self._by_priority:
            return (record.partition.index,)
        own = self._within or self._by_priority
        own = own or (job.qos_spec is not None and "WITHIN" in job.qos_spec.preempt_mode.upper())
        return (record.partition.index, job.qos, job.priority if own else 0)

    def candidates(self, record: Record) -> list[Job]:
        """Return jobs that `record`'s may preempt, the first to go first (slurm_find_preemptable_jobs)."""
        self._fresh()
        key = self._key(record)
        found = self._memory.get(key)
        if found is not None:
            return found
        now, by, mask, tier = self.state.now, record.job, record.partition.mask, record.partition.tier
        found = []
        for jobs in () if self._nobody else (self.state.running, self.state.suspended):
            for _, _, job in jobs:
                if not job.nodes & mask or not self._may(tier, by, job):
                    continue
                if self._by_priority and by.priority <= job.priority:
                    continue
                if self._exempt_priority is not None and job.priority >= self._exempt_priority:
                    continue
                if self.modes.exempt_until(job) <= now:
                    found.append(job)
        found.sort(key=self._rank)
        self._memory[key] = found
        return found

    def _rank(self, job: Job) -> tuple[int, int, int]:
        """Order of candidates: tier (or QOS priority), then size; or the youngest; then as they were created."""
        if self._youngest:
            assert job.start_time is not None
            return -job.start_time, 0, job.order
        if self.by_qos:
            level = min(job.qos_spec.priority, _NODES_MASK) if job.qos_spec is not None else 0
        else:
            level = job.partition.tier
        return level, min(job.n_nodes, _NODES_MASK), job.order

    def _arrange(self, records: list[Record]) -> list[Record]:
        """Sort rule 1: who may preempt another goes before it. Elsewhere the order stays as it is."""

        def before(a: Record, b: Record) -> int:
            if self._may(a.partition.tier, a.job, b.job):
                return -1
            if self._may(b.partition.tier, b.job, a.job):
                return 1
            return -1 if a.key < b.key else 1

        return sorted(records, key=cmp_to_key(before))

    # -- making room ------------------------------------------------------------------------------------------------

    def make_room(self, record: Record, within: Bitmap | None) -> Allocation | None:
        """Make others go so that `record`'s job can start on the nodes of `within`.

        Returns
        -------
        An allocation when it can start now beside jobs the gang scheduler will suspend; else None, also where victims
        were stopped: the job then waits until their nodes are free.
        """
        if within is None:
            within = self.state.table.everything
        if self.gang is not None:
            alloc = self.gang.take(record, within)
            if alloc is not None:
                return alloc
        victims = self._victims(record, within)
        if victims:
            self._stop_all(victims, record.job)
        return None

    def _victims(self, record: Record, within: Bitmap) -> list[Job]:
        """Candidates that must go, found as _run_now does: one more at a time, then again in a better order."""
        request = record.request
        reach = within & request.candidates
        order = self.candidates(record)
        if not order:
            return []
        stoppable = {job.id for job in order if self.modes.mode(job) in _STOPS}
        passes = 0
        while True:
            state = Supposed(self.state.table)
            state.up = self.state.table.up
            found = None
            last = -1
            for at, job in enumerate(order):
                if job.id not in stoppable or not job.nodes & reach:
                    continue
                held = self.state.holders.held(job)
                if held is not None:
                    state.release(held)
                found = self._place(record, state, within)
                if found is not None:
                    last = at
                    break
            if found is None:
                return []
            final = passes > self._reorder or len(order) <= passes + 1
            if final:
                return [job for job in order[: last + 1] if job.id in stoppable and job.nodes & found.mask]
            passes += 1
            # another try with the last victim first may spare the others: fewer jobs have to go (preempt_reorder_count)
            if self._strict:
                order = [order[last], *order[:last], *order[last + 1 :]]
            else:
                chosen = found.mask
                ahead = sorted(order[:last], key=lambda job: -(job.nodes & chosen).bit_count())
                order = [order[last], *ahead, *order[last + 1 :]]

    def _stop_all(self, victims: list[Job], by: Job) -> None:
        """Stop `victims` for `by`, unless it did so a moment ago and may still be waiting for them."""
        now = self.state.now
        if by.preempt_start is not None and by.preempt_start > now - self._patience:
            self._lapses.add(by.preempt_start + self._patience)
            return
        for job in victims:
            self._stop(job, by)
        by.preempt_start = now
        self.in_progress.add(by.id)

    def _stop(self, job: Job, by: Job) -> None:
        """Tell `job` to go; without grace time it goes at once."""
        if job.preempt_time is not None:
            return  # in its grace time, the scan will find it
        grace = self._grace(job)
        job.preempt_time = self.state.now
        self.state.record("PREEMPT", job, value=by.id)
        if not grace:
            self.modes.end(job)
            self.freed = True
            return
        assert job.end_limit is not None
        self._runs.move_end(job, min(job.end_limit, self.state.now + grace))
        self._doomed.append(job)

    def _grace(self, job: Job) -> int:
        if self.by_qos:
            return job.qos_spec.grace_time_s if job.qos_spec is not None else 0
        return job.partition.spec.grace_time_s

    # -- time -------------------------------------------------------------------------------------------------------

    def next_time(self, now: int) -> int | None:
        """Return when a grace time's end is found by the time-limit scan, or an exempt time lapses."""
        times = [self.state.time_limits.scan_after(job.end_limit) for job in self._alive() if job.end_limit is not None]
        if self._lapses and self.state.queue.jobs:
            times += self._lapses
        return min(times, default=None)

    def _alive(self) -> list[Job]:
        """Return jobs in their grace time; those that ended by themselves are forgotten."""
        if self._doomed:
            left = (JobState.RUNNING, JobState.SUSPENDED)
            self._doomed = [job for job in self._doomed if job.state in left and job.preempt_time is not None]
        return [job for job in self._doomed if job.state == JobState.RUNNING]

    def timers(self, now: int) -> None:
        """Do what is due at `now`."""
        if self._doomed:
            for job in self._alive():
                assert job.end_limit is not None
                if self.state.time_limits.scan_after(job.end_limit) <= now:
                    self.modes.end(job)
        over = {at for at in self._lapses if at <= now}
        if over:
            self._lapses -= over
            if now in over and self.state.queue.jobs:
                self.state.triggers.time_came()

    # -- plans ------------------------------------------------------------------------------------------------------

    def _without(self, record: Record) -> Supposed:
        """Return the free state with all candidates gone; of those that would be suspended only the CPUs."""
        key = self._key(record)
        jobs = self.candidates(record)
        state = self._states.get(key)
        if state is None:
            state = Supposed(self.state.table)
            for job in jobs:
                held, mode = self.state.holders.held(job), self.modes.mode(job)
                if held is None or mode == OFF:
                    continue
                if mode == SUSPEND:
                    state.release_cpus(held)
                else:
                    state.release(held)
            self._states[key] = state
        return state

    def could(self, record: Record, within: Bitmap | None) -> bool:
        """Return True if `record`'s job would fit on the nodes of `within` if everybody it may preempt were gone."""
        anywhere = self.state.table.everything if within is None else within
        if self.gang is not None and self.gang.place(record, anywhere) is not None:
            return True
        if not self.candidates(record):
            return False
        return self._place(record, self._without(record), within) is not None

    def displaces(self, record: Record) -> bool:
        """Return True if a job may be preempted for `record`'s job now, or may share its nodes with it in turns."""
        in_turns = self.gang is not None and self.gang.finds[record.partition.index]
        return bool(in_turns or self.candidates(record))

    def _place(self, record: Record, state: Supposed, within: Bitmap | None) -> Allocation | None:
        """Place in `state`, of which reservations of cores leave a part."""
        access = self._access
        caps = access.caps(record, self.state.now, record.job.time_limit_s) if self.state.reserved.partial else []
        return self.state.selector.place(record.request, access.trim(state, caps), within, rough=True)

    def future(
        self, record: Record, within: Bitmap, trim: Trim | None = None, about: Try | None = None
    ) -> Forecast | None:
        """Earliest start on the nodes of `within`: now if preemption makes it possible, else as others end.

        `trim`, `about`: see `Selector.future`.
        """
        request = record.request
        if not self.displaces(record):
            return self.state.selector.future(
                request, self.state.holders.occupants(), self.state.now, within, trim=trim, about=about
            )
        if trim is not None or about is not None:
            return self._future(record, within, trim or (lambda free, gone: free), about)
        self._fresh()
        key = (self._key(record), request, within & request.candidates)
        if key in self._forecasts:
            return self._forecasts[key]
        selector = self.state.selector
        if self.gang is None and selector.shares.serves(request, selector):
            found = self._future_of_share(record, within)
        else:
            found = self._future(record, within, lambda free, gone: free)
        if found is None or found.start != self.state.now:  # "now" would be another instant next time
            self._forecasts[key] = found
        return found

    def _others(self, record: Record) -> list[tuple[int, int, Job]]:
        """Return who runs, by its end, but for the candidates."""
        gone = {job.id for job in self.candidates(record)}
        return [entry for entry in self.state.holders.occupants() if entry[1] not in gone]

    def _future_of_share(self, record: Record, within: Bitmap) -> Forecast | None:
        """As `_future`, by the kernel, which is told once who else runs."""
        state, request = self.state, record.request
        selector, now = state.selector, state.now
        found = selector.place(request, state.table, within, rough=True)
        if found is not None:
            return Forecast(now, found.mask)
        nodes, ends = self._supposed.find(
            self._key(record), selector.shares, selector, lambda: (self._without(record), self._others(record))
        )
        return selector.future_supposing(request, nodes, ends, now, within)

    def _future(self, record: Record, within: Bitmap, trim: Trim, about: Try | None = None) -> Forecast | None:
        request = record.request
        place = self.state.selector.place
        found = None
        if about is None or about.start <= self.state.now:
            found = place(request, trim(self.state.table, 0), within, rough=True)
            if found is None and self.gang is not None:
                found = self.gang.place(record, within)
        rest = self._others(record)
        releases = NodeReleaseTimes(rest, self.state.table.idle)
        state = self._without(record).copy()
        at = 0 if about is None else about.ended(releases)
        for _, _, job in rest[:at]:
            assert job.alloc is not None
            state.release(job.alloc)
        if found is None:
            # victims have yet to end, but only a start now makes backfill try it and preempt them (_will_run_test)
            found = place(request, trim(state, at), within, rough=True)
        if found is not None:
            return Forecast(self.state.now, found.mask)
        last = about.following or None if about is not None else None
        for until in releases.in_batches(within & request.candidates, self.state.selector.window_linear, at, last):
            for _, _, job in rest[at:until]:
                assert job.alloc is not None
                state.release(job.alloc)
            at = until
            found = place(request, trim(state, until), within, rough=True, later=True)
            if found is None and self.gang is not None:
                found = self.gang.place(record, within, {entry[1] for entry in rest[:until]})
            if found is not None:
                if about is not None:
                    return Forecast(about.begin(releases, until, found.mask), found.mask)
                return Forecast(self.state.selector.begin(releases.ends[until - 1], self.state.now), found.mask)
        return None
