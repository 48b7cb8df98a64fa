"""topology.conf beside slurm.conf: which switch joins which nodes and switches (topology/tree, 22.05 to 26.05)."""

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from slurmsim.config.attributes import Attributes, read_attributes
from slurmsim.config.findings import Place, Report
from slurmsim.config.line_options import SWITCH_KEYS
from slurmsim.config.nodes import NodeTable, expand_names, split_known
from slurmsim.config.option import earlier
from slurmsim.config.slurm_conf import ConfLine
from slurmsim.hostlist import compress, natural_key
from slurmsim.model.switch import SwitchSpec


def read_topology(lines: Iterable[ConfLine], table: NodeTable, report: Report) -> tuple[SwitchSpec, ...]:
    """Return the switches in the order of the file; what contradicts itself becomes an error in `report`."""
    found: dict[str, SwitchSpec] = {}
    places: dict[str, Place] = {}
    for line in lines:
        if line.pairs[0].key.lower() != "switchname":
            report.error(line.place, line.pairs[0].key, line.pairs[0].value, "opens no line here", "SwitchName=…")
            continue
        attributes = read_attributes(line, SWITCH_KEYS, report)
        nodes = nodes_of(attributes, table, report)
        below = attributes.text("switches")
        empty = not below and not attributes.given("nodes")
        if (below and attributes.given("nodes")) or (empty and earlier(report.release, "25.05")):
            report.error(line.place, "SwitchName", line.pairs[0].value, "a switch joins either nodes or switches",
                         "Nodes= or Switches=")  # fmt: skip
            continue
        switches = tuple(dict.fromkeys(expand_names(below, line.place, "Switches", report))) if below else ()
        for name in expand_names(line.pairs[0].value, line.place, "SwitchName", report):
            if name in found:
                report.error(line.place, "SwitchName", name, "this switch is defined twice",
                             log=(f"fatal: Switch ({name}) has already been defined",))  # fmt: skip
            found[name] = SwitchSpec(name, nodes, switches)
            places[name] = line.place
    check_tree(found, places, table, report)
    return tuple(found.values())


def nodes_of(attributes: Attributes, table: NodeTable, report: Report) -> tuple[str, ...]:
    """Return the nodes of a switch or block, sorted; Slurm leaves out names that are no nodes, and ALL is one."""
    return tuple(sorted(listed(attributes.text("nodes"), attributes.place_of("nodes"), table, report), key=natural_key))


def listed(text: str, place: Place, table: NodeTable, report: Report) -> Sequence[str]:
    """Return the nodes of a hostlist in its order; Slurm leaves out names that are no nodes."""
    if not text:
        return ()
    names, unknown = split_known(expand_names(text, place, "Nodes", report), table)
    if unknown:
        file = Path(place.file or "topology.conf").name
        said = f"{compress(unknown)} in {file} {'is no node' if len(unknown) == 1 else 'are no nodes'}"
        report.warning(place, "Nodes", text, f"{said} of slurm.conf, left out, as Slurm does")
    return names


def check_tree(found: dict[str, SwitchSpec], places: dict[str, Place], table: NodeTable, report: Report) -> None:
    """Every switch named exists, no circle; a second switch above one and nodes without a switch are named once."""
    parent: dict[str, str] = {}
    for name, spec in found.items():
        for below in spec.switches:
            if below not in found:
                report.error(places[name], "Switches", below, f"switch {name} joins a switch that no line defines",
                             log=(f"fatal: Switch configuration {name} has invalid child ({below})",))  # fmt: skip
            elif below in parent:
                report.warning(places[name], "Switches", below,
                               f"is below {parent[below]} already: ways lead over {name}, as in Slurm")  # fmt: skip
            parent[below] = name
    try:
        TopologicalSorter({name: spec.switches for name, spec in found.items()}).prepare()
    except CycleError as error:
        name = next(name for name in error.args[1] if name in found)
        report.error(places[name], "Switches", name, "is below itself",
                     log=("fatal: Switch configuration is not a tree",))  # fmt: skip
        return
    joined = {node for spec in found.values() for node in spec.nodes}
    loose = sorted(set(table.nodes) - joined, key=natural_key)
    if found and loose:
        place = next(iter(places.values()))
        report.warning(place, "SwitchName", "", f"{len(loose)} nodes are on no switch (the first is {loose[0]}): "
                       "no job gets them, as in Slurm")  # fmt: skip
