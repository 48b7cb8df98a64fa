"""What changes for good while the cluster runs: a job's request, nodes' weights and features, partitions.

Mirrors what _update_job, update_node and update_part (22.05) do beyond states. Requests are compiled against partitions
and nodes once (`placement.compiled_request`); whatever those are made from changes here, and everything that waits is
compiled anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.accounting.limit_reasons import LIMIT_REASONS
from slurmsim.core.placement.compiled_request import SETTLED
from slurmsim.core.placement.sharing import preempts_by_tier, shares_cores, takes_turns
from slurmsim.core.queue.priority import Multifactor
from slurmsim.core.records.messages import AlterNodes, AlterPartition, DeletePartition
from slurmsim.core.records.partition import Partition
from slurmsim.core.records.shared_cores import SharedCores
from slurmsim.core.records.usage_totals import Totals
from slurmsim.errors import SubmitError
from slurmsim.model.accounting import Qos
from slurmsim.model.partition import PartitionSpec
from slurmsim.model.request import ResourceRequest
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.accounting.controller_accounting import AccountingParts
    from slurmsim.core.accounting.partition_access import PartitionAccess
    from slurmsim.core.controller.waiting import Waiting
    from slurmsim.core.occupancy.gang import Gang
    from slurmsim.core.occupancy.preempt_modes import PreemptModes
    from slurmsim.core.queue.priority import Basic
    from slurmsim.core.scheduling.policy_view import View
    from slurmsim.core.state.controller_state import ControllerState

SEVERAL_POOLS: Final = "slurmsim: a partition over nodes of partitions that share none is not modelled"


class ClusterUpdates:
    """Carries them out."""

    def __init__(
        self, state: ControllerState, waiting: Waiting, accounting: AccountingParts, plugin: Basic | Multifactor,
        access: PartitionAccess, view: View, modes: PreemptModes | None, gang: Gang | None,
    ) -> None:  # fmt: skip
        self.state, self._waiting, self._accounting, self._plugin = state, waiting, accounting, plugin
        self._access, self._view, self._modes, self._gang = access, view, modes, gang

    def handlers(self) -> dict[type, Callable[[Any], None]]:
        """Return the handler of each kind of fact."""
        return {
            AlterNodes: self.nodes, AlterPartition: self.partition, DeletePartition: self.delete_partition,
        }  # fmt: skip

    def _settle(self) -> None:
        """Let jobs keep the node counts they have by MinNodes of their partitions (_valid_job_part)."""
        made: dict[int, tuple[ResourceRequest, ResourceRequest]] = {}  # with the old one, lest its id comes again
        for job in self.state.jobs.values():
            if job.state == JobState.PENDING:
                asked, least = job.sub.request, min(request.min_nodes for request in job.requests)
                if least > asked.min_nodes:
                    job.sub.request = made.setdefault(id(asked), (asked, replace(asked, min_nodes=least)))[1]
                self.state.cluster.lift(job, job.request.lifted | {SETTLED})

    def recompile(self) -> None:
        """Compile the requests anew, after a change of what they are compiled from."""
        state, limits = self.state, self._accounting.limits
        state.cluster.forget_requests()
        state.selector.shares.forget()
        waiting = [job for job in state.jobs.values() if job.state == JobState.PENDING]
        queued = [(job, self._waiting.set_aside(job)) for job in waiting if job.queued]
        for job in waiting:
            lifted = job.request.lifted
            job.partitions, job.requests = state.cluster.compiled(job.sub)
            if lifted:
                state.cluster.lift(job, lifted)
            if limits is not None and job.branch is not None:
                pairs = zip(job.partitions, job.requests, strict=True)
                job.requests = tuple([limits.cap(job, p, r) for p, r in pairs])
            job.partition, job.request = job.partitions[0], job.requests[0]
            job.n_nodes, job.n_cpus = job.request.min_nodes, job.request.told_cpus
            job.within_limits = -1
        for job, standing in queued:
            reason = job.reason
            self._waiting.enqueue(job, standing)
            if job.queued and not state.event_driven and reason not in LIMIT_REASONS:
                state.set_reason(job, reason)  # no pass has tried it yet
        self._waiting.edited()

    # -- nodes ------------------------------------------------------------------------------------------------------

    def nodes(self, fact: AlterNodes) -> None:
        """Other weights, features or GRES."""
        table = self.state.table
        specs = list(table.specs)
        for name in fact.nodes:
            i = table.index[name]
            changes: dict[str, Any] = {}
            if fact.weight is not None:
                changes["weight"] = fact.weight
                table.weight[i] = fact.weight
            if fact.features is not None:
                changes["features"] = fact.features
                table.active.pop(i, None)
            if fact.active is not None:
                table.active[i] = fact.active
            if fact.gres is not None:
                changes["gres"] = fact.gres
            specs[i] = replace(specs[i], **changes)
        before = table.known_features()
        table.specs = tuple(specs)
        table.past_features = tuple(sorted(before - table.present_features()))
        self.recompile()

    # -- partitions -------------------------------------------------------------------------------------------------

    def partition(self, fact: AlterPartition) -> None:
        """Other limits or nodes, or a partition that was not there. Raises SubmitError, changing nothing."""
        state, spec = self.state, fact.spec
        mask = state.table.kept(from_indices(sorted(state.table.index[n] for n in spec.nodes)))
        p = state.cluster.by_name.get(spec.name)
        pool = self._pool(mask, p)
        if p is None:
            p = self._add(Partition(spec, len(state.partitions), state.table), pool)
        elif p.spec.min_nodes != spec.min_nodes:
            self._settle()
        if spec.exclusive_user or spec.exclusive_topo:
            state.own_nodes()
        p.spec, p.tier, p.state = spec, spec.priority_tier, spec.state
        p.qos = self._qos_of(spec)
        if self._modes is not None:
            self._modes.learn(p)
        p.mask, p.total_nodes = mask, mask.bit_count()
        p.total_cpus = state.table.cpus_on(mask) if mask else 0
        state.usage.reshape(p.index, mask, [entry[2] for entry in state.running])
        if spec.default:
            for other in state.partitions:
                if other is not p and other.spec.default:
                    other.spec = replace(other.spec, default=False)
            state.cluster.default = p
        elif state.cluster.default is p:
            state.cluster.default = None
        if spec.counts_cpus and p.index not in state.table.used_by:
            state.table.used_by[p.index] = np.zeros(state.table.n, np.int64)
        self._share_cores()
        self._weigh_partitions()
        self._access.ask_again()
        self.recompile()
        self._take_turns()

    def _take_turns(self) -> None:
        """Tell the gang scheduler that partitions changed."""
        if self._gang is not None:
            self._gang.partitions_changed()

    def _share_cores(self) -> None:
        """Jobs are in as many rows as their partitions have now, where some partition shares its cores."""
        state = self.state
        table = state.table
        if takes_turns(state.spec) or (table.cores is None and not shares_cores(state.partitions)):
            return
        table.cores = SharedCores(table, state.partitions, by_tier=preempts_by_tier(state.spec))
        for runs, entries in ((True, state.running), (False, state.suspended)):
            for job in sorted((entry[2] for entry in entries), key=lambda job: job.id):
                if job.alloc is not None and not job.alloc.whole:
                    table.cores.hold(job.alloc, job.partition.index, runs=runs)
                    idx = job.alloc.indices()
                    table.free_cpus[idx] = table.cores.free_on(idx.tolist())

    def _pool(self, mask: Bitmap, own: Partition | None) -> int:
        """Return the pool of the nodes. Raises SubmitError when they are in several, or in none."""
        pools = {p.pool for p in self.state.partitions if p.mask & mask}
        if own is not None:
            pools.add(own.pool)
        if len(pools) > 1:
            raise SubmitError(SEVERAL_POOLS)
        return pools.pop() if pools else 0

    def _qos_of(self, spec: PartitionSpec) -> Qos | None:
        """Return the partition QOS: jobs that start from now on count in it, and new ones."""
        tree = self.state.tree
        return tree.qos.get(spec.qos.lower()) if spec.qos and tree is not None else None

    def _add(self, p: Partition, pool: int) -> Partition:
        """Let everybody know of a new partition."""
        state = self.state
        p.pool = pool
        state.partitions.append(p)
        state.cluster.by_name[p.name] = p
        state.usage.parts.append(Totals(p.name, p.mask))
        state.usage.shared()
        self._view.pools[pool].partitions.append(p)
        if self._modes is not None:
            self._modes.partition_added(p)
        if self._gang is not None:
            self._gang.partition_added(p)
        return p

    def delete_partition(self, fact: DeletePartition) -> None:
        """Nothing names it any more; its number stays taken."""
        state = self.state
        p = state.cluster.by_name.pop(fact.name)
        state.cluster.gone.add(p.index)
        p.spec = replace(p.spec, nodes=(), default=False)
        p.mask, p.total_nodes, p.total_cpus = 0, 0, 0
        state.usage.reshape(p.index, 0, ())
        if state.cluster.default is p:
            state.cluster.default = None
        self._view.pools[p.pool].partitions.remove(p)
        self.recompile()
        self._take_turns()

    def _weigh_partitions(self) -> None:
        plugin = self._plugin
        if isinstance(plugin, Multifactor):
            plugin.weigh_partitions(self.state.partitions)
