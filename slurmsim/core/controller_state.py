"""What a controller keeps, and the questions of time that need nothing else."""

from __future__ import annotations

from heapq import heappush
from typing import TYPE_CHECKING

from slurmsim.bitmap import from_indices
from slurmsim.errors import InvariantError
from slurmsim.states import NODES_REQUIRED_TEXT, JobState, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmsim.bitmap import Bitmap
    from slurmsim.core.accounts import Accounts, Enforcement
    from slurmsim.core.accrual import Accrual
    from slurmsim.core.alarms import Alarms
    from slurmsim.core.alterations import Alterations
    from slurmsim.core.associations import AssociationTree
    from slurmsim.core.billing import Billing
    from slurmsim.core.cluster_state import ClusterState
    from slurmsim.core.completing import Completing
    from slurmsim.core.deadlines import Deadlines
    from slurmsim.core.decay import UsageBook
    from slurmsim.core.edits import Edits
    from slurmsim.core.eligibility import Eligibility
    from slurmsim.core.gang import Gang
    from slurmsim.core.job import Job
    from slurmsim.core.job_queue import JobQueue
    from slurmsim.core.licenses import Licenses
    from slurmsim.core.limits import Limits
    from slurmsim.core.main_scheduler import MainScheduler
    from slurmsim.core.messages import Action
    from slurmsim.core.node_states import NodeStates
    from slurmsim.core.nodes import NodeTable
    from slurmsim.core.owners import Owners
    from slurmsim.core.partition_access import PartitionAccess
    from slurmsim.core.partitions import Partition
    from slurmsim.core.patience import Patience
    from slurmsim.core.policy_host import PolicyHost
    from slurmsim.core.power import PowerSaving
    from slurmsim.core.preemption import Preemption
    from slurmsim.core.priority import Basic, Multifactor
    from slurmsim.core.qos_flags import QosFlags
    from slurmsim.core.recalculation import Recalculation
    from slurmsim.core.release_rules import ReleaseRules
    from slurmsim.core.requeues import Requeues
    from slurmsim.core.reservations import Reservations
    from slurmsim.core.resize import Resizes
    from slurmsim.core.select import Selector
    from slurmsim.core.suspension import Suspension
    from slurmsim.core.tried import Tried
    from slurmsim.core.usage import Usage
    from slurmsim.model.cluster import ClusterSpec
    from slurmsim.policy import Policy

LIMIT_SCAN_S = 30  # slurmctld looks for jobs over their limit that often
Event = tuple[int, str, int | None, str, str, str, str, int | None, str]


class ControllerState:
    """What one controller knows, and the notes it takes; what it does is added by the classes above it.

    Attributes
    ----------
    jobs
        Every job that has not ended, by id.
    running
        (end by limit, id, job) of the running ones, ascending.
    unusable
        Nodes that are down or drained.
    generation
        Counts every change but an arrival; `edits` node events, new priorities and edits: changes no plan survives.
    limited
        Pending jobs an event-driven policy may not see in all their partitions, because of limits or states.
    events, actions
        Rows of the trace since somebody took them, and the answer to the present step.
    """

    cluster: ClusterSpec
    policy: Policy
    rules: ReleaseRules
    now: int
    start_time: int
    state: ClusterState
    table: NodeTable
    selector: Selector
    partitions: list[Partition]
    tree: AssociationTree | None
    enforce: Enforcement
    accounts: Accounts | None
    access: PartitionAccess
    queue: JobQueue
    created: int
    billing: Billing
    priority: Basic | Multifactor
    usage: Usage
    jobs: dict[int, Job]
    running: list[tuple[int, int, Job]]
    unusable: Bitmap
    generation: int
    edits: int
    backfilled: int
    limited: dict[int, Job]
    events: list[Event]
    actions: list[Action]
    enforce_limits: bool
    event_driven: bool
    over_limit_s: int
    eligibility: Eligibility
    reservations: Reservations
    licenses: Licenses
    deadlines: Deadlines
    alarms: Alarms
    completing: Completing | None
    owners: Owners | None
    patience: Patience
    suspension: Suspension
    node_states: NodeStates
    resizes: Resizes
    requeues: Requeues
    edits_of_jobs: Edits
    alterations: Alterations
    power: PowerSaving | None
    recalculation: Recalculation
    book: UsageBook | None
    accrual: Accrual | None
    qos_flags: QosFlags
    main: MainScheduler
    preemption: Preemption | None
    gang: Gang | None
    host: PolicyHost
    limits: Limits | None
    tried: Tried
    _one_over_limit: bool
    _begin_heap: list[tuple[int, int]]

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

    def changed(self) -> None:
        """What is free, or usable, is not what plans were made from."""
        self.selector.forget_future()
        self.generation += 1
        self.edits += 1
        self.host.changed = True

    def _mask(self, names: Sequence[str]) -> Bitmap:
        return from_indices(sorted(self.table.index[n] for n in names))

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
