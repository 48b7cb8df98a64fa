"""The settings of slurm.conf that no scheduler needs, as they are written.

``scontrol show`` prints them: the configuration, addresses of nodes, and lists of partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from slurmsim.config.files import DISK, Files
from slurmsim.config.line_options import LINE_TABLES
from slurmsim.config.slurm_conf import ConfLine, read_conf
from slurmsim.data_classes import dataclass, field
from slurmsim.hostlist import expand

SLURMD_PORT = 6818
_RANGES = frozenset("0123456789,-")


@dataclass(slots=True)
class ConfFacts:
    """Raw texts of one slurm.conf; keys in lower case."""

    # everything that is no node, partition or host; `hosts` has SlurmctldHost
    scalars: dict[str, str] = field(default_factory=dict)
    hosts: list[str] = field(default_factory=list)
    # nodes, partitions: attributes of each by name, the DEFAULT lines' beneath; a list of addresses is spread over its
    # nodes
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    partitions: dict[str, dict[str, str]] = field(default_factory=dict)

    def scalar(self, name: str, default: str = "") -> str:
        """Return a setting as written."""
        return self.scalars.get(name.lower(), default)

    def node(self, name: str, key: str, default: str = "") -> str:
        """Return an attribute of a node as written."""
        return self.nodes.get(name, {}).get(key.lower(), default)

    def partition(self, name: str, key: str, default: str = "") -> str:
        """Return an attribute of a partition as written."""
        return self.partitions.get(name, {}).get(key.lower(), default)

    @property
    def host(self) -> str:
        """Where slurmctld runs."""
        return self.hosts[0].partition("(")[0] if self.hosts else "localhost"


def read_facts(path: Path | None, files: Files = DISK) -> ConfFacts:
    """Return the facts of a file that has been found good, or of none."""
    return collect(read_conf(path, files)) if path is not None else ConfFacts()


def collect(lines: Iterable[ConfLine]) -> ConfFacts:
    facts = ConfFacts()
    defaults: dict[str, dict[str, str]] = {"nodename": {}, "partitionname": {}}
    for line in lines:
        kind = line.pairs[0].key.lower()
        values = {pair.key.lower(): pair.value for pair in line.pairs[1:]}
        name = line.pairs[0].value
        if kind == "slurmctldhost":
            facts.hosts.append(name)
        elif kind not in defaults:
            if kind not in LINE_TABLES:
                facts.scalars |= {pair.key.lower(): pair.value for pair in line.pairs}
        elif name.upper() == "DEFAULT":
            defaults[kind] |= values
        elif kind == "nodename":
            add_nodes(facts, name, defaults[kind] | values)
        else:
            facts.partitions[name] = defaults[kind] | facts.partitions.get(name, {}) | values
    return facts


def add_nodes(facts: ConfFacts, names: str, values: Mapping[str, str]) -> None:
    """Attributes of the nodes of one line; what lists one thing a node is taken apart."""
    found = expand(names)
    apart = {key: spread(values[key], len(found)) for key in ("nodeaddr", "nodehostname", "port") if key in values}
    for k, name in enumerate(found):
        facts.nodes[name] = dict(values) | {key: listed[k] for key, listed in apart.items()}


def spread(text: str, count: int) -> list[str]:
    """Return a value for each of `count` nodes: one for all, or as many as there are nodes.

    Ports may go without brackets.

    >>> spread("[17001-17003]", 3), spread("17001-17002", 2), spread("head", 2)
    (['17001', '17002', '17003'], ['17001', '17002'], ['head', 'head'])
    """
    try:
        found = expand(f"[{text}]" if set(text) <= _RANGES and "-" in text else text)
    except ValueError:
        found = [text]
    return found if len(found) == count else [found[0] if len(found) == 1 else text] * count
