"""Dynamic nodes: made by scontrol, registered by their slurmd (``slurmd -Z``), and deleted.

The server asks here first who may and what is wrong, then goes on under a configuration that has the nodes, and at
last carries out the request, which notes what is known of them. Mirrors create_nodes, create_dynamic_reg_node and
delete_nodes (node_mgr.c, 22.05 to 26.05). Errors have slurmctld's own line before the text of their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.config.attributes import read_attributes
from slurmsim.config.dynamic_nodes import DynamicLine, nodes_of_line
from slurmsim.config.findings import Report
from slurmsim.config.line_options import NODE_KEYS
from slurmsim.config.slurm_conf import parse_conf
from slurmsim.core.records.messages import NodesResume
from slurmsim.data_classes import replace
from slurmsim.errors import ConfigError
from slurmsim.hostlist import compress, expand
from slurmsim.protocol import Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.submit_request import MOST_NAMES
from slurmsim.slurmctld.fields.node_fields import POWERED_DOWN, flags, state

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

Arguments = dict[str, Any]
BAD_STATE, BAD_NODE, BUSY = "Invalid node state specified", "Invalid node name specified", "Requested nodes are busy"
NOT_SUPPORTED = "Requested operation not supported on this system"
_EXISTS, _FULL = "Node already exists in the node table", "Unable to add node, node table is full"
_ONLY = {"22.05": "State=FUTURE and State=CLOUD", "26.05": "State=FUTURE, CLOUD, or EXTERNAL"}


def to_create(cluster: LiveCluster, line: str) -> list[DynamicLine]:
    """Return the nodes of ``scontrol create nodename``. Raises Refusal."""
    found = _read(cluster, line, "Node creation")
    known = ("FUTURE", "CLOUD", "EXTERNAL") if since(cluster.release, "external_nodes") else ("FUTURE", "CLOUD")
    if any(one.state not in known for one in found):
        words = _ONLY["26.05" if "EXTERNAL" in known else "22.05"]
        raise Refusal(f"Only {words} allowed for nodes created by scontrol\n{BAD_STATE}")
    _check_room(cluster, found)
    return found


def to_register(cluster: LiveCluster, line: str) -> list[DynamicLine]:
    """Return the nodes that ``slurmd -Z`` adds; none if it is there. Raises Refusal."""
    table = cluster.controller.state.table
    found = [replace(one, state="") for one in _read(cluster, line, "Node creation")]
    found = [one for one in found if not table.has(one.name)]
    _check_room(cluster, found)
    return found


def to_delete(cluster: LiveCluster, target: str) -> tuple[list[str], Refusal | None]:
    """Return the nodes that can be deleted, and why the others cannot. Raises Refusal."""
    _check_plugin(cluster, "Node deletion")
    try:
        names = list(expand(target, MOST_NAMES))
    except ValueError:
        names = []
    if not names:
        raise Refusal(BAD_NODE)
    wrong = {name: why for name in names if (why := _why_not(cluster, name))}
    refused = None
    if wrong:
        refused = Refusal(f"failed to delete nodes {compress(list(wrong))}\n{next(iter(wrong.values()))}")
    return [name for name in names if name not in wrong], refused


def _read(cluster: LiveCluster, line: str, what: str) -> list[DynamicLine]:
    _check_plugin(cluster, what)
    report = Report(strict=False, release=cluster.release)
    try:
        found = nodes_of_line(line)
        for conf in parse_conf(line, "scontrol"):
            state_left_out = replace(conf, pairs=tuple(p for p in conf.pairs if p.key.lower() != "state"))
            read_attributes(state_left_out, NODE_KEYS, report)
    except ConfigError:
        found = []
    if not found or report.errors:
        raise Refusal(f"Failed to parse nodeline '{line}'\nUnspecified error")
    return found


def _check_plugin(cluster: LiveCluster, what: str) -> None:
    if cluster.spec.option("SelectType") == "select/linear":
        raise Refusal(f"{what} only compatible with select/cons_tres\nAccess/permission denied")


def _check_room(cluster: LiveCluster, lines: Sequence[DynamicLine]) -> None:
    """Raise Refusal for a node that is there, and for one too many (MaxNodeCount)."""
    table = cluster.controller.state.table
    if lines and table.cores is not None:
        raise Refusal(f"slurmsim adds no nodes where jobs share cores or take turns\n{NOT_SUPPORTED}")
    there = table.n - table.gone.bit_count()
    fixed = sum(not spec.dynamic for spec in table.specs)
    most = int(cluster.spec.options.get("MaxNodeCount") or fixed)
    for at, one in enumerate(lines):
        if table.has(one.name):
            raise Refusal(f"{_EXISTS} ({one.name})\n{_EXISTS}")
        if there + at >= most:
            raise Refusal(f"{_FULL} ({one.name})\n{_FULL}")


def _why_not(cluster: LiveCluster, name: str) -> str:
    """Return why a node cannot be deleted; empty if it can."""
    table = cluster.controller.state.table
    if not table.has(name):
        return BAD_NODE
    i = table.index[name]
    if not table.specs[i].dynamic:
        return BAD_STATE
    told = flags(i, cluster)
    in_use = state(i, cluster) in ("ALLOCATED", "MIXED") or "COMPLETING" in told or "RESERVED" in told
    return BUSY if in_use or any(job.nodes >> i & 1 for _, _, job in cluster.controller.state.running) else ""


# -- what is known of them --------------------------------------------------------------------------------------------


def created(cluster: LiveCluster, lines: Sequence[DynamicLine]) -> None:
    """Note what is known of nodes that scontrol has made: their slurmd has told nothing yet."""
    table = cluster.controller.state.table
    for one in lines:
        kept: dict[str, Any] = {"unregistered": True, "last_busy": cluster.now}
        if one.state == "FUTURE":
            kept["future"] = True
        if one.state == "CLOUD" and cluster.controller.power is None:
            kept[POWERED_DOWN] = True
        cluster.node_texts[table.index[one.name]] = kept
    cluster.network.tell(cluster.now, [])


def registered(cluster: LiveCluster, names: Sequence[str], host: str) -> None:
    """Note that the slurmd of these nodes has told of them: they take jobs."""
    table, states = cluster.controller.state.table, cluster.controller.node_states
    for name in names:
        i = table.index[name]
        kept = cluster.node_texts.setdefault(i, {})
        for word in ("unregistered", "future", POWERED_DOWN):
            kept.pop(word, None)
        kept |= {"last_busy": cluster.now, "slurmd_start_time": cluster.now, "boot_time": cluster.now - 3600}
        if host:
            kept["node_hostname"] = host
    out = [name for name in names if states.down >> table.index[name] & 1]
    cluster.network.tell(cluster.now, [NodesResume(tuple(out))] if out else [])
