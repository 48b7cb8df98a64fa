"""What the nodes of a set have in common, remembered: most requests of a cluster may go to the same nodes."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from slurmsim.bitmap import Bitmap, to_indices
from slurmsim.core.records.alike import alike

MOST = 64  # sets remembered, each with its rows; then all are forgotten


class NodeColumns(Protocol):
    """What a node table has a row for each node of: CPUs, weight, and how many CPUs the least share has."""

    cpus: npt.NDArray[np.int64]
    weight: npt.NDArray[np.int64]
    grain: npt.NDArray[np.int64]


class NodeSet:
    __slots__ = ("by_cpu", "cpus_alike", "cpus_each", "grain_alike", "only_whole", "rows")

    def __init__(self, table: NodeColumns, rows: npt.NDArray[np.int64]) -> None:
        cpus, weights, grain = table.cpus[rows], table.weight[rows], table.grain[rows]
        self.rows = rows  # (n,) int64, the nodes by number, ascending
        # cpus_alike, grain_alike: the CPUs of each, and those of the least share of each, whatever the weights; 0 where
        # they differ
        self.cpus_alike, self.grain_alike = alike(cpus), alike(grain)
        # the CPUs of each, 0 where they, or their weights, differ, and where there are no nodes
        self.cpus_each = self.cpus_alike if len(rows) and (weights == weights[0]).all() else 0
        # a job can have no share of a node that is less than all of it
        self.only_whole = bool(len(rows)) and bool((grain == cpus).all())
        self.by_cpu = not (grain != 1).any()  # a job can have any number of CPUs of a node


class NodeSets:
    """The sets that were asked for, until the nodes are altered."""

    def __init__(self, table: NodeColumns) -> None:
        self._table = table
        self._known: dict[Bitmap, NodeSet] = {}

    def of(self, mask: Bitmap) -> NodeSet:
        found = self._known.get(mask)
        if found is None:
            if len(self._known) >= MOST:
                self._known.clear()
            rows = to_indices(mask) if mask else np.zeros(0, np.int64)
            found = self._known[mask] = NodeSet(self._table, rows)
        return found

    def forget(self) -> None:
        """Nodes have been altered."""
        self._known.clear()
