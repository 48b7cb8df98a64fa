"""What slurmctld makes of a submit request before anything else looks at it (validate_job_create_req, 22.05)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.release_changes import since

if TYPE_CHECKING:
    from slurmsim.slurmctld.engine.live_cluster import LiveCluster

_OWN = (
    "billed", "tres_left", "cpus_settled",
    "tres_settled", "pn_min_cpus_settled", "qos_told", "crontab_spec", "crontab_lines",
)  # fmt: skip
"""What updates and tables of recurring jobs note on a request: nobody submits it."""


def settled(cluster: LiveCluster, asked: dict[str, Any]) -> dict[str, Any]:
    """The request as the controller takes it.

    A list of array tasks without an element is no array; a job that reboots its nodes has them to itself; no job
    has fewer nodes than all its partitions want (_valid_job_part).
    """
    changes: dict[str, Any] = {name: None for name in _OWN if name in asked}
    if asked.get("array_inx") and not str(asked["array_inx"]).strip(","):
        changes["array_inx"] = None
    if asked.get("qos") and cluster.controller.accounting.accounts is None:
        changes["qos"] = None  # there are none
        if since(cluster.release, "unknown_qos_kept"):
            changes["qos_told"] = asked["qos"]
    if asked.get("reboot"):
        changes["reboot"], changes["shared"] = 1, "exclusive"
    least = _least_nodes(cluster, asked)
    nodes, most = asked.get("min_nodes"), asked.get("max_nodes")
    if (1 if nodes is None else nodes) < least and (most is None or most >= least) and nodes != 0:
        changes["min_nodes"], changes["max_nodes"] = least, most or 0
    return {**asked, **changes} if changes else asked


def _least_nodes(cluster: LiveCluster, asked: Mapping[str, Any]) -> int:
    """The smallest MinNodes of the partitions asked for; 0 where one of them is unknown."""
    state = cluster.controller.state.cluster
    names = [name for name in (asked.get("partition") or "").split(",") if name]
    found = [state.by_name.get(name) for name in names] or [state.default]
    return min(0 if partition is None else int(partition.spec.min_nodes) for partition in found)
