"""topology/ring: a job, or each of its segments, on neighbouring nodes of one ring.

Mirrors eval_nodes_ring (26.05). Of each ring the first run of nodes of the lightest weight counts, and of the rings the
lightest run, then the one in the ring with the fewest usable nodes. A run may go on from a ring's last node to its
first. A job gets as many nodes as it needs at least. With ``--segment=n`` it gets runs of `n` nodes, each of another
ring. Nothing else orders nodes. Nodes without a ring are chosen among where no node of a ring is usable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.placement.best_fit import Ask, Segments, Taking
from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass
from slurmsim.model.topology import RingSpec


@dataclass(frozen=True, slots=True)
class _Run(Value):
    """Neighbouring nodes of a ring with `usable` nodes, and the heaviest of their weights."""

    nodes: tuple[int, ...]
    weight: int
    usable: int

    def worse(self, other: _Run) -> bool:
        """Return True if `other` is to be had rather."""
        return (self.weight, self.usable) > (other.weight, other.usable)


class RingTopology:
    """The rings of one cluster.

    Parameters
    ----------
    rings
        In the order of the file.
    index
        Place of each node in the node table.
    """

    comes_first = True
    had_whole = True
    takes_single = True

    def __init__(self, rings: Sequence[RingSpec], index: dict[str, int]) -> None:
        self.rings = [tuple(index[node] for node in ring.nodes) for ring in rings]
        self.nodes: Bitmap = from_indices(sorted({node for ring in self.rings for node in ring}))

    def leaves_of(self, nodes: Bitmap) -> int:
        """Return 0: ``--switches`` counts no rings."""
        return 0

    def whole(self, nodes: Bitmap) -> Bitmap:
        """Return `nodes` and all others of the rings they are in."""
        for ring in self.rings:
            mine = from_indices(sorted(ring))
            nodes |= mine if nodes & mine else 0
        return nodes

    def applies(self, nodes: Iterable[int]) -> bool:
        """Return True if a node is in a ring; else nodes are chosen as if there were none."""
        return any(self.nodes >> node & 1 for node in nodes)

    def refused(self, n_nodes: int, size: int, n_required: int) -> bool:
        """Return True if no job can have segments of `size` nodes, or fewer required nodes than it has nodes."""
        uneven = 0 < size <= n_nodes and n_nodes % size > 0
        return uneven or 0 < n_required < n_nodes

    def evaluate(
        self, ask: Ask, left: dict[int, int], weight: dict[int, int], required: set[int]
    ) -> dict[int, int] | None:
        """One attempt (`slurmsim.core.placement.best_fit.choose`); lowers `left` for nodes taken in part."""
        wanted, size = min(ask.min_nodes, ask.target_nodes), (ask.segments or Segments(0)).size
        if self.refused(wanted, size, len(required)) or not required <= left.keys():
            return None
        if len(required) > ask.max_nodes or any(not self.nodes >> node & 1 for node in required):
            return None
        n_runs = wanted // size if 0 < size <= wanted else 1
        usable = {node: left[node] for node in required} if required else left
        chosen = _Best(n_runs)
        for ring in self.rings:
            found = self._run(ring, wanted // n_runs, usable, weight, Taking(ask, left) if n_runs == 1 else None)
            if found is not None:
                chosen.offer(found)
        if len(chosen.runs) < n_runs:
            return None
        taking = Taking(ask, left)
        for run in chosen.runs:
            for node in run.nodes:
                if not taking.take(node) or taking.taken[node] <= 0:
                    return None
        return taking.taken if taking.min_rem <= 0 and taking.rem_cpus <= 0 and taking.has_gres else None

    def _run(
        self, ring: tuple[int, ...], n: int, usable: dict[int, int], weight: dict[int, int], gres: Taking | None
    ) -> _Run | None:
        """Return the first of the lightest runs of `n` usable nodes, which bring the GRES of the job; None for none."""
        if len(ring) < n:
            return None
        best: _Run | None = None
        count = sum(1 for node in ring if node in usable)
        for start in range(len(ring)):
            nodes = (*ring, *ring)[start : start + n]
            if not all(usable.get(node, 0) > 0 for node in nodes):
                continue
            heaviest = max(weight[node] for node in nodes)
            if (best is None or heaviest < best.weight) and (gres is None or gres.would_have_gres(nodes)):
                best = _Run(nodes, heaviest, count)
        return best


class _Best:
    """The best runs, as many as there are segments: a heap with the worst on top, as Slurm has it.

    The order among equal ones decides which of them makes way for a better one.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.runs: list[_Run] = []

    def offer(self, run: _Run) -> None:
        """Keep `run` if there is room, or in place of the worst one where it is better."""
        if len(self.runs) < self.most:
            self.runs.append(run)
            self._rise(len(self.runs) - 1)
        elif self.runs[0].worse(run):
            self.runs[0] = run
            self._sink()

    def _rise(self, at: int) -> None:
        while at and self.runs[at].worse(self.runs[(at - 1) // 2]):
            up = (at - 1) // 2
            self.runs[at], self.runs[up] = self.runs[up], self.runs[at]
            at = up

    def _sink(self) -> None:
        at, n = 0, len(self.runs)
        while True:
            worst = at
            for below in (2 * at + 1, 2 * at + 2):
                if below < n and self.runs[below].worse(self.runs[worst]):
                    worst = below
            if worst == at:
                return
            self.runs[at], self.runs[worst] = self.runs[worst], self.runs[at]
            at = worst
