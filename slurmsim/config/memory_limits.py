"""Limits on memory that keep out every job that asks for none: its default, or a whole node, is above them."""

from collections.abc import Iterable, Mapping
from typing import Any

from slurmsim.config.findings import Report
from slurmsim.model.node import NodeSpec
from slurmsim.model.partition import PartitionSpec


def check_memory_limits(
    options: Mapping[str, Any], partitions: Iterable[PartitionSpec], nodes: Mapping[str, NodeSpec], report: Report
) -> None:
    """Warn once for each partition where jobs that say nothing of memory wait for ever as MaxMemPerLimit."""
    places = {(seen.group, seen.key): seen.place for seen in report.seen}
    for p in partitions:
        own = p.max_mem_per_node_mib is not None or p.max_mem_per_cpu_mib is not None
        limit = p.max_mem_per_node_mib if own else options["MaxMemPerNode"]
        if not limit or not p.nodes:
            continue
        default_own = p.def_mem_per_cpu_mib is not None or p.def_mem_per_node_mib is not None
        per_cpu = p.def_mem_per_cpu_mib if default_own else options["DefMemPerCPU"]
        per_node = p.def_mem_per_node_mib if default_own else options["DefMemPerNode"]
        if per_cpu:
            continue  # how much that is on a node depends on the job
        node = nodes[p.nodes[0]]
        memory = per_node or node.real_memory_mib - node.mem_spec_limit_mib
        if memory > limit:
            what = f"DefMemPerNode={per_node}" if per_node else f"the {memory} MiB of {node.name}"
            place = places.get(("PartitionName" if own else "", "MaxMemPerNode"))
            if place is not None:
                text = f"below {what} in partition {p.name}: its jobs that ask for no memory never start"
                report.warning(place, "MaxMemPerNode", str(limit), text)
