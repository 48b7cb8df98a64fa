"""Jobs as data_parser documents have them: squeue, ``scontrol show job`` and ``/slurm/v0.0.4x/jobs``."""

from __future__ import annotations

from slurmsim.commands.json.allocated_nodes import nodes_with_cores, numbers
from slurmsim.commands.json.sacct import exit_code
from slurmsim.commands.json.versions import (
    Field,
    always,
    at_least_zero,
    count,
    field,
    limit,
    number,
    text,
    truth,
    words,
)  # fmt: skip
from slurmsim.commands.text.values import NO_VALUE
from slurmsim.records import merged
from slurmsim.records.job import CARRIED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.json.versions import Number, Record

_ENDLESS = 0xFFFFFFFF
_MAIL = (("BEGIN", 0x1), ("END", 0x2), ("FAIL", 0x4), ("REQUEUE", 0x8), ("TIME=100%", 0x10), ("TIME=90%", 0x20),
         ("TIME=80%", 0x40), ("TIME=50%", 0x80), ("STAGE_OUT", 0x100), ("ARRAY_TASKS", 0x200),
         ("INVALID_DEPENDENCY", 0x400))  # fmt: skip


def _exit(status: int | None) -> Record:
    return exit_code(int(status or 0))


def _flags_before_45(flags: list[str]) -> list[str]:
    return [flag for flag in flags if flag != "JOB_IMPLICIT_MAX_NODES"]


def _states(base: str, flags: list[str]) -> list[str]:
    """Return its state and the flags of it."""
    return [base, *flags]


def _minutes(value: int | None) -> Number:
    return limit(value) if value is None or value >= 0 else number(None)


def _hold(priority: int) -> bool:
    return priority == 0


def _memory_a_cpu(mib: int | None, per_cpu: bool | None) -> Number:
    return number(mib if per_cpu else None)


def _memory(mib: int | None, per_cpu: bool | None) -> Number:
    return number(None if per_cpu else mib or 0)


def _billing(value: float | None) -> Number:
    return {"set": value is not None, "infinite": False, "number": float(value or 0)}


def _mail(mask: int | None) -> list[str]:
    return [word for word, bit in _MAIL if int(mask or 0) & bit]


def _mail_user(told: str | None, user: str) -> str:
    return told or user


def _profile(value: str | None) -> list[str]:
    return ["NOT_SET"] if value in (None, "NotSet") else [word.upper() for word in words(value)] or ["NONE"]


def _priorities(rows: list[list[Any]]) -> list[Record]:
    return [{"partition": name, "priority": value} for name, value in rows]


def _most_nodes(held: list[list[Any]] | None, most: int) -> Number:
    """Return what a job without nodes may have at most; others have what they have."""
    return at_least_zero(most if held is None else 0)


def _known(priority: int) -> Number:
    """Return a priority; a job that ended before it got one has none."""
    return number(None if priority == NO_VALUE else priority)


def _shared_or_exclusive(word: str | None, exclusive: str) -> list[str]:
    """Return the job's own wish: what it would share its nodes with."""
    return ["none"] if exclusive == "NODE" else _shared(word, exclusive)


def _shared(word: str | None, exclusive: str) -> list[str]:
    """Return the same, where whole nodes are not told so."""
    if exclusive == "NODE":
        return []
    if exclusive != "NO":
        word = exclusive
    return {"YES": ["oversubscribe"], "USER": ["user"], "MCS": ["mcs"], "TOPO": ["topo"]}.get(word or "", [])


def _core_spec(cores: int | None) -> int:
    return 0 if cores is None or cores & 0x8000 else cores


def _thread_spec(cores: int | None) -> int:
    """Threads where threads were asked for; Slurm shows the low bits of NO_VAL16 where nothing was."""
    return 32766 if cores is None else cores & 0x7FFF if cores & 0x8000 else cores


def _sockets(cpus: str, sockets: int, cores: int, threads: int) -> list[Record]:
    used = {cpu // threads for cpu in numbers(cpus)}
    return [
        {"index": s, "cores": [
            {"index": c, "status": ["ALLOCATED" if s * cores + c in used else "UNALLOCATED"]} for c in range(cores)
        ]}
        for s in range(sockets)
    ]  # fmt: skip


def _resources_as_core(rows: list[list[Any]] | None, *what: Any) -> Record | None:
    """Return what it has as v0.0.41 to v0.0.44 tell it, where cores are cores whatever is consumable."""
    nodes, cpus, exclusive, kinds, threads = what
    return _resources(rows, nodes, cpus, exclusive, ["CORE", kinds[1]], threads)


def _resources(
    rows: list[list[Any]] | None, nodes: str, cpus: int, exclusive: str, kinds: list[str], used_threads: int | None,
) -> Record | None:  # fmt: skip
    if rows is None:
        return None
    allocation = [
        {"index": k, "name": name, "cpus": {"count": n_cpus, "used": used},
         "memory": {"used": used_mem, "allocated": mem}, "sockets": _sockets(ids, sockets, cores, threads)}
        for k, (name, n_cpus, mem, used, used_mem, ids, sockets, cores, threads) in enumerate(rows)
    ]  # fmt: skip
    listed = {
        "count": len(rows), "select_type": [kinds[1]], "list": nodes, "whole": exclusive == "NODE",
        "allocation": allocation,
    }  # fmt: skip
    return {"select_type": [kinds[0]], "nodes": listed, "cpus": cpus, "threads_per_core": number(used_threads)}


def _allocated(rows: list[list[Any]] | None, nodes: str) -> Record:
    """Return what it has as v0.0.40 tells it."""
    if rows is None:
        return {}
    found, n_cores = nodes_with_cores(rows)
    return {"nodes": nodes, "allocated_cores": n_cores, "allocated_cpus": 0, "allocated_hosts": len(rows),
            "allocated_nodes": found}  # fmt: skip


def _alone(exclusive: str) -> list[str]:
    """Return the word for a job that does not share its nodes, or not with all jobs; up to v0.0.41."""
    return {"NODE": ["true"], "USER": ["user"], "MCS": ["mcs"], "TOPO": ["topo"]}.get(exclusive, [])


def _together(exclusive: str) -> bool:
    return exclusive != "NODE"


def _step_id(sluid: str, job: int) -> Record:
    return {"sluid": sluid, "job_id": number(job), "step_het_component": number(None), "step_id": "entire"}


def _gres(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, (list, tuple)) else []


F = field
_KINDS = {"text": text, "count": at_least_zero, "flag": truth}
_HELD = ("resources", "nodes", "held_cpus", "exclusive", "select_kinds", "threads_per_core")
_OWN = (
    F("account", text), F("accrue_time", at_least_zero),
    F("allocating_node", text, "alloc_node"), F("array_job_id", at_least_zero), F("array_task_id", number),
    F("array_max_tasks", at_least_zero), F("array_task_string", text, "array_task_str"),
    F("association_id", count, "assoc_id"), F("batch_features", text), F("batch_flag", truth), F("batch_host", text),
    F("flags", _flags_before_45, "job_flags", last=44), F("flags", list, "job_flags", first=45),
    F("burst_buffer_state", text), F("cluster", text), F("command", text),
    F("container_id", text), F("container_type", text, first=45), F("contiguous", truth),
    F("core_spec", _core_spec), F("thread_spec", _thread_spec, "core_spec"), F("cores_per_socket", number),
    F("billable_tres", _billing, "billable"), F("cpus_per_task", at_least_zero),
    F("cpu_frequency_minimum", number, "cpu_freq_min"), F("cpu_frequency_maximum", number, "cpu_freq_max"),
    F("cpu_frequency_governor", number, "cpu_freq_gov"), F("cpus_per_tres", text), F("cron", text, "crontab_spec"),
    F("deadline", at_least_zero), F("delay_boot", at_least_zero), F("dependency", text),
    F("derived_exit_code", _exit, "derived_ec"), F("eligible_time", at_least_zero), F("end_time", at_least_zero),
    F("excluded_nodes", text, "exc_nodes"), F("exit_code", _exit), F("failed_node", text),
    F("features", text), F("federation_origin", always("")), F("federation_siblings_active", always("")),
    F("federation_siblings_viable", always("")), F("gres_detail", _gres), F("group_id", count), F("group_name", text),
    F("het_job_id", at_least_zero), F("het_job_id_set", text), F("het_job_offset", at_least_zero),
    F("job_id", count),
    F("job_resources", _allocated, "resources", "nodes", last=40),
    F("job_resources", _resources_as_core, *_HELD, first=41, last=44), F("job_resources", _resources, *_HELD, first=45),
    F("job_size_str", always([])), F("job_state", _states, "job_state", "state_flags"),
    F("last_sched_evaluation", at_least_zero, "last_sched_eval"), F("licenses", text),
    F("licenses_allocated", text, "licenses_alloc", first=43), F("mail_type", _mail),
    F("mail_user", _mail_user, "mail_user", "user_name"), F("max_cpus", at_least_zero),
    F("max_nodes", _most_nodes, "resources", "max_nodes_asked"),
    F("memory_per_tres", text, "mem_per_tres"),
    F("memory_update_delay", count, "mem_update_delay", first=45),
    F("memory_update_margin", count, "mem_update_margin", first=45), F("name", text),
    F("nodes", text), F("nice", count), F("tasks_per_core", limit, "ntasks_per_core"),
    F("tasks_per_tres", always({"set": True, "infinite": False, "number": 0})),
    F("tasks_per_node", at_least_zero, "ntasks_per_node"), F("tasks_per_socket", limit, "ntasks_per_socket"),
    F("tasks_per_board", always({"set": True, "infinite": False, "number": 0})), F("cpus", number, "num_cpus"),
    F("node_count", number, "num_nodes"), F("tasks", number, "shown_tasks"), F("partition", text),
    F("memory_per_cpu", _memory_a_cpu, "pn_min_memory", "mem_per_cpu"),
    F("memory_per_node", _memory, "pn_min_memory", "mem_per_cpu"),
    F("minimum_cpus_per_node", at_least_zero, "pn_min_cpus"),
    F("minimum_tmp_disk_per_node", at_least_zero, "pn_min_tmp_disk"), F("power", always({"flags": []}), last=44),
    F("preempt_time", at_least_zero), F("preemptable_time", at_least_zero), F("pre_sus_time", at_least_zero),
    F("hold", _hold, "priority"), F("priority", _known), F("priority_by_partition", _priorities, first=42),
    F("profile", _profile), F("qos", text), F("reboot", truth), F("required_nodes", text, "req_nodes"),
    F("minimum_switches", count, "req_switch", last=41), F("required_switches", count, "req_switch", first=42),
    F("requeue", truth), F("resize_time", at_least_zero),
    F("restart_cnt", count), F("resv_name", text), F("scheduled_nodes", text, "sched_nodes"),
    F("segment_size", count, first=43), F("selinux_context", always("")),
    F("shared", _shared_or_exclusive, "shared", "exclusive", last=44),
    F("shared", _shared, "shared", "exclusive", first=45), F("exclusive", _alone, "exclusive", last=41),
    F("oversubscribe", _together, "exclusive", last=41), F("show_flags", always([]), last=41),
    F("sockets_per_board", always(0)),
    F("sockets_per_node", number), F("start_time", at_least_zero), F("state_description", text, "state_desc"),
    F("state_reason", text), F("standard_input", text, "told_in"), F("standard_output", text, "shown_out", last=42),
    F("standard_error", text, "shown_err", last=42), F("standard_output", text, "told_out", first=43),
    F("standard_error", text, "told_err", first=43), F("stdin_expanded", text, "told_in", first=43),
    F("stdout_expanded", text, "shown_out", first=43), F("stderr_expanded", text, "shown_err", first=43),
    F("step_id", _step_id, "sluid", "job_id", first=44), F("submit_line", text, first=44),
    F("submit_time", at_least_zero), F("suspend_time", at_least_zero), F("system_comment", text),
    F("time_limit", _minutes), F("time_minimum", at_least_zero, "time_min"), F("threads_per_core", number),
    F("tres_per_job", text), F("tres_per_node", text),
    F("tres_per_socket", text), F("tres_per_task", text, "tres_per_task_shown"), F("tres_req_str", text),
    F("tres_alloc_str", text), F("user_id", count), F("user_name", text),
    F("maximum_switch_wait_time", count, "wait4switch"), F("wckey", text),
    F("current_working_directory", text, "work_dir"),
)  # fmt: skip
JOB = merged(
    _OWN,
    [(row.before, Field(row.json, _KINDS[row.kind], (row.name,), row.first, row.last)) for row in CARRIED if row.json],
    lambda row: row.key,
)
"""Key, how it is made of which of the daemon's fields, and its versions; in the order of the recordings."""
