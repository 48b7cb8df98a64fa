"""What slurmctld makes of a submit request before anything else looks at it (validate_job_create_req, 22.05)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmsim.core.placement.core_spec import allows_core_spec
from slurmsim.release_changes import since
from slurmsim.task_licenses import licenses_of_tasks

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

_OWN = (
    "billed", "tres_left", "read_again", "cpus_settled",
    "tres_settled", "pn_min_cpus_settled", "qos_told", "crontab_spec", "crontab_lines",
)  # fmt: skip
"""Fields that updates and tables of recurring jobs note on a request; clients may not submit them."""


def normalised_request(cluster: LiveCluster, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the request as the controller takes it.

    A list of array tasks without an element is no array. A job that reboots its nodes has them to itself. A job that
    names a reservation and no partition goes to the reservation's partition (_get_job_parts). No job has fewer nodes
    than all its partitions want (_valid_job_part). Accounts and WCKeys are in lower case. A job waits for its switches
    no longer than max_switch_wait.
    """
    changes: dict[str, Any] = {name: None for name in _OWN if name in asked}
    if asked.get("partition") is None:
        partition = cluster.controller.state.reserved.partition_of(asked.get("reservation") or "")
        if partition is not None:
            changes["partition"] = partition.name
    if asked.get("array_inx") and not str(asked["array_inx"]).strip(","):
        changes["array_inx"] = None
    if asked.get("qos") and cluster.controller.accounting.accounts is None:
        changes["qos"] = None  # there are none
        if since(cluster.release, "unknown_qos_kept"):
            changes["qos_told"] = asked["qos"]
    if asked.get("core_spec") is not None:
        changes |= {"shared": "exclusive"} if allows_core_spec(cluster.spec) else {"core_spec": None}
    if asked.get("reboot"):
        changes["reboot"], changes["shared"] = 1, "exclusive"
    changes |= _kept_otherwise(cluster, asked)
    least = _least_nodes(cluster, changes.get("partition") or asked.get("partition") or "")
    nodes, most = asked.get("min_nodes"), asked.get("max_nodes")
    if (1 if nodes is None else nodes) < least and (most is None or most >= least) and nodes != 0:
        changes["min_nodes"], changes["max_nodes"] = least, most or 0
    return {**asked, **changes} if changes else asked


def _kept_otherwise(cluster: LiveCluster, asked: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept in another form than it was asked for."""
    found: dict[str, Any] = {name: str(asked[name]).lower() for name in ("account", "wckey") if asked.get(name)}
    if "license" in str(asked.get("tres_per_task") or ""):
        tasks = int(asked.get("num_tasks") or max(int(asked.get("min_nodes") or 1), 1))
        of_tasks = licenses_of_tasks(str(asked["tres_per_task"]), tasks)
        found["licenses"] = ",".join(filter(None, [str(asked.get("licenses") or ""), of_tasks])) or None
    if licenses := found.get("licenses", asked.get("licenses")):
        found["licenses"] = cluster.controller.licenses.spelled(str(licenses))
    flags = str(asked.get("gres_flags") or "").split(",")
    if cluster.controller.state.table.binds_gres and not {"disable-binding", "enforce-binding"} & set(flags):
        found["gres_flags"] = ",".join([*filter(None, flags), "enforce-binding"])  # as commands ask for it there
    for name in ("features", "prefer"):
        if asked.get(name):
            found[name] = plain_features(str(asked[name]))
    if asked.get("req_switch"):
        wait, longest = asked.get("wait4switch"), cluster.controller.state.cluster.max_switch_wait_s
        found["wait4switch"] = longest if wait is None else min(int(wait), longest)
    return found


def plain_features(text: str) -> str:
    """Return a constraint as the job keeps it: a comma means the same as ``&`` (build_feature_list)."""
    return text.replace(",", "&")


def _least_nodes(cluster: LiveCluster, partitions: str) -> int:
    """Return the smallest MinNodes of the partitions; 0 where one of them is unknown."""
    state = cluster.controller.state.cluster
    names = [name for name in partitions.split(",") if name]
    found = [state.by_name.get(name) for name in names] or [state.default]
    return min(0 if partition is None else int(partition.spec.min_nodes) for partition in found)
