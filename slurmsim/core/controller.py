"""The controller: a deterministic state machine told facts with their time, answering with actions.

It never asks what time it is, never sleeps, reads, writes or starts anything. `step` is the only way in: apply the
facts of one instant in the fixed order of `messages`, let due timers happen, then schedule once. `wake_at` says when
it wants to be called next even if nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop
from operator import attrgetter, itemgetter
from typing import Any

from slurmsim.core.accounting_change import replace_accounting
from slurmsim.core.accounts import Accounts, Enforcement
from slurmsim.core.admission import Admission
from slurmsim.core.alarms import Alarms
from slurmsim.core.alterations import Alterations
from slurmsim.core.associations import AssociationTree
from slurmsim.core.at_submit import AtSubmit
from slurmsim.core.billing import Billing
from slurmsim.core.cluster_state import ClusterState
from slurmsim.core.completing import Completing
from slurmsim.core.deadlines import Deadlines
from slurmsim.core.edits import Edits
from slurmsim.core.eligibility import Eligibility
from slurmsim.core.gang import Gang, takes_turns
from slurmsim.core.job import ONE_YEAR_S, Job
from slurmsim.core.job_queue import JobQueue
from slurmsim.core.licenses import Licenses
from slurmsim.core.limits import Limits
from slurmsim.core.main_scheduler import MainScheduler
from slurmsim.core.messages import (
    Action,
    Cancel,
    Fact,
    Hold,
    JobEnded,
    Kill,
    LaunchFailed,
    Release,
    ReplaceAccounting,
    Requeue,
    RequeueHold,
    ResizeJob,
    Resume,
    SetPartitionState,
    StartAtOnce,
    Submit,
    Suspend,
)  # fmt: skip
from slurmsim.core.node_states import NodeStates
from slurmsim.core.owners import Owners
from slurmsim.core.partition_access import PartitionAccess
from slurmsim.core.patience import Patience
from slurmsim.core.policy_host import PolicyHost
from slurmsim.core.power import make_power
from slurmsim.core.preemption import Preemption
from slurmsim.core.priority import make_priority
from slurmsim.core.qos_flags import QosFlags
from slurmsim.core.recalculation import Recalculation
from slurmsim.core.requeues import Requeues
from slurmsim.core.reservations import Reservations
from slurmsim.core.resize import Resizes
from slurmsim.core.suspension import Suspension
from slurmsim.core.tried import Tried
from slurmsim.core.usage import Usage
from slurmsim.errors import InvariantError
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import Policy
from slurmsim.states import JobState, Reason

_order = attrgetter("order")


class Controller(Admission):
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
    epilog_s, term_s
        Seconds an epilog takes, and processes that are told to end (`completing`).
    """

    def __init__(
        self,
        cluster: ClusterSpec,
        policy: Policy,
        start_time: int,
        *,
        accounting: Accounting | None = None,
        enforce_limits: bool = True,
        epilog_s: int = 0,
        term_s: int = 0,
    ) -> None:
        self.cluster, self.policy = cluster, policy
        self.now = self.start_time = start_time
        self.state = ClusterState(cluster)
        self.rules = self.state.rules
        self.table, self.selector = self.state.table, self.state.selector
        self.partitions = self.state.partitions
        self.tree = AssociationTree(accounting) if accounting is not None else None
        enforced = cluster.option("AccountingStorageEnforce") if self.tree is not None else None
        self.enforce = Enforcement.parse(enforced or ())
        self.accounts = Accounts(self.tree, self.enforce, self.partitions) if self.tree is not None else None
        self.access = PartitionAccess(self)
        self.queue = JobQueue(self.state.n_pools, fifo=self.rules.walks_job_table and _walks_job_table(cluster, policy))
        self.created = 0
        self.billing = Billing(cluster, self.table)
        self.priority = make_priority(
            cluster, self.partitions, self.table.total_cpus, self.billing, self.rules.recalculates_always
        )
        self.usage = Usage(self.table, self.partitions)
        self.jobs = {}
        self.running = []
        self.unusable = self.table.everything & ~self.table.up  # down or drained
        self.generation = 0  # any change but an arrival
        self.edits = 0  # node events, new priorities, edits: changes no plan survives
        self.backfilled = 0
        # pending jobs an event-driven policy may not see in all their partitions, because of limits or states
        self.limited = {}
        self.events = []
        self.actions = []
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
        self._begin_heap = []
        self.alarms = Alarms()
        self.completing = Completing(self, epilog_s, term_s) if epilog_s or term_s else None
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
        self.tried = Tried(self)
        self._handlers: dict[type, Callable[[Any], None]] = {
            Submit: self._submit, JobEnded: self._job_ended, Cancel: self._cancel, Requeue: self.requeues.on_requeue,
            RequeueHold: self.requeues.on_requeue_hold, LaunchFailed: self.requeues.on_launch_failed,
            ResizeJob: self.resizes.on_resize, **self.node_states.handlers(),
            Hold: self.hold, Release: self._release, **self.edits_of_jobs.handlers(), **self.alterations.handlers(),
            SetPartitionState: self._set_partition_state, **self.reservations.handlers(),
            Suspend: self.suspension.on_suspend, Resume: self.suspension.on_resume,
            StartAtOnce: AtSubmit(self).on_start_at_once,
            ReplaceAccounting: lambda fact: replace_accounting(self, fact.accounting),
        }  # fmt: skip

    def step(self, now: int, facts: list[Fact]) -> list[Action]:
        """Everything of the instant `now`: facts, timers, one scheduling pass. Returns the actions, in order."""
        before: list[Action] = []
        apart = bool(facts) and self.main.ticks and not self.event_driven
        # facts that come one after the other come after the cycle of their second, if it was due without them
        if apart and now > self.now and self.host.is_due(now):
            self.note(now, [])
            self.host.run_if_due(now)
            before = self.actions
        self.note(now, facts)
        if not self.event_driven:
            self.main.run_if_due(now)
        elif self.reservations.all:
            self.reservations.jobs.serve()
        if not apart:
            self.host.run_if_due(now)
        if before:
            self.actions = before + self.actions
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
        if not self.event_driven:
            self.main.go_round(now)
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

    # -- what has no end of its own -----------------------------------------------------------------------------------

    def forgotten(self, job: Job, now: int) -> None:
        """slurmctld has forgotten `job`, which ended MinJobAge ago."""
        self.eligibility.forgotten(job, now)

    def keep_shapes(self) -> None:
        """Forget what was compiled from requests of jobs that are gone."""
        self.state.keep_shapes(self.jobs.values())
        if self.limits is not None:
            self.limits.forget_standings()

    def _set_partition_state(self, fact: SetPartitionState) -> None:
        partition = self.state.by_name[fact.partition]
        partition.state = fact.state
        for shape in self.state.shapes.values():
            shape.limits_met.clear()
        self.edited()

    def _node_event(self, state: str, reason: str, names: Sequence[str]) -> None:
        self.usage.touch_all()
        self.events.append((self.now, "NODE", None, state, reason, "", self.state.compress(names), None, ""))
        self._edited()

    def _set_up(self) -> None:
        """Which nodes can take jobs, and which count as down."""
        table, reservations = self.table, self.reservations
        table.up, table.down = table.everything & ~self.unusable, self.unusable
        if reservations.all:
            table.down |= reservations.active(maintenance=True)
            if self.event_driven:  # the policy has the rest
                table.up &= ~reservations.active()

    def _timers(self, now: int) -> None:
        if self.reservations.all:
            self.reservations.turn(now)
        if self.deadlines.jobs:
            self.deadlines.turn(now)
        if self.alarms.heap:
            self.alarms.ring(now)
        heap = self._begin_heap
        begun: list[tuple[int, int, int, Job]] = []
        while heap and heap[0][0] <= now:
            at, job_id = heappop(heap)
            if (job := self.jobs.get(job_id)) is not None:
                begun.append((at, job.array_key, job.rank, job))  # tasks by index, as one record in slurmctld
        if len(begun) > 1:
            begun.sort(key=itemgetter(0, 1, 2))
        for *_, job in begun:
            if job.state == JobState.PENDING and not job.queued:
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


def _walks_job_table(cluster: ClusterSpec, policy: Policy) -> bool:
    """Whether slurmctld sorts no queue: sched/builtin, priority/basic and one tier (job_scheduler.c, FIFO mode)."""
    basic = cluster.option("PriorityType") != "priority/multifactor"
    return policy.name == "builtin" and basic and len({p.priority_tier for p in cluster.partitions}) == 1
