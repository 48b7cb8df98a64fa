"""TRES of a job, asked for and allocated, and what they are billed at.

Mirrors calc_job_billable_tres and assoc_mgr_tres_weighted (slurmctld/job_mgr.c, common/assoc_mgr.c, 22.05). GRES count
under the names AccountingStorageTRES lists, ``gres/gpu`` for all types and ``gres/gpu:a100`` for one, as in Slurm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from slurmsim.bitmap import to_indices
from slurmsim.tres import resource_of

if TYPE_CHECKING:
    from slurmsim.core.placement.compiled_request import CompiledRequest
    from slurmsim.core.records.allocation import Allocation
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.node_table import NodeTable
    from slurmsim.core.records.partition import Partition
    from slurmsim.model.cluster import ClusterSpec

ALWAYS: Final = ("cpu", "mem", "node", "billing")  # of the TRES every cluster tracks, those a job can have
_OF_A_NODE: Final = ("cpu", "mem", "node")  # these and GRES are what MAX_TRES takes the largest of


def tracked(cluster: ClusterSpec) -> tuple[str, ...]:
    """TRES that are counted: the four of every cluster, then what AccountingStorageTRES adds, lower-cased."""
    listed = cluster.option("AccountingStorageTRES") or ""
    words: Iterable[str] = listed.split(",") if isinstance(listed, str) else listed
    more = dict.fromkeys(word.strip().lower() for word in words)
    return (*ALWAYS, *(name for name in more if name.startswith("gres/")))


class Billing:
    """Counts and bills TRES.

    Parameters
    ----------
    cluster
        Its AccountingStorageTRES and PriorityFlags.
    table
        The node table; allocations number GRES kinds as it does.
    """

    def __init__(self, cluster: ClusterSpec, table: NodeTable) -> None:
        self.table = table
        self.names = tracked(cluster)
        self._gres = self.names[len(ALWAYS) :]
        self._licenses = frozenset(
            str(name).lower() for name in cluster.option("AccountingStorageTRES") or () if "/" in str(name)
        )
        flags = {flag.upper() for flag in cluster.option("PriorityFlags")}
        self._largest = bool(flags & {"MAX_TRES", "MAX_TRES_GRES"})
        self._gres_in_largest = "MAX_TRES_GRES" not in flags

    def allocated(self, a: Allocation) -> dict[str, int]:
        """TRES of an allocation by name, billing aside; memory in MiB."""
        mem = a.mem * a.n_nodes if isinstance(a.mem, int) else int(a.mem.sum())
        counts = {"cpu": a.n_cpus, "mem": mem, "node": a.n_nodes}
        if self._gres and a.gres:
            for kind, count in a.gres:
                total = count * a.n_nodes if isinstance(count, int) else int(count.sum())
                self.add_gres(counts, *self.table.gres_kinds[kind], total)
        return counts

    def gres_of_first_node(self, a: Allocation) -> dict[str, int]:
        """Return the GRES that an allocation has on its first node, as TRES."""
        counts: dict[str, int] = {}
        for kind, count in a.gres if self._gres else ():
            self.add_gres(counts, *self.table.gres_kinds[kind], count if isinstance(count, int) else int(count[0]))
        return counts

    def requested(self, job: Job, request: CompiledRequest) -> dict[str, int]:
        """TRES a pending job asks for, as its partition's defaults complete the request."""
        nodes = request.min_nodes
        memory = request.memory_asked
        mask = request.partition.mask
        all_of_it = request.mem_all or request.shows_all_memory or request.mem_of_default_gpus
        if not memory and all_of_it and mask:  # as much as its first node has, of each
            memory = int(self.table.mem[next(iter(to_indices(mask)))]) * nodes
        counts = {"cpu": job.n_cpus, "mem": memory, "node": nodes}
        for g in request.asked.gres:
            if g.count:
                self.add_gres(counts, g.name, g.type, request.gres_asked(g))
        return counts

    def of_node(self, node: int, partitions: Iterable[Partition]) -> dict[str, int]:
        """TRES of a node; it is billed as in the dearest of its partitions (_set_node_billing_tres, controller.c)."""
        table = self.table
        counts = {"cpu": int(table.cpus[node]), "mem": int(table.mem[node])}
        for kind, (name, gtype) in enumerate(table.gres_kinds):
            if table.gres[kind][node]:
                self.add_gres(counts, name, gtype, int(table.gres[kind][node]))
        weights = [p.spec.tres_billing_weights for p in partitions if p.mask >> node & 1]
        most = max((self.bill({**counts, "node": 1}, one) for one in weights if one), default=0)
        counts["billing"] = int(most) or counts["cpu"]
        return counts

    def capacity(self, partition: Partition, weights: Sequence[tuple[str, float]] | None = None) -> dict[str, int]:
        """TRES of all nodes of a partition, billed at `weights` or else the partition's own."""
        table, mask = self.table, partition.mask
        rows = to_indices(mask) if mask else np.zeros(0, np.int64)
        counts = {"cpu": partition.total_cpus, "mem": int(table.mem[rows].sum()), "node": partition.total_nodes}
        for kind, (name, gtype) in enumerate(table.gres_kinds):
            self.add_gres(counts, name, gtype, int(table.gres[kind][rows].sum()))
        weights = partition.spec.tres_billing_weights if weights is None else weights
        counts["billing"] = int(self.bill(counts, weights))
        return counts

    def add_gres(self, counts: dict[str, int], name: str, gtype: str, count: int) -> None:
        """Add so many GRES of a name and type to the TRES they count among."""
        for label in (f"gres/{name}", f"gres/{name}:{gtype}"):
            if label in self._gres:
                counts[label] = counts.get(label, 0) + count

    def of_licenses(self, licenses: Iterable[tuple[str, int]]) -> dict[str, int]:
        """Return the licenses that AccountingStorageTRES lists, as TRES."""
        found = ((f"license/{resource_of(name)}", count) for name, count in licenses) if self._licenses else ()
        return {name: count for name, count in found if name.lower() in self._licenses}

    def bill(self, counts: Mapping[str, int], weights: Sequence[tuple[str, float]]) -> float:
        """Return what `counts` are billed at: Σ weight × count; the CPUs where a partition has no weights.

        With PriorityFlags=MAX_TRES the largest of CPU, memory, node and GRES plus the sum of the others; with
        MAX_TRES_GRES (24.11) GRES are among the others.
        """
        if not weights:
            return float(counts["cpu"])
        largest = total = 0.0
        for name, weight in weights:
            value = counts.get(name, 0) * weight
            if self._largest and (name in _OF_A_NODE or (self._gres_in_largest and name.startswith("gres/"))):
                largest = max(largest, value)
            elif name != "billing":
                total += value
        return largest + total

    def amounts(self, job: Job) -> tuple[float, dict[str, int]]:
        """Return what a job with an allocation is billed at a second, and its TRES by name with ``billing``."""
        assert job.alloc is not None
        counts = self.allocated(job.alloc)
        bill = self.bill(counts, job.partition.spec.tres_billing_weights)
        counts["billing"] = int(bill)
        return bill, counts
