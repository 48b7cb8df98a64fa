"""``squeue --json`` of Slurm 22.05 (OpenAPI v0.0.38): every job with every field, whatever else was asked.

The keys, their order and their oddities (cores and threads of a specialisation swapped, CPUs a task given only where
a CPU frequency was asked for) are those of the recordings.
"""

from __future__ import annotations

from slurmsim import releases
from slurmsim.commands.io import FAILED_CALLS, Io, text_of
from slurmsim.commands.json import versions
from slurmsim.commands.json.allocated_nodes import nodes_with_cores
from slurmsim.commands.json.data_text import NO_TEXT, as_json, as_yaml
from slurmsim.commands.json.versions import count, field, truth
from slurmsim.commands.text import array_text
from slurmsim.commands.text.job_state_text import state_text
from slurmsim.protocol import Unreachable
from slurmsim.records import FIRST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Record = dict[str, Any]


def frame(release: str, key: str, entries: list[Any]) -> dict[str, Any]:
    """Return the document around the entries."""
    major, minor, micro = (int(part) for part in releases.VERSIONS[release].split("."))
    return {
        "meta": {
            "plugin": {"type": "openapi/v0.0.38", "name": "Slurm OpenAPI v0.0.38"},
            "Slurm": {
                "version": {"major": major, "micro": micro, "minor": minor}, "release": releases.VERSIONS[release],
            },
        },
        "errors": [],
        key: entries,
    }  # fmt: skip


def write(io: Io, form: str, document: dict[str, Any]) -> None:
    """Print it as "json" or "yaml"."""
    io.out(as_json(document) if form == "json" else as_yaml(document))


def dump_jobs(form: str, io: Io, release: str) -> int:
    """Print all jobs; the exit code."""
    fields = versions.needed(ROWS)
    try:
        answer = io.client.call("jobs", fields=fields, show_all=True)
    except Unreachable:
        document = frame(release, "jobs", [])
        document["errors"].append(_NO_JOBS)
        write(io, form, document)
        return 0
    except FAILED_CALLS as error:
        io.error(f"slurm_load_jobs error: {text_of(error)}")
        return 1
    length = array_text.length_from(io.environ)
    entries = []
    for row in versions.rows(answer, fields):
        row["array_task_str"] = row["array_task_str"] and array_text.shown(row["array_task_str"], length)
        made = versions.record(ROWS, row, FIRST)
        entries.append({key: value for key, value in made.items() if value is not LEFT_OUT})
    write(io, form, frame(release, "jobs", entries))
    return 0


_NO_JOBS = {
    "description": "Failed while looking for jobs", "error_number": -1, "error": "Unspecified error",
    "source": "slurm_load_jobs",
}  # fmt: skip
LEFT_OUT = object()  # a key that is not there for this job


def text(value: str | None) -> Any:
    """Return a text; NULL where there is none."""
    return NO_TEXT if value is None or value == "" else value


def same(value: Any) -> Any:
    """Return the value, null where there is none."""
    return value


def _memory(mib: int | None, per_cpu: bool | None) -> int | None:
    return mib if mib and not per_cpu else None


def _limit(minutes: int | None) -> int | None:
    return 0xFFFFFFFE if minutes is not None and minutes < 0 else minutes


def _shared(word: str | None) -> str | None:
    return {"NO": "none", "YES": "shared", "USER": "user", "MCS": "mcs"}.get(word or "")


def _profile(word: str | None) -> list[str] | None:
    return None if word in (None, "NotSet") else word.split(",") if word else []


def _resources(rows: list[list[Any]] | None, nodes: str, cpus: int) -> Any:
    """Return what a job has; its "cores" are the CPUs it was sure to need."""
    if rows is None:
        return LEFT_OUT
    found, _ = nodes_with_cores(rows)
    return {"nodes": nodes, "allocated_cores": cpus, "allocated_hosts": len(rows), "allocated_nodes": found}


FLAGS = {
    "SKIP_TRES_STRING_ACCOUNTING": "TRES_STR_CALC", "EXACT_CPU_COUNT_REQUESTED": "JOB_CPUS_SET",
    "ACCRUE_COUNT_CLEARED": "JOB_ACCRUE_OVER", "JOB_WAS_RUNNING": "JOB_WAS_RUNNING",
    "EXACT_MEMORY_REQUESTED": "JOB_MEM_SET", "KILL_INVALID_DEPENDENCY": "KILL_INV_DEP",
    "NO_KILL_INVALID_DEPENDENCY": "NO_KILL_INV_DEP",
}  # fmt: skip
"""The word of this release for a flag that newer ones name otherwise; others are not told."""


def _flags(value: list[str] | None) -> list[str]:
    return [FLAGS[flag] for flag in value or [] if flag in FLAGS]


R = field
ROWS = (
    R("account", text), R("accrue_time", count), R("admin_comment", text), R("array_job_id", count),
    R("array_task_id", same), R("array_max_tasks", count), R("array_task_string", text, "array_task_str"),
    R("association_id", count, "assoc_id"), R("batch_features", text), R("batch_flag", truth), R("batch_host", text),
    R("flags", _flags, "job_flags"), R("burst_buffer", text), R("burst_buffer_state", text), R("cluster", text),
    R("cluster_features", text), R("command", text), R("comment", text), R("container", text), R("contiguous", truth),
    R("core_spec", same, "thread_spec"), R("thread_spec", same, "core_spec"), R("cores_per_socket", same),
    R("billable_tres", lambda told: None if told is None else float(told), "billable"),
    R("cpus_per_task", lambda cpus, low: None if low is None else cpus, "cpus_per_task", "cpu_freq_min"),
    R("cpu_frequency_minimum", lambda low: None if low is None else LEFT_OUT, "cpu_freq_min"),
    R("cpu_frequency_minumum", lambda low: LEFT_OUT if low is None else low, "cpu_freq_min"),
    R("cpu_frequency_maximum", same, "cpu_freq_max"), R("cpu_frequency_governor", same, "cpu_freq_gov"),
    R("cpus_per_tres", text), R("deadline", count), R("delay_boot", count), R("dependency", text),
    R("derived_exit_code", count, "derived_ec"), R("eligible_time", count), R("end_time", count),
    R("excluded_nodes", text, "exc_nodes"), R("exit_code", count), R("features", text),
    R("federation_origin", text, "fed_origin_str"), R("federation_siblings_active", text, "fed_siblings_active_str"),
    R("federation_siblings_viable", text, "fed_siblings_viable_str"),
    R("gres_detail", lambda told: list(told) if isinstance(told, list) else [str(told)] if told else []),
    R("group_id", same), R("group_name", text), R("job_id", same),
    R("job_resources", _resources, "resources", "nodes", "held_cpus"),
    R("job_state", state_text, "job_state", "state_flags"), R("last_sched_evaluation", count, "last_sched_eval"),
    R("licenses", text), R("max_cpus", count), R("max_nodes", count), R("mcs_label", text),
    R("memory_per_tres", text, "mem_per_tres"), R("name", text), R("nodes", text), R("nice", lambda nice: nice or None),
    R("tasks_per_core", same, "ntasks_per_core"), R("tasks_per_node", count, "ntasks_per_node"),
    R("tasks_per_socket", same, "ntasks_per_socket"), R("tasks_per_board", count, "ntasks_per_board"),
    R("cpus", lambda cpus, tasks: None if tasks is None else cpus, "num_cpus", "num_tasks"),
    R("node_count", count, "num_nodes"), R("tasks", same, "num_tasks"), R("het_job_id", count),
    R("het_job_id_set", text), R("het_job_offset", count), R("partition", text), R("prefer", text),
    R("memory_per_node", _memory, "pn_min_memory", "mem_per_cpu"),
    R("memory_per_cpu", lambda mib, per_cpu: mib if per_cpu else None, "pn_min_memory", "mem_per_cpu"),
    R("minimum_cpus_per_node", count, "pn_min_cpus"), R("minimum_tmp_disk_per_node", count, "pn_min_tmp_disk"),
    R("preempt_time", count), R("pre_sus_time", count), R("priority", same), R("profile", _profile), R("qos", text),
    R("reboot", truth), R("required_nodes", text, "req_nodes"), R("requeue", truth), R("resize_time", count),
    R("restart_cnt", count), R("resv_name", text), R("shared", _shared),
    R("show_flags", versions.always(["SHOW_ALL", "SHOW_DETAIL", "SHOW_LOCAL"])), R("sockets_per_board", count),
    R("sockets_per_node", same), R("start_time", count), R("state_description", text, "state_desc"),
    R("state_reason", text), R("standard_error", text, "std_err"), R("standard_input", text, "std_in"),
    R("standard_output", text, "std_out"), R("submit_time", count), R("suspend_time", count), R("system_comment", text),
    R("time_limit", _limit), R("time_minimum", count, "time_min"), R("threads_per_core", same), R("tres_bind", text),
    R("tres_freq", text), R("tres_per_job", text), R("tres_per_node", text), R("tres_per_socket", text),
    R("tres_per_task", text), R("tres_req_str", text), R("tres_alloc_str", text), R("user_id", count),
    R("user_name", text), R("wckey", text), R("current_working_directory", text, "work_dir"),
)  # fmt: skip
"""Key, record fields, and how the value is made, in the order of the document."""
