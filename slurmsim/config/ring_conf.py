"""topology.conf under topology/ring: rings of nodes in their order (26.05)."""

from collections.abc import Iterable

from slurmsim.config.attributes import read_attributes
from slurmsim.config.findings import Place, Report
from slurmsim.config.line_options import RING_KEYS
from slurmsim.config.nodes import NodeTable
from slurmsim.config.slurm_conf import ConfLine
from slurmsim.config.topology_conf import listed
from slurmsim.model.topology import RingSpec

MOST_NODES = 16  # of a ring


def read_rings(lines: Iterable[ConfLine], table: NodeTable, report: Report, shown: str) -> tuple[RingSpec, ...]:
    """Return the rings in the order of the file; what contradicts itself becomes an error in `report`."""
    found: dict[str, RingSpec] = {}
    for line in lines:
        if line.pairs[0].key.lower() != "ringname":
            report.error(line.place, line.pairs[0].key, line.pairs[0].value, "opens no line here", "RingName=… Nodes=…")
            continue
        text = read_attributes(line, RING_KEYS, report).text("nodes")
        add_ring(found, line.pairs[0].value, text, line.place, table, report)
    if not found:
        report.error(Place(shown), "TopologyPlugin", "", "topology/ring needs a topology.conf with RingName lines")
    return tuple(found.values())


def add_ring(found: dict[str, RingSpec], name: str, nodes: str, place: Place, table: NodeTable, report: Report) -> None:
    """Add a ring to those `found`; one that is there already or too long becomes an error."""
    if name in found:
        report.error(place, "RingName", name, "this ring is defined twice",
                     log=(f"fatal: Ring ({name}) has already been defined",))  # fmt: skip
    names = tuple(listed(nodes, place, table, report))
    if len(names) > MOST_NODES:
        report.error(place, "Nodes", nodes, f"{len(names)} nodes are too many for ring {name}", f"{MOST_NODES} at most",
                     (f"fatal: Ring ({name}) is bigger than {MOST_NODES}",))  # fmt: skip
    found[name] = RingSpec(name, names)
