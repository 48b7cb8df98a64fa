"""The fields of a job's request (job_desc_msg_t), by name, but for those a job only carries (`slurmsim.records.job`).

Kinds are ``text``, ``words`` and ``nodes`` (comma lists), ``count``, ``amount`` (0 where none is asked), ``signed``,
``product`` (of counts), ``memory``, ``time``, ``flag``, ``switch`` (0 and 1, too) and ``plain``, which the controller
does not look at. ``own`` has a shape of its own.
"""

from __future__ import annotations

from slurmsim.records import Field

THREAD_FLAG = 0x8000
"""Bit of `core_spec`: it counts threads, not cores."""


def _row(name: str, kind: str, place: str = "", how: str = "") -> Field:
    """Return a row.

    Parameters
    ----------
    place
        Its place in bodies of REST.
    how
        ``copied``: sbatch sends the option as it was read. ``told``: the job tells what was asked. ``refused``: not
        modelled in a body.
    """
    body = "refused" not in how if place else None
    return Field(name, kind, json=place, body=body, shown="told" in how, ruled="copied" not in how)


R = _row
REQUEST: tuple[Field, ...] = (
    R("account", "text", "account", "copied"), R("acctg_freq", "text", "account_gather_frequency", "copied refused"),
    R("alloc_node", "text"), R("alloc_sid", "amount", how="told"), R("allocate", "flag"), R("argv", "own", "argv"),
    R("array_inx", "own", "array", "copied"), R("begin_time", "time", "begin_time", "copied"),
    R("by_site", "flag"), R("clusters", "text", "clusters", "copied refused"), R("command", "text", how="told"),
    R("consolidate_segments", "flag", how="copied"),
    R("contiguous", "switch", "contiguous", "copied"), R("core_spec", "own", "core_specification", "copied"),
    R("cores_per_socket", "count", "cores_per_socket", "copied told"),
    R("cpu_freq_gov", "text", how="copied told"), R("cpu_freq_max", "text", how="copied told"),
    R("cpu_freq_min", "text", how="copied told"), R("cpus_per_gpu", "count", how="copied"),
    R("cpus_per_task", "count", "cpus_per_task", "copied"), R("cpus_per_tres", "text", "cpus_per_tres", "refused"),
    R("deadline", "time", "deadline", "copied"), R("delay_boot", "signed", "delay_boot", "copied refused"),
    R("dependency", "text", "dependency", "copied"),
    R("distribution", "text", "distribution", "copied refused"), R("end_time", "time", "end_time", "refused"),
    R("environment", "own", "environment"), R("exc_nodes", "nodes", "excluded_nodes", "told"),
    R("expedited_requeue", "flag", "expedited_requeue", "copied refused"),
    R("features", "text", "constraints", "copied told"), R("gpu_bind", "text", how="copied"),
    R("gpu_freq", "text", how="copied"), R("gres_flags", "plain", how="copied"),
    R("group_id", "plain", "group_id", "copied refused"), R("held", "flag"), R("het_offset", "own"),
    R("hold", "flag", "hold"), R("immediate", "count", "immediate", "refused"),
    R("job_size_str", "text", how="copied"), R("kill_on_invalid_dep", "flag", how="copied"),
    R("kill_on_node_fail", "count", "kill_on_node_fail", "refused"),
    R("licenses", "text", "licenses", "copied told"), R("mail_type", "amount", "mail_type", "copied told"),
    R("mail_user", "text", "mail_user", "copied"), R("max_cpus", "count", "maximum_cpus"),
    R("max_nodes", "count", "maximum_nodes"), R("mem_bind", "text", "memory_binding", "copied refused"),
    R("mem_per_cpu", "flag"), R("mem_per_gpu", "memory", how="copied"),
    R("mem_per_tres", "text", "memory_per_tres", "refused"),
    R("mem_update_delay", "amount", "memory_update_delay", "copied told"),
    R("mem_update_margin", "amount", "memory_update_margin", "copied told"), R("min_cpus", "product", "minimum_cpus"),
    R("min_nodes", "count", "minimum_nodes"), R("name", "text", "name", "copied"),
    R("nice", "signed", "nice", "copied"), R("ntasks_per_core", "count", "tasks_per_core", "copied told"),
    R("ntasks_per_node", "count", "tasks_per_node", "copied"),
    R("ntasks_per_socket", "count", "tasks_per_socket", "copied told"),
    R("ntasks_per_tres", "count", "ntasks_per_tres", "told"), R("num_tasks", "product", "tasks"),
    R("oom_kill_step", "plain", "oom_kill_step", "copied told refused"),
    R("open_mode", "text", "open_mode", "refused"), R("overcommit", "flag", "overcommit", "copied refused"),
    R("partition", "words", "partition", "copied"),
    R("plane_size", "count", "distribution_plane_size", "copied refused"),
    R("pn_min_cpus", "count", "minimum_cpus_per_node", "refused"), R("pn_min_memory", "memory"),
    R("pn_min_tmp_disk", "amount", "temporary_disk_per_node", "copied told"),
    R("power", "plain", "power_flags", "copied refused"), R("priority", "count", "priority"),
    R("profile", "text", "profile", "copied refused"), R("qos", "text", "qos", "copied"),
    R("reboot", "switch", "reboot", "copied"), R("req_nodes", "nodes", "required_nodes", "told"),
    R("req_switch", "amount", "required_switches", "copied told refused"),
    R("requeue", "switch", "requeue", "copied"), R("reservation", "words", "reservation", "copied"),
    R("reset_accrue_time", "flag"), R("rlimits", "own", "rlimits", "refused"), R("script", "own", "script", "refused"),
    R("segment_size", "count", "segment_size", "copied told refused"), R("shared", "own", "shared", "copied"),
    R("site_factor", "signed", "site_factor", "refused"),
    R("sockets_per_node", "count", "sockets_per_node", "copied told"), R("spread_job", "flag", how="copied"),
    R("spread_segments", "flag", how="copied"), R("std_err", "text", "standard_error", "copied"),
    R("std_in", "text", "standard_input", "copied"), R("std_out", "text", "standard_output", "copied"),
    R("stepmgr", "flag", how="copied"), R("submit_dir", "text"), R("submit_line", "own"),
    R("threads_per_core", "count", "threads_per_core", "copied told"),
    R("time_limit", "product", "time_limit", "copied"), R("time_min", "count", "time_minimum", "copied"),
    R("tres_per_job", "text", "tres_per_job"), R("tres_per_node", "text", "tres_per_node"),
    R("tres_per_socket", "text", "tres_per_socket"), R("tres_per_task", "text", "tres_per_task"),
    R("umask", "count"), R("use_min_nodes", "flag", how="copied"), R("user_name", "text"),
    R("wait4switch", "amount", "wait_for_switch", "copied told refused"),
    R("wait_all_nodes", "count", "wait_all_nodes", "copied refused"),
    R("warn_flags", "text", "kill_warning_flags", "copied refused"),
    R("warn_signal", "count", "kill_warning_signal", "copied refused"),
    R("warn_time", "count", "kill_warning_delay", "copied refused"), R("wckey", "text", "wckey", "copied told"),
    R("work_dir", "text", "current_working_directory", "copied told"),
)  # fmt: skip
