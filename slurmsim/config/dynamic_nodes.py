"""Nodes that came after the cluster was made: by `scontrol create nodename`, or as their slurmd registered.

A cluster's folder has them in a file, a line a node in the order they came. A node that was deleted keeps its line, as
jobs of the past ran on it; another of the same name gets a line of its own. Slurm keeps them in its state, not in
slurm.conf (create_nodes and create_dynamic_reg_node, 22.05 to 26.05).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from slurmsim.config.attributes import read_attributes
from slurmsim.config.line_options import NODE_KEYS
from slurmsim.config.slurm_conf import ConfLine, Pair, parse_conf
from slurmsim.data_classes import dataclass, replace
from slurmsim.errors import ConfigError
from slurmsim.hostlist import expand

if TYPE_CHECKING:
    from slurmsim.config.findings import Report
    from slurmsim.config.nodes import NodeTable
    from slurmsim.model.node import NodeSpec

FILE = "dynamic-nodes.conf"
NORM, GONE = "NORM", "GONE"
STATES = ("FUTURE", "CLOUD", "EXTERNAL")  # of nodes that scontrol creates
MOST = 4096  # nodes that one line may name
_HERE, _AWAY = "+ ", "- "


@dataclass(frozen=True, slots=True)
class DynamicLine:
    """One node's line: what it says behind the node's name, and whether the node is there."""

    name: str
    state: str
    rest: str
    here: bool = True

    def text(self) -> str:
        """Return the line of the file."""
        state = f" State={self.state}" if self.state else ""
        return f"{_HERE if self.here else _AWAY}NodeName={self.name}{state} {self.rest}".rstrip()


def read_lines(text: str) -> list[DynamicLine]:
    """Return the nodes of a file. Raises ConfigError."""
    found = []
    for line in filter(None, text.splitlines()):
        for one in nodes_of_line(line[len(_HERE) :]):
            found.append(replace(one, here=line.startswith(_HERE)))
    return found


def nodes_of_line(line: str) -> list[DynamicLine]:
    """Return the nodes of a line as scontrol and slurmd have it. Raises ConfigError for what is no line of nodes."""
    conf = parse_conf(line, FILE)
    if len(conf) != 1 or conf[0].pairs[0].key.lower() != "nodename":
        raise ConfigError("no line of nodes", field="NodeName", expected="NodeName=…")
    pairs = conf[0].pairs
    state = next((pair.value.upper() for pair in pairs[1:] if pair.key.lower() == "state"), "")
    rest = " ".join(_written(pair) for pair in pairs[1:] if pair.key.lower() != "state")
    try:
        names = expand(pairs[0].value, MOST)
    except ValueError as error:
        raise ConfigError(str(error), field="NodeName") from None
    return [DynamicLine(name, state, rest) for name in names]


def _written(pair: Pair) -> str:
    return f'{pair.key}="{pair.value}"' if " " in pair.value else f"{pair.key}={pair.value}"


def found_gpus(name: str, line: DynamicLine, gres_conf: str, fakes: str) -> str:
    """Return the GPUs that the slurmd of a dynamic node finds by itself, as ``Gres`` has them; empty for none.

    It looks unless gres.conf has GPUs of this node or names another way, or the line has GPUs itself; what it finds is
    what fake_gpus.conf has (gres_get_dynamic_gpu_str, 26.05).
    """
    given = next((pair.value for pair in parse_conf(line.text()[2:], FILE)[0].pairs if pair.key.lower() == "gres"), "")
    if any(item.partition(":")[0].lower() == "gpu" for item in given.split(",")):
        return ""
    for conf in parse_conf(gres_conf, "gres.conf"):
        pairs = {pair.key.lower(): pair.value for pair in conf.pairs}
        if "nodename" in pairs and name not in expand(pairs["nodename"], MOST):
            continue
        if pairs.get("name", "").lower() == "gpu" or pairs.get("autodetect", "full").lower() != "full":
            return ""
    counts: dict[str, int] = {}
    for fake in filter(None, fakes.splitlines()):
        kind = fake.partition("|")[0].strip()
        counts[kind] = counts.get(kind, 0) + 1
    return ",".join(f"gpu:{n}" if kind in ("", "(null)") else f"gpu:{kind}:{n}" for kind, n in counts.items())


def with_gres(line: DynamicLine, gres: str) -> DynamicLine:
    """Return a node's line with more GRES."""
    pairs = parse_conf(line.text()[2:], FILE)[0].pairs[1:]
    given = next((pair.value for pair in pairs if pair.key.lower() == "gres"), "")
    rest = " ".join(_written(pair) for pair in pairs if pair.key.lower() not in ("gres", "state"))
    return replace(line, rest=f"{rest} Gres={given + ',' if given else ''}{gres}".strip())


def lines_text(lines: Iterable[DynamicLine]) -> str:
    """Return the text of a file."""
    return "".join(f"{line.text()}\n" for line in lines)


def add_dynamic(lines: Sequence[DynamicLine], table: NodeTable, report: Report) -> list[NodeSpec]:
    """Put the nodes that are there into the table; return those that are gone, in order."""
    gone = []
    number = 1 + max((spec.line for spec in table.nodes.values()), default=-1)
    for at, line in enumerate(lines, number):
        spec = _spec(line, table, report)
        if spec is None:
            continue
        if line.here:
            table.nodes[line.name] = replace(spec, line=at, dynamic=NORM)
        else:
            gone.append(replace(spec, line=at, dynamic=GONE))
    return gone


def _spec(line: DynamicLine, table: NodeTable, report: Report) -> NodeSpec | None:
    from slurmsim.config.nodes import node_template

    conf: ConfLine = parse_conf(f"NodeName={line.name} {line.rest}", FILE)[0]
    if line.here and line.name in table.places:
        report.error(conf.place, "NodeName", line.name, f"node {line.name} is in slurm.conf as well")
        return None
    attributes = read_attributes(conf, NODE_KEYS, report)
    if line.here:
        table.places[line.name], table.attributes[line.name] = conf.place, attributes
    return replace(node_template(line.name, attributes, report), name=line.name, state=line.state or "UNKNOWN")


def in_order(table: NodeTable, lines: Sequence[DynamicLine], gone: Sequence[NodeSpec]) -> tuple[NodeSpec, ...]:
    """Return all nodes: those of slurm.conf, then the others in the order they came."""
    left = iter(gone)
    later = [table.nodes[line.name] if line.here else next(left) for line in lines]
    return (*(spec for spec in table.in_order() if not spec.dynamic), *later)
