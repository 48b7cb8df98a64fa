"""The body of a submission: fields of JOB_DESC_MSG into the request that sbatch would send.

A field of Slurm's that has no row here is refused by its name; one that Slurm does not have either is passed over with
a warning, as slurmrestd does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slurmsim.numerals import is_number
from slurmsim.records.job import CARRIED

Job = dict[str, Any]
INFINITE = frozenset({"INFINITE", "UNLIMITED", "INFINITY"})
_NO_LIMIT = 0xFFFFFFFF


class Wrong(ValueError):
    """A value is not what its field takes."""


def number(value: Any) -> int | None:
    """Return a number, a numeral, or the object of a number; None where it is not set. Raises Wrong."""
    if isinstance(value, dict):
        if value.get("infinite"):
            return _NO_LIMIT
        if not value.get("set", "number" in value):
            return None
        value = value.get("number", 0)
    if isinstance(value, bool) or value is None:
        raise Wrong
    if isinstance(value, str):
        if value.upper() in INFINITE:
            return _NO_LIMIT
        if not is_number(value.removeprefix("-")):
            raise Wrong
    elif not isinstance(value, (int, float)) or value != value or abs(value) > 1 << 62:
        raise Wrong
    return int(value)


def text(value: Any) -> str:
    """Return a text; numbers are one, too. Raises Wrong."""
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        raise Wrong
    return str(value)


def csv(value: Any) -> str:
    """Return a comma list, or a list. Raises Wrong."""
    if isinstance(value, list):
        return ",".join(text(one) for one in value)
    return text(value)


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() in ("true", "false", "yes", "no"):
        return value.lower() in ("true", "yes")
    raise Wrong


def _environment(value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {str(name): text(one) for name, one in value.items()}
    if not isinstance(value, list):
        raise Wrong
    found = {}
    for word in value:
        name, equals, rest = text(word).partition("=")
        if not equals:
            raise Wrong
        found[name] = rest
    return found


def _minutes(value: Any) -> int | None:
    found = number(value)
    return -1 if found == _NO_LIMIT else found


def _shared(value: Any) -> str | None:
    word = (value[0] if value else "") if isinstance(value, list) else value
    words = {"none": "exclusive", "exclusive": "exclusive", "true": "exclusive", "oversubscribe": "ok", "user": "user",
             "mcs": "mcs", "topo": "topo", "": None, "false": None}  # fmt: skip
    if not isinstance(word, str) or word.lower() not in words:
        raise Wrong
    return words[word.lower()]


def _nodes(value: Any) -> dict[str, int]:
    low, dash, high = text(value).partition("-")
    if not is_number(low) or (dash and not is_number(high)):
        raise Wrong
    return {"min_nodes": int(low), "max_nodes": int(high or low)}


def _memory(per_cpu: bool) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        found = number(value)
        return {} if found is None else {"pn_min_memory": found, "mem_per_cpu": per_cpu}

    return read


def _hold(value: Any) -> bool:
    return _flag(value)


def _argv(value: Any) -> list[str]:
    return [text(one) for one in value] if isinstance(value, list) else [text(value)]


_BITS = {"BEGIN": 1, "END": 2, "FAIL": 4, "REQUEUE": 8, "TIME=100%": 0x10, "TIME=90%": 0x20, "TIME=80%": 0x40,
         "TIME=50%": 0x80, "STAGE_OUT": 0x100, "ARRAY_TASKS": 0x200, "INVALID_DEPENDENCY": 0x400}  # fmt: skip


def _mail(value: Any) -> int:
    mask = 0
    for word in csv(value).upper().split(","):
        if word not in _BITS:
            raise Wrong
        mask |= _BITS[word]
    return mask


_KINDS: dict[str, Callable[[Any], Any]] = {"text": text, "count": number, "flag": _flag}
FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "account": ("account", text), "argv": ("argv", _argv),
    "array": ("array_inx", text), "begin_time": ("begin_time", number),
    "constraints": ("features", text), "contiguous": ("contiguous", _flag),
    "cores_per_socket": ("cores_per_socket", number), "cpus_per_task": ("cpus_per_task", number),
    "current_working_directory": ("work_dir", text), "deadline": ("deadline", number),
    "dependency": ("dependency", text), "environment": ("environment", _environment),
    "excluded_nodes": ("exc_nodes", csv), "hold": ("hold", _hold),
    "licenses": ("licenses", text), "mail_type": ("mail_type", _mail), "mail_user": ("mail_user", text),
    "maximum_cpus": ("max_cpus", number), "maximum_nodes": ("max_nodes", number),
    "memory_per_cpu": ("", _memory(True)), "memory_per_node": ("", _memory(False)),
    "minimum_cpus": ("min_cpus", number), "minimum_nodes": ("min_nodes", number), "name": ("name", text),
    "nice": ("nice", number), "nodes": ("", _nodes), "partition": ("partition", csv),
    "priority": ("priority", number), "qos": ("qos", text), "reboot": ("reboot", _flag),
    "required_nodes": ("req_nodes", csv), "requeue": ("requeue", _flag), "reservation": ("reservation", csv),
    "shared": ("shared", _shared), "sockets_per_node": ("sockets_per_node", number),
    "standard_error": ("std_err", text), "standard_input": ("std_in", text), "standard_output": ("std_out", text),
    "tasks": ("num_tasks", number), "tasks_per_core": ("ntasks_per_core", number),
    "tasks_per_node": ("ntasks_per_node", number), "tasks_per_socket": ("ntasks_per_socket", number),
    "temporary_disk_per_node": ("pn_min_tmp_disk", number), "threads_per_core": ("threads_per_core", number),
    "time_limit": ("time_limit", _minutes), "time_minimum": ("time_min", _minutes),
    "tres_per_job": ("tres_per_job", text), "tres_per_node": ("tres_per_node", text),
    "tres_per_socket": ("tres_per_socket", text), "tres_per_task": ("tres_per_task", text),
    "wckey": ("wckey", text),
    **{row.json: (row.name, _KINDS[row.kind]) for row in CARRIED if row.body},
}  # fmt: skip
"""Field of the body -> the request's field ("": several) and how its value is read."""
NOT_MODELLED = frozenset(
    [
        *(row.json for row in CARRIED if row.body is False),
        "account_gather_frequency",
        "allocation_node_list",
        "allocation_node_port",
        "batch_features",
        "clusters",
        "cluster_constraint",
        "container_id",
        "container_type",
        "core_specification",
        "cpu_binding",
        "cpu_binding_flags",
        "cpu_frequency",
        "cpus_per_tres",
        "crontab",
        "delay_boot",
        "distribution",
        "distribution_plane_size",
        "end_time",
        "expedited_requeue",
        "flags",
        "group_id",
        "immediate",
        "job_id",
        "kill_on_node_fail",
        "kill_warning_delay",
        "kill_warning_flags",
        "kill_warning_signal",
        "memory_binding",
        "memory_binding_type",
        "memory_per_tres",
        "memory_update_delay",
        "memory_update_margin",
        "ntasks_per_tres",
        "oom_kill_step",
        "open_mode",
        "overcommit",
        "oversubscribe",
        "power_flags",
        "profile",
        "required_switches",
        "reserve_ports",
        "resv_mpi_ports",
        "rlimits",
        "script",
        "segment_size",
        "selinux_context",
        "site_factor",
        "spank_environment",
        "step_id",
        "tasks_per_board",
        "thread_specification",
        "user_id",
        "wait_all_nodes",
        "wait_for_switch",
        "x11",
        "x11_magic_cookie",
        "x11_target_host",
        "x11_target_port",
        "hetjob_group",
        "minimum_boards_per_node",
        "minimum_cpus_per_node",
        "minimum_sockets_per_board",
    ]
)
"""Fields that Slurm has besides."""


def read(body: dict[str, Any]) -> tuple[Job, list[str], list[tuple[str, str]]]:
    """Return the request, the names of fields that are not modelled, and names and types of unknown fields.

    Raises Wrong, with the field's name, for a value that cannot be read.
    """
    job: Job = {}
    refused, unknown = [], []
    for name, value in body.items():
        found = FIELDS.get(name)
        if name in NOT_MODELLED:
            if value not in (None, "", [], {}) and name != "script":
                refused.append(name)
            continue
        if found is None:
            unknown.append((name, _kind(value)))
            continue
        try:
            made = found[1](value)
        except Wrong:
            raise Wrong(name) from None
        if not found[0]:
            job |= made
        elif made is not None:
            job[found[0]] = made
    if job.get("priority") == 0:
        job["hold"] = True
        del job["priority"]
    return job, refused, unknown


def _kind(value: Any) -> str:
    for kind, name in ((bool, "boolean"), (str, "string"), (int, "64 bit integer"), (float, "floating point number"),
                       (list, "list"), (dict, "dictionary")):  # fmt: skip
        if isinstance(value, kind):
            return name
    return "null"
