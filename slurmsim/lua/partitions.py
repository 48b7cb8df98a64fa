"""Partitions as job_submit.lua sees them in ``part_list``.

Mirrors _part_rec_field (job_submit_lua.c): names and numbers of Slurm's interface in place of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmsim.lua.constants import INFINITE, NO_VAL

FIELDS = (
    "name", "allow_accounts", "allow_alloc_nodes", "allow_groups", "allow_qos", "alternate", "billing_weights",
    "default", "default_time", "def_mem_per_cpu", "def_mem_per_node", "deny_accounts", "deny_qos", "max_cpus_per_node",
    "max_mem_per_cpu", "max_mem_per_node", "max_nodes", "max_share", "max_time", "min_nodes", "nodes",
    "priority_job_factor", "priority_tier", "qos", "state_up", "total_cpus", "total_nodes",
)  # fmt: skip
"""What slurmctld tells of a partition (`slurmsim.slurmctld.fields.node_fields`) that scripts see."""
_UP = {"INACTIVE": 0, "DOWN": 1, "DRAIN": 2, "UP": 3}


def for_scripts(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return a partition as a script sees it, of the fields that slurmctld tells, or some of them."""
    found = dict(told)
    default, most = int(bool(found.pop("default", False))), _limit(told.get("max_nodes"), INFINITE)
    return found | {
        "billing_weights_str": found.pop("billing_weights", None),
        "flag_default": default, "flags": default, "state_up": _UP.get(str(told.get("state_up")).upper(), 3),
        "max_oversubscribe": told.get("max_share"), "max_time": _limit(told.get("max_time"), INFINITE),
        "max_nodes": most, "max_nodes_orig": most, "min_nodes_orig": told.get("min_nodes"),
        "default_time": _limit(told.get("default_time"), NO_VAL),
    }  # fmt: skip


def _limit(value: Any, absent: int) -> int:
    """Return a limit; `absent` for what is not set."""
    return absent if value in (None, -1) else int(value)
