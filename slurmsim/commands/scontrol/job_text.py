"""A job as ``scontrol show job`` lays it out; what differs between releases is a row with its releases.

Mirrors slurm_sprint_job_info (22.05) and what became of it in scontrol itself (24.11, 26.05).
"""

from __future__ import annotations

from slurmsim.commands.scontrol.session import Session, null
from slurmsim.commands.text.clock_text import Dates, long_clock
from slurmsim.commands.text.job_state_text import state_text
from slurmsim.commands.text.units import quantity
from slurmsim.commands.text.values import MAIL_BITS, NO_VALUE
from slurmsim.records.job import CARRIED
from slurmsim.records.request import THREAD_FLAG
from slurmsim.release_changes import since
from slurmsim.releases import has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Row = dict[str, Any]
    Line = Callable[[Row, "View"], "str | None"]
_RAN = ("RUNNING", "SUSPENDED")
_SHARED = {"YES": "YES", "NO": "NO", "OK": "OK", "USER": "USER", "MCS": "MCS", "TOPO": "TOPO"}


class View:
    """How the rows are to be shown: the release, the clock, -d and -o."""

    def __init__(self, session: Session, dates: Dates) -> None:
        self.release, self.details, self.one_line = session.release, session.details, session.one_line
        self.now, self.dates = session.now, dates


def job_text(row: Row, session: Session, dates: Dates) -> str:
    """One job, with the empty line behind it."""
    view = View(session, dates)
    gap = " " if view.one_line else "\n   "
    lines = []
    for first, gone, line in LINES:
        if has(view.release, first, gone) and (text := line(row, view)) is not None:
            lines.append(text)
    text = gap.join(lines)
    if not since(view.release, "no_blanks_at_line_ends"):
        text += gap
    return text + ("\n" if view.one_line else "\n\n")


def _optional(label: str, field: str, tail: str = "") -> Line:
    def line(row: Row, view: View) -> str | None:
        end = "" if since(view.release, "no_blanks_at_line_ends") else tail
        return f"{label}={row[field]}{end}" if row[field] else None

    return line


def _identity(row: Row, view: View) -> str:
    parts = [f"JobId={row['job_id']}"]
    if row["array_job_id"]:
        task = row["array_task_str"] or (NO_VALUE if row["array_task_id"] is None else row["array_task_id"])
        parts += [f"ArrayJobId={row['array_job_id']}", f"ArrayTaskId={task}"]
        if row["array_max_tasks"]:
            parts.append(f"ArrayTaskThrottle={row['array_max_tasks']}")
    elif row["het_job_id"]:
        parts += [f"HetJobId={row['het_job_id']}", f"HetJobOffset={row['het_job_offset']}"]
    return " ".join([*parts, f"JobName={null(row['name'])}"])


def _owner(row: Row, view: View) -> str:
    return (
        f"UserId={row['user_name']}({row['user_id']}) GroupId={row['group_name']}({row['group_id']}) "
        f"MCS_label={row['mcs_label'] or 'N/A'}"
    )


def _priority(row: Row, view: View) -> str:
    text = f"Priority={row['priority']} Nice={row['nice']} Account={null(row['account'])} QOS={null(row['qos'])}"
    return f"{text} WCKey={null(row['wckey'])}" if row["track_wckey"] else text


def _state(row: Row, view: View) -> str:
    reason = "".join("_" if sign.isspace() else sign for sign in row["state_desc"] or row["state_reason"])
    failed = f"FailedNode={row['failed_node']} " if row["failed_node"] else ""
    shown = state_text(row["job_state"], row["state_flags"])
    return f"JobState={shown} Reason={reason} {failed}Dependency={null(row['dependency'])}"


def _status(wait_status: int) -> str:
    signal = wait_status & 0x7F
    return f"0:{signal}" if signal else f"{wait_status >> 8 & 0xFF}:0"


def _requeue(row: Row, view: View) -> str:
    return (
        f"Requeue={row['requeue']} Restarts={row['restart_cnt']} BatchFlag={row['batch_flag']} "
        f"Reboot={row['reboot']} ExitCode={_status(row['exit_code'])}"
    )


def _run_time(row: Row, view: View) -> int:
    state = row["job_state"]
    if state == "PENDING" or not row["start_time"]:
        return 0
    if state == "SUSPENDED":
        return int(row["pre_sus_time"])
    end = view.now if state == "RUNNING" or not row["end_time"] else row["end_time"]
    if row["suspend_time"]:
        return int(end - row["suspend_time"] + row["pre_sus_time"])
    return int(end - row["start_time"])


def _minutes(value: int | None) -> str:
    return "UNLIMITED" if value is None else long_clock(value * 60)


def _durations(row: Row, view: View) -> str:
    limit = "Partition_Limit" if row["time_limit"] == -1 else _minutes(row["time_limit"])
    least = _minutes(row["time_min"]) if row["time_min"] else "N/A"
    return f"RunTime={long_clock(_run_time(row, view))} TimeLimit={limit} TimeMin={least}"


def _times(row: Row, view: View) -> str:
    end = view.dates(row["end_time"])
    if row["time_limit"] is None and (row["end_time"] > view.now or row["job_state"] in _RAN):
        end = "Unknown"
    deadline = view.dates(row["deadline"]) if row["deadline"] else "N/A"
    return f"StartTime={view.dates(row['start_time'])} EndTime={end} Deadline={deadline}"


def _recurrence(row: Row, view: View) -> str | None:
    """Return what a job of scrontab recurs at; one that does not any more tells when it did."""
    if not row["crontab_spec"]:
        return None
    spec = f'CrontabSpec="{row["crontab_spec"]}"'
    return f"CronJob=Yes {spec}" if row["cron_job"] else spec


def _preemption(row: Row, view: View) -> str | None:
    if not row["preemptable_time"]:
        return None
    when = view.dates(row["preempt_time"]) if row["preempt_time"] else "None"
    return f"PreemptEligibleTime={view.dates(row['preemptable_time'])} PreemptTime={when}"


def _suspension(row: Row, view: View) -> str:
    when = view.dates(row["suspend_time"]) if row["suspend_time"] else "None"
    return (
        f"SuspendTime={when} SecsPreSuspend={row['pre_sus_time']} "
        f"LastSchedEval={view.dates(row['last_sched_eval'])} Scheduler={row['scheduler']}"
    )


def _nodes(row: Row, view: View) -> str:
    planned = f" SchedNodeList={row['sched_nodes']}" if row["sched_nodes"] else ""
    return f"NodeList={row['nodes'] or ''}{planned}"


def _range(least: int, most: int) -> str:
    return f"{least}-{most}" if most > 0 else str(least)


def _sizes(row: Row, view: View) -> str:
    least, most = row["num_nodes"], row["max_nodes_asked"] if row["job_state"] == "PENDING" else 0
    if most and most < least:
        least = most
    tasks = "N/A" if row["tasks_unknown"] else row["num_tasks"]
    text = f"NumNodes={_range(least, most)} NumCPUs={_range(row['num_cpus'], row['max_cpus'])} NumTasks={tasks}"
    threads = row["threads_per_core"]
    return f"{text} CPUs/Task={row['cpus_per_task']} ReqB:S:C:T=0:0:{_star(row['cores_per_socket'])}:{_star(threads)}"


def _star(value: int | None) -> str:
    return "*" if value is None else str(value)


def _layout(row: Row, view: View) -> str:
    spec = row["core_spec"]
    core = f"CoreSpec={_star(spec)}"
    if spec is not None and spec & THREAD_FLAG:
        core = f"ThreadSpec={spec & ~THREAD_FLAG}"
    return (
        f"Socks/Node={_star(row['sockets_per_node'])} NtasksPerN:B:S:C={row['ntasks_per_node']}:0:"
        f"{_star(row['ntasks_per_socket'])}:{_star(row['ntasks_per_core'])} {core}"
    )


def _placed(row: Row, view: View) -> str | None:
    """-d: which CPUs of which nodes, nodes that are alike on one line."""
    if not view.details or not row["cpu_ids"]:
        return None
    gap = " " if view.one_line else "\n   "
    indent = "" if since(view.release, "no_blanks_at_line_ends") and view.one_line else "  "
    lines = [f"JOB_GRES={null(row['gres_total'])}"]
    lines += [
        f"{indent}Nodes={nodes} CPU_IDs={cpus} Mem={mem} GRES={gres}" for nodes, cpus, mem, gres in row["cpu_ids"]
    ]
    return gap.join(lines)


def _minima(row: Row, view: View) -> str:
    per = "CPU" if row["mem_per_cpu"] else "Node"
    if row["mem_per_tres"] and since(view.release, "memory_per_tres"):
        per = "TRES"
    later = f" MemUpdate={row['mem_update_margin']}%@{row['mem_update_delay']}min" if row["mem_update_delay"] else ""
    return (
        f"MinCPUsNode={row['pn_min_cpus']} MinMemory{per}={quantity(row['pn_min_memory'], 'M')} "
        f"MinTmpDiskNode={quantity(row['pn_min_tmp_disk'], 'M')}{later}"
    )


def _sharing(row: Row, view: View) -> str:
    return (
        f"OverSubscribe={_SHARED.get(row['shared'], 'OK')} Contiguous={row['contiguous']} "
        f"Licenses={null(row['licenses'])} Network={null(row['network'])}"
    )


def _sharing_new(row: Row, view: View) -> str:
    return (
        f"OverSubscribe={row['oversubscribe']} Exclusive={row['exclusive']} Contiguous={row['contiguous']} "
        f"Licenses={null(row['licenses'])} LicensesAlloc={null(row['licenses_alloc'])} Network={null(row['network'])}"
    )


def _command(row: Row, view: View) -> str:
    text = null(row["command"])
    words = None if since(view.release, "command_alone") else row["argv_text"]
    return f"Command={text} {words}" if words else f"Command={text}"


def _plain(label: str, field: str) -> Line:
    return lambda row, view: f"{label}={null(row[field])}"


def _file(label: str, field: str) -> Line:
    return lambda row, view: f"{label}={row[field] or ''}" if row["batch_flag"] else None


def _segments(row: Row, view: View) -> str | None:
    """--segment, and how segments lie to each other."""
    if not row["segment_size"]:
        return None
    words = (("SPREAD_SEGMENTS", " SpreadSegments=Yes"), ("CONSOLIDATE_SEGMENTS", " ConsolidateSegments=Yes"))
    return f"SegmentSize={row['segment_size']}" + "".join(text for flag, text in words if flag in row["bitflags"])


def _flags(row: Row, view: View) -> str | None:
    """--gres-flags, --kill-on-invalid-dep, --spread-job and --requeue=expedite, written as each release does."""
    flags: list[str] = row["bitflags"]
    kill = "KillOnInvalidDependent" if since(view.release, "invalid_dependent_spelled") else "KillOInInvalidDependent"
    words = [
        text for flag, text in (
            ("GRES_DISABLE_BIND", "GresEnforceBind=No"), ("GRES_ENFORCE_BIND", "GresEnforceBind=Yes"),
            ("KILL_INV_DEP", f"{kill}=Yes"), ("NO_KILL_INV_DEP", f"{kill}=No"), ("SPREAD_JOB", "SpreadJob=Yes"),
            ("EXPEDITED_REQUEUE", "ExpeditedRequeue=Yes"),
        ) if flag in flags
    ]  # fmt: skip
    if not words:
        return None
    between = " " if since(view.release, "flags_between_blanks") else ","
    return (between if since(view.release, "flags_between_commas") else "").join(words)


def mail_names(bits: int) -> str:
    """Events to mail, as Slurm lists them.

    >>> mail_names(0x06), mail_names(0x50F)
    ('END,FAIL', 'INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT')
    """
    return ",".join(name for name, bit in MAIL_BITS.items() if bits & bit) or "NONE"


def _mail(row: Row, view: View) -> str | None:
    if not row["mail_type"] or not row["mail_user"]:
        return None
    return f"MailUser={row['mail_user']} MailType={mail_names(row['mail_type'])}"


def _cpu_frequency(row: Row, view: View) -> str | None:
    """--cpu-freq: bounds with a blank behind each, and the governor."""
    bounds = (("CPU_min_freq", "cpu_freq_min"), ("CPU_max_freq", "cpu_freq_max"))
    text = "".join(f"{label}={row[field]} " for label, field in bounds if row[field])
    return text + (f"Governor={row['cpu_freq_gov']}" if row["cpu_freq_gov"] else "") or None


def _container(row: Row, view: View) -> str | None:
    if row["container"] is None:
        return None
    kind = "ContainerType=(null) " if since(view.release, "container_types") else ""
    number = " ContainerID=(null)" if since(view.release, "container_ids") else ""
    return f"{kind}Container={row['container']}{number}"


_OWN_LINES: dict[str, Line] = {"container": _container}


def _carried(after: str) -> list[tuple[str, str, Line]]:
    """Lines that stand after that one, of what a job only carries."""
    return [
        (row.since, row.until, _OWN_LINES.get(row.name) or _optional(row.line.label, row.name, row.line.end))
        for row in CARRIED if row.line and row.line.after == after
    ]  # fmt: skip


LINES: tuple[tuple[str, str, Line], ...] = (
    ("", "", _identity),
    ("", "", lambda row, view: f"HetJobIdSet={row['het_job_id_set']}" if row["het_job_id"] else None),
    ("25.11", "", lambda row, view: f"SLUID={row['sluid']}" if view.details and row["sluid"] else None),
    ("", "", _owner), ("", "", _priority), ("", "", _state),
    ("", "", _requeue),
    ("", "", lambda row, view: f"DerivedExitCode={_status(row['derived_ec'])}" if view.details else None),
    ("", "", _durations),
    ("", "", lambda row, view:
     f"SubmitTime={view.dates(row['submit_time'])} EligibleTime={view.dates(row['eligible_time'])}"),
    ("", "", lambda row, view: f"AccrueTime={view.dates(row['accrue_time'])}"),
    ("", "", lambda row, view: f"ResizeTime={view.dates(row['resize_time'])}" if row["resize_time"] else None),
    ("", "", _times), ("24.11", "", _recurrence), ("", "", _preemption), ("", "", _suspension),
    ("", "", lambda row, view: f"Partition={row['partition']} AllocNode:Sid={row['alloc_node']}:{row['alloc_sid']}"),
    ("", "", lambda row, view: f"ReqNodeList={null(row['req_nodes'])} ExcNodeList={null(row['exc_nodes'])}"),
    ("", "", _nodes), ("", "", _optional("BatchHost", "batch_host")),
    ("24.05", "", lambda row, view: "StepMgrEnabled=Yes" if "STEPMGR_ENABLED" in row["bitflags"] else None),
    ("", "", _sizes),
    ("", "23.02", lambda row, view: f"TRES={row['tres_alloc_str'] or row['tres_req_str']}"),
    ("23.02", "", lambda row, view: f"ReqTRES={row['tres_req_str']}"),
    ("23.02", "", _plain("AllocTRES", "tres_alloc_str")), ("", "", _layout), ("", "", _placed), ("", "", _minima),
    ("", "", lambda row, view: f"Features={null(row['features'])} DelayBoot={long_clock(row['delay_boot'])}"),
    *_carried("Features"),
    ("", "", _optional("Reservation", "resv_name")),
    ("", "26.05", _sharing), ("26.05", "", _sharing_new), ("", "", _command),
    ("25.11", "", _plain("SubmitLine", "submit_line")), ("", "", _plain("WorkDir", "work_dir")),
    *_carried("WorkDir"), ("", "", _optional("SystemComment", "system_comment", " ")), *_carried("SystemComment"),
    ("", "", _file("StdErr", "shown_err")),
    ("", "", _file("StdIn", "std_in")), ("", "", _file("StdOut", "shown_out")),
    ("25.05", "", _segments), ("", "", lambda row, view:
     f"Switches={row['req_switch']}@{long_clock(row['wait4switch'])}" if row["req_switch"] else None),
    *_carried("Switches"), ("", "", _cpu_frequency),
    ("", "24.05", lambda row, view: f"Power={row['power_flags']}"), ("", "", _flags),
    ("24.11", "", lambda row, view:
     f"OOMKillStep={row['oom_kill_step']}" if row["oom_kill_step"] is not None else None),
    ("", "", _optional("CpusPerTres", "cpus_per_tres")),
    ("", "", _optional("MemPerTres", "mem_per_tres")), *_carried("MemPerTres"),
    ("", "", _optional("TresPerJob", "tres_per_job")),
    ("", "", _optional("TresPerNode", "tres_per_node")), ("", "", _optional("TresPerSocket", "tres_per_socket")),
    ("", "", _optional("TresPerTask", "tres_per_task_shown")), ("", "", _mail),
    *_carried("MailUser"), ("", "", _optional("NtasksPerTRES", "ntasks_per_tres")),
)  # fmt: skip
"""First release, first one without it, and the line; None leaves it out."""

FIELDS: tuple[str, ...] = (
    "job_id", "array_job_id", "array_task_id", "array_task_str", "array_max_tasks", "het_job_id", "het_job_offset",
    "het_job_id_set", "name", "sluid", "user_name", "user_id", "group_name", "group_id", "mcs_label", "priority",
    "nice", "account", "qos", "wckey", "track_wckey", "job_state", "state_flags", "state_reason", "state_desc",
    "failed_node", "dependency", "requeue", "restart_cnt", "batch_flag", "reboot", "exit_code", "derived_ec",
    "start_time", "end_time", "suspend_time", "pre_sus_time", "time_limit", "time_min", "submit_time", "eligible_time",
    "accrue_time", "resize_time", "deadline", "crontab_spec", "cron_job", "preemptable_time", "preempt_time",
    "last_sched_eval", "scheduler", "partition", "alloc_node", "alloc_sid", "req_nodes", "exc_nodes", "nodes",
    "sched_nodes", "batch_host", "num_nodes", "max_nodes_asked", "num_cpus", "max_cpus", "num_tasks", "tasks_unknown",
    "cpus_per_task", "cores_per_socket", "threads_per_core", "tres_req_str", "tres_alloc_str", "sockets_per_node",
    "ntasks_per_node", "ntasks_per_socket", "ntasks_per_core", "ntasks_per_tres", "core_spec", "cpu_ids", "gres_total",
    "pn_min_cpus", "mem_per_cpu", "pn_min_memory", "mem_update_margin", "mem_update_delay",
    "pn_min_tmp_disk", "features", "delay_boot", "resv_name", "shared", "oversubscribe", "exclusive", "contiguous",
    "licenses", "licenses_alloc", "network", "command", "argv_text", "submit_line", "work_dir", "system_comment",
    "shown_err", "std_in", "shown_out", "segment_size", "req_switch", "wait4switch",
    "power_flags", "bitflags", "oom_kill_step", "cpus_per_tres", "mem_per_tres", "tres_per_job", "tres_per_node",
    "tres_per_socket", "tres_per_task_shown", "mail_type", "mail_user", "cpu_freq_min", "cpu_freq_max",
    "cpu_freq_gov",
    *(row.name for row in CARRIED if row.line),
)  # fmt: skip
