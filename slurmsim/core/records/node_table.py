"""The node table: what each node has, what is free on it, and the masks that make asking cheap.

Truth is split so that whole-node jobs never touch an array: a node is *idle* (no job: everything free), *mixed* (some
job, counts in `free_cpus`, `free_mem`, `free_gres`) or whole-taken (in neither mask). For idle nodes the arrays hold
the full amounts, for whole-taken nodes they mean nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from slurmsim.bitmap import Bitmap, from_indices, to_bools, to_indices
from slurmsim.core.records.alike import alike
from slurmsim.errors import InvariantError
from slurmsim.kernel import compiled, load
from slurmsim.model.node import NodeSpec

if TYPE_CHECKING:
    from slurmsim.core.placement.sharing import SharedCores

IntArray = npt.NDArray[np.int64]
_KERNEL: Any = load("placement") if compiled("placement") else None  # else NumPy is quicker


@dataclass(slots=True)
class Share:
    """Cores of an allocation: per node as bits, in row `row` of partition `partition` (-1: in none).

    `sole`: no other job has them, too.
    """

    cores: dict[int, int]
    partition: int
    sole: bool
    row: int = 0


class Allocation:
    """What one job holds. Uniform values are ints; per-node ones arrays in node order, shape (n_nodes,).

    `share` tells its very cores where some partition lets jobs share cores. `layout` tells the units of the job on each
    node where a policy said so, shape (n_nodes,).
    """

    __slots__ = (
        "_columns",
        "cpus",
        "gres",
        "idx",
        "layout",
        "mask",
        "mem",
        "n_cpus",
        "n_nodes",
        "names",
        "quota",
        "runs",
        "share",
        "whole",
    )

    def __init__(
        self,
        mask: Bitmap,
        whole: bool,
        n_nodes: int,
        n_cpus: int,
        cpus: int | IntArray,
        mem: int | IntArray,
        gres: tuple[tuple[int, int | IntArray], ...] = (),
        idx: IntArray | None = None,
        runs: list[tuple[int, int]] | None = None,
        quota: int = -1,
    ) -> None:
        self.quota = quota  # these CPUs count against MaxCPUsPerNode of this partition, -1 for none
        self.names: str | None = None  # its nodes as Slurm prints them, made when first read
        self.mask, self.whole, self.n_nodes, self.n_cpus = mask, whole, n_nodes, n_cpus
        self.cpus, self.mem, self.gres, self.idx, self.runs = cpus, mem, gres, idx, runs
        self.share: Share | None = None
        self.layout: IntArray | None = None
        self._columns: array[int] | None = None

    def columns(self) -> array[int]:
        """Return its nodes and, unless it has them whole, CPUs and MiB of each, one column after the other."""
        if self._columns is None:
            found = self._columns = array("q")
            idx = self.indices()
            found.frombytes(idx.tobytes())
            for amount in () if self.whole else (self.cpus, self.mem):
                each = np.full(len(idx), amount, np.int64) if isinstance(amount, int) else amount
                found.frombytes(each.astype(np.int64, copy=False).tobytes())
        return self._columns

    def indices(self) -> IntArray:
        """Allocated nodes in table order."""
        if self.idx is None:
            self.idx = to_indices(self.mask)
        return self.idx


class NodeTable:
    """All nodes of the cluster, in table order.

    Parameters
    ----------
    nodes
        As configured, sorted by name (numeric-aware).
    unit
        ``"core"``, ``"cpu"``, ``"socket"`` or ``"node"``: the smallest share of a node a job can get.
    """

    def __init__(self, nodes: Sequence[NodeSpec], unit: str) -> None:
        self.specs = tuple(nodes)
        self.n = len(nodes)
        self.unit = unit
        self.names = [s.name for s in nodes]
        self.index = {s.name: i for i, s in enumerate(nodes)}
        self.cpus = np.array([s.cpus - reserved_cpus(s) for s in nodes], np.int64)
        self.mem = np.array([max(0, s.real_memory_mib - s.mem_spec_limit_mib) for s in nodes], np.int64)
        self.weight = np.array([s.weight for s in nodes], np.int64)
        self.grain = np.array([grain_cpus(s, unit) for s in nodes], np.int64)
        self.uniform_grain = alike(self.grain)  # 0 where they differ
        # One column per GRES (name, type); an untyped request may take from any type of the name.
        kinds = sorted({(g.name, g.type) for s in nodes for g in s.gres})
        self.gres_kinds: list[tuple[str, str]] = kinds
        self.gres = np.zeros((len(kinds), self.n), np.int64)
        for i, s in enumerate(nodes):
            for g in s.gres:
                self.gres[kinds.index((g.name, g.type)), i] += g.count
        self.everything: Bitmap = (1 << self.n) - 1
        together: dict[int, list[int]] = {}
        for i, spec in enumerate(nodes):
            together.setdefault(spec.line, []).append(i)
        self.lines = [from_indices(line) for line in together.values() if len(line) > 1]  # of slurm.conf
        self.active: dict[int, tuple[str, ...]] = {}  # features, where they are not all of the available ones
        self.past_features: tuple[str, ...] = ()  # no node has them any more; jobs may still name them
        self.free_cpus = self.cpus.copy()
        self.free_mem = self.mem.copy()
        self.free_gres = self.gres.copy()
        self.n_jobs = np.zeros(self.n, np.int64)
        self.idle: Bitmap = self.everything
        self._n_idle = self.n  # negative: to be counted
        self.mixed: Bitmap = 0
        self.up: Bitmap = self.everything
        self.down: Bitmap = 0  # down, drained or in maintenance
        self.uniform_cpus: int | None = alike(self.cpus) or None
        self.total_cpus = int(self.cpus.sum())
        self.alloc_cpus = 0
        # by partition with MaxCPUsPerNode: CPUs its jobs use of each node
        self.used_by: dict[int, IntArray] = {}
        self.cores: SharedCores | None = None  # where some partition lets jobs share cores

    def kept(self, nodes: Bitmap) -> Bitmap:
        """`nodes`; all of them as the one object that `everything` is, which is compared at once."""
        return self.everything if nodes == self.everything else nodes

    def active_features(self) -> list[frozenset[str]]:
        """By which features jobs are given nodes, of each node."""
        return [frozenset(self.active.get(i, spec.features)) for i, spec in enumerate(self.specs)]

    def present_features(self) -> frozenset[str]:
        """Features some node has, active or not."""
        return frozenset(feature for spec in self.specs for feature in spec.features)

    def known_features(self) -> frozenset[str]:
        """Features a job may name: slurmctld forgets none that a node had."""
        return self.present_features().union(self.past_features)

    def cpus_on(self, mask: Bitmap) -> int:
        """Return the configured CPUs on the nodes of `mask`."""
        if self.uniform_cpus is not None:
            return self.uniform_cpus * mask.bit_count()
        return int(self.cpus[to_indices(mask)].sum())

    def with_free_cpus(self) -> Bitmap:
        """Return the nodes with free CPUs, idle nodes too."""
        return from_indices(np.flatnonzero(self.free_cpus > 0))

    def count_anew(self) -> None:
        """Take note that `idle` has been replaced."""
        self._n_idle = -1

    def idle_of(self, nodes: Bitmap) -> tuple[Bitmap, int]:
        """Return the usable nodes of `nodes` without a job, and their number, which is known for all nodes."""
        everything = self.everything
        if nodes == everything and self.up == everything:
            if self._n_idle < 0:
                self._n_idle = self.idle.bit_count()
            return self.idle, self._n_idle
        found = self.idle & self.up & nodes
        return found, found.bit_count()

    def allocate(self, a: Allocation, *, crowd: bool = False) -> Bitmap:
        """Take what `a` says; returns the nodes that were idle before. `crowd`: others may have its cores."""
        newly = a.mask & self.idle
        if a.whole:
            if newly != a.mask:
                raise InvariantError("whole-node allocation on a node that is not idle")
            self.idle ^= a.mask
            self._n_idle -= a.n_nodes if self._n_idle >= 0 else 0
            newly = a.mask  # the very object, which tells without a look that it is all of them
        else:
            idx = a.indices()
            if a.share is None:
                self._take(idx, a.cpus)
            else:
                assert self.cores is not None
                self.cores.add(a.share, crowd=crowd)
                self.free_cpus[idx] = self.cores.free_on(idx.tolist())
                self.n_jobs[idx] += 1
            if type(a.mem) is not int or a.mem:
                self.free_mem[idx] -= a.mem
            for kind, count in a.gres:
                self.free_gres[kind][idx] -= count
            if a.quota >= 0:
                self.used_by[a.quota][idx] += a.cpus
            self.idle &= ~a.mask
            self._n_idle = -1
            self.mixed |= a.mask
        self.alloc_cpus += a.n_cpus
        return newly

    def release(self, a: Allocation) -> Bitmap:
        """Give back what `a` held; returns the nodes that became idle."""
        self.alloc_cpus -= a.n_cpus
        if a.whole:
            self.idle |= a.mask
            self._n_idle += a.n_nodes if self._n_idle >= 0 else 0
            return a.mask
        idx = a.indices()
        if a.share is None:
            shared = self._give_back(idx, a.cpus)
        else:
            assert self.cores is not None
            self.cores.remove(a.share)
            self.free_cpus[idx] = self.cores.free_on(idx.tolist())
            self.n_jobs[idx] -= 1
            shared = int(np.count_nonzero(self.n_jobs[idx]))
        if type(a.mem) is not int or a.mem:
            self.free_mem[idx] += a.mem
        for kind, count in a.gres:
            self.free_gres[kind][idx] += count
        if a.quota >= 0:
            self.used_by[a.quota][idx] -= a.cpus
        if shared == len(idx):
            return 0
        freed = from_indices(idx[self.n_jobs[idx] == 0]) if shared else a.mask
        self.mixed &= ~freed
        self.idle |= freed
        self._n_idle = -1
        return freed

    def _take(self, idx: IntArray, cpus: int | IntArray) -> None:
        """Take so many CPUs of nodes `idx` for a job."""
        if _KERNEL is not None and type(cpus) is not int:
            _known(_KERNEL.take(idx, cpus, self.free_cpus, self.n_jobs))
        else:
            self.free_cpus[idx] -= cpus
            self.n_jobs[idx] += 1

    def _give_back(self, idx: IntArray, cpus: int | IntArray) -> int:
        """Give them back; return on how many of the nodes other jobs run."""
        if _KERNEL is not None and type(cpus) is not int:
            return _known(_KERNEL.give_back(idx, cpus, self.free_cpus, self.n_jobs))
        self.free_cpus[idx] += cpus
        self.n_jobs[idx] -= 1
        return int(np.count_nonzero(self.n_jobs[idx]))

    def counted(self, a: Allocation) -> Allocation:
        """Return the same holding as counts on its nodes, so that whole nodes may be shared."""
        if not a.whole:
            return a
        same = Allocation(a.mask, False, a.n_nodes, a.n_cpus, a.cpus, a.mem, a.gres, a.indices())
        same.layout = a.layout
        return same

    def check(self, running: Sequence[Any], crowded: Bitmap = 0) -> None:
        """Recount everything from the running jobs' allocations; raises InvariantError on any difference.

        On `crowded` nodes jobs share CPUs: some are suspended there, or were resumed without looking.
        """
        cpus, mem, gres = self.cpus.copy(), self.mem.copy(), self.gres.copy()
        jobs = np.zeros(self.n, np.int64)
        whole = 0
        shared = None if self.cores is None else self.cores.emptied()
        for job in running:
            a = job.alloc
            idx = a.indices()
            if a.whole:
                if whole & a.mask or jobs[idx].any():
                    raise InvariantError(f"job {job.id} shares nodes it should own")
                whole |= a.mask
                continue
            jobs[idx] += 1
            if a.share is None:
                cpus[idx] -= a.cpus
            else:
                assert shared is not None
                shared.put(a.share)
                cpus[idx] = shared.free_on(idx.tolist())
            mem[idx] -= a.mem
            for kind, count in a.gres:
                gres[kind][idx] -= count
        mixed = from_indices(np.flatnonzero(jobs))
        if mixed & whole or mixed != self.mixed or self.idle != self.everything & ~(mixed | whole):
            raise InvariantError("node masks differ from a recount")
        if self._n_idle not in (-1, self.idle.bit_count()):
            raise InvariantError("the number of idle nodes differs from a recount")
        apart = ~to_bools(crowded, self.n)
        if (cpus[apart] < 0).any() or (mem < 0).any() or (gres < 0).any():
            raise InvariantError("a node is over-booked")
        ok = (cpus == self.free_cpus).all() and (mem == self.free_mem).all() and (gres == self.free_gres).all()
        if not ok or (jobs != self.n_jobs).any():
            raise InvariantError("free counts differ from a recount")

    def sockets(self, idx: IntArray) -> IntArray:
        """Return how many sockets nodes `idx` have, shape (len(idx),)."""
        return np.array([self.specs[i].sockets for i in idx], np.int64)


def _known(answer: int) -> int:
    """Return the kernel's answer. Raises InvariantError for a node that does not exist."""
    if answer < 0:
        raise InvariantError("an allocation on a node there is not")
    return answer


def reserved_cpus(spec: NodeSpec) -> int:
    """CPUs of the cores CoreSpecCount keeps from jobs."""
    cores = spec.sockets * spec.cores_per_socket
    return min(spec.core_spec_count * max(1, spec.cpus // max(1, cores)), spec.cpus - 1)


def grain_cpus(spec: NodeSpec, unit: str) -> int:
    """CPUs of the smallest share of a node: one CPU, a core, a socket or all of it."""
    if unit == "cpu":
        return 1
    if unit == "socket":
        return max(1, spec.cpus // max(1, spec.sockets))
    if unit == "node":
        return spec.cpus - reserved_cpus(spec)
    cores = spec.sockets * spec.cores_per_socket
    return max(1, spec.cpus // cores) if cores and spec.cpus % cores == 0 else 1
