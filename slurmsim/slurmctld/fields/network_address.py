"""Where a node is in the network, as SLURM_TOPOLOGY_ADDR and SLURM_TOPOLOGY_ADDR_PATTERN tell it."""

from collections.abc import Sequence

from slurmsim.hostlist import compress
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.switch import level_of, nodes_below
from slurmsim.model.topology import RingSpec, TorusSpec

Address = tuple[str, str]


def network_address(spec: ClusterSpec, node: str) -> Address:
    """Return e.g. ``("b3.n09", "block.node")`` (topology_p_get_node_addr of each plug-in)."""
    return network_addresses(spec, [node])[0]


def network_addresses(spec: ClusterSpec, nodes: Sequence[str]) -> list[Address]:
    """Return that of each of `nodes`; the network is walked through once for all of them.

    A part for each level of switches, from the top; empty where the node is below none of that level. Of blocks the
    base block alone counts, of rings and tori the place of the node. Partitions' own topologies do not count.
    """
    network = spec.networks[0]
    joined = _on_rings(network.rings) | _in_toruses(network.toruses)
    if network.rings or network.toruses:
        return [joined.get(node, (node, "node")) for node in nodes]
    if spec.blocks is not None:
        block_of = {node: block.name for block in reversed(spec.blocks.blocks) for node in block.nodes}
        return [(f"{block_of[n]}.{n}", "block.node") if n in block_of else (n, "node") for n in nodes]
    specs = {switch.name: switch for switch in spec.switches}
    levels = {switch.name: level_of(switch, specs) for switch in spec.switches}
    top = max(levels.values(), default=-1)
    above: dict[str, list[list[str]]] = {node: [[] for _ in range(top + 1)] for node in nodes}
    for switch in spec.switches:
        for node in dict.fromkeys(nodes_below(switch, specs)):
            if node in above:
                above[node][top - levels[switch.name]].append(switch.name)
    parts = {node: [compress(names) if names else "" for names in of] for node, of in above.items()}
    return [(".".join([*parts[node], node]), "switch." * (top + 1) + "node") for node in nodes]


def _on_rings(rings: Sequence[RingSpec]) -> dict[str, Address]:
    """Return e.g. ``("r2:3.n13", "ring:position.node")`` of each node; the first ring it is on counts."""
    return {
        node: (f"{ring.name}:{ring.nodes.index(node)}.{node}", "ring:position.node")
        for ring in reversed(rings) for node in ring.nodes
    }  # fmt: skip


def _in_toruses(toruses: Sequence[TorusSpec]) -> dict[str, Address]:
    """Return e.g. ``("pod1:3:0:2.n20", "torus:x:y:z.node")`` of each node."""
    return {
        node: (":".join([torus.name, *map(str, torus.place_of(cell))]) + f".{node}", "torus:x:y:z.node")
        for torus in toruses for cell, node in enumerate(torus.cells) if node
    }  # fmt: skip
