"""topology.yaml beside slurm.conf: several topologies by name, of which a partition has one (25.05 on).

The file is a list of topologies, each with a name and one of ``tree``, ``block``, ``flat``, ``ring`` and ``torus3d``
(the last two since 26.05). An empty mapping stands for a kind that is not there, so what ``scontrol show topoconf``
prints can be read. A list of one may be written as that one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slurmsim.config.block_conf import block_topology
from slurmsim.config.findings import Place, Report
from slurmsim.config.nodes import NodeTable, expand_names
from slurmsim.config.option import earlier
from slurmsim.config.ring_conf import add_ring
from slurmsim.config.topology_conf import check_tree, listed
from slurmsim.config.unreadable_yaml import NO_KIND, refusal
from slurmsim.config.yaml_conf import YamlConf
from slurmsim.hostlist import natural_key
from slurmsim.model.block import BlockSpec
from slurmsim.model.partition import PartitionSpec
from slurmsim.model.switch import SwitchSpec
from slurmsim.model.topology import (
    DEFAULT,
    ORIGIN,
    PlacementSpec,
    Point,
    RegionSpec,
    RingSpec,
    TopologySpec,
    TorusSpec,
)

FILE = "topology.yaml"
MOST_SIDE = 65_535
MOST_CELLS = 65_536  # of a torus: as many as Slurm knows nodes
_KINDS = ("tree", "block", "flat", "ring", "torus3d")
_NEWER = ("ring", "torus3d")


def read_topologies(text: str, table: NodeTable, report: Report, shown: str) -> tuple[TopologySpec, ...]:
    """Return the topologies, the cluster's default first; what contradicts itself becomes an error in `report`."""
    reader = _Reader(table, report, Place(shown))
    found = reader.loaded(text)
    reader.log = refusal(found, report.release, shown)
    rows = reader.rows(found, "topologies")
    if not rows and not report.errors:
        reader.wrong("", "it has no topology", "a list of topologies")
    specs = {spec.name: (bool(row.get("cluster_default")), spec) for row in rows if (spec := reader.topology(row))}
    if len(specs) < len(rows) and not report.errors:
        reader.wrong("topology", "two topologies have one name")
    return tuple(spec for _, spec in sorted(specs.values(), key=lambda one: not one[0]))


def check_partitions(partitions: Sequence[PartitionSpec], known: Sequence[str], report: Report, shown: str) -> None:
    """Report each partition with a Topology= that is none of those there are."""
    for one in partitions:
        if one.topology and one.topology not in (known or (DEFAULT,)):
            report.error(Place(shown), "Topology", one.topology, f"no topology of partition {one.name}",
                         ", ".join(known) or DEFAULT)  # fmt: skip


class _Reader(YamlConf):
    """The topologies of one file."""

    log: tuple[str, ...] = ()  # what slurmctld says of a file that its parser cannot read

    def wrong(self, key: str, message: str, expected: str = "", log: tuple[str, ...] = ()) -> None:
        super().wrong(key, message, expected, self.log or log)

    def mapping(self, found: Any, what: str, known: Sequence[str]) -> Mapping[str, Any]:
        """Return a mapping, empty with an error where it is none; keys that are not `known` are told."""
        if not isinstance(found, dict):
            self.wrong(what, "is no mapping")
            return {}
        self.known(found, what, known)
        return found

    def text(self, row: Mapping[str, Any], key: str) -> str:
        """Return a text, or several joined by commas."""
        found = row.get(key)
        parts = found if isinstance(found, list) else [] if found is None else [found]
        if any(isinstance(part, (list, dict)) for part in parts):
            self.wrong(key, "is no text")
            return ""
        return ",".join(str(part) for part in parts)

    # -- topologies --------------------------------------------------------------------------------------------------

    def topology(self, row: Mapping[str, Any]) -> TopologySpec | None:
        name = self.text(row, "topology")
        self.mapping(row, f"topology {name}", ("topology", "cluster_default", *_KINDS))
        given = [kind for kind in _KINDS if row.get(kind) not in (None, {}, False)]
        if not name or len(given) != 1:
            self.wrong("topology", f"topology {name!r} has {' and '.join(given) or 'no kind'}",
                       f"a name and one of {', '.join(_KINDS)}", () if given else NO_KIND)  # fmt: skip
            return None
        kind = given[0]
        if kind in _NEWER and earlier(self.report.release, "26.05"):
            self.wrong(kind, f"Slurm {self.report.release} has no such topology", "26.05")
        read: dict[str, Callable[[str, Any], TopologySpec]] = {
            "tree": self.tree, "block": self.block, "flat": self.flat, "ring": self.ring, "torus3d": self.torus3d,
        }  # fmt: skip
        return read[kind](name, row[kind])

    def flat(self, name: str, found: Any) -> TopologySpec:
        if isinstance(found, dict):
            row = self.mapping(found, "flat", ("alpha_step_rank",))
            return TopologySpec(name, alpha_step_rank=row.get("alpha_step_rank") is True)
        if found is not True:
            self.wrong("flat", "is neither true nor a mapping")
        return TopologySpec(name)

    def tree(self, name: str, found: Any) -> TopologySpec:
        switches: dict[str, SwitchSpec] = {}
        for row in self.rows(self.mapping(found, "tree", ("switches",)).get("switches"), "switches"):
            self.mapping(row, "switches", ("switch", "children", "nodes"))
            below, nodes, one = self.text(row, "children"), self.text(row, "nodes"), self.text(row, "switch")
            if below and nodes:
                self.wrong("switch", f"{one} joins nodes and switches", "nodes or children")
            if one in switches:
                self.wrong("switch", f"{one} is defined twice",
                           log=(f"fatal: Switch ({one}) has already been defined",))  # fmt: skip
            names = tuple(dict.fromkeys(expand_names(below, self.place, "children", self.report))) if below else ()
            switches[one] = SwitchSpec(one, self.sorted_nodes(nodes), names)
        if not switches:
            self.wrong("tree", f"topology {name} has no switch")
        check_tree(switches, dict.fromkeys(switches, self.place), self.table, self.report)
        return TopologySpec(name, "topology/tree", switches=tuple(switches.values()))

    def sorted_nodes(self, text: str) -> tuple[str, ...]:
        return tuple(sorted(listed(text, self.place, self.table, self.report), key=natural_key))

    def block(self, name: str, found: Any) -> TopologySpec:
        row = self.mapping(found, "block", ("block_sizes", "blocks"))
        blocks: dict[str, BlockSpec] = {}
        for one in self.rows(row.get("blocks"), "blocks"):
            self.mapping(one, "blocks", ("block", "nodes"))
            called = self.text(one, "block")
            if called in blocks:
                self.wrong("block", f"{called} is defined twice",
                           log=(f"fatal: Block ({called}) has already been defined",))  # fmt: skip
            blocks[called] = BlockSpec(called, self.sorted_nodes(self.text(one, "nodes")))
        sizes = self.text(row, "block_sizes")
        wrong_size = (f"fatal: Invalid BlockSizes value in topology {name}",)
        made = block_topology(blocks, sizes, self.place, self.table, self.report, wrong_size) if blocks else None
        if not blocks:
            self.wrong("block", f"topology {name} has no block")
        return TopologySpec(name, "topology/block", blocks=made)

    def ring(self, name: str, found: Any) -> TopologySpec:
        rings: dict[str, RingSpec] = {}
        for row in self.rows(self.mapping(found, "ring", ("rings",)).get("rings"), "rings"):
            self.mapping(row, "rings", ("ring", "nodes"))
            add_ring(rings, self.text(row, "ring"), self.text(row, "nodes"), self.place, self.table, self.report)
        if not rings:
            self.wrong("ring", f"topology {name} has no ring")
        return TopologySpec(name, "topology/ring", rings=tuple(rings.values()))

    # -- tori --------------------------------------------------------------------------------------------------------

    def torus3d(self, name: str, found: Any) -> TopologySpec:
        toruses: dict[str, TorusSpec] = {}
        taken: set[str] = set()
        for row in self.rows(self.mapping(found, "torus3d", ("toruses",)).get("toruses"), "toruses"):
            one = self.torus(row)
            if one.name in toruses or taken & set(one.nodes):
                self.wrong("toruses", f"{one.name} is there already, or shares nodes with another torus")
            taken |= set(one.nodes)
            toruses[one.name] = one
        if not toruses:
            self.wrong("torus3d", f"topology {name} has no torus")
        return TopologySpec(name, "topology/torus3d", toruses=tuple(toruses.values()))

    def torus(self, row: Mapping[str, Any]) -> TorusSpec:
        self.mapping(row, "toruses", ("name", "dims", "nodes", "regions", "placements"))
        name, dims = self.text(row, "name"), self.point(row.get("dims"), "dims", 1)
        regions = self.rows(row.get("regions"), "regions")
        parts: tuple[RegionSpec, ...] = ()
        n_cells = dims[0] * dims[1] * dims[2]
        if not name or n_cells > MOST_CELLS or (regions and self.text(row, "nodes")):
            self.wrong("toruses", "a torus has a name, dims of at most 65,536 places, and either nodes or regions",
                       log=(f"fatal: Torus3d ({name}) has invalid configuration",))  # fmt: skip
            return TorusSpec(name, dims)
        if regions:
            parts = tuple(self.region(one, dims) for one in regions)
            cells = self.filled(TorusSpec(name, dims), parts)
        else:
            text = self.text(row, "nodes")
            cells = self.cells(text, n_cells, (name, dims)) if text else [""] * n_cells
        placements = [self.placement(one, dims) for one in self.rows(row.get("placements"), "placements")]
        return TorusSpec(name, dims, tuple(cells), tuple(placements), parts)

    def cells(self, text: str, count: int, torus: tuple[str, Point] | None = None) -> list[str]:
        """Return the nodes of a hostlist, "" for each that is none; there have to be `count` names, of a `torus`."""
        names = expand_names(text, self.place, "nodes", self.report)
        known = set(listed(text, self.place, self.table, self.report)) if names else set()
        if names and len(names) != count:
            self.wrong("nodes", f"{len(names)} nodes for {count} places", log=_wrong_number(torus, count, len(names)))
        return [name if name in known else "" for name in (*names, *[""] * count)][:count]

    def region(self, row: Mapping[str, Any], dims: Point) -> RegionSpec:
        self.mapping(row, "regions", ("anchor", "dims", "nodes"))
        anchor, size = self.point(row.get("anchor"), "anchor", 0), self.point(row.get("dims"), "dims", 1)
        if any(a + n > most for a, n, most in zip(anchor, size, dims, strict=True)):
            self.wrong("regions", "a region reaches beyond its torus")
            return RegionSpec(anchor, size, ())
        return RegionSpec(anchor, size, tuple(self.cells(self.text(row, "nodes"), size[0] * size[1] * size[2])))

    def filled(self, torus: TorusSpec, regions: Sequence[RegionSpec]) -> list[str]:
        """Return the cells of a torus with the nodes of its regions, none of which shares a place with another."""
        cells = [""] * (torus.dims[0] * torus.dims[1] * torus.dims[2])
        for one in regions:
            for k, node in enumerate(one.nodes):
                x, y, z = k % one.dims[0], k // one.dims[0] % one.dims[1], k // (one.dims[0] * one.dims[1])
                at = torus.cell_of(one.anchor[0] + x, one.anchor[1] + y, one.anchor[2] + z)
                if node and cells[at]:
                    self.wrong("regions", "two regions have one place")
                    return cells
                cells[at] = node or cells[at]
        return cells

    def placement(self, row: Mapping[str, Any], dims: Point) -> PlacementSpec:
        self.mapping(row, "placements", ("dims", "anchor_seed", "anchor_spacing"))
        given = {key: self.point(row[key], key, 0) for key in ("anchor_seed", "anchor_spacing") if row.get(key)}
        found = PlacementSpec(self.point(row.get("dims"), "dims", 1), given.get("anchor_seed", ORIGIN),
                              given.get("anchor_spacing", ORIGIN))  # fmt: skip
        within = all(n <= most and s <= most and a < most
                     for n, s, a, most in zip(found.dims, found.step, found.seed, dims, strict=True))  # fmt: skip
        if not within:
            self.wrong("placements", "a placement's dims, anchor_spacing or anchor_seed reach beyond its torus")
        return found

    def point(self, found: Any, key: str, least: int) -> Point:
        """Return x, y and z; what is no such thing becomes an error and the least there is."""
        row = self.mapping(found, key, ("x", "y", "z")) if found is not None else {}
        numbers = [row.get(axis, 0) for axis in ("x", "y", "z")]
        if any(isinstance(n, bool) or not isinstance(n, int) or not least <= n <= MOST_SIDE for n in numbers):
            self.wrong(key, "is not x, y and z", f"whole numbers of {least} to {MOST_SIDE:,}")
            return least, least, least
        x, y, z = numbers
        return x, y, z


def _wrong_number(torus: tuple[str, Point] | None, count: int, there: int) -> tuple[str, ...]:
    """Return what slurmctld logs of a torus with other nodes than places; () for a region of one."""
    if torus is None:
        return ()
    name, (x, y, z) = torus
    return (f"error: Torus3d dimensions {x}x{y}x{z}={count} do not match node count {there}",
            f"fatal: Torus3d ({name}) has invalid configuration")  # fmt: skip
