"""What is free: the node table's present, or a supposition in which running jobs are gone."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.records.allocation import Allocation, IntArray
from slurmsim.core.records.local_cores import Unheld
from slurmsim.core.records.node_table import NodeTable
from slurmsim.core.records.shared_cores import SharedCores


class FreeState(Protocol):
    """What is free: the node table itself, or a supposition about it."""

    idle: Bitmap
    mixed: Bitmap
    up: Bitmap
    free_cpus: IntArray
    free_mem: IntArray
    free_gres: IntArray
    used_by: dict[int, IntArray]
    cores: SharedCores | None

    @property
    def unheld(self) -> Unheld | None: ...


class Supposed:
    """A copy of the table's free state from which running jobs can be taken away."""

    __slots__ = ("_copied", "cores", "free_cpus", "free_gres", "free_mem", "idle", "mixed", "n_jobs", "table",
                 "unheld", "up", "used_by")  # fmt: skip

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self.idle, self.mixed, self.up = table.idle, table.mixed, table.up
        self.free_cpus, self.free_mem, self.free_gres = table.free_cpus, table.free_mem, table.free_gres
        self.n_jobs, self.used_by = table.n_jobs, table.used_by
        self.cores, self.unheld = table.cores, table.unheld
        self._copied = False

    def copy(self) -> Supposed:
        """Return the same state, to be changed on its own."""
        new = Supposed(self.table)
        new.idle, new.mixed, new.up = self.idle, self.mixed, self.up
        new.free_cpus, new.free_mem, new.free_gres = self.free_cpus, self.free_mem, self.free_gres
        new.n_jobs, new.used_by, new.cores, new.unheld = self.n_jobs, self.used_by, self.cores, self.unheld
        return new

    def _own_arrays(self) -> None:
        if not self._copied:
            self.free_cpus, self.free_mem = self.free_cpus.copy(), self.free_mem.copy()
            self.free_gres, self.n_jobs = self.free_gres.copy(), self.n_jobs.copy()
            self.used_by = {index: used.copy() for index, used in self.used_by.items()}
            self.cores = None if self.cores is None else self.cores.copy()
            self._copied = True

    def release_cpus(self, a: Allocation) -> None:
        """Suppose the job holding `a` suspended: its CPUs are free, its memory and GRES are not."""
        self._own_arrays()
        if self.unheld is not None:
            self.unheld = self.unheld.without(a, devices=False)
        idx = a.indices()
        if a.whole:  # the arrays meant nothing there
            self.free_cpus[idx] = self.table.cpus[idx]
            self.free_mem[idx] = self.table.mem[idx] - a.mem
            self.free_gres[:, idx] = self.table.gres[:, idx]
            for kind, count in a.gres:
                self.free_gres[kind][idx] -= count
            self.n_jobs[idx] = 1
            self.mixed |= a.mask
            return
        self.free_cpus[idx] += a.cpus
        if a.quota >= 0:
            self.used_by[a.quota][idx] -= a.cpus

    def release(self, a: Allocation) -> None:
        """Suppose the job holding `a` gone."""
        if self.unheld is not None:
            self.unheld = self.unheld.without(a)
        if a.whole:
            self.idle |= a.mask
            return
        self._own_arrays()
        idx = a.indices()
        if a.share is None or self.cores is None:
            self.free_cpus[idx] += a.cpus
        else:
            self.cores.remove(a.share)
            self.free_cpus[idx] = self.cores.free_on(idx.tolist())
        self.free_mem[idx] += a.mem
        for kind, count in a.gres:
            self.free_gres[kind][idx] += count
        self.n_jobs[idx] -= 1
        if a.quota >= 0:
            self.used_by[a.quota][idx] -= a.cpus
        freed = from_indices(idx[self.n_jobs[idx] == 0])
        self.mixed &= ~freed
        self.idle |= freed

    @classmethod
    def empty(cls, table: NodeTable) -> Supposed:
        """Return the whole cluster without any job."""
        state = cls(table)
        state.idle, state.mixed, state.up = table.everything, 0, table.everything
        state.free_cpus, state.free_mem, state.free_gres = table.cpus, table.mem, table.gres
        state.used_by = {index: np.zeros(table.n, np.int64) for index in table.used_by}
        state.cores = None if table.cores is None else table.cores.emptied()
        state.unheld = None if table.local is None else Unheld(table.local, all_gone=True)
        state._copied = True
        return state
