"""sched/backfill: Slurm's own backfill beside its main scheduler.

Every bf_interval, if anything changed, the queue is walked in priority order. Each job is tried now on the nodes that
no earlier plan needs before the job would end. If it cannot start it is planned: the future test takes running jobs
away in the order of their ends until the job fits. The nodes it would get are taken out of the node space for its
limit. So later jobs start only where they delay no earlier plan. Jobs without a limit are planned with the partition's
MaxTime (365 days when unlimited). Options: the bf_* SchedulerParameters.
Source: Slurm src/plugins/sched/backfill/backfill.c, 22.05.8 (_attempt_backfill), and its future test in cons_tres;
what differs in 24.11 is in `search` (`view.tests_from_try`).

Two deviations change no start. A cycle plans only as deep as the last job that fits into what is free now, since deeper
plans can start nothing (`last_fitting`). A cycle in an unchanged cluster is left out until a running job is overdue
(`next_time`); its place in the cadence is kept. What the kernel knows of a cycle it does itself (`kernel_part`), and
tells of the plans that are shown: that of the first in line, and the first of each job.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from slurmsim.bitmap import Bitmap
from slurmsim.policy import (
    Decision,
    Decisions,
    Outcome,
    Plan,
    Policy,
    PolicyOption,
    Reject,
    SlurmJob,
    SlurmRecord,
    SlurmView,
    Start,
    StartTogether,
    Tested,
)
from slurmsim_policies.slurm_backfill.atom_plans import COMPILED, AtomPlans, Known
from slurmsim_policies.slurm_backfill.het_jobs import HetJobs
from slurmsim_policies.slurm_backfill.kernel_part import KernelPart
from slurmsim_policies.slurm_backfill.kernel_walk import KernelWalk
from slurmsim_policies.slurm_backfill.layers import PlannedLayers
from slurmsim_policies.slurm_backfill.licenses import PlannedLicenses
from slurmsim_policies.slurm_backfill.node_plans import NodePlans
from slurmsim_policies.slurm_backfill.search import Found, Search
from slurmsim_policies.slurm_backfill.walk import Array, Walk, array_of, limit_of, show_limits

_TESTED: Final = Tested()  # all that a cycle looked at
_OWN_LIMITS: Final = ("PartitionNodeLimit", "PartitionTimeLimit")  # found where the job is looked at
_BLOCKED_S: Final = 500  # assoc_limit_stop: a job a limit holds is planned that much later when no boundary is known


def _number(parameters: Mapping[str, str], name: str, default: int) -> int:
    return int(parameters.get(name) or default)


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(text)
    return text == "1"


class SlurmBackfill(Policy):
    """Slurm's backfill plugin."""

    name = "backfill"
    label = "Backfill"
    summary = "Slurm's main scheduler and its backfill plugin (bf_* parameters)"
    event_driven = False
    OPTIONS: ClassVar[Mapping[str, PolicyOption]] = {
        "plan_all": PolicyOption(_flag, False, "plan every job a cycle reaches, also where that decides nothing: 0, 1"),
        "atoms": PolicyOption(_flag, COMPILED, "plan by the kernel where counting whole nodes decides: 0, 1"),
        "every_cycle": PolicyOption(_flag, False, "make cycles that would repeat the last one, as Slurm does: 0, 1"),
    }
    STATE = ("last_cycle", "last_walk", "_last_cycle", "_started", "_left_waiting", "_left_idle", "_left_marks", "_cut")

    def configure(self, scheduler_parameters: Mapping[str, str], start_time: int) -> None:
        p = scheduler_parameters
        self.interval = _number(p, "bf_interval", 30)
        self.window = _number(p, "bf_window", 1440) * 60
        self.resolution = _number(p, "bf_resolution", 60)
        self.max_test = _number(p, "bf_max_job_test", 500)
        self.space_size = _number(p, "bf_node_space_size", self.max_test)
        self.max_start = _number(p, "bf_max_job_start", 0)
        self.max_user = _number(p, "bf_max_job_user", 0)
        self.max_assoc = _number(p, "bf_max_job_assoc", 0)
        if self.max_assoc:
            self.max_user = 0
        self.max_part = _number(p, "bf_max_job_part", 0)
        self.max_user_part = _number(p, "bf_max_job_user_part", 0)
        self.max_array = _number(p, "bf_max_job_array_resv", 20)
        self.part_reserve = _number(p, "bf_job_part_count_reserve", 0)
        self.min_age = _number(p, "bf_min_age_reserve", 0)
        self.min_prio = _number(p, "bf_min_prio_reserve", 0)
        self.one_resv = "bf_one_resv_per_job" in p
        self.licenses = "bf_licenses" in p
        self.running_reserve = self.licenses or "bf_running_job_reserve" in p
        self.plan_all = self.watched or self.options["plan_all"]
        counted = self.max_start or self.max_user or self.max_assoc or self.max_part or self.max_user_part
        tests_only = self.part_reserve or self.min_age or self.min_prio or self.one_resv
        self.plans_go_on = self.watched  # every plan is made, and counts in `_left_idle`
        self.counted, self.counts = bool(counted), bool(counted or tests_only)
        self.every_cycle = self.options["every_cycle"]
        self.het_at_once = "bf_hetjob_immediate" in p
        self.known = Known(self.resolution, self.window, self.space_size, self.max_test, self.max_array)
        self._last_cycle = self._start_time = start_time
        self.last_cycle = 0  # when one was made, to be shown
        self.last_walk = 0  # and when one found jobs that wait
        self._started = self._left_waiting = self._left_idle = self._left_marks = self._cut = False
        self.full_pass = max(_number(p, "sched_interval", 60), 1)

    def go_on_from(self, last: int, now: int, *, waits: bool) -> None:
        """Let slurmctld have made a cycle at `last`, which may be just after `now`: others come bf_interval apart.

        `waits`: it found jobs that wait.
        """
        self.last_cycle = min(last, now)
        behind = -(-(last - now) // self.interval) * self.interval if last > now and self.interval > 0 else 0
        self._last_cycle, self._left_waiting = last - behind, waits

    def next_time(self, view: SlurmView, now: int, changed: bool) -> int | None:
        """bf_interval after the previous cycle, once something has changed since.

        Without a change only running jobs can let the next cycle decide otherwise. One may pass its limit. Where a
        count cut the last cycle short, the next may look deeper, as the plans behind running jobs merge. Where no job
        runs, plans begin at once or at the end of a reservation, which is a change. Cycles that would repeat themselves
        in an unchanged cluster are left out, but not their effect on when the next one comes: see `_after_quiet`.
        """
        if self.interval == -1:
            return None
        soonest = self._last_cycle + self.interval
        if not view.n_queued:  # a cycle over an empty queue is one all the same: the next counts from it
            return max(now, soonest) if changed or self._started else None
        if self.every_cycle or self._started:
            return max(now, soonest)
        if changed:
            return max(soonest, self._after_quiet(now))
        overdue = view.next_limit(now)
        if self._cut and (overdue is not None or view.running):
            return max(now, self._next_quiet(soonest))
        return None if overdue is None else max(soonest, self._after_quiet(overdue))

    @property
    def _steady(self) -> bool:
        """True if cycles of an unchanged cluster come every bf_interval.

        They do with idle nodes. They do where bf_interval is at least sched_interval, too: a full pass lies between two
        cycles then, and is the change the second one waits for.
        """
        return self._left_idle or self.interval >= self.full_pass

    def _after_quiet(self, now: int) -> int:
        """First cycle at or after `now`, counting the cycles slurmctld would have run since the last one we ran.

        A cycle that plans jobs on idle nodes marks them PLANNED, which is itself a change: cycles follow every
        bf_interval; so does one that puts a plan off behind another (`plans_go_on`). Else a main pass over blocked
        jobs is the change: cycles follow every full pass, or come every bf_interval where that is longer (`_steady`).
        Without pending jobs there are none.
        """
        elapsed = now - self._last_cycle
        if not self._left_waiting or elapsed <= self.interval:
            return now
        if self._steady:
            return now + -elapsed % self.interval
        first = self._next_quiet(self._last_cycle + self.interval)
        if first >= now:
            return now
        return max(now, now - 1 - (now - 1 - first) % self.full_pass + self.interval)

    def _next_quiet(self, soonest: int) -> int:
        """Return when slurmctld's next cycle comes if nothing happens: at once, or with a full pass."""
        if self._steady:
            return soonest
        return soonest + (self._start_time - soonest) % self.full_pass

    def schedule(self, view: SlurmView, now: int) -> Decisions:
        self._last_cycle = self.last_cycle = now
        self.last_walk = now if view.n_queued else self.last_walk
        self._started = self._cut = False
        everything, limits = self.plan_all or view.plans_count, view.limits
        if limits is not None:
            self.known.restated(view)
        parts = self._independent(view, everything)
        part: KernelPart | None = None
        cycle: _Cycle | None = None
        for number, records in enumerate(parts):
            last = len(records) - 1 if everything else view.last_fitting(records)
            if cycle is None and records and (last >= 0 or limits is not None):
                part = part or self._kernel_part(view, parts, everything)
                if last >= 0 or part.walks:  # the kernel tells which jobs limits hold, even if no job fits
                    cycle = _Cycle(self, view, now, part, parts, everything)
            if cycle is not None and last >= 0:
                yield from cycle.plan(number, last)
                if cycle.het:
                    yield from cycle.start_het_jobs()
            if limits is not None:
                if cycle is not None:
                    yield from cycle.walk.show(number, cycle.reached if last >= 0 else 0, limits)
                else:
                    yield from show_limits(view, limits, records)
        yield _TESTED
        self._left_waiting = view.n_queued > 0
        # a reservation in force touches its nodes every 5 s, which is a change as well
        self._left_idle = view.reserved_now()
        if self.plans_go_on:
            marks = cycle is not None and view.marks(cycle.kept)
            behind = cycle is not None and cycle.plans.put_behind
            self._left_idle |= marks or behind or self._left_marks  # the marks of the last cycle have been taken away
            self._left_marks = marks
        else:
            self._left_idle |= view.free_nodes > 0

    def _kernel_part(self, view: SlurmView, parts: Sequence[Sequence[SlurmRecord]], everything: bool) -> KernelPart:
        """Return what the kernel does of this cycle; where it does not walk, its queues hear of no plan."""
        self.known.tidy((view.pools[0].edits, everything, view.reserved), parts)
        part = KernelPart(view, self.known, parts, wanted=self.options["atoms"], counts=self.counts)
        if part.plans:
            self.known.tell_in(part.whole is not None)
        if not part.walks:
            self.known.leave_queues()
        return part

    def _independent(self, view: SlurmView, everything: bool) -> list[Sequence[SlurmRecord]]:
        """Return the queue in order, split by pool if neither a counter of the cycle nor a job can couple the pools.

        Pools share no node, so their plans do not meet; each may then be walked only as far as it can start anything.
        A job with records in several starts from the first of them all.
        """
        records = view.records()
        counters = self.max_start or self.max_user or self.max_assoc or self.one_resv
        coupled = counters or 2 * len(records) >= self.max_test
        if coupled or everything or len(view.pools) == 1:
            return [records]
        split: list[list[SlurmRecord]] = [[] for _ in view.pools]
        for record in records:
            pool = record.partition.pool
            if not record.single and any(p.pool != pool for p in record.job.partitions):
                return [records]
            split[pool].append(record)
        return list(split)


class _Cycle:
    """One backfill cycle: what is planned, and its counters.

    `parts` are the records of the queue, of which `plan` is told the number; `everything` where each is to be planned.
    """

    def __init__(
        self, policy: SlurmBackfill, view: SlurmView, now: int, part: KernelPart,
        parts: Sequence[Sequence[SlurmRecord]], everything: bool,
    ) -> None:  # fmt: skip
        self.p, self.view, self.now, self.parts, self.everything = policy, view, now, parts, everything
        self.preempts = view.preempts
        res = policy.resolution
        self.licenses = PlannedLicenses(view, now // res * res, res) if policy.licenses else None
        layers = PlannedLayers(view, now // res * res, res) if policy.licenses else None
        self.layers = layers if layers is not None and layers.layers else None
        self.search = Search(view, now, res, policy.window, self.licenses, self.layers)
        self.het = HetJobs(now)
        self.begin = now // res * res
        end = (now + policy.window) // res * res
        self.plans: AtomPlans | NodePlans
        if part.plans:
            self.plans = atoms = AtomPlans(
                view, self.search, policy.known, part.whole, part.shares, part.reserved, self.begin, end
            )
        else:
            self.plans = NodePlans(view, self.search, self.begin, end, policy.space_size)
        if part.walks:
            self.walk: Walk = KernelWalk(view, atoms, parts, policy.max_array, policy.known, everything)
        else:
            self.walk = Walk(view, self.plans, parts, policy.max_array)
        self.tests = self.started = self.reached = 0
        self.kept: Bitmap = 0  # nodes some plan is for
        self.per_user: dict[str, int] = {}
        self.per_assoc: dict[tuple[str, str], int] = {}
        self.per_part: dict[int, int] = {}
        self.per_user_part: dict[tuple[str, int], int] = {}
        self.reserved_part: dict[int, int] = {}
        self.estimates: dict[int, int] = {}
        self.blocked: dict[str, int] = {}  # assoc_limit_stop: QOS with used-up group limits, and until when
        if policy.running_reserve:
            for job in view.running:
                if job.end_limit is not None and view.keeps_nodes(job):
                    self.plans.take(self.begin, self._held_until(job.end_limit), job.nodes)

    def plan(self, number: int, last: int) -> Decisions:
        """Plan the records of that part in order, up to record `last`, which fits into what is free now."""
        records, walk, at = self.parts[number][: last + 1], self.walk, -1
        self.reached = 0
        walk.begin(number, last)
        while at < last:
            at, last, self.tests = walk.next(at + 1, last, self.tests)
            self.reached = min(at, last) + 1
            if at > last:
                return
            if self.tests >= self.p.max_test or self.plans.full:
                self.p._cut = True
                return
            array = array_of(self.view, records[at])
            outcome = None if walk.spent(array) else (yield from self._decide(records[at], at))
            if outcome is None:
                continue
            if outcome == "started" and 0 < self.p.max_start <= self.started:
                return
            if outcome == "planned" and not self.everything:
                last = walk.last_startable(records, at, last)
            if array is not None:
                yield from self._decided_task(records, at, array, outcome)

    def _decide(self, record: SlurmRecord, at: int) -> Generator[Decision, Outcome, str | None]:
        """Start or plan record `at`: "started", "planned" or "" (neither); None if it is not tried at all."""
        job, limits = record.job, self.view.limits
        if not job.queued or (self.preempts and self.view.preempting(record)):
            return None
        if (limit := self.view.limit_reason(record)) is not None:
            if job.planned_start is not None and job.id not in self.estimates:
                # if its partition is closed it is not tried: it shows where, but not when
                yield Plan(record, None, 0 if limit in _OWN_LIMITS else job.planned_nodes)
            return None
        if (bar := self.view.qos_bar(record)) is not None:
            yield Reject(record, bar)
            return None
        if limits is not None and limits.stop:
            limits = None  # none is shown
        if limits is not None and (held := limits.before(record)) is not None:
            yield Plan(record, None)
            yield Reject(record, held)
            return None
        if self.p.counted and not self._count(record):
            return None
        if job.licenses and self.licenses is None and not self.view.licensed(record):
            return None
        outcome = yield from self._place(record)
        if outcome == "refused":
            self.walk.refused(at)
        if outcome in ("refused", "limited"):
            return ""
        if limits is not None and job.queued and limits.shown(job):
            yield Reject(record, "None")  # no limit has been found to hold it this time
        if outcome == "started":
            self.started += 1
            self.p._started = True
        return outcome

    def _decided_task(self, records: Sequence[SlurmRecord], at: int, array: Array, outcome: str) -> Decisions:
        """Count the plan of a task of `array`; plan those behind the last one, or reject the array without a plan."""
        walk = self.walk
        if outcome == "planned":
            walk.per_array[array[0]] = walk.per_array.get(array[0], 0) + 1
            if at + 1 == len(records) or records[at + 1].job.array_key != array[0]:
                yield from self._plan_throttled(records[at])
        elif outcome != "started":
            walk.rejected = array
        walk.task_done(at)

    def _granted(self, record: SlurmRecord, limit: int) -> int | None:
        """Return the time limit of a job started now; None: its own."""
        if record.job.deadline is not None:
            return int(self.view.deadline_limit(record, limit))
        return limit if record.job.time_min_s else None

    def _as_long_as(self, record: SlurmRecord, nodes: Bitmap) -> int:
        """Return the limit of a job with a minimum time on `nodes`: until a plan or a reservation needs one of them."""
        assert isinstance(self.plans, NodePlans)
        most = int(self.view.time_limit(record))
        left = self.plans.free_for(nodes, most)
        begin = self.view.next_reservation_begin(record, nodes)
        ends = [left, None if begin is None else begin - self.now]
        return max(record.job.time_min_s or 0, min([end // 60 * 60 for end in ends if end is not None] + [most]))

    def _count(self, record: SlurmRecord) -> bool:
        """bf_max_job_user_part, _part, _assoc, _user: count this candidate; False when one of them is used up."""
        p, job, index = self.p, record.job, record.partition.index
        pair, assoc = (job.user, index), (job.account, job.user)
        if p.max_user_part and self.per_user_part.get(pair, 0) >= p.max_user_part:
            return False
        if p.max_part and self.per_part.get(index, 0) >= p.max_part:
            return False
        if p.max_assoc and self.per_assoc.get(assoc, 0) >= p.max_assoc:
            return False
        if p.max_user and self.per_user.get(job.user, 0) >= p.max_user:
            return False
        self.per_user_part[pair] = self.per_user_part.get(pair, 0) + 1
        self.per_part[index] = self.per_part.get(index, 0) + 1
        self.per_user[job.user] = self.per_user.get(job.user, 0) + 1
        self.per_assoc[assoc] = self.per_assoc.get(assoc, 0) + 1
        return True

    def _test_now_only(self, record: SlurmRecord) -> bool:
        p, job, limits = self.p, record.job, self.view.limits
        if record.unreserved or record.preferred:
            return True
        if record.priority < ((0 if limits is None else limits.min_prio(record)) or p.min_prio):
            return True
        if p.min_age and job.eligible_time is not None and self.now - job.eligible_time < p.min_age:
            return True
        if p.one_resv and job.id in self.estimates:
            return True
        return bool(p.part_reserve) and self.reserved_part.get(record.partition.index, 0) >= p.part_reserve

    def _place(self, record: SlurmRecord) -> Generator[Decision, Outcome, str]:
        """Start or plan one record.

        Returns "started", "planned", "refused" (a limit forbade its start), "limited" (a limit holds it) or "" (none of
        these).
        """
        job, limits = record.job, self.view.limits
        now_only = self._test_now_only(record)
        limit = limit_of(self.view, record)
        self.tests += 1
        if limits is not None and (held := limits.too_many_nodes(record)) is not None:
            yield Plan(record, None)
            yield Reject(record, held)
            return "limited"
        begin = 0
        if limits is not None and self.blocked:
            begin = max(self.blocked.get(name, 0) for name in limits.qos_of(record))
        if job.het is not None:
            return (yield from self._plan_component(record, limit, begin, now_only))
        found = self.plans.find(record, limit, begin=begin, now_only=now_only)
        if found is not None and found.start <= self.now:
            start = self._start_of(record, found, limit)
            started = yield start
            if started:
                self._hold(record, limit, extended=start.longer is not None)
                return "started"
            if started is None and (limits is None or not limits.stop):
                yield Plan(record, None)
                return "refused"
            put_off = _BLOCKED_S if started is None else 0
            found = self.plans.find(record, limit, begin=begin, now_only=now_only, put_off=put_off)
            if limits is not None and started is None and found and (blocking := limits.blocking_qos(record)):
                self.blocked[blocking] = max(self.blocked.get(blocking, 0), found.start)
        if found is None:
            if job.planned_start is not None and job.id not in self.estimates:
                yield Plan(record, None)  # a cycle begins without the plans of the one before
            return ""
        if not found.nodes:
            yield from self._show_late(record, found.start)
            return ""
        if limits is not None and not limits.stop and (held := limits.after(record, None, found.nodes)) is not None:
            yield Plan(record, found.start, promise=False)
            yield Reject(record, held)
            return "limited"
        yield from self._keep(record, found)
        return "planned"

    def _start_of(self, record: SlurmRecord, found: Found, limit: int) -> Start:
        """Return the start of a record where it was found."""
        job = record.job
        extended = job.time_min_s and job.deadline is None and self.view.minimum_extended
        longer = partial(self._as_long_as, record) if extended else None
        return Start(record, found.within, time_limit_s=self._granted(record, limit), longer=longer)

    def _hold(self, record: SlurmRecord, limit: int, *, extended: bool) -> None:
        """Hold the nodes and licenses of a record that has just started."""
        job = record.job
        end = job.end_limit if extended else None
        until = self._held_until(self.now + limit if end is None else end)
        self._take_counts(record, self.begin, until, job.nodes)
        self.plans.started(job)
        if self.view.keeps_nodes(job):
            self.plans.take(self.begin, until, job.nodes)

    def _keep(self, record: SlurmRecord, found: Found) -> Decisions:
        """Keep the nodes of a plan for its job, and show it."""
        p, job = self.p, record.job
        index = record.partition.index
        if p.part_reserve:
            self.reserved_part[index] = self.reserved_part.get(index, 0) + 1
        if found.start < self.estimates.get(job.id, found.start + 1):  # not if another partition promises earlier
            self._estimate(job, found.start)
            yield Plan(record, found.start, found.nodes, promise=False)
            self.kept |= found.nodes
        self.plans.take(found.first, found.last, found.nodes)
        self._take_counts(record, found.first, found.last, found.nodes)

    def _take_counts(self, record: SlurmRecord, begin: int, end: int, nodes: Bitmap) -> None:
        """Take the licenses of a record that has started or is planned over [begin, end) on `nodes`, and its layers."""
        if self.licenses is not None:
            self.licenses.take(record, begin, end)
        if self.layers is not None:
            self.layers.take(record, begin, end, nodes)

    # -- heterogeneous jobs -------------------------------------------------------------------------------------------

    def _plan_component(
        self, record: SlurmRecord, limit: int, begin: int, now_only: bool
    ) -> Generator[Decision, Outcome, str]:
        """As `_place`, of a component: it is planned also where it could start now."""
        job, limits = record.job, self.view.limits
        begin = max(begin, self.het.not_before(record))
        found = self.plans.find(record, limit, begin=begin, now_only=now_only, put_off=0)
        if found is None or not found.nodes:
            if job.planned_start is not None and job.id not in self.estimates:
                yield Plan(record, None)
            return ""
        if limits is not None and not limits.stop and (held := limits.after(record, None, found.nodes)) is not None:
            yield Plan(record, max(found.start, self.now), promise=False)
            yield Reject(record, held)
            return "limited"
        found.start = max(found.start, self.now)
        yield from self._keep(record, found)
        yield Reject(record, "Resources")
        self.het.note(record, self.search.first, found.nodes)
        if self.p.het_at_once and job.het is not None:
            yield from self.start_het_jobs(job.het[0])
        return "planned" if job.queued else "started"

    def start_het_jobs(self, leader: int | None = None) -> Decisions:
        """Start the heterogeneous jobs (or that of `leader`) if all their components can start now."""
        p = self.p
        for components in list(self.het.ready(leader)):
            if p.max_start and self.started >= p.max_start:
                return
            limits = [self._granted(one.record, limit_of(self.view, one.record)) for one in components]
            starts = [Start(c.record, c.nodes, time_limit_s=s) for c, s in zip(components, limits, strict=True)]
            if (yield StartTogether(starts)):
                self.started += len(components)
                p._started = True

    def _plan_throttled(self, record: SlurmRecord) -> Decisions:
        """Plan the tasks of an array that ``%N`` keeps out of the queue, like `record`, the last of those in it.

        slurmctld counts only tasks that run: as long as another may start, it makes plans for all of them. Their record
        shows where the last of them goes, and when.
        """
        view, limits, key = self.view, self.view.limits, record.job.array_key
        limit = limit_of(self.view, record)
        for _ in range(min(view.throttled(record), self.p.max_array - self.walk.per_array[key])):
            self.tests += 1
            found = self.plans.find(record, limit, put_off=0)
            if found is None or not found.nodes or self.plans.full:
                return
            if limits is not None and not limits.stop and limits.after(record, None, found.nodes) is not None:
                return
            self.walk.per_array[key] += 1
            self.kept |= found.nodes
            self.plans.take(found.first, found.last, found.nodes)
            self._take_counts(record, found.first, found.last, found.nodes)
            if self.p.watched:
                yield Plan(record, found.start, found.nodes, promise=False)

    def _held_until(self, time: int) -> int:
        """Return until when a job that runs until `time` holds its nodes in the node space.

        It is one slot at least, also if the job is over its limit (_add_reservation).
        """
        return max(self.search.end_of(time), self.begin + self.p.resolution)

    def _show_late(self, record: SlurmRecord, start: int) -> Decisions:
        """Show a start behind the window: when, but not where, since no nodes are kept."""
        if record.preferred:
            return  # it is never planned for, and says nothing of later
        if self.p.watched and start > self.now + self.p.window and start < self.estimates.get(record.job.id, start + 1):
            yield Plan(record, start, promise=False)
        self._estimate(record.job, start)

    def _estimate(self, job: SlurmJob, start: int) -> None:
        self.estimates[job.id] = min(start, self.estimates.get(job.id, start))
