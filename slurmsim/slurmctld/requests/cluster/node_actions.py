"""What no client command of Slurm does: nodes break, and their slurmd registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.core.records.messages import Fact, NodesDown, NodesDrain, NodesResume
from slurmsim.hostlist import expand
from slurmsim.protocol import DENIED, Refusal
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.base.submit_request import MOST_NAMES

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

CHANGES = frozenset({"node_action"})
BAD_NODE = "Invalid node name specified"


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    return {"node_action": lambda arguments, person: node_action(cluster, arguments, person)}


def node_action(cluster: LiveCluster, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
    """``fail`` (stops responding), ``drain``, ``resume`` or ``register`` nodes of a hostlist. Raises Refusal."""
    if person.uid not in (cluster.owner, 0):
        raise Refusal(DENIED, 2002)
    action, reason = arguments["action"], str(arguments.get("reason") or "")
    table = cluster.controller.state.table
    try:
        names = tuple(expand(str(arguments["nodes"]), MOST_NAMES))
    except ValueError:
        raise Refusal(BAD_NODE) from None
    if not names or not all(map(table.has, names)):
        raise Refusal(BAD_NODE)
    if action == "register":
        cluster.network.tell(cluster.now, cluster.power_programs.registered(names))
        return {}
    told: tuple[str | None, int, int]
    fact: Fact
    if action == "fail":
        fact, told = NodesDown(names, reason or "Not responding"), (reason or "Not responding", cluster.now, person.uid)
    elif action == "drain":
        fact, told = NodesDrain(names, reason), (reason or None, cluster.now, person.uid)
    elif action == "resume":
        fact, told = NodesResume(names), (None, 0, 0)
    else:
        raise Refusal(f"no such action: {action}")
    for name in names:
        cluster.node_reasons.reasons[table.index[name]] = told
    cluster.network.tell(cluster.now, [fact])
    return {}
