"""What one job holds of the nodes."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

from slurmsim.bitmap import Bitmap, to_indices
from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass

IntArray = npt.NDArray[np.int64]


@dataclass(slots=True)
class Share:
    """Cores of an allocation: per node as bits, in row `row` of partition `partition` (-1: in none).

    `sole`: no other job has them, too.
    """

    cores: dict[int, int]
    partition: int
    sole: bool
    row: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Hold(Value):
    """Cores and devices that one job has of one node, as bits; devices by kind.

    `shares`: how much of each GPU it has, by kind of shard or MPS.
    """

    cores: int
    devices: tuple[tuple[int, int], ...] = ()
    shares: tuple[tuple[int, tuple[int, ...]], ...] = ()


class Allocation:
    """What one job holds. Uniform values are ints; per-node ones arrays in node order, shape (n_nodes,).

    `share` tells its very cores where some partition lets jobs share cores, `held` cores and devices of each node where
    they matter (`slurmsim.core.records.local_cores`). `layout` tells the units of the job on each
    node where a policy said so, shape (n_nodes,).
    """

    __slots__ = (
        "_columns",
        "cpus",
        "gres",
        "held",
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
        self.held: dict[int, Hold] | None = None
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
