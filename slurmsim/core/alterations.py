"""What changes for good while the cluster runs: a job's request, nodes' weights and features, partitions.

Mirrors what _update_job, update_node and update_part (22.05) do beyond states. Requests are compiled against partitions
and nodes once (`shape`); whatever those are made from changes here, and everything that waits is compiled anew.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.messages import AlterJob, AlterNodes, AlterPartition, DeletePartition, EditRefused
from slurmsim.core.owners import Owners
from slurmsim.core.partitions import Partition
from slurmsim.core.priority import Multifactor
from slurmsim.core.usage import Totals
from slurmsim.errors import SubmitError
from slurmsim.states import JobState, Reason, is_held

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.job import Job
    from slurmsim.model.submission import Submission

SEVERAL_POOLS = "slurmsim: a partition over nodes of partitions that share none is not modelled"
NO_CORES = "slurmsim: a partition that shares cores cannot be made while the cluster runs"
# what a job keeps of its new submission
_OF_A_REQUEST = (
    "sub", "partitions", "shapes", "partition", "shape", "account", "branch", "qos", "qos_spec", "bars", "threshold",
    "name", "claims", "licenses", "reservations", "reservation_name", "time_min_s", "deadline", "begin", "n_nodes",
    "n_cpus", "accrue_time",
)  # fmt: skip


class Alterations:
    """Carries them out."""

    def __init__(self, controller: Controller) -> None:
        self.c = controller

    def handlers(self) -> dict[type, Callable[[Any], None]]:
        """What to do about which fact."""
        return {
            AlterJob: self.job, AlterNodes: self.nodes, AlterPartition: self.partition,
            DeletePartition: self.delete_partition,
        }  # fmt: skip

    # -- jobs -------------------------------------------------------------------------------------------------------

    def job(self, fact: AlterJob) -> None:
        """A pending job asks for something else from now on, or the change is refused as a submission would be."""
        c, job = self.c, self.c.jobs.get(fact.job_id)
        if job is None:
            return
        if job.state != JobState.PENDING:
            self._licenses(job, fact.sub.licenses)
            return
        try:
            probe = self.probe(job, fact.sub)
        except SubmitError as error:
            c.actions.append(EditRefused(job.id, error.text))
            return
        self._leave(job)
        c.usage.pending(job, -1)
        if c.limits is not None:
            c.limits.gone(job)
        for name in _OF_A_REQUEST:
            setattr(job, name, getattr(probe, name))
        job.within_limits = -1
        c.usage.pending(job, +1)
        if c.limits is not None:
            c.limits.submitted(job)
        c.deadlines.register(job)
        if job.begin is not None and job.begin > c.now:
            job.eligible_time = None
            if c.accrual is not None:
                c.accrual.held(job)
        if job.reason == Reason.BAD_CONSTRAINTS:
            c.set_reason(job, Reason.NONE)
        self._come_back(job)
        c.tried.altered(job)
        c.edits_of_jobs.done(job)

    def _licenses(self, job: Job, text: str) -> None:
        """A running job has other licenses from now on, though there may not be as many."""
        licenses = self.c.licenses
        try:
            wanted = licenses.wanted(text)
        except SubmitError as error:
            self.c.actions.append(EditRefused(job.id, error.text))
            return
        licenses.give_back(job)
        job.licenses, job.claims, job.sub.licenses = wanted, job.claims or bool(wanted), text
        licenses.take(job)
        self.c.edited()

    def probe(self, job: Job, sub: Submission) -> Job:
        """What `job` would be with that submission. Raises SubmitError with Slurm's text, changing nothing."""
        c = self.c
        partitions, shapes = c.state.compiled(sub)
        found = copy(job)
        found.sub, found.partitions, found.shapes = sub, partitions, shapes
        found.account, found.qos, found.name = sub.account, sub.qos, sub.name
        found.claims = bool(sub.reservation or sub.licenses) or sub.deadline is not None
        found.time_min_s, found.deadline, found.begin = sub.time_min_s, sub.deadline, sub.begin
        found.reservations, found.reservation_name, found.licenses = (), "", ()
        found.partition, found.shape = partitions[0], shapes[0]
        if c.accounts is not None:
            c.accounts.admit(found)
            c.qos_flags.heed(found)
        else:
            found.bars = None
        if c.access.closed:
            c.access.heed(found)
        if sub.reservation:
            c.reservations.jobs.claim(found, sub.reservation)
        found.licenses = c.licenses.wanted(sub.licenses)
        moved = found.branch is not job.branch or found.qos_spec is not job.qos_spec or partitions != job.partitions
        if c.limits is not None and found.branch is not None:
            if moved:
                c.limits.announce(())
                c.limits.admit(found)
            else:
                pairs = zip(found.partitions, found.shapes, strict=True)
                found.shapes = tuple([c.limits.cap(found, p, s) for p, s in pairs])
        found.shape = found.shapes[0]
        found.n_nodes, found.n_cpus = found.shape.min_nodes, found.shape.min_cpus
        return found

    def _leave(self, job: Job) -> None:
        """`job` is nowhere: neither queued nor waiting for anything."""
        c = self.c
        c.withdraw(job)
        c._forget(job)
        if job.sub.array_task_id is not None:
            c.eligibility.arrays.leave(job)

    def _come_back(self, job: Job) -> None:
        if not is_held(job.reason):
            self.c.eligibility.consider(job)

    def _recompile(self) -> None:
        """What requests are compiled from has changed."""
        c = self.c
        c.state.forget_shapes()
        waiting = [job for job in c.jobs.values() if job.state == JobState.PENDING]
        queued = [(job, c.set_aside(job)) for job in waiting if job.queued]
        for job in waiting:
            lifted = job.shape.lifted
            job.partitions, job.shapes = c.state.compiled(job.sub)
            if lifted:
                c.state.lift(job, lifted)
            if c.limits is not None and job.branch is not None:
                pairs = zip(job.partitions, job.shapes, strict=True)
                job.shapes = tuple([c.limits.cap(job, p, s) for p, s in pairs])
            job.partition, job.shape = job.partitions[0], job.shapes[0]
            job.n_nodes, job.n_cpus = job.shape.min_nodes, job.shape.min_cpus
            job.within_limits = -1
        for job, standing in queued:
            c.enqueue(job, standing)
        c.edited()

    # -- nodes ------------------------------------------------------------------------------------------------------

    def nodes(self, fact: AlterNodes) -> None:
        """Other weights, features or GRES."""
        table = self.c.table
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
        self._recompile()

    # -- partitions -------------------------------------------------------------------------------------------------

    def partition(self, fact: AlterPartition) -> None:
        """Other limits or nodes, or a partition that was not there. Raises SubmitError, changing nothing."""
        c, spec = self.c, fact.spec
        mask = from_indices(sorted(c.table.index[n] for n in spec.nodes))
        p = c.state.by_name.get(spec.name)
        pool = self._pool(mask, p)
        if p is None:
            if c.table.cores is None and spec.oversubscribe in ("YES", "FORCE") and spec.oversubscribe_max > 1:
                raise SubmitError(NO_CORES)
            p = self._add(Partition(spec, len(c.partitions), c.table), pool)
        if spec.exclusive_user and c.owners is None:
            c.owners = Owners(entry[2] for entry in c.running)  # who runs already came in without owning nodes
        p.spec, p.tier, p.state = spec, spec.priority_tier, spec.state
        p.mask, p.total_nodes = mask, mask.bit_count()
        p.total_cpus = c.table.cpus_on(mask) if mask else 0
        c.usage.reshape(p.index, mask, [entry[2] for entry in c.running])
        if spec.default:
            for other in c.partitions:
                if other is not p and other.spec.default:
                    other.spec = replace(other.spec, default=False)
            c.state.default = p
        elif c.state.default is p:
            c.state.default = None
        if spec.max_cpus_per_node is not None and p.index not in c.table.used_by:
            c.table.used_by[p.index] = np.zeros(c.table.n, np.int64)
        self._weigh_partitions()
        c.access.ask_again()
        self._recompile()

    def _pool(self, mask: Bitmap, own: Partition | None) -> int:
        """The pool the nodes are in. Raises SubmitError when they are in several, or in none."""
        pools = {p.pool for p in self.c.partitions if p.mask & mask}
        if own is not None:
            pools.add(own.pool)
        if len(pools) > 1:
            raise SubmitError(SEVERAL_POOLS)
        return pools.pop() if pools else 0

    def _add(self, p: Partition, pool: int) -> Partition:
        """Let everybody know of a new partition."""
        c = self.c
        p.pool = pool
        if p.spec.qos and c.tree is not None:
            p.qos = c.tree.qos.get(p.spec.qos.lower())
        c.partitions.append(p)
        c.state.by_name[p.name] = p
        c.usage.parts.append(Totals(p.name, p.mask))
        c.usage.shared()
        c.host.view.pools[pool].partitions.append(p)
        if c.preemption is not None:
            c.preemption.partition_added(p)
        if c.gang is not None:
            c.gang.partition_added(p)
        return p

    def delete_partition(self, fact: DeletePartition) -> None:
        """Nothing names it any more; its number stays taken."""
        c = self.c
        p = c.state.by_name.pop(fact.name)
        c.state.gone.add(p.index)
        p.spec = replace(p.spec, nodes=(), default=False)
        p.mask, p.total_nodes, p.total_cpus = 0, 0, 0
        c.usage.reshape(p.index, 0, ())
        if c.state.default is p:
            c.state.default = None
        c.host.view.pools[p.pool].partitions.remove(p)
        self._recompile()

    def _weigh_partitions(self) -> None:
        plugin = self.c.priority
        if isinstance(plugin, Multifactor):
            plugin.weigh_partitions(self.c.partitions)
