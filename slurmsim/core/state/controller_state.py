"""What a controller knows."""

from __future__ import annotations

from collections.abc import Sequence

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.placement.cluster_state import ClusterState
from slurmsim.core.placement.exclusive_user import ExclusiveUsers
from slurmsim.core.records.associations import AssociationTree
from slurmsim.core.records.billing import Billing
from slurmsim.core.records.enforcement import Enforcement
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import JobQueue, Record, walks_job_table
from slurmsim.core.records.messages import Action
from slurmsim.core.records.observer import Observer
from slurmsim.core.records.power_states import PowerStates
from slurmsim.core.records.reservation import ReservationLists
from slurmsim.core.records.timers import Timers
from slurmsim.core.records.usage_totals import UsageTotals
from slurmsim.core.state.holders import Holders
from slurmsim.core.state.interfaces import WattsWay
from slurmsim.core.state.time_limits import TimeLimits
from slurmsim.core.state.triggers import Triggers
from slurmsim.model.accounting import Qos
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import Policy

Event = tuple[int, str, int | None, str, str, str, str, int | None, str]


class ControllerState:
    """What one controller knows, and the notes it takes. Every part of it has this, and changes what is its own.

    Parameters
    ----------
    start_time
        When slurmctld starts; the phase of every periodic work.
    tree
        The associations; None as without slurmdbd.
    enforce_limits
        False leaves ending jobs at their limit to the driver.
    """

    def __init__(
        self, spec: ClusterSpec, policy: Policy, start_time: int, tree: AssociationTree | None, enforce_limits: bool
    ) -> None:
        self.spec, self.policy = spec, policy
        self.now = self.start_time = start_time
        self.cluster = ClusterState(spec)
        self.rules = self.cluster.rules
        self.table, self.selector, self.partitions = self.cluster.table, self.cluster.selector, self.cluster.partitions
        self.tree = tree
        enforced = spec.option("AccountingStorageEnforce") if tree is not None else None
        self.enforce = Enforcement.parse(enforced or ())
        self.queue = JobQueue(self.cluster.n_pools, fifo=self.rules.walks_job_table and walks_job_table(spec, policy))
        self.billing = Billing(spec, self.table)
        self.triggers = Triggers(spec, self.queue, start_time, policy)
        self.power = PowerStates()
        self.usage = UsageTotals(self.table, self.partitions, self.power)
        self.reserved = ReservationLists()  # the advance reservations
        self.license_totals = dict(spec.option("Licenses"))  # licenses there are, by name
        self.relative_qos: dict[str, Qos] = {}  # those with percentages for limits, as they were set
        # the users of the jobs on each node; None while no job wants nodes for its user alone
        self.exclusive_users: ExclusiveUsers | None = (
            ExclusiveUsers(self.cluster.network_of)
            if any(p.exclusive_user or p.exclusive_topo for p in spec.partitions)
            else None
        )
        self.created = 0
        self.jobs: dict[int, Job] = {}  # every job that has not ended, by id
        # what holds nodes, by end; `running` and `suspended` are its lists
        self.holders = Holders(self.selector, predicted=policy.predictor is not None)
        self.running, self.suspended = self.holders.running, self.holders.suspended
        self.observers: list[Observer] = []  # who hears of starts and ends, in this order
        self.timers = Timers()
        self.unusable: Bitmap = self.table.everything & ~self.table.up  # nodes that are down or drained
        # generation: counts every change but an arrival; `edits` those what is known of jobs does not survive: node
        # events and edits
        self.generation = self.edits = 0
        # events, actions: rows of the trace that were not yet taken, and the answer to the present step
        self.events: list[Event] = []
        self.actions: list[Action] = []
        self.watts: WattsWay | None = None  # what jobs draw and how far they are; None where nothing is known of that
        self.event_driven: bool = policy.event_driven
        # which running jobs are over their time limit
        self.time_limits = TimeLimits(spec, start_time, enforced=enforce_limits, event_driven=self.event_driven)

    def record(self, event: str, job: Job, *, nodes: str = "", value: int | None = None, scheduler: str = "") -> None:
        """Note a state change or decision for the trace (schema EVENTS)."""
        self.events.append(
            (self.now, event, job.id, job.state, job.reason, job.partition.name, nodes, value, scheduler)
        )

    def components(self, leader: Job) -> list[Job]:
        """Return the other components of a heterogeneous job, given its leader; empty for any other job.

        Their ids follow the leader's.
        """
        het = leader.sub.het
        if het is None or het[0] != leader.id:
            return []
        ids = range(leader.id + 1, leader.id + het[1])
        return [job for job_id in ids if (job := self.jobs.get(job_id)) is not None]

    def set_reason(self, job: Job, reason: str) -> None:
        """Show `reason` for a pending job; recorded when it differs."""
        if job.reason != reason:
            job.reason = reason
            self.events.append((self.now, "REASON", job.id, job.state, reason, job.partition.name, "", None, ""))
            self.queue.has_reason(job)

    def at(self, now: int) -> None:
        self.now = self.triggers.now = now

    def changed(self) -> None:
        """Note that plans are out of date: what is free, or usable, has changed."""
        self.selector.forget_future()
        self.generation += 1
        self.edits += 1
        self.triggers.changed = True

    def own_nodes(self) -> None:
        """From now on users may have nodes to themselves; who runs already came in without."""
        if self.exclusive_users is None:
            self.exclusive_users = ExclusiveUsers(self.cluster.network_of, (job for _, _, job in self.running))
            self.observers.insert(0, self.exclusive_users)

    def free_to(self, record: Record, nodes: Bitmap, *, planning: bool = False) -> Bitmap:
        """Return those of `nodes` no other job closes to the record's job now, or as far as backfill's plans ask."""
        if self.exclusive_users is None:
            return nodes
        return self.exclusive_users.open_to(record, nodes, planning=planning)

    def look_again(self) -> None:
        """Something changed that plans do not survive: everything is looked at again."""
        self.changed()
        self.triggers.request()

    def nodes_named(self, names: Sequence[str]) -> Bitmap:
        return from_indices(sorted(self.table.index[n] for n in names))
