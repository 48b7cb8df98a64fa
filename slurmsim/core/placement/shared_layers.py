"""Layers of hierarchical resources; in mode 3 each node of a job takes a count from every layer it is in.

Mirrors hres_select_check and hres_pre_select (licenses.c, 26.05) and the retries of common_topo_choose_nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from slurmsim.bitmap import Bitmap, from_indices, to_indices
from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass
from slurmsim.model.hierarchy import PER_NODE, HierarchySpec
from slurmsim.tres import resource_of

ANY_NUMBER: Final = 2**32 - 1  # what stands for a count without a bound


@dataclass(frozen=True, slots=True)
class Layer(Value):
    """One layer as policies see it (slurmsim.policy.LayerView)."""

    resource: str
    mode: int
    nodes: Bitmap
    count: int | None


class SharedLayers:
    """The layers of all resources, numbered through, and what is left of those in mode 3 as placement sees it now.

    Parameters
    ----------
    index
        Place of each node in the node table.
    """

    def __init__(self, specs: Sequence[HierarchySpec], index: Mapping[str, int]) -> None:
        self.specs = {spec.name: spec for spec in specs}
        self.first: dict[str, int] = {}  # number of the first layer of each resource
        self.nodes: list[Bitmap] = []
        self.counts: list[int | None] = []
        self.shown: list[str] = []
        self._above: list[int] = []  # number within the resource of the layer above, -1 for none
        for spec in specs:
            self.first[spec.name] = len(self.nodes)
            for layer in spec.layers:
                self.nodes.append(from_indices(sorted(index[name] for name in layer.nodes if name in index)))
                self.counts.append(layer.count)
                self.shown.append(layer.shown)
                self._above.append(layer.above)
        self.left = self.counts.copy()
        self._ways = {spec.name: self._ways_up(spec) for spec in specs if spec.mode == PER_NODE}
        self.covered = {name: from_indices(sorted(ways)) for name, ways in self._ways.items()}

    def numbers(self, name: str) -> range:
        """Return the numbers of the layers of one resource."""
        first = self.first[name]
        return range(first, first + len(self.specs[name].layers))

    def layers(self) -> list[Layer]:
        """Return all layers by number."""
        return [Layer(name, spec.mode, self.nodes[k], self.counts[k])
                for name, spec in self.specs.items() for k in self.numbers(name)]  # fmt: skip

    def is_top(self, number: int) -> bool:
        """Return True if no layer of its resource is above that one."""
        return self._above[number] < 0

    # -- what may be asked for ---------------------------------------------------------------------------------------

    def layer_named(self, name: str) -> int | None:
        """Return the layer that ``name(nodes)`` is; of a name alone that for all, the first or in mode 3 the top.

        None for no layer.
        """
        resource = resource_of(name)
        if resource not in self.specs:
            return None
        numbers = self.numbers(resource)
        if resource == name:
            return next(k for k in numbers if name not in self.covered or self.is_top(k))
        return next((k for k in numbers if name == f"{resource}({self.shown[k]})"), None)

    def lacks(self, name: str, count: int) -> bool:
        """Return True if there is no such layer, or there are never as many in it."""
        layer = self.layer_named(name)
        most = None if layer is None else self.counts[layer]
        return layer is None or (most is not None and count > most)

    def several_per_node(self, asked: Iterable[tuple[str, int]]) -> bool:
        """Return True if each node would take counts of two resources."""
        return len([name for name, _ in asked if resource_of(name) in self.covered]) > 1

    def per_node(self, asked: Iterable[tuple[str, int]]) -> tuple[str, int]:
        """Return the resource of which each node of such a job takes a count; ("", 0) for none."""
        return next(((name, count) for name, count in asked if name in self.covered), ("", 0))

    # -- what placement sees -----------------------------------------------------------------------------------------

    def at_present(self, used: Sequence[int]) -> None:
        """Let placement see what jobs leave, until it is to see all there is again (`all_free`)."""
        self.left = [None if count is None else max(count - n, 0) for count, n in zip(self.counts, used, strict=True)]

    def all_free(self) -> None:
        """Let placement see layers of which no job has anything, as slurmctld does if it asks what could ever run."""
        self.left = self.counts

    def room(self, asked: tuple[str, int]) -> Room | None:
        """Return the room for a job that takes a count a node of a resource; None where it takes none."""
        name, count = asked
        if name not in self._ways:
            return None
        return Room(self._ways[name], self.left, count, by_block=bool(self.specs[name].topology))

    def _ways_up(self, spec: HierarchySpec) -> dict[int, tuple[int, ...]]:
        """Return for each node the numbers of its layers, the smallest first."""
        first = self.first[spec.name]
        inner = {layer.above for layer in spec.layers}
        found: dict[int, tuple[int, ...]] = {}
        for k in range(len(spec.layers)):
            if k in inner:
                continue
            way = [k]
            while (above := spec.layers[way[-1]].above) >= 0:
                way.append(above)
            numbers = tuple(first + one for one in way)
            for node in to_indices(self.nodes[first + k]).tolist():
                found.setdefault(node, numbers)
        return found


class Room:
    """What layers have left for one job while its nodes are chosen."""

    __slots__ = ("_from", "_left", "_need", "_ways", "by_block")

    def __init__(
        self, ways: Mapping[int, tuple[int, ...]], left: Sequence[int | None], need: int, *, by_block: bool = False
    ) -> None:
        self._ways, self._from, self._need = ways, left, need
        self.by_block = by_block  # its smallest layers are the blocks of the topology
        self._left = list(left)

    def empty(self) -> None:
        """Take back what was taken: nodes are chosen anew."""
        self._left = list(self._from)

    def take(self, node: int) -> bool:
        """Take the count of a node from its layers; return False, and take nothing, where one has too little."""
        left, way = self._left, self._ways.get(node)
        if way is None or any((have := left[k]) is not None and have < self._need for k in way):
            return False
        for k in way:
            if (have := left[k]) is not None:
                left[k] = have - self._need
        return True

    def capacity(self, node: int) -> int:
        """Return the least that is left in the layers of a node before any is taken."""
        found = [ANY_NUMBER if (have := self._from[k]) is None else have for k in self._ways.get(node, ())]
        return min(found, default=0)

    def holds(self, node: int) -> int:
        """Return how many nodes beside `node`, and it, its layers have enough for now."""
        found = [ANY_NUMBER if (have := self._left[k]) is None else have for k in self._ways.get(node, ())]
        return min(found, default=0) // self._need
