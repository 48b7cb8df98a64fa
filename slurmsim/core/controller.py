"""The controller: a deterministic state machine told facts with their time, answering with actions.

It never asks what time it is, never sleeps, reads, writes or starts anything. `step` is the only way in: apply the
facts of one instant in the fixed order of `messages`, let due timers happen, then schedule once. `wake_at` says when
it wants to be called next even if nothing happens.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from copy import copy
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.accounts import Accounts, Enforcement, heed_barred, refusal
from slurmsim.core.alarms import Alarms
from slurmsim.core.alterations import Alterations
from slurmsim.core.associations import AssociationTree
from slurmsim.core.at_submit import AtSubmit
from slurmsim.core.billing import Billing
from slurmsim.core.cluster_state import ClusterState
from slurmsim.core.deadlines import Deadlines
from slurmsim.core.edits import Edits
from slurmsim.core.eligibility import Eligibility
from slurmsim.core.gang import Gang, takes_turns
from slurmsim.core.job import ONE_YEAR_S, Job
from slurmsim.core.job_queue import JobQueue, Record
from slurmsim.core.licenses import Licenses
from slurmsim.core.limits import Limits
from slurmsim.core.main_scheduler import MainScheduler
from slurmsim.core.messages import (
    Action,
    Cancel,
    Fact,
    Finished,
    Hold,
    JobEnded,
    Kill,
    Launch,
    LaunchFailed,
    Refused,
    Release,
    Requeue,
    Requeued,
    RequeueHold,
    ResizeJob,
    Resume,
    SetPartitionState,
    StartAtOnce,
    Submit,
    Suspend,
)  # fmt: skip
from slurmsim.core.node_states import NodeStates
from slurmsim.core.nodes import Allocation
from slurmsim.core.owners import Owners
from slurmsim.core.partitions import Partition
from slurmsim.core.patience import Patience
from slurmsim.core.policy_host import PolicyHost
from slurmsim.core.power import launch, make_power
from slurmsim.core.preemption import Preemption
from slurmsim.core.priority import make_priority
from slurmsim.core.qos_flags import QosFlags
from slurmsim.core.recalculation import Recalculation
from slurmsim.core.release_rules import rules_of
from slurmsim.core.requeues import Requeues
from slurmsim.core.reservations import Reservations
from slurmsim.core.resize import Resizes
from slurmsim.core.shape import NOT_AVAILABLE
from slurmsim.core.suspension import Suspension
from slurmsim.core.usage import Usage
from slurmsim.errors import InvariantError, SubmitError
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.submission import Submission
from slurmsim.policy import Policy
from slurmsim.states import NODES_REQUIRED_TEXT, REFUSED, REQUEUED, JobState, Reason, is_held

LIMIT_SCAN_S = 30  # slurmctld looks for jobs over their limit that often
REQUEUE_DELAY_S = 121  # credential lifetime 120 s + 1
Event = tuple[int, str, int | None, str, str, str, str, int | None, str]
_order = attrgetter("order")


class Controller:
    """All of slurmctld that decides.

    Parameters
    ----------
    cluster
        Validated configuration.
    policy
        The scheduler plugin.
    start_time
        When slurmctld starts; the phase of every periodic work.
    accounting
        Associations and QOS; None as without slurmdbd: any account and QOS is taken and only shown.
    enforce_limits
        False leaves ending jobs at their limit to the driver (replays of recorded elapsed times).
    """

    def __init__(
        self,
        cluster: ClusterSpec,
        policy: Policy,
        start_time: int,
        *,
        accounting: Accounting | None = None,
        enforce_limits: bool = True,
    ) -> None:
        self.cluster, self.policy = cluster, policy
        self.rules = rules_of(cluster.release)
        self.now = self.start_time = start_time
        self.state = ClusterState(cluster)
        self.table, self.selector = self.state.table, self.state.selector
        self.partitions = self.state.partitions
        self.tree = AssociationTree(accounting) if accounting is not None else None
        enforced = cluster.option("AccountingStorageEnforce") if self.tree is not None else None
        self.enforce = Enforcement.parse(enforced or ())
        self.accounts = Accounts(self.tree, self.enforce, self.partitions) if self.tree is not None else None
        self.queue = JobQueue(self.state.n_pools, fifo=self.rules.walks_job_table and _walks_job_table(cluster, policy))
        self.created = 0
        self.billing = Billing(cluster, self.table)
        self.priority = make_priority(cluster, self.partitions, self.table.total_cpus, self.billing)
        self.usage = Usage(self.table, self.partitions)
        self.jobs: dict[int, Job] = {}
        self.running: list[tuple[int, int, Job]] = []
        self.unusable: Bitmap = self.table.everything & ~self.table.up  # down or drained
        self.generation = 0  # any change but an arrival
        self.edits = 0  # node events, new priorities, edits: changes no plan survives
        self.backfilled = 0
        # pending jobs an event-driven policy may not see in all their partitions, because of limits or states
        self.limited: dict[int, Job] = {}
        self.events: list[Event] = []
        self.actions: list[Action] = []
        self.enforce_limits = enforce_limits
        self.event_driven = policy.event_driven
        over = cluster.option("OverTimeLimit")
        self.over_limit_s = ONE_YEAR_S if over is None else over
        self._one_over_limit = self.event_driven or all(
            p.over_time_limit_s in (None, self.over_limit_s) for p in cluster.partitions
        )
        kill_invalid = "kill_invalid_depend" in cluster.option("DependencyParameters")
        self.eligibility = Eligibility(self, min_job_age=cluster.option("MinJobAge"), kill_invalid=kill_invalid)
        self.reservations = Reservations(self)
        self.licenses = Licenses(self, cluster.option("Licenses"))
        self.deadlines = Deadlines(self)
        self._begin_heap: list[tuple[int, int]] = []
        self.alarms = Alarms()
        self.owners = Owners() if any(p.exclusive_user for p in cluster.partitions) else None
        self.patience = Patience(self)
        self._next_recalc = start_time
        self.suspension = Suspension(self)
        self.node_states, self.resizes, self.requeues = NodeStates(self), Resizes(self), Requeues(self)
        self.edits_of_jobs, self.alterations = Edits(self), Alterations(self)
        self.power = make_power(self)
        self.usage.power = self.power
        self.recalculation = Recalculation(self)
        self.book, self.accrual = self.recalculation.book, self.recalculation.accrual
        self.qos_flags = QosFlags(self)
        self.main = MainScheduler(self, cluster.scheduler_parameters)
        gang = takes_turns(cluster) and not self.event_driven
        preempts = cluster.option("PreemptType") != "preempt/none" and not self.event_driven
        self.preemption = Preemption(self) if preempts or gang else None
        self.gang = Gang(self) if gang else None
        self.host = PolicyHost(self, policy)
        self.limits = Limits(self) if self.enforce.limits else None
        self._handlers: dict[type, Callable[[Any], None]] = {
            Submit: self._submit, JobEnded: self._job_ended, Cancel: self._cancel, Requeue: self.requeues.on_requeue,
            RequeueHold: self.requeues.on_requeue_hold, LaunchFailed: self.requeues.on_launch_failed,
            ResizeJob: self.resizes.on_resize, **self.node_states.handlers(),
            Hold: self.hold, Release: self._release, **self.edits_of_jobs.handlers(), **self.alterations.handlers(),
            SetPartitionState: self._set_partition_state, **self.reservations.handlers(),
            Suspend: self.suspension.on_suspend, Resume: self.suspension.on_resume,
            StartAtOnce: AtSubmit(self).on_start_at_once,
        }  # fmt: skip

    # -- the two calls a driver makes ---------------------------------------------------------------------------

    def step(self, now: int, facts: list[Fact]) -> list[Action]:
        """Everything of the instant `now`: facts, timers, one scheduling pass. Returns the actions, in order."""
        self.note(now, facts)
        if not self.event_driven:
            self.main.run_if_due(now)
        elif self.reservations.all:
            self.reservations.jobs.serve()
        if not (facts and self.main.ticks) or self.event_driven:
            self.host.run_if_due(now)
        if self.preemption is not None:
            self.main.follow_up()
        return self.actions

    def note(self, now: int, facts: list[Fact]) -> list[Action]:
        """Facts and timers of `now` without scheduling: for a driver that has its own idea of when passes come."""
        if now < self.now:
            raise InvariantError(f"time runs backwards: {now} after {self.now}")
        self.actions = []
        if self.recalculation.next_at < now:
            self.recalculation.catch_up(now)
        self.now = now
        if len(facts) > 1:
            facts.sort(key=_order)
        if self.limits is not None:
            self.limits.announce(facts)
        handlers = self._handlers
        for fact in facts:
            handlers[type(fact)](fact)
        self._timers(now)
        return self.actions

    def run_pass(self, now: int, *, backfill: bool) -> list[Action]:
        """One scheduling pass at `now` whether it is due or not: the policy's (`backfill`) or a full main pass."""
        self.note(now, [])
        if backfill:
            self.host.run()
        else:
            self.main.run(full=True)
        return self.actions

    def wake_at(self) -> int | None:
        """When `step` wants to be called at the latest, None if only a new fact can matter."""
        quiet = not (self._begin_heap or self.alarms.heap or self.reservations.all or self.deadlines.jobs)
        quiet = quiet and self.limits is None
        if self.event_driven and quiet and not self.priority.period_s:
            at = self.host.wake
            if at is not None and at < self.now:
                at = self.now
            if self.running and self.enforce_limits:
                end = self.running[0][0]
                return end if at is None or end < at else at
            return at
        times = []
        if self.running and self.enforce_limits:
            times.append(self._next_limit_time())
        if self._begin_heap:
            times.append(self._begin_heap[0][0])
        if self.alarms.heap:
            times.append(self.alarms.heap[0][0])
        for due in (self.reservations.next_time(), self.deadlines.next_time(), self.recalculation.wake_at()):
            if due is not None:
                times.append(due)
        if self.limits is not None and self.running and (at := self.limits.overuse.next_scan) is not None:
            times.append(at)
        if not self.event_driven:
            at = self.main.next_time(self.now)
            if at is not None:
                times.append(at)
        for source in (self.preemption, self.gang):
            if source is not None and (at := source.next_time(self.now)) is not None:
                times.append(at)
        at = self.host.next_time(self.now)
        if at is not None:
            times.append(max(at, self.now + 1) if self.main.ticks else at)
        return min(times) if times else None

    # -- records --------------------------------------------------------------------------------------------------

    def record(self, event: str, job: Job, *, nodes: str = "", value: int | None = None, scheduler: str = "") -> None:
        """Note a state change or decision for the trace (schema EVENTS)."""
        self.events.append(
            (self.now, event, job.id, job.state, job.reason, job.partition.name, nodes, value, scheduler)
        )

    def set_reason(self, job: Job, reason: str) -> None:
        """Show `reason` for a pending job; recorded when it differs."""
        if job.reason != reason:
            job.reason = reason
            self.events.append((self.now, "REASON", job.id, job.state, reason, job.partition.name, "", None, ""))
            unsettled = reason in (Reason.NONE, Reason.RESOURCES, NODES_REQUIRED_TEXT) or len(job.partitions) > 1
            if unsettled and job.id in self.queue:
                self.queue.fresh[job.id] = job

    # -- submission ---------------------------------------------------------------------------------------------

    def _submit(self, fact: Submit) -> None:
        sub = fact.sub
        try:
            self.admit(sub)
        except SubmitError as error:
            where = ",".join(sub.partitions)
            self.events.append((self.now, "REFUSE", sub.job_id, REFUSED, error.text, where, "", None, ""))
            self.actions.append(Refused(sub, error.text))

    def admit(self, sub: Submission) -> Job:
        """Take a submission in. Raises SubmitError with Slurm's text, changing nothing."""
        if sub.job_id in self.jobs:
            raise SubmitError(f"Job id {sub.job_id} is in use")
        partitions, shapes = self.state.compiled(sub)
        job = Job(sub, partitions, shapes, self.now)
        if self.accounts is not None:
            self.accounts.admit(job)
            self.qos_flags.heed(job)
        if sub.barred:
            heed_barred(job)
        if job.claims:
            if sub.reservation:
                self.reservations.jobs.claim(job, sub.reservation)
            job.licenses = self.licenses.wanted(sub.licenses)
        self.set_time_limit(job)
        if self.limits is not None:
            self.limits.admit(job)
        shape, shapes = job.shape, job.shapes
        plain = len(shapes) == 1 and shape.possible and sub.array_task_id is None and partitions[0].state == "UP"
        if plain and job.bars is None and not job.threshold and job.time_limit_s in shape.limits_met:
            job.within_limits = self.edits  # its like has been admitted before
        else:
            self._check_admission(job)
        independent = not sub.dependency and sub.array_task_id is None
        if not independent:
            self.eligibility.register(job)
        if job.claims:
            self.deadlines.register(job)
        job.order = self.created
        self.created += 1
        self.jobs[job.id] = job
        if sub.request.exclusive_user and self.owners is None:
            self.owners = Owners(entry[2] for entry in self.running)
        self.usage.pending(job, +1)
        if self.limits is not None:
            self.limits.submitted(job)
        self.events.append((self.now, "SUBMIT", job.id, job.state, job.reason, job.partition.name, "", None, ""))
        if sub.hold:
            self.set_reason(job, Reason.HELD_USER)
        else:
            job.priority = min(self.priority.submit(job, self.now))
            if independent and sub.begin is None:
                self.enqueue(job)
            else:
                self.eligibility.consider(job)
            if self.limits is not None and job.queued:
                self.limits.show(job)
            if self.unusable and job.queued and sub.array_task_id is None and not self.event_driven:
                self.main.obstacles.show_unavailable(job)
        if not self.event_driven:
            self.main.request()
        self.host.changed = True
        return job

    def _check_admission(self, job: Job) -> None:
        """Everything a submission can be refused for. Raises SubmitError."""
        if job.sub.array_task_id is not None and job.sub.array_task_id >= self.cluster.option("MaxArraySize"):
            raise SubmitError("Invalid job array specification")
        partitions, shapes = job.partitions, job.shapes
        if any(p.state in ("DRAIN", "INACTIVE") for p in partitions):
            raise SubmitError("Required partition not available (inactive or drain)")
        self.check_partition_limits(job)
        broken = [self.limit_reason(job, p, s) for p, s in zip(partitions, shapes, strict=True)]
        possible = [self.selector.possible(s) for s in shapes]
        waits = [self._waits_without_nodes(job, *one) for one in zip(partitions, shapes, broken, strict=True)]
        if not any(waits) and not any(possible):
            raise SubmitError(NOT_AVAILABLE)
        if not any(broken) and all(possible) and job.bars is None and not job.threshold:
            job.within_limits = self.edits

    def _waits_without_nodes(self, job: Job, partition: Partition, shape: Any, broken: str | None) -> bool:
        """Whether a partition's limit lets a job wait that no nodes could serve."""
        if broken is None or not self.rules.tries_over_limits:
            return broken is not None
        barred = job.bars is not None and partition.index in job.bars
        return barred or broken in self.rules.but_limits or shape.max_nodes < shape.min_nodes

    def check_partition_limits(self, job: Job) -> None:
        """EnforcePartLimits: refuse what the limits of all its partitions, or of any, keep out. Raises SubmitError.

        A partition that starts nothing now has no limits (_part_access_check, job_mgr.c).
        """
        enforce = self.cluster.option("EnforcePartLimits")
        if enforce == "NO":
            return
        pairs = list(zip(job.partitions, job.shapes, strict=True))
        reasons = [self.limit_reason(job, p, s) if p.state == "UP" else None for p, s in pairs]
        reasons = [r if r in _ENFORCED else None for r in reasons]
        texts = [None if r is None else _ENFORCED[r] for r in reasons]
        for k, (p, s) in enumerate(pairs):
            if texts[k] in (None, _ENFORCED[Reason.PARTITION_TIME_LIMIT]) and s.required & ~p.mask:
                texts[k] = "Requested nodes not in this partition"
        found = [text for text in texts if text is not None]
        if found and (enforce == "ALL" or len(found) == len(texts)):
            raise SubmitError(refusal(job, reasons) or found[0])

    def set_time_limit(self, job: Job) -> None:
        """The time limit asked for, or the default one."""
        spec = job.partition.spec
        asked = job.sub.time_limit_s
        if asked is None:
            asked = spec.default_time_s
        if asked is None:
            job.limit_fixed = False
            job.time_limit_s = spec.max_time_s if spec.max_time_s is not None else ONE_YEAR_S
            if self.limits is not None:
                self.limits.give_limit(job)
        else:
            job.limit_fixed = True
            # Slurm keeps whole minutes, rounded up; the literature's policies keep the second
            job.time_limit_s = asked if self.event_driven else max(-(-asked // 60) * 60, 60)

    def limit_reason(self, job: Job, partition: Partition, shape: Any, *, shortened: bool = False) -> str | None:
        """The partition limit that keeps `job` from starting there (job_scheduler.c job_limits_check), or None.

        With `shortened` only its minimum time (--time-min), where it has one, counts against MaxTime, as in backfill.
        """
        spec = partition.spec
        if partition.state == "UP" and job.time_limit_s in shape.limits_met and job.bars is None and not job.threshold:
            return None
        if shape.min_cpus > partition.total_cpus:
            return Reason.PARTITION_CONFIG
        if spec.max_cpus_per_node is not None and shape.min_cpus > spec.max_cpus_per_node * partition.total_nodes:
            return Reason.PARTITION_CONFIG
        asked = shape.request
        too_few = asked.max_nodes and asked.max_nodes < shape.part_min_nodes
        too_many = shape.part_max_nodes is not None and max(asked.min_nodes, asked.max_nodes) > shape.part_max_nodes
        if shape.min_nodes > partition.total_nodes or too_few or too_many:
            return Reason.PARTITION_NODE_LIMIT
        most = shape.part_max_time_s
        too_long = most is not None and job.limit_fixed and job.time_limit_s > most
        if too_long and not (shortened and job.time_min_s and job.time_min_s <= (most or 0)):
            return Reason.PARTITION_TIME_LIMIT
        if job.bars is not None and partition.index in job.bars and self.cluster.option("EnforcePartLimits") != "NO":
            return Reason.PARTITION_CONFIG
        if partition.state == "DOWN":
            return Reason.PARTITION_DOWN
        if partition.state == "INACTIVE":
            return Reason.PARTITION_INACTIVE
        if job.threshold and self.qos_flags.too_low(job):
            return Reason.QOS_USAGE_THRESHOLD
        if partition.state == "UP" and not too_long:
            shape.limits_met.add(job.time_limit_s)
        return None

    def keeps_out(self, job: Job, partition: Partition, shape: Any, *, shortened: bool = False) -> str | None:
        """What keeps `job` from ever starting there as things are: a partition limit, or a bar; None for nothing."""
        reason = self.limit_reason(job, partition, shape, shortened=shortened)
        if reason is None and job.bars is not None and partition.index in job.bars:
            return job.bars[partition.index].text
        return reason

    # -- the queue ----------------------------------------------------------------------------------------------

    def free_to(self, record: Record, nodes: Bitmap) -> Bitmap:
        """Of `nodes`, those no other user's job closes to the record's job."""
        return nodes if self.owners is None else self.owners.open_to(record, nodes)

    def reach(self, record: Record, nodes: Bitmap, limit: int) -> Bitmap:
        """Of `nodes`, those the record's job may use from now for `limit` seconds, whoever has them."""
        nodes = self.free_to(record, nodes)
        if self.reservations.all:
            nodes &= self.reservations.access.examine(record, self.now, limit).nodes
        return nodes

    def place_now(self, record: Record, nodes: Bitmap, limit: int) -> Allocation | None:
        """Nodes of `nodes` and shares of them for the record's job, free now for `limit` seconds; None for none."""
        heavier = 0 if self.limits is None else self.limits.heavier(record)
        if self.reservations.all:
            alloc = self.reservations.access.place(record, nodes, limit, heavier)
        else:
            alloc = self.selector.place(record.shape, self.table, self.free_to(record, nodes), heavier=heavier)
        if alloc is None and self.suspension.jobs:
            alloc = self.suspension.beside(record.shape, self.reach(record, nodes, limit))
        return alloc

    def enqueue(self, job: Job) -> None:
        """`job` is independent and not held: it may start from now on.

        Under an event-driven policy it is queued only for the partitions it could start in, as limits and states are,
        or it would be first in line there for ever; Slurm's own scheduler keeps all records and passes over them.
        """
        if job.reservations and self.reservations.jobs.keep_out(job):
            return
        wanted: tuple[bool, ...] | None = None
        if self.event_driven and job.within_limits != self.edits:
            wanted = self._may_start(job)
            self.limited.pop(job.id, None)
            if not all(wanted):
                self.limited[job.id] = job
                if not any(wanted):
                    reasons = [self.keeps_out(job, p, s) for p, s in zip(job.partitions, job.shapes, strict=True)]
                    self.set_reason(job, next((r for r in reasons if r is not None), Reason.BAD_CONSTRAINTS))
                    return
        if job.eligible_time is None:
            job.eligible_time = max(self.now, job.begin or 0)
            if job.eligible_time > job.submit_time:
                self.record("ELIGIBLE", job)
        if self.accrual is not None:
            self.accrual.eligible(job, self.now)
        if job.priority == 0:
            values = self.priority.submit(job, self.now)
        else:
            values = self.priority.recalculate(job, self.now)
        job.priority = min(values)
        if self.event_driven and self.limits is not None and self.limits.withhold(job):
            return
        if job.claims and self.event_driven and not self.licenses.enter(job):
            return
        job.queued = True
        self.main.came()
        if self.reservations.all:
            behind = self.queue.add_through(self.reservations.jobs.of(job), job, values, wanted)
        else:
            behind = self.queue.add(job, values, wanted)
        if job.reason in _KEPT_UNTIL_LOOKED_AT and not self.event_driven and self.main.enabled:
            self.queue.unasked[job.id] = job
        elif job.reason != Reason.NONE:
            self.set_reason(job, Reason.NONE)
        if behind and not self.event_driven and job.reason == Reason.NONE:
            self.set_reason(job, Reason.PRIORITY)

    def _may_start(self, job: Job) -> tuple[bool, ...]:
        """Per partition of `job`: whether limits, state and the cluster as configured let it start there at all."""
        pairs = zip(job.partitions, job.shapes, strict=True)
        return tuple([self.keeps_out(job, p, s) is None and self.selector.possible(s) for p, s in pairs])

    def _limits_changed(self) -> None:
        """An edit of limits or partition states: queue jobs for the partitions they may start in now."""
        if not self.event_driven:
            return
        queued = [records[0].job for records in self.queue.jobs.values()]
        for job in [*queued, *[job for job in self.limited.values() if not job.queued]]:
            partitions = [r.partition for r in self.queue.jobs.get(job.id, ())]
            if partitions != [p for p, ok in zip(job.partitions, self._may_start(job), strict=True) if ok]:
                self.withdraw(job)
                self.enqueue(job)

    def dequeue(self, job: Job) -> int:
        """`job` may not start any more (held, throttled, ended). How many were ahead of it in its (last) pool."""
        if not job.queued:
            return 0
        job.queued = False
        self.generation += 1
        if job.claims and self.event_driven:
            self.licenses.leave(job)
        return self.queue.remove(job)

    def withdraw(self, job: Job) -> None:
        """`job` leaves the queue unstarted."""
        if job.queued:
            for record in self.queue.jobs[job.id]:
                self.queue.pools[record.partition.pool].leave(job, None)
            self.dequeue(job)
            if self.licenses.lacking:
                self.licenses.retry()
        self.host.changed = True

    def start(self, record: Record, alloc: Allocation, scheduler: str, limit: int | None = None) -> None:
        """Give `record`'s job its allocation and launch it; with `limit` that becomes its time limit, seconds."""
        job, now = record.job, self.now
        if len(job.partitions) == 1:
            job.depth = self.dequeue(job)
        elif job.queued:
            job.depth = self.queue.pools[record.partition.pool].position(record)
            self._leave_other_pools(record)
            self.dequeue(job)
        if job.claims or self.limited:
            self._forget(job)
        self.usage.pending(job, -1)
        if record.reservation is not None:
            job.reservation = record.reservation
            job.reservation_name = job.sub.reservation or record.reservation.name
        if job.claims:
            self.licenses.take(job)
        job.partition, job.shape, job.priority = record.partition, record.shape, record.priority
        job.alloc, job.nodes, job.n_nodes, job.n_cpus = alloc, alloc.mask, alloc.n_nodes, alloc.n_cpus
        if limit is not None:
            job.time_limit_s = limit
        elif not job.limit_fixed:
            maximum = job.partition.spec.max_time_s
            job.time_limit_s = maximum if maximum is not None else ONE_YEAR_S
        job.start_time = job.held_since = now
        job.end_limit = now + job.time_limit_s
        job.state = JobState.RUNNING
        job.reason = Reason.NONE
        job.planned_start = None
        job.scheduler = scheduler
        if self.book is not None:
            self.book.started(job, now)
        if self.accrual is not None:
            self.accrual.left(job)
        newly = self.table.allocate(alloc)
        if self.suspension.jobs:
            newly = self.suspension.alone(job)
        self.selector.forget_future()
        self.usage.change(job, +1, newly)
        if self.owners is not None:
            self.owners.add(job)
        if self.limits is not None:
            self.limits.began(job)
        insort(self.running, (job.end_limit, job.id, job))
        if job.depth and scheduler != "Main":
            self.backfilled += 1
        self.events.append(
            (now, "START", job.id, job.state, job.reason, job.partition.name, self.state.node_list(alloc), job.depth,
             scheduler)
        )  # fmt: skip
        launch(self, job)
        if self.gang is not None:
            self.gang.started(job)
        if not self.event_driven:
            self.host.changed = True
        if self.eligibility.dependents:
            self.eligibility.started(job)

    def ready(self, job: Job) -> None:
        """The nodes of `job` have booted: its processes start, and its limit counts from now."""
        assert job.end_limit is not None
        del self.running[bisect_left(self.running, (job.end_limit, job.id, job))]
        job.start_time, job.end_limit, job.suspended_s = self.now, self.now + job.time_limit_s, 0
        insort(self.running, (job.end_limit, job.id, job))
        self.record("READY", job)
        self.actions.append(Launch(job))
        self.changed()

    def _forget(self, job: Job) -> None:
        """`job` waits no more outside the queue."""
        self.limited.pop(job.id, None)
        self.reservations.jobs.forget(job)
        self.licenses.lacking.pop(job.id, None)
        self.deadlines.forget(job)

    def _leave_other_pools(self, record: Record) -> None:
        """`record`'s job starts: where else it waited, others may move up in this very instant."""
        for pool in sorted({other.partition.pool for other in self.queue.jobs[record.job.id]}):
            if pool != record.partition.pool:
                self.queue.pools[pool].leave(record.job, None)
                if self.event_driven:
                    self.host.changed = True

    # -- ends -----------------------------------------------------------------------------------------------------

    def _job_ended(self, fact: JobEnded) -> None:
        job = self.jobs.get(fact.job_id)
        if job is None or job.restarts != fact.restarts or job.state not in (JobState.RUNNING, JobState.SUSPENDED):
            return  # news of an instance that is gone already
        state = fact.state
        if state == JobState.FAILED and self.requeues.after_exit(job, fact.exit_code):
            return
        job.exit_code = fact.exit_code
        reason = Reason.NON_ZERO_EXIT if state == JobState.FAILED else Reason.NONE
        self.finish(job, state, reason)

    def finish(self, job: Job, state: str, reason: str) -> None:
        """`job` reaches a final state now; its nodes are free at once."""
        was_running = job.alloc is not None and job.state in (JobState.RUNNING, JobState.SUSPENDED)
        if was_running:
            self._give_back(job, by_itself=state in (JobState.COMPLETED, JobState.FAILED))
        else:
            self.withdraw(job)
            self.usage.pending(job, -1)
        job.move(state)
        job.reason = reason
        job.end_time = self.now
        self.events.append((self.now, "END", job.id, state, reason, job.partition.name, "", None, ""))
        del self.jobs[job.id]
        if self.accrual is not None:
            self.accrual.left(job)
        if job.claims or self.limited:
            self._forget(job)
        if self.limits is not None:
            self.limits.gone(job)
        self.actions.append(Finished(job))
        if self.gang is not None:
            self.gang.ended(job)
        self.eligibility.ended(job, was_running)

    def _give_back(self, job: Job, *, by_itself: bool = False) -> None:
        assert job.alloc is not None
        if self.book is not None:
            self.book.ended(job, self.now)
        self.selector.forget_future()
        if job.state == JobState.SUSPENDED:
            freed = self.suspension.leave(job)
        else:
            freed = self.table.release(job.alloc)
            self.usage.change(job, -1, self.suspension.alone(job) if self.suspension.jobs else freed)
            entry = (job.end_limit, job.id, job)
            del self.running[bisect_left(self.running, entry)]
            self.suspension.ended(job)
        if self.owners is not None:
            self.owners.remove(job)
        if self.limits is not None:
            self.limits.released(job)
        if job.claims:
            self.licenses.give_back(job)
        self.generation += 1
        self.queue.pools[job.partition.pool].leave(job, job.end_limit)
        if self.node_states.to_reboot:
            self.node_states.freed(freed)
        if self.power is not None:
            self.power.freed(job, freed)
        if not self.event_driven:
            self.main.job_ended(by_itself=by_itself)
        self.host.changed = True

    def _cancel(self, fact: Cancel) -> None:
        job = self.jobs.get(fact.job_id)
        if job is None:
            return
        if job.state == JobState.PENDING:
            job.start_time = None
        else:
            job.exit_code = "0:15"
            self.actions.append(Kill(job))
        self.finish(job, JobState.CANCELLED, Reason.NONE)

    def requeue(self, job: Job, state: str = REQUEUED, reason: str = Reason.NONE) -> None:
        """Put a running job back: PENDING, eligible 121 s later, Restarts + 1.

        `state` and `reason` are those of the record of the run that ends: REQUEUED, NODE_FAIL or PREEMPTED.
        """
        assert job.alloc is not None
        run = copy(job)
        run.state, run.reason, run.end_time = state, reason, self.now
        run.suspended_s = self.suspension.seconds(job)
        self.actions += [Kill(job), Requeued(run)]
        nodes = self.state.node_list(job.alloc)
        held = job.reason if is_held(job.reason) else ""
        self._give_back(job)
        self.eligibility.requeued(job)
        job.move(JobState.PENDING)
        job.split()
        job.restarts += 1
        job.alloc, job.nodes = None, 0
        job.partition, job.shape = job.partitions[0], job.shapes[0]
        job.n_nodes, job.n_cpus = job.shape.min_nodes, job.shape.min_cpus
        job.start_time = job.end_limit = job.eligible_time = job.accrue_time = None
        job.submit_time = self.now
        job.begin = self.now + REQUEUE_DELAY_S
        job.reservation, job.reservation_name = None, ",".join(r.name for r in job.reservations)
        self.deadlines.register(job)
        job.reason = Reason.BEGIN_TIME
        self.set_time_limit(job)
        self.usage.pending(job, +1)
        job.suspended_s, job.preempt_time = 0, None
        self.record("REQUEUE", job, nodes=nodes)
        if self.gang is not None:
            self.gang.ended(job)
        if held:
            self.requeues.hold(job, held)
        else:
            self.eligibility.consider(job)

    def _edited(self) -> None:
        """Something changed that plans do not survive: everything is looked at again."""
        self.changed()
        self.main.request()

    def edited(self) -> None:
        """The same of a job or a partition, which may then start where it could not, or not where it could."""
        self._edited()
        self._limits_changed()

    def changed(self) -> None:
        """What is free, or usable, is not what plans were made from."""
        self.selector.forget_future()
        self.generation += 1
        self.edits += 1
        self.host.changed = True

    # -- edits ----------------------------------------------------------------------------------------------------

    def hold(self, fact: Hold) -> None:
        job = self.jobs.get(fact.job_id)
        if job is None:
            return
        if job.state != JobState.PENDING:  # it runs on, and will be held when it is requeued
            job.priority, job.eligible_time = 0, None
            self.set_reason(job, Reason.HELD_ADMIN if fact.admin else Reason.HELD_USER)
            return
        self.withdraw(job)
        self._forget(job)
        self.deadlines.register(job)
        self.eligibility.forget(job)
        job.split()
        if self.accrual is not None:
            self.accrual.held(job)
        if self.limits is not None:
            self.limits.held_back(job)
        job.priority = 0
        self.set_reason(job, Reason.HELD_ADMIN if fact.admin else Reason.HELD_USER)
        self.record("HOLD", job)

    def _release(self, fact: Release) -> None:
        job = self.jobs.get(fact.job_id)
        if job is None or not is_held(job.reason):
            return
        job.special = False
        if job.state != JobState.PENDING:  # as its hold, this concerns only what it does when it is requeued
            self.set_reason(job, Reason.NONE)
            job.priority = min(self.priority.submit(job, self.now))
            return
        self.record("RELEASE", job)
        self.set_reason(job, Reason.NONE)
        self.eligibility.consider(job)
        self.main.request()
        self.host.changed = True

    def move_end(self, job: Job, end: int) -> None:
        """The end of `job`, running or suspended, by its limit is `end` from now on."""
        jobs = self.running if job.state == JobState.RUNNING else self.suspension.jobs
        assert job.end_limit is not None
        del jobs[bisect_left(jobs, (job.end_limit, job.id, job))]
        job.end_limit = end
        insort(jobs, (end, job.id, job))
        self.selector.forget_future()

    def _set_partition_state(self, fact: SetPartitionState) -> None:
        partition = self.state.by_name[fact.partition]
        partition.state = fact.state
        for shape in self.state.shapes.values():
            shape.limits_met.clear()
        self.edited()

    # -- nodes ----------------------------------------------------------------------------------------------------

    def _node_event(self, state: str, reason: str, names: Sequence[str]) -> None:
        self.usage.touch_all()
        self.events.append((self.now, "NODE", None, state, reason, "", self.state.compress(names), None, ""))
        self._edited()

    def _mask(self, names: Sequence[str]) -> Bitmap:
        return from_indices(sorted(self.table.index[n] for n in names))

    def _set_up(self) -> None:
        """Which nodes can take jobs, and which count as down."""
        table, reservations = self.table, self.reservations
        table.up, table.down = table.everything & ~self.unusable, self.unusable
        if reservations.all:
            table.down |= reservations.active(maintenance=True)
            if self.event_driven:  # the policy has the rest
                table.up &= ~reservations.active()

    # -- timers -----------------------------------------------------------------------------------------------

    def wait_until(self, job: Job, begin: int) -> None:
        """Consider `job` again at `begin`."""
        heappush(self._begin_heap, (begin, job.id))

    def _limit_time(self, end: int, job: Job) -> int:
        """When `job`, with that end, is found over its limit."""
        if self.event_driven:
            return end
        own = job.partition.spec.over_time_limit_s
        return self.scan_after(end + (self.over_limit_s if own is None else own))

    def scan_after(self, due: int) -> int:
        """The first time-limit scan at or after `due`."""
        return due + (self.start_time - due) % LIMIT_SCAN_S

    def _next_limit_time(self) -> int:
        """When the next running job is found over its limit, if none ends before."""
        if self._one_over_limit:
            return self._limit_time(self.running[0][0], self.running[0][2])
        return min(self._limit_time(end, job) for end, _, job in self.running)

    def _timers(self, now: int) -> None:
        if self.reservations.all:
            self.reservations.turn(now)
        if self.deadlines.jobs:
            self.deadlines.turn(now)
        if self.alarms.heap:
            self.alarms.ring(now)
        heap = self._begin_heap
        while heap and heap[0][0] <= now:
            job = self.jobs.get(heappop(heap)[1])
            if job is not None and job.state == JobState.PENDING and not job.queued:
                if self.event_driven:
                    self.host.changed = True
                else:
                    self.main.time_came()
                self.eligibility.consider(job)
        if self.preemption is not None:
            self.preemption.timers(now)
        if self.gang is not None:
            self.gang.timers(now)
        running = self.running
        if self.enforce_limits and running and running[0][0] <= now:  # nobody is found over its limit before its end
            while running and self._next_limit_time() <= now:
                job = next(job for end, _, job in running if self._limit_time(end, job) <= now)
                self.actions.append(Kill(job))
                self.finish(job, JobState.TIMEOUT, Reason.TIME_LIMIT)
        if self.limits is not None:
            self.limits.overuse.scan(now)
        if now >= self.recalculation.next_at:
            self.recalculation.run_if_due(now)

    def check(self) -> None:
        """Recount everything; raises InvariantError on any difference. For tests and debugging."""
        running = [entry[2] for entry in self.running]
        self.table.check([*running, *self.suspension.check()], self.suspension.crowded)
        if any(job.state != JobState.RUNNING for job in running):
            raise InvariantError("a job among the running is not running")
        if any(job.bars is not None and job.partition.index in job.bars for job in running):
            raise InvariantError("a job runs in a partition that does not take its account or QOS")
        if sum(j.state == JobState.RUNNING for j in self.jobs.values()) != len(running):
            raise InvariantError("running jobs differ from a recount")
        busy, cpus, count = self.usage.recount(running)
        whole = self.usage.whole
        pending = sum(j.state == JobState.PENDING for j in self.jobs.values())
        if (whole.nodes, whole.cpus, whole.running, whole.pending) != (busy, cpus, count, pending):
            raise InvariantError("usage totals differ from a recount")
        self.recalculation.check()
        if self.limits is not None:
            self.limits.check()
        self.licenses.check(list(self.jobs.values()))


def _walks_job_table(cluster: ClusterSpec, policy: Policy) -> bool:
    """Whether slurmctld sorts no queue: sched/builtin, priority/basic and one tier (job_scheduler.c, FIFO mode)."""
    basic = cluster.option("PriorityType") != "priority/multifactor"
    return policy.name == "builtin" and basic and len({p.priority_tier for p in cluster.partitions}) == 1


# slurmctld finds out that these are over when it builds a queue or, of the last one, when it tries the job
_KEPT_UNTIL_LOOKED_AT = (Reason.BEGIN_TIME, Reason.DEPENDENCY, Reason.ARRAY_TASK_LIMIT)
_ENFORCED: dict[str, str] = {
    Reason.PARTITION_TIME_LIMIT: "Requested time limit is invalid (missing or exceeds some limit)",
    Reason.PARTITION_NODE_LIMIT: "Node count specification invalid",
    Reason.PARTITION_CONFIG: "More processors requested than permitted",
}
