"""What each node has: the columns that jobs do not change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slurmsim.bitmap import Bitmap, from_indices, to_indices
from slurmsim.core.records.alike import alike
from slurmsim.core.records.allocation import IntArray
from slurmsim.model.node import NodeSpec


class NodeColumns:
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
        self.index = {s.name: i for i, s in enumerate(nodes)}  # of two nodes of one name the later one
        self.cpus = np.array([usable_cpus(s, unit) for s in nodes], np.int64)
        self.mem = np.array([max(0, s.real_memory_mib - s.mem_spec_limit_mib) for s in nodes], np.int64)
        self.weight = np.array([s.weight for s in nodes], np.int64)
        self.grain = np.array([grain_cpus(s, unit) for s in nodes], np.int64)
        self.uniform_grain = alike(self.grain)  # 0 where they differ
        # One column per GRES (name, type); an untyped request may take from any type of the name.
        self.gres_kinds: list[tuple[str, str]] = gres_kinds(nodes)
        kinds = self.gres_kinds
        self.gres = np.zeros((len(kinds), self.n), np.int64)
        for i, s in enumerate(nodes):
            for g in s.gres:
                self.gres[kinds.index((g.name, g.type)), i] += g.count
        flagged = [(kinds.index((g.name, g.type)), g) for s in nodes for g in s.gres if g.explicit or not g.consumed]
        # kinds that jobs do not use up, and those that only jobs get that ask for them
        self.unconsumed = frozenset(kind for kind, g in flagged if not g.consumed)
        self.explicit = frozenset(kind for kind, g in flagged if g.explicit)
        self.everything: Bitmap = (1 << self.n) - 1
        together: dict[int, list[int]] = {}
        for i, spec in enumerate(nodes):
            together.setdefault(spec.line, []).append(i)
        self.lines = [from_indices(line) for line in together.values() if len(line) > 1]  # of slurm.conf
        self.active: dict[int, tuple[str, ...]] = {}  # features, where they are not all of the available ones
        self.past_features: tuple[str, ...] = ()  # no node has them any more; jobs may still name them
        self.gone: Bitmap = gone_nodes(nodes)
        self.uniform_cpus: int | None = alike(self.cpus) or None
        self.total_cpus = int(self.cpus.sum()) - int(self.cpus[to_indices(self.gone)].sum())

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

    def has(self, name: str) -> bool:
        """Return True if there is a node of this name, which was not deleted."""
        return name in self.index and not self.gone >> self.index[name] & 1

    def cpus_on(self, mask: Bitmap) -> int:
        """Return the configured CPUs on the nodes of `mask`."""
        if self.uniform_cpus is not None:
            return self.uniform_cpus * mask.bit_count()
        return int(self.cpus[to_indices(mask)].sum())

    def sockets(self, idx: IntArray) -> IntArray:
        """Return how many sockets nodes `idx` have, shape (len(idx),)."""
        return np.array([self.specs[i].sockets for i in idx], np.int64)


def gres_kinds(nodes: Sequence[NodeSpec]) -> list[tuple[str, str]]:
    """Return names and types of GRES: those of slurm.conf sorted, then what later nodes brought, in that order."""
    kinds = sorted({(g.name, g.type) for s in nodes for g in s.gres if not s.dynamic})
    later = dict.fromkeys((g.name, g.type) for s in nodes for g in s.gres)
    return [*kinds, *(kind for kind in later if kind not in kinds)]


def gone_nodes(nodes: Sequence[NodeSpec]) -> Bitmap:
    """Return the nodes that were deleted."""
    return from_indices([i for i, s in enumerate(nodes) if s.dynamic == "GONE"])


def reserved_cpus(spec: NodeSpec) -> int:
    """CPUs of the cores CoreSpecCount keeps from jobs."""
    cores = spec.sockets * spec.cores_per_socket
    return min(spec.core_spec_count * max(1, spec.cpus // max(1, cores)), spec.cpus - 1)


def usable_cpus(spec: NodeSpec, unit: str) -> int:
    """CPUs of a node that jobs can have: select/linear knows no cores that are kept from them."""
    return spec.cpus if unit == "node" else spec.cpus - reserved_cpus(spec)


def grain_cpus(spec: NodeSpec, unit: str) -> int:
    """CPUs of the smallest share of a node: one CPU, a core, a socket or all of it."""
    if unit == "cpu":
        return 1
    if unit == "socket":
        return max(1, spec.cpus // max(1, spec.sockets))
    if unit == "node":
        return spec.cpus
    cores = spec.sockets * spec.cores_per_socket
    return max(1, spec.cpus // cores) if cores and spec.cpus % cores == 0 else 1
