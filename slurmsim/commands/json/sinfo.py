"""``sinfo --json`` from Slurm 24.11 on: the lines that sinfo would print by default, with all it knows of them."""

from __future__ import annotations

from slurmsim.commands.json import versions
from slurmsim.commands.json.node import states
from slurmsim.commands.json.partition import PARTITION
from slurmsim.commands.json.versions import limit, number, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from slurmsim.commands.json.versions import Record
    from slurmsim.commands.sinfo.groups import Group

NODE_FIELDS = frozenset({
    "name", "node_hostname", "node_addr", "port", "cpus", "sockets", "cores", "threads", "tmp_disk", "real_memory",
    "free_mem", "alloc_memory", "weight", "cpu_load", "features", "features_act", "gres", "gres_used", "comment",
    "extra", "reason", "reason_time", "reason_user", "resv_name", "cpu_spec_list", "mem_spec_limit", "state",
    "state_flags", "alloc_cpus",
})  # fmt: skip
PARTITION_FIELDS = frozenset(versions.needed(PARTITION))
COUNTS = frozenset({f"{what}:{name}" for what in ("n", "cpu") for name in ("alloc", "idle", "other", "total")})


def lines(groups: Sequence[Group], counts: Record, partitions: Record, nodes: Record, version: int) -> Record:
    """One record a line of sinfo; `counts` are columns, a value a line."""
    found = []
    for at, group in enumerate(groups):
        if not group.nodes:
            continue
        known = {name: values[at] for name, values in counts.items()}
        row = {name: partitions[name][group.partition] for name in PARTITION_FIELDS}
        partition = versions.nested(versions.record(PARTITION, row, version))
        found.append(_line(group, known, partition, row, nodes, version))
    return {"sinfo": found}


def _line(group: Group, counts: Record, partition: Record, row: Record, nodes: Record, version: int) -> Record:
    def first(name: str) -> Any:
        return nodes[name][group.nodes[0]]

    def both(name: str) -> Record:
        values = [nodes[name][node] or 0 for node in group.nodes]
        return {"minimum": min(values), "maximum": max(values)}

    free = both("free_mem")
    memory = {
        **both("real_memory"), "free": {key: number(value) for key, value in free.items()},
        "allocated": nodes["alloc_memory"][group.nodes[-1]] or 0,  # of the last one put in
    }  # fmt: skip

    def of(what: str) -> Record:
        told = {"allocated": "alloc", "idle": "idle", "other": "other", "total": "total"}
        return {key: counts[f"{what}:{name}"] for key, name in told.items()}

    reason: Record = {"description": text(first("reason")), "time": first("reason_time") or 0}
    user = text(first("reason_user")) if first("reason") else ""
    more: Record = {"reason_set_by_user": user} if version >= 45 else {}
    if version < 45:
        reason["user"] = user
    if version >= 42:
        spec = {"cpus": text(first("cpu_spec_list")), "memory": first("mem_spec_limit") or 0}
    per_node = {"max": limit(row["max_cpus_per_node"])}
    return {
        "port": first("port"), "node": {"state": states(first("state"), first("state_flags"))},
        "nodes": {**of("n"), "hostnames": [], "addresses": [], "nodes": [nodes["name"][node] for node in group.nodes]},
        "cpus": {**of("cpu"), **both("cpus"), "load": both("cpu_load"), "per_node": per_node},
        "sockets": both("sockets"), "cores": both("cores"), "threads": both("threads"), "disk": both("tmp_disk"),
        "memory": memory, "weight": both("weight"),
        "features": {"total": text(first("features")), "active": text(first("features_act"))},
        "gres": {"total": text(first("gres")), "used": text(first("gres_used"))}, "cluster": "",
        "comment": text(first("comment")), "extra": text(first("extra")), "reason": reason, **more,
        "reservation": text(first("resv_name")),
        **({"resource_spec": spec} if version >= 42 else {}), "partition": partition,
    }  # fmt: skip
