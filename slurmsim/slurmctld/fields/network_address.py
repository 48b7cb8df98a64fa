"""Where a node is in the network, as SLURM_TOPOLOGY_ADDR and SLURM_TOPOLOGY_ADDR_PATTERN tell it."""

from slurmsim.hostlist import compress
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.switch import level_of, nodes_below


def network_address(spec: ClusterSpec, node: str) -> tuple[str, str]:
    """Return e.g. ``("b3.n09", "block.node")`` (topology_p_get_node_addr of each plug-in).

    A part for each level of switches, from the top; empty where the node is below none of that level. Of blocks the
    base block alone counts.
    """
    if spec.blocks is not None:
        block = next((block.name for block in spec.blocks.blocks if node in block.nodes), "")
        return (f"{block}.{node}", "block.node") if block else (node, "node")
    specs = {switch.name: switch for switch in spec.switches}
    levels = {switch.name: level_of(switch, specs) for switch in spec.switches}
    above: list[list[str]] = [[] for _ in range(max(levels.values(), default=-1) + 1)]
    for switch in spec.switches:
        if node in nodes_below(switch, specs):
            above[levels[switch.name]].append(switch.name)
    parts = [compress(names) if names else "" for names in reversed(above)]
    return ".".join([*parts, node]), "switch." * len(parts) + "node"
