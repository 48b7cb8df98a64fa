"""The node table: what each node has, what is free on it, and the masks that make asking cheap.

Truth is split so that whole-node jobs never touch an array: a node is *idle* (no job: everything free), *mixed* (some
job, counts in `free_cpus`, `free_mem`, `free_gres`) or whole-taken (in neither mask). For idle nodes the arrays hold
the full amounts, for whole-taken nodes they mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from slurmsim.bitmap import Bitmap, from_indices, to_bools
from slurmsim.core.records.allocation import Allocation, IntArray
from slurmsim.core.records.local_cores import LocalCores, Sharing, Unheld
from slurmsim.core.records.node_columns import NodeColumns
from slurmsim.core.records.shared_cores import SharedCores
from slurmsim.errors import InvariantError
from slurmsim.kernel import compiled, load
from slurmsim.model.node import NodeSpec

_KERNEL: Final[Any] = load("placement") if compiled("placement") else None  # else NumPy is quicker


class NodeTable(NodeColumns):
    """All nodes of the cluster, and what jobs leave of them."""

    def __init__(self, nodes: Sequence[NodeSpec], unit: str) -> None:
        super().__init__(nodes, unit)
        self.free_cpus = self.cpus.copy()
        self.free_mem = self.mem.copy()
        self.free_gres = self.gres.copy()
        self.n_jobs = np.zeros(self.n, np.int64)
        self.idle: Bitmap = self.everything
        self._n_idle = self.n  # negative: to be counted
        self.mixed: Bitmap = 0
        self.up: Bitmap = self.everything
        self.down: Bitmap = 0  # down, drained or in maintenance
        self.alloc_cpus = 0
        # by partition with MaxCPUsPerNode: CPUs its jobs use of each node
        self.used_by: dict[int, IntArray] = {}
        self.cores: SharedCores | None = None  # where some partition lets jobs share cores
        self.local: LocalCores | None = None  # where devices are beside some sockets only
        self.sharing = Sharing()
        self.binds_gres = False  # ENFORCE_BINDING_GRES: jobs are bound to the cores beside their devices by default
        self.keeps_first: bool | None = None  # spec_cores_first; None where jobs may not say what is kept from them

    @property
    def unheld(self) -> Unheld | None:
        """Cores and devices that are free where it matters which."""
        return None if self.local is None else Unheld(self.local)

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
            if self.local is not None:
                self.local.take(a)
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
            if self.local is not None:
                self.local.take(a)
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
            if self.local is not None:
                self.local.give_back(a)
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
        if self.local is not None:
            self.local.give_back(a)
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
        same.layout, same.held = a.layout, a.held
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
        if self.local is not None:
            self.local.check()
        apart = ~to_bools(crowded, self.n)
        # a suspended job keeps memory and GRES: those are never over-booked, on crowded nodes neither
        if (cpus[apart] < 0).any() or (mem < 0).any() or (gres < 0).any():
            raise InvariantError("a node is over-booked")
        ok = (cpus == self.free_cpus).all() and (mem == self.free_mem).all() and (gres == self.free_gres).all()
        if not ok or (jobs != self.n_jobs).any():
            raise InvariantError("free counts differ from a recount")


def _known(answer: int) -> int:
    """Return the kernel's answer. Raises InvariantError for a node that does not exist."""
    if answer < 0:
        raise InvariantError("an allocation on a node there is not")
    return answer
