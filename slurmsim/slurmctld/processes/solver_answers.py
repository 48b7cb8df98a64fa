"""News of a policy's solver: what it found, a request like any other, so that a restart finds it in the journal."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from slurmsim.core.records.messages import Solved
from slurmsim.json_text import loads
from slurmsim.protocol import BAD_NUMBER, BAD_REQUEST, Refusal
from slurmsim.slurmctld.base.live_cluster import LiveCluster
from slurmsim.slurmctld.base.people import Person

CHANGES = frozenset({"solved"})


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
    """Return the request by name."""
    return {"solved": partial(_solved, cluster)}


def _solved(cluster: LiveCluster, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
    """Tell the policy. Refuses a text that is no JSON."""
    answer = str(arguments["answer"])
    try:
        loads(answer)
    except ValueError:
        raise Refusal(BAD_REQUEST, BAD_NUMBER) from None
    cluster.network.tell(cluster.now, [Solved(int(arguments["number"]), answer)])
    return {}
