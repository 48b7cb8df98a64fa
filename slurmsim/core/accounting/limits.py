"""Association, QOS and partition-QOS limits: who may submit, who may start, who is ended.

Only with AccountingStorageEnforce=limits. The main pass, backfill and every other policy ask the same questions: may
nodes be looked for (`before`), may this allocation or plan be had (`after`), can the job start at all now, whatever
nodes are free (`bars`). A policy that is the scheduler itself does not see jobs that a limit bars, so these block no
other job. Fair share counts what has been *used* (`Ledger`); its periods come here too (`period`).
Mirrors src/slurmctld/acct_policy.c (22.05) and its callers.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap
from slurmsim.core.accounting.job_limits import JobLimits
from slurmsim.core.accounting.limit_columns import NAMES, NOTHING, NUMBERS, LimitTests
from slurmsim.core.accounting.limit_counters import LimitCounters
from slurmsim.core.accounting.limit_enforcement import LimitEnforcement
from slurmsim.core.accounting.limit_reasons import LIMIT_REASONS
from slurmsim.core.accounting.limit_rules import UNLIMITED_MIN, Demand
from slurmsim.core.records.job import ONE_YEAR_S, Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.messages import Fact, Submit
from slurmsim.core.records.observer import Observer
from slurmsim.errors import SubmitError
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.placement.compiled_request import CompiledRequest
    from slurmsim.core.records.allocation import Allocation
    from slurmsim.core.records.partition import Partition
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import QueueWay, RunWay

REFUSED: Final = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"

MOST_STANDINGS: Final = 10_000  # of which equal jobs share one


class Standing:
    """The demand of equal jobs and what was found of it, until a counter changes."""

    __slots__ = (
        "_bars", "_judged", "_plan_judged", "_plan_verdict", "_verdict", "before", "claim", "demand", "early", "exempt",
        "limit_s", "plan", "request", "stamp", "tests", "tried_cpus",
    )  # fmt: skip

    def __init__(self, claim: JobLimits, demand: Demand, record: Record) -> None:
        self.claim, self.demand, self.request = claim, demand, record.request
        self.limit_s, self.tried_cpus = record.job.time_limit_s, record.job.tried_cpus
        self.exempt = record.job.sub.exempt
        self.stamp = -1
        self.before: str | None = None  # the limit that forbids to even look for nodes
        self.early: str | None = None  # the same, or the node limit below the least number of nodes the jobs need
        self.plan: Demand | None = None  # the demand of a plan, where these are all of as many whole nodes
        self.tests: LimitTests | None = None  # all of it as integers, made when first read
        self._judged = self._plan_judged = -1
        self._bars: str | None = None
        self._verdict: str | None = None
        self._plan_verdict: str | None = None

    def is_of(self, record: Record) -> bool:
        """Return True if the record's job still asks for the same."""
        job = record.job
        same = self.request is record.request and self.limit_s == job.time_limit_s and self.tried_cpus == job.tried_cpus
        return same and self.exempt == job.sub.exempt

    def judge(self, stamp: int) -> None:
        """Work out what holds the jobs before anybody looks for nodes."""
        self.stamp = stamp
        claim, demand = self.claim, self.demand
        self.before = self.early = next((r.reason for r in claim.before if r.broken(demand)), None)
        if self.early is None and claim.max_nodes is not None and self.request.min_nodes > claim.max_nodes[0]:
            self.early = claim.max_nodes[1]

    def _judge_request(self) -> None:
        self._judged = self.stamp
        self._bars = self._verdict = self.early
        if self.early is None:
            broken = [r for r in self.claim.after if r.broken(self.demand)]
            self._verdict = broken[0].reason if broken else None
            self._bars = next((r.reason for r in broken if r.sure), None)

    def bars(self) -> str | None:
        """Return the limit that surely forbids a start, whatever nodes are free."""
        if self._judged != self.stamp:
            self._judge_request()
        return self._bars

    def verdict(self) -> str | None:
        """Return the first limit that what the jobs ask for breaks."""
        if self._judged != self.stamp:
            self._judge_request()
        return self._verdict

    def plan_verdict(self) -> str | None:
        """Return the first limit that `plan` breaks."""
        plan = self.plan
        assert plan is not None
        if self._plan_judged != self.stamp:
            self._plan_judged = self.stamp
            self._plan_verdict = next((r.reason for r in self.claim.after if r.broken(plan)), None)
        return self._plan_verdict


class Limits(Observer):
    """The tests, and what follows from them."""

    def __init__(self, state: ControllerState, queue_way: QueueWay, runs: RunWay) -> None:
        self.state, self._queue_way = state, queue_way
        assert state.tree is not None
        self.counters = LimitCounters(state.tree, state.billing, safe=state.enforce.safe)
        # SchedulerParameters=assoc_limit_stop: a limited job blocks its partition in the main scheduler
        self.stop = "assoc_limit_stop" in state.spec.scheduler_parameters
        # waiting, narrowed: jobs an event-driven policy does not see, or not in all their partitions, by id
        self.waiting: dict[int, Job] = {}
        self.narrowed: dict[int, Job] = {}
        self._standings: dict[tuple[int, int, int, bool, int, str], Standing] = {}
        self._capped: dict[tuple[CompiledRequest, int], CompiledRequest] = {}
        self._arrays: dict[int, int] = {}  # tasks of each array that comes at this instant
        self._refused_arrays: dict[int, str] = {}
        self._swept = (-1, -1)
        self.enforcement = LimitEnforcement(state, runs, self.counters, self.waiting)

    # -- submission -----------------------------------------------------------------------------------------------

    def announce(self, facts: Sequence[Fact]) -> None:
        """Take note of the facts of this instant: a job array is taken or refused as a whole."""
        arrays = [f.sub.array_job_id for f in facts if type(f) is Submit and f.sub.array_job_id is not None]
        self._arrays = Counter(arrays) if arrays else {}  # as a rule there are none, and counting them took 2 %
        self._refused_arrays = {}

    def announced_to(self, before: Limits) -> None:
        """Take the place of `before`, which was told the facts of this instant."""
        self._arrays, self._refused_arrays = before._arrays, before._refused_arrays

    def admit(self, job: Job, *, again: bool = False) -> None:
        """Test a submission, but none of a job taken in `again`, and keep it to the nodes it may get.

        Raises SubmitError with the limit's name and Slurm's text; nothing has changed then.
        """
        if job.branch is None:
            return
        array = job.sub.array_job_id
        if array is not None and array in self._refused_arrays:
            raise SubmitError(self._refused_arrays[array])
        n_jobs = 1 if array is None else self._arrays.get(array, 1)
        requests = list(job.requests)
        for at, (partition, request) in enumerate(zip(job.partitions, job.requests, strict=True)):
            claim = self.counters.claim(job, partition)
            assert claim is not None
            if n_jobs and not again:  # a later task was accepted with the first
                demand = self._asked(job, 1.0, partition, request)
                demand.n_jobs = n_jobs
                reason = next((r.reason for r in claim.submit if r.broken(demand)), None)
                if reason is not None:
                    if array is not None:
                        self._refused_arrays[array] = f"{reason}: {REFUSED}"
                    raise SubmitError(f"{reason}: {REFUSED}")
            requests[at] = self._cap(request, claim)
        if array is not None:
            self._arrays[array] = 0
        job.requests = tuple(requests)
        job.request = job.requests[0]

    def give_limit(self, job: Job) -> None:
        """Give a job without a time limit the shortest wall time of its limits (acct_policy's _set_time_limit)."""
        claims = [self.counters.claim(job, partition) for partition in job.partitions]
        walls = [wall for claim in claims if claim is not None for wall in claim.walls_min]
        if walls:
            job.limit_fixed = True
            job.time_limit_s = min(job.time_limit_s, min(walls) * 60)

    def submitted(self, job: Job) -> None:
        self.counters.submitted(job)

    def show(self, job: Job) -> None:
        """`job` was submitted: sbatch's own test already names a limit that bars it, whatever else it waits for."""
        queued = self.state.queue.jobs.get(job.id)
        reason = self.before(queued[0] if queued else Record(job, job.partition, job.requests[0], job.priority, False))
        if reason is not None:
            self.state.set_reason(job, reason)

    def cap(self, job: Job, partition: Partition, request: CompiledRequest) -> CompiledRequest:
        """`request`, newly compiled for a job that has been admitted, kept to the nodes it may get."""
        claim = self.counters.claim(job, partition)
        return request if claim is None else self._cap(request, claim)

    def _cap(self, request: CompiledRequest, claim: JobLimits) -> CompiledRequest:
        """Return `request` kept to the nodes the limits allow, if that leaves it any choice (get_node_cnts)."""
        if claim.max_nodes is None or not request.min_nodes <= claim.max_nodes[0] < request.max_nodes:
            return request
        most = claim.max_nodes[0]
        capped = self._capped.get((request, most))
        if capped is None:
            capped = self._capped[request, most] = copy(request)
            capped.max_nodes = most
            capped.target_nodes = min(capped.target_nodes, most)
            capped.possible = capped.cpus_when_empty = None
            capped.limits_met = set()
            if request.preferred is not None:
                capped.preferred = self._cap(request.preferred, claim)
        return capped

    # -- what a job asks for --------------------------------------------------------------------------------------

    def _asked(self, job: Job, factor: float, partition: Partition, request: CompiledRequest) -> Demand:
        """Return the demand of a job without chosen nodes; its time limit counts `factor` times."""
        if job.limit_fixed:
            minutes = UNLIMITED_MIN if job.time_limit_s >= ONE_YEAR_S else -(-job.time_limit_s // 60)
        else:
            most = partition.spec.max_time_s
            minutes = UNLIMITED_MIN if most is None else most // 60
        counts = self._counted(job, request)
        n_cpus = job.tried_cpus or request.told_cpus  # slurmctld goes by what a test has found, if one has
        counts["mem"] += (n_cpus - request.told_cpus) * request.told_mem_cpu
        counts["cpu"], counts["node"] = n_cpus, request.target_nodes
        vector = self.counters.vector(counts, partition)
        return Demand(int(minutes * factor), job.limit_fixed, vector, request.required, request.target_nodes)

    def _counted(self, job: Job, request: CompiledRequest) -> dict[str, int]:
        """Return the TRES a pending job asks for; no memory where none is given, since limits go by what is given."""
        counts = self.state.billing.requested(job, request)
        if request.only_shows_memory:
            counts["mem"] = 0
        return counts

    def demand(self, job: Job, partition: Partition, request: CompiledRequest) -> Demand:
        """Return what a pending job puts against its limits in `partition`."""
        claim = self.counters.claim(job, partition)
        return self._asked(job, 1.0 if claim is None else claim.factor_safe, partition, request)

    def _standing(self, record: Record) -> Standing | None:
        job = record.job
        known: Standing | None = record.standing
        if known is None or not known.is_of(record):
            claim = self.counters.claim(job, record.partition)
            if claim is None:
                return None
            exempt = job.sub.exempt
            key = (id(claim), id(record.request), job.time_limit_s, job.limit_fixed, job.tried_cpus, exempt)
            known = self._standings.get(key)
            if known is None:
                if len(self._standings) >= MOST_STANDINGS:
                    self._standings.clear()  # records keep theirs
                claim = claim.without(exempt) if exempt else claim
                demand = self._asked(job, claim.factor_safe, record.partition, record.request)
                known = self._standings[key] = Standing(claim, demand, record)
            record.standing = known
        version = self.counters.version
        if known.stamp != version:
            known.judge(version)
        return known

    def forget_standings(self) -> None:
        """Forget all standings; each is made again when it is next read."""
        self._standings.clear()

    # -- the tests of a pass --------------------------------------------------------------------------------------

    def before(self, record: Record) -> str | None:
        """Return the limit that forbids to even look for nodes, None if there is none."""
        standing = self._standing(record)
        return None if standing is None else standing.before

    def early(self, record: Record) -> str | None:
        """Return the limit that forbids a start before any node is chosen: `before`, or `too_many_nodes`."""
        standing = self._standing(record)
        return None if standing is None else standing.early

    def too_many_nodes(self, record: Record) -> str | None:
        """Return the node limit below the least number of nodes the job needs, or None."""
        standing = self._standing(record)
        if standing is None or standing.claim.max_nodes is None:
            return None
        most, reason = standing.claim.max_nodes
        return reason if record.request.min_nodes > most else None

    def heavier(self, record: Record) -> Bitmap:
        """Return the nodes that weigh one more for the record's job.

        If a node limit counts several jobs together, the nodes that these have are preferred: of the nodes of one line
        of slurm.conf the others weigh one more. A line without such nodes stays as it is (_build_node_list).
        """
        standing = self._standing(record)
        if standing is None or not standing.claim.preferred:
            return 0
        theirs: Bitmap = 0
        for in_use in standing.claim.preferred:
            theirs |= in_use.nodes
        if not theirs:
            return 0
        table, candidates, others = self.state.table, record.request.candidates, 0
        for line in table.lines:
            mine = line if candidates == table.everything else line & candidates
            used = mine & theirs
            if used:
                others |= mine ^ used
        return others

    def after(self, record: Record, alloc: Allocation | None, nodes: Bitmap = 0) -> str | None:
        """Return the limit that an allocation would break, or None.

        Without an allocation the planned nodes (`nodes`) are tested, or the request. slurmctld makes this test also
        when it has found no nodes, so that a limited job blocks no other job.
        """
        standing = self._standing(record)
        if standing is None or not standing.claim.after:
            return None
        if nodes and alloc is None and record.request.known_amount:
            return self._plan_verdict(record, standing)  # wherever they are, and remembered
        demand = standing.demand
        if alloc is not None:
            demand = self._given(record, demand, alloc)
        elif nodes:
            demand = self._planned(record, demand, nodes.bit_count(), self.state.table.cpus_on(nodes))
        return next((r.reason for r in standing.claim.after if r.broken(demand)), None)

    def _given(self, record: Record, asked: Demand, alloc: Allocation) -> Demand:
        tres = self.counters.vector(self.state.billing.allocated(alloc), record.partition)
        return Demand(asked.minutes, asked.given, tres, alloc.mask, alloc.n_nodes)

    def forbids_alone(self, record: Record, alloc: Allocation | None) -> bool:
        """Return True if a limit forbids the record's job also with no job running.

        `alloc` is what it would get; None if that is not known: then only what forbids it anywhere counts.
        """
        standing = self._standing(record)
        if standing is None:
            return False
        claim, asked = standing.claim, standing.demand
        if self.too_many_nodes(record) is not None or any(rule.broken_alone(asked) for rule in claim.before):
            return True
        given = asked if alloc is None else self._given(record, asked, alloc)
        return any(rule.broken_alone(given) for rule in claim.after if rule.sure or alloc is not None)

    def after_plan(self, record: Record) -> str | None:
        """Return what `after` will say of a plan on any nodes: equal whole nodes without a choice."""
        standing = self._standing(record)
        return None if standing is None else self._plan_verdict(record, standing)

    def _plan_verdict(self, record: Record, standing: Standing) -> str | None:
        if not standing.claim.after:
            return None
        self._plan_of(record, standing)
        return standing.plan_verdict()

    def _plan_of(self, record: Record, standing: Standing) -> Demand:
        """Return the demand of a plan of equal whole nodes."""
        plan = standing.plan
        if plan is None:
            n = record.request.node_need
            plan = standing.plan = self._planned(record, standing.demand, n, n * record.request.cpus_each)
        return plan

    # -- as integers ----------------------------------------------------------------------------------------------

    def tests(self, record: Record) -> LimitTests | None:
        """The tests of the record's job, which gets equal whole nodes and names none; None: nothing limits it.

        They are those of `before`, `early`, `verdict` and, where its amount is known, of `after_plan`.
        """
        standing = self._standing(record)
        if standing is None:
            return None
        columns = self.counters.columns
        if standing.tests is None or standing.tests.of is not columns:
            claim, request, early = standing.claim, record.request, list[int]()
            if claim.max_nodes is not None and request.min_nodes > claim.max_nodes[0]:
                early = [NOTHING, request.min_nodes, claim.max_nodes[0], NUMBERS[claim.max_nodes[1]]]
            standing.tests = LimitTests(
                columns, columns.rows(claim.before, standing.demand), early, columns.rows(claim.after, standing.demand),
                columns.rows(claim.after, self._plan_of(record, standing)),
            )  # fmt: skip
        return standing.tests

    def gauges(self) -> array[int]:
        """Return what the gauges of `tests` read now, by column."""
        return self.counters.columns.read(self.counters.version)

    @staticmethod
    def number_shown(job: Job) -> int:
        """Return the number of the limit `job` shows as its reason; 0 where that is none."""
        return NUMBERS.get(job.reason, 0)

    @staticmethod
    def named(number: int) -> str:
        """Return the limit of that number, as the reason to show."""
        return NAMES[number]

    def _planned(self, record: Record, demand: Demand, n_nodes: int, n_cpus: int) -> Demand:
        """Return the demand of a plan on so many nodes and CPUs, without their shares."""
        request = record.request
        counts = self._counted(record.job, request)
        counts["cpu"] = max(n_cpus, request.told_cpus) if request.whole else request.told_cpus
        counts["mem"] += (n_nodes - request.min_nodes) * request.mem_node
        counts["node"] = n_nodes
        vector = self.counters.vector(counts, record.partition)
        # all of them count as new ones: slurmctld looks for nodes in use only where an allocation has been made
        return Demand(demand.minutes, demand.given, vector, request.required, n_nodes)

    def bars(self, record: Record) -> str | None:
        """Return the limit that forbids a start now, whatever nodes are free; remembered until a counter changes."""
        standing = self._standing(record)
        return None if standing is None else standing.bars()

    def verdict(self, record: Record) -> str | None:
        """Return the first limit that what the job asks for breaks now, None if there is none."""
        standing = self._standing(record)
        return None if standing is None else standing.verdict()

    @staticmethod
    def shown(job: Job) -> bool:
        """Return True if the reason `job` shows is a limit."""
        return job.reason in LIMIT_REASONS

    def blocking_qos(self, record: Record) -> str:
        """Return the QOS with the group limit that holds the record's job, or ""."""
        standing = self._standing(record)
        if standing is None or not record.job.reason.startswith("QOSGrp"):
            return ""
        return next((r.qos for r in standing.claim.after if r.broken(standing.demand)), "")

    @staticmethod
    def qos_of(record: Record) -> tuple[str, str]:
        """QOS of the record's job and partition, "" for none."""
        own, part = record.job.qos_spec, record.partition.qos
        return own.name if own is not None else "", part.name if part is not None else ""

    def min_prio(self, record: Record) -> int:
        """MinPrioThreshold: below it a job that must wait reserves nothing; 0 for none."""
        standing = self._standing(record)
        return 0 if standing is None else standing.claim.min_prio

    # -- what the controller tells --------------------------------------------------------------------------------

    def held_back(self, job: Job) -> None:
        """Take note that `job` was held."""
        self.waiting.pop(job.id, None)
        self.narrowed.pop(job.id, None)

    def started(self, job: Job, now: int) -> None:
        held = self.counters.began(job, now)
        if held is not None:
            self.enforcement.began(job, held)

    def released(self, job: Job, now: int) -> None:
        held = self.counters.released(job)
        if held is not None:
            self.enforcement.released(held)
            self._reconsider()

    def gone(self, job: Job) -> None:
        self.counters.gone(job)
        self.held_back(job)

    def resized(self, job: Job, now: int) -> None:
        self.released(job, now)
        self.started(job, now)

    def time_limit_changed(self, job: Job) -> None:
        """Count a running job again with its new time limit."""
        self.counters.owe(job, self.state.now)

    def period(self, _before: int, now: int) -> None:
        """Follow a run of the priority thread: usage has grown or decayed, and what is owed shrinks."""
        counters = self.counters
        if not (counters.owes or counters.spendable):
            return
        if counters.owes:
            for job_id in counters.held:
                counters.owe(self.state.jobs[job_id], now)
        counters.version += 1
        self.enforcement.usage_changed()
        if self.state.queue.jobs:
            self.state.triggers.dirty = True
            self.state.triggers.changed = True
        self._reconsider()

    # -- policies that are the scheduler --------------------------------------------------------------------------

    def withhold(self, job: Job) -> bool:
        """Keep `job` from an event-driven policy while a limit bars it in all its partitions."""
        records = [Record(job, p, r, 0, False) for p, r in zip(job.partitions, job.requests, strict=True)]
        reasons = [self.bars(record) for record in records]
        if any(reason is None for reason in reasons):
            return False
        self.waiting[job.id] = job
        self.state.set_reason(job, reasons[0] or Reason.NONE)
        return True

    def _reconsider(self) -> None:
        """Queue the jobs that no limit bars any more, after a change of a counter."""
        for job in self.narrowed.values():
            if job.queued:
                self._queue_way.withdraw(job)
        waiting = [*self.waiting.values(), *self.narrowed.values()]
        self.waiting.clear()
        self.narrowed.clear()
        for job in waiting:
            if job.state == JobState.PENDING and not job.queued:
                self._queue_way.consider(job)

    def sweep(self) -> None:
        """Take the jobs that a limit bars now out of the queue, so that they block no other job."""
        state = (self.counters.version, len(self.state.queue))
        if self._swept == state:
            return
        for records in list(self.state.queue.jobs.values()):
            reasons = [self.bars(record) for record in records]
            if None not in reasons:
                self.refuse(records[0].job, reasons[0] or Reason.NONE)
        self._swept = (self.counters.version, len(self.state.queue))

    def refuse(self, job: Job, reason: str, partition: Partition | None = None) -> None:
        """Let `job` wait where an event-driven policy does not see it, as it may not start now.

        Where only one of its partitions forbids it (`partition`), it waits on in the others.
        """
        if partition is not None and self.state.queue.leave_only(job, partition):
            self.narrowed[job.id] = job
            self.state.generation += 1
            self.state.triggers.changed = True
            return
        self._queue_way.step_out(job)
        self.waiting[job.id] = job
        self.state.set_reason(job, reason)

    # -- checks ---------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Recount all counters; raises InvariantError on a difference."""
        self.counters.check([entry[2] for entry in (*self.state.running, *self.state.suspended)])
