"""Preemption: which running jobs make way for one that waits, and how.

Mirrors slurmctld's preempt.c, the plugins preempt/partition_prio and preempt/qos, _run_now and _will_run_test of
select/cons_common job_test.c, and the sort of job_scheduler.c (22.05; PreemptParameters and PRIORITY as in 23.11).
What stops a victim is its mode: CANCEL and REQUEUE are carried out here, at once or after a grace time; SUSPEND is the
gang scheduler's (`slurmsim.core.gang`).

The lapse of an exempt time causes no pass; it only makes the next full pass look (`next_time`).
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap
from slurmsim.core.free_state import Supposed
from slurmsim.core.job import Job
from slurmsim.core.messages import Kill
from slurmsim.core.nodes import Allocation
from slurmsim.core.releases import Releases
from slurmsim.core.select import Forecast, Trim, Try
from slurmsim.errors import ConfigError
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.job_queue import Record
    from slurmsim.core.partitions import Partition
    from slurmsim.model.cluster import ClusterSpec

OFF, CANCEL, REQUEUE, SUSPEND = "OFF", "CANCEL", "REQUEUE", "SUSPEND"
_MODES = (CANCEL, REQUEUE, SUSPEND)
_STOPS = (CANCEL, REQUEUE)
_NODES_MASK = 0xFFFF


def _mode(words: frozenset[str]) -> str:
    """What words of a PreemptMode do to a victim; GANG, WITHIN and PRIORITY alone do nothing."""
    return next((word for word in _MODES if word in words), OFF)


def _parameters(cluster: ClusterSpec) -> dict[str, str]:
    """PreemptParameters, or their older spelling in SchedulerParameters."""
    found = {k.removeprefix("preempt_"): v for k, v in cluster.scheduler_parameters.items() if k.startswith("preempt_")}
    for word in cluster.option("PreemptParameters"):
        name, _, value = word.partition("=")
        found[name] = value
    return found


class Preemption:
    """The rules of one controller.

    Parameters
    ----------
    controller
        Whose PreemptType is not preempt/none, or whose PreemptMode has GANG.

    Attributes
    ----------
    in_progress
        Jobs for which others were stopped in the present pass or cycle: they are not tried in another partition.
    freed
        Victims gave nodes back at once: their last epilog asks for another pass.
    """

    def __init__(self, controller: Controller) -> None:
        c = self.c = controller
        cluster = c.cluster
        option = cluster.option
        self.by_qos = option("PreemptType") == "preempt/qos"
        self._nobody = option("PreemptType") == "preempt/none"
        words = frozenset(option("PreemptMode"))
        self._cluster_mode = _mode(words)
        self._within, self._by_priority = "WITHIN" in words, "PRIORITY" in words
        self._part_modes: list[str | None] = [None] * len(c.partitions)
        for p in c.partitions:
            self._learn_mode(p)
        parameters = _parameters(cluster)
        self._youngest, self._strict = "youngest_first" in parameters, "strict_order" in parameters
        self._reorder = int(parameters.get("reorder_count") or 1)
        least = parameters.get("min_exempt_priority")
        self._exempt_priority = int(least) if least else None
        self._exempt_s: int | None = option("PreemptExemptTime")
        self._patience = option("KillWait") + option("MessageTimeout")
        self.in_progress: set[int] = set()
        self.freed = False
        self._doomed: list[Job] = []  # told to go, in their grace time
        self._lapses: set[int] = set()  # when victims now exempt, or preemptors now patient, no longer are
        self._stamp = (-1, -1)
        self._memory: dict[tuple[object, ...], list[Job]] = {}
        self._states: dict[tuple[object, ...], Supposed] = {}
        self._forecasts: dict[tuple[object, ...], Forecast | None] = {}
        if c.tree is not None:
            for qos in c.tree.qos.values():
                if self.by_qos and "SUSPEND" in qos.preempt_mode.upper():
                    raise ConfigError("suspension by QOS is not modelled", field=f"QOS {qos.name} PreemptMode",
                                      expected="CANCEL or REQUEUE")  # fmt: skip
        if self.by_qos and not c.queue.fifo:
            c.queue.arrange = self._arrange

    # -- who may preempt whom ---------------------------------------------------------------------------------------

    def _learn_mode(self, p: Partition) -> None:
        own = frozenset(word.strip() for word in p.spec.preempt_mode.split(",")) - {""}
        if not self.by_qos:
            self._part_modes[p.index] = None if not own else "GANG" if own == {"GANG"} else _mode(own)

    def partition_added(self, partition: Partition) -> None:
        """A partition was made while the cluster runs."""
        self._part_modes.append(None)
        self._learn_mode(partition)

    def mode(self, job: Job) -> str:
        """What is done to `job` when it has to go."""
        if self.by_qos:
            own = frozenset(job.qos_spec.preempt_mode.upper().split(",")) if job.qos_spec is not None else frozenset()
            own -= {"", "OFF", "CLUSTER", "GANG"}  # OFF is what sacctmgr calls the cluster's mode, too
            return _mode(own) if own else self._cluster_mode
        mode = self._part_modes[job.partition.index]
        return self._cluster_mode if mode is None else OFF if mode == "GANG" else mode

    def protected(self, index: int) -> bool:
        """Whether partition `index` says PreemptMode=OFF: its jobs make way for nobody."""
        return self._part_modes[index] == OFF

    def _may(self, tier: int, by: Job, victim: Job) -> bool:
        """Whether `by`, in a partition of `tier`, may preempt `victim` (preemptable of the two plugins)."""
        if not self.by_qos:
            return victim.partition.tier < tier and not self.protected(victim.partition.index)
        mine, theirs = by.qos_spec, victim.qos_spec
        if mine is None or theirs is None:
            return False
        if mine.name == theirs.name:
            within = self._within or "WITHIN" in mine.preempt_mode.upper()
            return within and by.priority > victim.priority
        return theirs.name in mine.preempt

    def exempt_until(self, job: Job) -> int:
        """When running `job` may be preempted: PreemptExemptTime of the QOS that comes first, else the cluster's."""
        assert job.start_time is not None
        first, second = job.part_qos, job.qos_spec
        if second is not None and "OverPartQOS" in second.flags:
            first, second = second, first
        for qos in (first, second):
            if qos is not None and qos.preempt_exempt_time_s is not None:
                return job.start_time + qos.preempt_exempt_time_s
        return job.start_time + (self._exempt_s or 0)

    def _fresh(self) -> None:
        """Forget what was remembered when the running jobs or the time have changed."""
        stamp = (self.c.now, self.c.generation)
        if stamp != self._stamp:
            self._stamp = stamp
            self._memory, self._states, self._forecasts = {}, {}, {}

    def _key(self, record: Record) -> tuple[object, ...]:
        """Records of one key have the same victims."""
        job = record.job
        if not self.by_qos and not self._by_priority:
            return (record.partition.index,)
        own = self._within or self._by_priority
        own = own or (job.qos_spec is not None and "WITHIN" in job.qos_spec.preempt_mode.upper())
        return (record.partition.index, job.qos, job.priority if own else 0)

    def candidates(self, record: Record) -> list[Job]:
        """Jobs that `record`'s may preempt, the first to go first (slurm_find_preemptable_jobs)."""
        self._fresh()
        key = self._key(record)
        found = self._memory.get(key)
        if found is not None:
            return found
        c, now, by, mask, tier = self.c, self.c.now, record.job, record.partition.mask, record.partition.tier
        found = []
        for jobs in () if self._nobody else (c.running, c.suspension.jobs):
            for _, _, job in jobs:
                if not job.nodes & mask or not self._may(tier, by, job):
                    continue
                if self._by_priority and by.priority <= job.priority:
                    continue
                if self._exempt_priority is not None and job.priority >= self._exempt_priority:
                    continue
                until = self.exempt_until(job)
                if until > now:
                    self._lapses.add(until)
                    continue
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
            within = self.c.table.everything
        if self.c.gang is not None:
            alloc = self.c.gang.take(record, within)
            if alloc is not None:
                return alloc
        victims = self._victims(record, within)
        if victims:
            self._stop_all(victims, record.job)
        return None

    def _victims(self, record: Record, within: Bitmap) -> list[Job]:
        """Candidates that must go, found as _run_now does: one more at a time, then again in a better order."""
        c, shape = self.c, record.shape
        reach = within & shape.candidates
        order = self.candidates(record)
        if not order:
            return []
        stoppable = {job.id for job in order if self.mode(job) in _STOPS}
        passes = 0
        while True:
            state = Supposed(c.table)
            state.up = c.table.up
            found = None
            last = -1
            for at, job in enumerate(order):
                if job.id not in stoppable or not job.nodes & reach:
                    continue
                held = c.suspension.held(job)
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
            if self._strict:
                order = [order[last], *order[:last], *order[last + 1 :]]
            else:
                chosen = found.mask
                ahead = sorted(order[:last], key=lambda job: -(job.nodes & chosen).bit_count())
                order = [order[last], *ahead, *order[last + 1 :]]

    def _stop_all(self, victims: list[Job], by: Job) -> None:
        """Stop `victims` for `by`, unless it did so a moment ago and may still be waiting for them."""
        now = self.c.now
        if by.preempt_start is not None and by.preempt_start > now - self._patience:
            self._lapses.add(by.preempt_start + self._patience)
            return
        for job in victims:
            self._stop(job, by)
        by.preempt_start = now
        self.in_progress.add(by.id)

    def _stop(self, job: Job, by: Job) -> None:
        """Tell `job` to go; without grace time it goes at once."""
        c = self.c
        if job.preempt_time is not None:
            return  # in its grace time, the scan will find it
        grace = self._grace(job)
        job.preempt_time = c.now
        c.record("PREEMPT", job, value=by.id)
        if not grace:
            self.end(job)
            self.freed = True
            return
        assert job.end_limit is not None
        c.move_end(job, min(job.end_limit, c.now + grace))
        self._doomed.append(job)

    def _grace(self, job: Job) -> int:
        if self.by_qos:
            return job.qos_spec.grace_time_s if job.qos_spec is not None else 0
        return job.partition.spec.grace_time_s

    def end(self, job: Job) -> None:
        """`job` goes now: requeued if its mode says so and it may be, else its end."""
        c = self.c
        if self.mode(job) == REQUEUE and c.requeues.wanted(job):
            c.requeue(job, JobState.PREEMPTED)
            return
        job.exit_code = "0:15"
        c.actions.append(Kill(job))
        c.finish(job, JobState.PREEMPTED, Reason.NONE)

    # -- time -------------------------------------------------------------------------------------------------------

    def next_time(self, now: int) -> int | None:
        """When a grace time's end is found by the time-limit scan, or an exempt time lapses."""
        times = [self.c.scan_after(job.end_limit) for job in self._alive() if job.end_limit is not None]
        if self._lapses and self.c.queue.jobs:
            times += self._lapses
        return min(times, default=None)

    def _alive(self) -> list[Job]:
        """Jobs in their grace time; those that ended by themselves are forgotten."""
        if self._doomed:
            left = (JobState.RUNNING, JobState.SUSPENDED)
            self._doomed = [job for job in self._doomed if job.state in left and job.preempt_time is not None]
        return [job for job in self._doomed if job.state == JobState.RUNNING]

    def timers(self, now: int) -> None:
        """What is due at `now`."""
        if self._doomed:
            for job in self._alive():
                assert job.end_limit is not None
                if self.c.scan_after(job.end_limit) <= now:
                    self.end(job)
        if self._lapses:
            over = {at for at in self._lapses if at <= now}
            if over:
                self._lapses -= over
                self.c.main.time_came()

    # -- plans ------------------------------------------------------------------------------------------------------

    def _without(self, record: Record) -> Supposed:
        """The free state with all candidates gone; of those that would be suspended only the CPUs."""
        key = self._key(record)
        jobs = self.candidates(record)
        state = self._states.get(key)
        if state is None:
            c = self.c
            state = Supposed(c.table)
            for job in jobs:
                held, mode = c.suspension.held(job), self.mode(job)
                if held is None or mode == OFF:
                    continue
                if mode == SUSPEND:
                    state.release_cpus(held)
                else:
                    state.release(held)
            self._states[key] = state
        return state

    def could(self, record: Record, within: Bitmap | None) -> bool:
        """Whether `record`'s job would fit on the nodes of `within` if everybody it may preempt were gone."""
        c = self.c
        anywhere = c.table.everything if within is None else within
        if c.gang is not None and c.gang.place(record, anywhere) is not None:
            return True
        if not self.candidates(record):
            return False
        return self._place(record, self._without(record), within) is not None

    def _place(self, record: Record, state: Supposed, within: Bitmap | None) -> Allocation | None:
        """Place in `state`, of which reservations of cores leave a part."""
        access = self.c.reservations.access
        caps = access.caps(record, self.c.now, record.job.time_limit_s) if self.c.reservations.partial else []
        return self.c.selector.place(record.shape, access.trim(state, caps), within, rough=True)

    def future(
        self, record: Record, within: Bitmap, trim: Trim | None = None, about: Try | None = None
    ) -> Forecast | None:
        """Earliest start on the nodes of `within`: now if preemption makes it possible, else as others end.

        `trim`, `about`: see `Selector.future`.
        """
        c, shape = self.c, record.shape
        alone = c.gang is None or not c.gang.finds[record.partition.index]
        if alone and not self.candidates(record):
            return c.selector.future(shape, c.suspension.occupants(), c.now, within, trim=trim, about=about)
        if trim is not None or about is not None:
            return self._future(record, within, trim or (lambda free, gone: free), about)
        key = (self._key(record), shape, within & shape.candidates)
        if key not in self._forecasts:
            self._forecasts[key] = self._future(record, within, lambda free, gone: free)
        return self._forecasts[key]

    def _future(self, record: Record, within: Bitmap, trim: Trim, about: Try | None = None) -> Forecast | None:
        c, shape = self.c, record.shape
        place = c.selector.place
        found = None
        if about is None or about.start <= c.now:
            found = place(shape, trim(c.table, 0), within, rough=True)
            if found is None and c.gang is not None:
                found = c.gang.place(record, within)
        gone = {job.id for job in self.candidates(record)}
        rest = [entry for entry in c.suspension.occupants() if entry[1] not in gone]
        releases = Releases(rest, c.table.idle)
        state = self._without(record).copy()
        at = 0 if about is None else about.ended(releases)
        for _, _, job in rest[:at]:
            assert job.alloc is not None
            state.release(job.alloc)
        if found is None:
            found = place(shape, trim(state, at), within, rough=True)
        if found is not None:
            return Forecast(c.now, found.mask)
        last = about.following or None if about is not None else None
        for until in releases.in_batches(within & shape.candidates, c.selector.window_linear, at, last):
            for _, _, job in rest[at:until]:
                assert job.alloc is not None
                state.release(job.alloc)
            at = until
            found = place(shape, trim(state, until), within, rough=True, later=True)
            if found is None and c.gang is not None:
                found = c.gang.place(record, within, {entry[1] for entry in rest[:until]})
            if found is not None:
                begin = releases.ends[until - 1] if about is None else about.begin(releases, until, found.mask)
                return Forecast(begin, found.mask)
        return None
