"""topology/torus3d: a job, or each of its segments, in one of the boxes of nodes that a torus gives away.

Mirrors eval_nodes_torus3d (26.05). topology.yaml lists the shapes of boxes. A job gets all nodes of one box, and is
refused where no shape has as many nodes. Of the boxes with usable nodes alone the lightest is taken. Of boxes of one
shape it is the one that breaks the fewest usable boxes of the next larger size, then that of the torus with the fewest
usable nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from slurmsim.bitmap import Bitmap, from_indices, to_indices
from slurmsim.core.placement.best_fit import Ask, Segments, Taking
from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass
from slurmsim.model.topology import PlacementSpec, TorusSpec


@dataclass(frozen=True, slots=True)
class _Shape(Value):
    """Boxes of one placement, in the order they are tried; places without a node are in none of them."""

    size: int
    boxes: tuple[Bitmap, ...]


@dataclass(slots=True)
class _Candidate:
    """A box, the shape it is of, the shape it may spoil, its heaviest weight and the usable nodes of its torus."""

    box: Bitmap
    shape: _Shape
    larger: _Shape | None
    weight: int
    usable: int

    def better(self, other: _Candidate, free: Bitmap) -> bool:
        """Return True if it is to be had rather than `other`, with `free` nodes."""
        if self.weight != other.weight:
            return self.weight < other.weight
        if self.shape is other.shape:
            mine, theirs = self._broken(free, self.larger), other._broken(free, self.larger)
            if mine != theirs:
                return mine < theirs
        return self.usable < other.usable

    def _broken(self, free: Bitmap, larger: _Shape | None) -> int:
        """Return how many usable boxes of a larger shape it has nodes of."""
        return 0 if larger is None else sum(1 for box in larger.boxes if box & self.box and not box & ~free)


class TorusTopology:
    """The tori of one cluster.

    Parameters
    ----------
    toruses
        In the order of the file.
    index
        Place of each node in the node table.
    """

    comes_first = True
    had_whole = False
    takes_single = False

    def __init__(self, toruses: Sequence[TorusSpec], index: dict[str, int]) -> None:
        self.members = [from_indices(sorted(index[node] for node in torus.nodes)) for torus in toruses]
        self.shapes = [
            sorted((_shape(torus, one, index) for one in torus.placements), key=lambda shape: shape.size)
            for torus in toruses
        ]
        self.nodes: Bitmap = 0
        for members, shapes in zip(self.members, self.shapes, strict=True):
            self.nodes |= members if shapes else 0
        self.sizes = {shape.size for shapes in self.shapes for shape in shapes}

    def leaves_of(self, nodes: Bitmap) -> int:
        """Return 0: ``--switches`` counts no boxes."""
        return 0

    def whole(self, nodes: Bitmap) -> Bitmap:
        """Return `nodes` and all others of the tori they are in."""
        for members in self.members:
            nodes |= members if nodes & members else 0
        return nodes

    def applies(self, nodes: Iterable[int]) -> bool:
        """Return True if a node is in a torus with placements; else nodes are chosen as if there were none."""
        return any(self.nodes >> node & 1 for node in nodes)

    def refused(self, n_nodes: int, size: int, n_required: int) -> bool:
        """Return True if no box has so many nodes, or several segments get fewer required nodes than nodes."""
        segment = size if 0 < size <= n_nodes else n_nodes
        several = segment < n_nodes
        return n_nodes % segment > 0 or segment not in self.sizes or (several and 0 < n_required < n_nodes)

    def evaluate(
        self, ask: Ask, left: dict[int, int], weight: dict[int, int], required: set[int]
    ) -> dict[int, int] | None:
        """One attempt (`slurmsim.core.placement.best_fit.choose`); lowers `left` for nodes taken in part."""
        wanted, asked = min(ask.min_nodes, ask.target_nodes), (ask.segments or Segments(0)).size
        if self.refused(wanted, asked, len(required)) or not required <= left.keys():
            return None
        needed = from_indices(sorted(required))
        if needed & ~self.nodes or len(required) > ask.max_nodes:
            return None
        size = asked if 0 < asked <= wanted else wanted
        free = from_indices(sorted(node for node in left if left[node] > 0))
        if size < wanted and required:
            free, needed = free & needed, 0
        taking = Taking(ask, left)
        for _ in range(wanted // size):
            best = self._best(size, free, needed, weight, taking)
            if best is None:
                return None
            for node in to_indices(best.box).tolist():
                if not taking.take(node) or taking.taken[node] <= 0:
                    return None
            free &= ~best.box
        return taking.taken if taking.rem_cpus <= 0 and taking.has_gres else None

    def _best(
        self, size: int, free: Bitmap, needed: Bitmap, weight: dict[int, int], taking: Taking
    ) -> _Candidate | None:
        best: _Candidate | None = None
        for members, shapes in zip(self.members, self.shapes, strict=True):
            usable = (members & free).bit_count()
            larger = next((shape for shape in shapes if shape.size > size), None)
            for shape in (one for one in shapes if one.size == size):
                for box in shape.boxes:
                    if box.bit_count() != size or needed & ~box or box & ~free:
                        continue
                    nodes = to_indices(box).tolist()
                    one = _Candidate(box, shape, larger, max(weight[node] for node in nodes), usable)
                    if taking.would_have_gres(nodes) and (best is None or one.better(best, free)):
                        best = one
        return best


def _shape(torus: TorusSpec, placement: PlacementSpec, index: dict[str, int]) -> _Shape:
    """Return the boxes of a placement: their beginnings by x, then y, then z, each round the torus once."""
    starts = product(*placement.starts(torus.dims))
    return _Shape(placement.size, tuple(_box(torus, placement, start, index) for start in starts))


def _box(torus: TorusSpec, placement: PlacementSpec, start: tuple[int, ...], index: dict[str, int]) -> Bitmap:
    sides = [
        [(begin + k) % side for k in range(length)]
        for begin, side, length in zip(start, torus.dims, placement.dims, strict=True)
    ]
    cells = [torus.cell_of(*place) for place in product(*sides)]
    return from_indices(sorted({index[torus.cells[cell]] for cell in cells if torus.cells[cell]}))
