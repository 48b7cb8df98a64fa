"""Ports that steps reserve for MPI libraries (``MpiParams=ports=FIRST-LAST``), so that no two use one on a node.

Mirrors port_mgr.c and stepmgr.c. A step gets as many as it has tasks on its fullest node, and one more, or what
``--resv-ports`` says; they are its own until it is over. Here the lowest free ones are taken; slurmctld goes round
through all ports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.numerals import ranges
from slurmsim.protocol import Refusal

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

PORTS_BUSY = "Required ports are in use"
_TOO_MANY = "Requires more ports than can be reserved"
_RANGE = re.compile(r"(?a)(?:^|,)\s*ports=(\d{1,5})-(\d{1,5})", re.IGNORECASE)


def reserved(
    cluster: LiveCluster, asked: Mapping[str, Any], nodes: Sequence[int], tasks: Sequence[int]
) -> tuple[int, ...]:
    """Return the ports of a new step on these nodes, none where none are configured. Raises Refusal."""
    found = _RANGE.search(str(cluster.spec.options.get("MpiParams") or ""))
    if found is None:
        return ()
    ports = range(int(found[1]), int(found[2]) + 1)
    count = max(tasks, default=0) + 1 if asked.get("resv_ports") is None else int(asked["resv_ports"])
    if count > len(ports):
        raise Refusal(_TOO_MANY, 2060)
    taken = _taken(cluster, frozenset(nodes))
    free = [port for port in ports if port not in taken][:count]
    if len(free) < count:
        raise Refusal(PORTS_BUSY, 2059)
    return tuple(free)


def _taken(cluster: LiveCluster, nodes: frozenset[int]) -> set[int]:
    """Return the ports that steps of all jobs have on any of these nodes."""
    return {
        port
        for live in cluster.jobs.values()
        for step in live.placed_steps
        if step.asked.get("ports") and not nodes.isdisjoint(step.nodes)
        for port in step.asked["ports"]
    }


def shown(ports: Sequence[int]) -> str | None:
    """Return ports as ``60000-60001``, None for none."""
    return ranges(list(ports)) if ports else None
