"""What a controller knows, and the questions of time that need nothing else."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from copy import copy
from heapq import heappush, merge

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.accounting.accounts import Enforcement
from slurmsim.core.accounting.associations import AssociationTree
from slurmsim.core.accounting.billing import Billing
from slurmsim.core.placement.cluster_state import ClusterState
from slurmsim.core.placement.exclusive_user import ExclusiveUsers
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job import ONE_YEAR_S, Job
from slurmsim.core.records.job_queue import JobQueue, Record
from slurmsim.core.records.messages import Action
from slurmsim.core.records.observer import Observer
from slurmsim.core.records.power_states import PowerStates
from slurmsim.core.records.reservation import ReservationLists
from slurmsim.core.records.timers import Timers
from slurmsim.core.records.usage_totals import UsageTotals
from slurmsim.core.state.expected_ends import ExpectedEnds
from slurmsim.core.state.interfaces import WattsWay
from slurmsim.core.state.triggers import Triggers
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import Policy
from slurmsim.states import NODES_REQUIRED_TEXT, Reason

LIMIT_SCAN_S = 30  # slurmctld looks for jobs over their limit that often
Entry = tuple[int, int, Job]
Event = tuple[int, str, int | None, str, str, str, str, int | None, str]


class ControllerState:
    """What one controller knows, and the notes it takes. Every part of it has this, and changes what is its own.

    Parameters
    ----------
    spec
        Validated configuration.
    policy
        The scheduler plugin.
    start_time
        When slurmctld starts; the phase of every periodic work.
    tree
        The associations; None as without slurmdbd.
    enforce_limits
        False leaves ending jobs at their limit to the driver.

    Attributes
    ----------
    jobs
        Every job that has not ended, by id.
    running, suspended
        (end by limit, id, job) of the running and of the suspended ones, ascending; that of a running one is the same
        object as long as its end and its nodes are.
    expected
        The running jobs by expected end; None without a predictor.
    parked
        What jobs suspended by an administrator still hold in the node table, by id; None for nothing.
    reserved
        The advance reservations.
    license_totals
        Licenses there are, by name.
    owners
        The users of the jobs on each node; None while no job wants nodes for its user alone.
    unusable
        Nodes that are down or drained.
    generation
        Counts every change but an arrival; `edits` those what is known of jobs does not survive: node events and edits.
    limited
        Pending jobs an event-driven policy may not see in all their partitions, because of limits or states.
    observers
        Who hears of starts and ends, in this order.
    begin_heap
        (when, id) of pending jobs to consider again.
    period_wanted
        The next run of the priority thread is needed, even while no job is pending.
    watts
        What jobs draw and how far they are; None where nothing is known of that.
    events, actions
        Rows of the trace that were not yet taken, and the answer to the present step.
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
        self.queue = JobQueue(self.cluster.n_pools, fifo=self.rules.walks_job_table and _walks_job_table(spec, policy))
        self.billing = Billing(spec, self.table)
        self.triggers = Triggers(spec, self.queue, start_time, policy)
        self.power = PowerStates()
        self.usage = UsageTotals(self.table, self.partitions, self.power)
        self.reserved = ReservationLists()
        self.license_totals = dict(spec.option("Licenses"))
        self.exclusive_users: ExclusiveUsers | None = (
            ExclusiveUsers() if any(p.exclusive_user for p in spec.partitions) else None
        )
        self.created = 0
        self.jobs: dict[int, Job] = {}
        self.running: list[Entry] = []
        self.suspended: list[Entry] = []
        self.parked: dict[int, Allocation | None] = {}
        self.limited: dict[int, Job] = {}
        self.observers: list[Observer] = []
        self.begin_heap: list[tuple[int, int]] = []
        self.timers = Timers()
        self.expected = ExpectedEnds() if policy.predictor is not None else None
        self.unusable: Bitmap = self.table.everything & ~self.table.up
        self.generation = self.edits = self.backfilled = 0
        self.events: list[Event] = []
        self.actions: list[Action] = []
        self.enforce_limits = enforce_limits
        self.period_wanted = False
        self.watts: WattsWay | None = None
        self.event_driven: bool = policy.event_driven
        over = spec.option("OverTimeLimit")
        self.over_limit_s: int = ONE_YEAR_S if over is None else over
        self.kill_wait_s = int(spec.option("KillWait"))
        self._one_over_limit = self.event_driven or all(
            p.over_time_limit_s in (None, self.over_limit_s) for p in spec.partitions
        )

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
            queue = self.queue
            if job.id not in queue:
                return
            if reason in (Reason.NONE, Reason.RESOURCES, NODES_REQUIRED_TEXT) or len(job.partitions) > 1:
                queue.fresh[job.id] = job
            if queue.restated is not None:
                queue.restated.setdefault(job.id, False)

    def at(self, now: int) -> None:
        """Set the time to `now`."""
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
            self.exclusive_users = ExclusiveUsers(job for _, _, job in self.running)
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

    def held(self, job: Job) -> Allocation | None:
        """Return what `job`, running or suspended, holds in the node table."""
        return self.parked.get(job.id, job.alloc)

    def releases(self) -> Sequence[Entry]:
        """Return the running jobs by planned end: the end of the time limit, or an earlier predicted one."""
        return self.running if self.expected is None else self.expectations().entries

    def runs_otherwise(self, job: Job) -> None:
        """Replace the entry of the running `job`, which has other nodes: followers see a new object."""
        assert job.end_limit is not None
        entry = job.end_limit, job.id, job
        self.running[bisect_left(self.running, entry)] = entry

    def expectations(self) -> ExpectedEnds:
        """Return the running jobs by expected end, up to date; there must be a predictor."""
        assert self.expected is not None
        return self.expected.after(self.selector.forgotten, self.running)

    def occupants(self) -> Sequence[Entry]:
        """All that holds something by the end it is planned with: the running, and the suspended, by their limits."""
        if not self.suspended:
            return self.releases()
        return list(merge(self.releases(), [e for e in map(self._holding, self.suspended) if e is not None]))

    def _holding(self, entry: Entry) -> Entry | None:
        """Return the entry of a suspended job for the future test, with what it holds; None if it holds nothing."""
        end, job_id, job = entry
        if job_id not in self.parked:
            return entry
        rest = self.parked[job_id]
        if rest is None:
            return None
        rest_of_it = copy(job)
        rest_of_it.alloc = rest
        return end, job_id, rest_of_it

    def alone(self, job: Job) -> Bitmap:
        """Return the nodes on which no other job runs than `job`."""
        others = 0
        for _, _, other in self.running:
            if other is not job:
                others |= other.nodes
        return job.nodes & ~others

    @property
    def suspended_nodes(self) -> Bitmap:
        """Nodes with a suspended job."""
        mask = 0
        for _, _, job in self.suspended:
            mask |= job.nodes
        return mask

    def nodes_named(self, names: Sequence[str]) -> Bitmap:
        """Return the nodes of these names."""
        return from_indices(sorted(self.table.index[n] for n in names))

    def wait_until(self, job: Job, begin: int) -> None:
        """Consider `job` again at `begin`."""
        heappush(self.begin_heap, (begin, job.id))

    def limit_time(self, end: int, job: Job) -> int:
        """Return when `job`, with that end, is found over its limit."""
        if self.event_driven:
            return end
        own = job.partition.spec.over_time_limit_s
        return self.scan_after(end + (self.over_limit_s if own is None else own))

    def scan_after(self, due: int) -> int:
        """Return the first time-limit scan at or after `due`."""
        return due + (self.start_time - due) % LIMIT_SCAN_S

    def next_limit_time(self) -> int:
        """Return when the next running job is found over its limit, if none ends before."""
        if self._one_over_limit:
            return self.limit_time(self.running[0][0], self.running[0][2])
        return min(self.limit_time(end, job) for end, _, job in self.running)


def _walks_job_table(spec: ClusterSpec, policy: Policy) -> bool:
    """Return True if slurmctld sorts no queue: sched/builtin, priority/basic and one tier (job_scheduler.c)."""
    basic = spec.option("PriorityType") != "priority/multifactor"
    return policy.name == "builtin" and basic and len({p.priority_tier for p in spec.partitions}) == 1
