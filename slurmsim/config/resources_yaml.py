"""resources.yaml beside slurm.conf: hierarchical resources, counts that nodes of layers share (25.05 on).

The file is a list of resources, each with a name, a mode and layers of nodes. Layers are put in slurmctld's order: no
request may exceed the count of a resource's first layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from slurmsim.config.findings import Place, Report
from slurmsim.config.nodes import NodeTable, expand_names
from slurmsim.config.option import earlier
from slurmsim.config.yaml_conf import YamlConf
from slurmsim.hostlist import compress, compress_in_order, natural_key
from slurmsim.model.hierarchy import PER_NODE, HierarchySpec, LayerSpec

FILE = "resources.yaml"
FIRST: Final = "25.05"
MODE_3_SINCE: Final = "25.11"
MOST: Final = 2**32 - 3  # above are Slurm's numbers for none and for any number
MOST_DEPTH: Final = 16
MOST_LAYERS: Final = 10_000
_MODES = {"MODE_1": 1, "MODE_2": 2, "MODE_3": 3}


class _Layer(NamedTuple):
    """A layer as it is read; `place` is that of its resource among all, which slurmctld sorts by."""

    resource: int
    mode: int
    nodes: frozenset[str]
    spec: LayerSpec
    base: int


def read_resources(
    text: str, plain: Sequence[str], table: NodeTable, report: Report, shown: str
) -> tuple[HierarchySpec, ...]:
    """Return the resources in their order; what slurmctld would not start with becomes an error in `report`.

    `plain` are the names of the licenses of slurm.conf, which no resource may have.
    """
    return _Reader(table, report, Place(shown)).resources(text, plain)


class _Reader(YamlConf):
    """The resources of one file."""

    def resources(self, text: str, plain: Sequence[str]) -> tuple[HierarchySpec, ...]:
        rows = self.parsed(text, "resources")
        names = [self.text(row, "resource") for row in rows]
        for k, name in enumerate(names):
            if not name or not set(name).isdisjoint(",;|:=() \t\n"):
                self.wrong("resource", f"resource {name!r} has no name that a job could ask for")
            elif name in plain:
                self.wrong("resource", f"{name} is a license of slurm.conf, too")
            elif name in names[:k]:
                self.wrong("resource", f"two resources are called {name}")
        layers = [layer for k, row in enumerate(rows) for layer in self.layers(row, k, names[k])]
        if self.report.errors:
            return ()
        ordered = _in_order(layers, len(plain))
        return tuple(self.resource(row, names[k], [one for one in ordered if one.resource == k])
                     for k, row in enumerate(rows))  # fmt: skip

    # -- layers ------------------------------------------------------------------------------------------------------

    def layers(self, row: Mapping[str, Any], at: int, name: str) -> list[_Layer]:
        """Return the layers of one resource as written."""
        self.known(row, f"resource {name}", ("resource", "mode", "layers", "variables", "topology"))
        word = self.text(row, "mode")
        mode = _MODES.get(word, 0)
        newer = mode == PER_NODE and earlier(self.report.release, MODE_3_SINCE)
        if not mode or newer:
            self.wrong("mode", f"mode {word!r} of {name} is none of Slurm {self.report.release}", ", ".join(_MODES))
        found = [self.layer(one, at, mode) for one in self.rows(row.get("layers"), "layers")]
        if not found:
            self.wrong("layers", f"{name} has no layer")
        if len(found) > MOST_LAYERS:
            self.wrong("layers", f"{name} has {len(found):,} layers", f"at most {MOST_LAYERS:,}")
        shown = [one.spec.shown for one in found]
        if len(set(shown)) < len(shown):
            self.wrong("layers", f"two layers of {name} have the same nodes")
        return found

    def layer(self, row: Mapping[str, Any], at: int, mode: int) -> _Layer:
        self.known(row, "layers", ("nodes", "count", "base"))
        names = self.nodes(row)
        count, base = self.count(row, "count", least=-1), sum(self.named(row, "base").values())
        if 0 <= count < base:
            self.wrong("base", f"{base} of {count} are taken before any job comes")
        spec = LayerSpec(tuple(names), _shown(names), None if count < 0 else count)
        return _Layer(at, mode, frozenset(names), spec, base)

    def nodes(self, row: Mapping[str, Any]) -> list[str]:
        found = row.get("nodes")
        parts = found if isinstance(found, list) else [] if found is None else [found]
        if not parts or any(isinstance(part, (list, dict)) for part in parts):
            self.wrong("nodes", "a layer names no nodes", "hostlists")
            return []
        names = expand_names(",".join(str(part) for part in parts), self.place, "nodes", self.report)
        unknown = next((name for name in names if name not in self.table.places), None)
        if unknown is not None:
            self.wrong("nodes", f"unknown node {unknown!r}", "a NodeName of this configuration")
        return list(dict.fromkeys(names))

    # -- one resource ------------------------------------------------------------------------------------------------

    def resource(self, row: Mapping[str, Any], name: str, layers: list[_Layer]) -> HierarchySpec:
        variables, mode = self.named(row, "variables"), layers[0].mode
        topology = self.text(row, "topology")
        if topology and mode != PER_NODE:
            self.wrong("topology", f"{name} has one, but not MODE_3")
        above = _above(layers) if mode == PER_NODE else [-1] * len(layers)
        if mode == PER_NODE:
            self.check_tree(name, above)
        specs = [LayerSpec(one.spec.nodes, one.spec.shown, left, upper)
                 for one, left, upper in zip(layers, self.left(name, layers, above), above, strict=True)]  # fmt: skip
        return HierarchySpec(name, mode, tuple(specs), tuple(variables.items()), topology)

    def left(self, name: str, layers: list[_Layer], above: list[int]) -> list[int | None]:
        """Return what of each layer's count its base, and in mode 3 the base of layers below, leaves to jobs."""
        base = [one.base for one in layers]
        found: list[int | None] = []
        for k, one in enumerate(layers):
            count = one.spec.count
            if count is not None and count < base[k]:
                self.wrong("base", f"{base[k]} of {count} of {name} on {one.spec.shown} are taken before any job comes")
            found.append(None if count is None else count - base[k])
            if above[k] >= 0:
                base[above[k]] += base[k]
        return found

    def check_tree(self, name: str, above: list[int]) -> None:
        if above.count(-1) != 1:
            self.wrong("layers", f"no layer of {name} has the nodes of all others", "MODE_3 wants a tree of layers")
            return
        leaves = set(range(len(above))) - set(above)
        depths = {depth_of(k, above) for k in leaves}
        if len(depths) > 1 or max(depths) > MOST_DEPTH:
            self.wrong("layers", f"the smallest layers of {name} are not equally deep",
                       f"MODE_3 wants at most {MOST_DEPTH} layers above every node, equally many")  # fmt: skip

    # -- values ------------------------------------------------------------------------------------------------------

    def text(self, row: Mapping[str, Any], key: str) -> str:
        found = row.get(key)
        if isinstance(found, (list, dict)):
            self.wrong(key, "is no text")
            return ""
        return "" if found is None else str(found)

    def count(self, row: Mapping[str, Any], key: str, *, least: int = 0) -> int:
        found = row.get(key)
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= MOST:
            self.wrong(key, f"{found!r} is no count", "a whole number" + (", -1 for any number" if least < 0 else ""))
            return 0
        return found

    def named(self, row: Mapping[str, Any], key: str) -> dict[str, int]:
        """Return counts by name."""
        found = {}
        for one in self.rows(row.get(key), key):
            self.known(one, key, ("name", "value"))
            found[self.text(one, "name")] = self.count(one, "value")
        return found


def depth_of(layer: int, above: Sequence[int]) -> int:
    """Return how many layers there are from that one to the top, both counted.

    >>> depth_of(0, [2, 2, -1]), depth_of(2, [2, 2, -1])
    (2, 1)
    """
    depth = 1
    while (layer := above[layer]) >= 0:
        depth += 1
    return depth


def _shown(names: list[str]) -> str:
    """Return nodes as shows have them: in the order of the file.

    >>> _shown(["n9", "n10", "n11"]), _shown(["n2", "n1"])
    ('n[9-11]', 'n[2,1]')
    """
    return compress(names) if names == sorted(names, key=natural_key) else compress_in_order(names)


def _above(layers: list[_Layer]) -> list[int]:
    """Return for each layer the first one that has all its nodes, and is another one; -1 for none."""
    return [
        next((k for k, other in enumerate(layers) if k != at and one.nodes <= other.nodes), -1)
        for at, one in enumerate(layers)
    ]


def _in_order(layers: Iterable[_Layer], n_plain: int) -> list[_Layer]:
    """Return the layers as slurmctld sorts them, licenses of slurm.conf before them.

    Only layers of one resource in mode 3 that hold one another have an order, so it matters how the sort goes about
    it: halves are sorted and merged, as glibc's qsort does.
    """
    found = _sorted([*[None] * n_plain, *layers])
    return [one for one in found if one is not None]


def _sorted(found: list[_Layer | None]) -> list[_Layer | None]:
    if len(found) < 2:
        return found
    half = len(found) // 2
    left, right = _sorted(found[:half]), _sorted(found[half:])
    merged = []
    while left and right:
        merged.append(left.pop(0) if _compared(left[0], right[0]) <= 0 else right.pop(0))
    return merged + left + right


def _compared(a: _Layer | None, b: _Layer | None) -> int:
    """Return below 0 if `a` comes first: a license before layers, later resources before earlier, parts before all."""
    if a is None or b is None:
        return (a is not None) - (b is not None)
    if a.resource != b.resource:
        return -1 if a.resource > b.resource else 1
    if a.mode != PER_NODE:
        return 0
    return -1 if a.nodes <= b.nodes else 1 if b.nodes <= a.nodes else 0
