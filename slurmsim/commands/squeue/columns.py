"""What squeue can show of a job: one row a column, with the record fields it is made of.

Mirrors the columns of squeue 22.05; rows with `since` or `until` are those that changed in 24.11 and 26.05.
"""

from __future__ import annotations

import os

from slurmsim.commands.text.clock_text import bounded_clock
from slurmsim.commands.text.job_state_text import state_code, state_text
from slurmsim.commands.text.print_fields import NULL, Column, Uncut
from slurmsim.commands.text.print_fields import column_of as C
from slurmsim.commands.text.units import quantity
from slurmsim.records.job import CARRIED
from slurmsim.records.request import THREAD_FLAG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmsim.commands.text.clock_text import Dates


_ID_LENGTH = 31  # of an array's line, unless SLURM_BITSTR_LEN is set


class Show:
    """What all rows of one printing have in common.

    Parameters
    ----------
    now
        The cluster's time, epoch seconds.
    dates
        Formatter of dates.
    long_ids
        Array ids keep all characters (SLURM_BITSTR_LEN, --array).
    convert
        Sizes may be given in larger units.
    expand
        File name patterns are filled in (--expand-patterns).
    """

    __slots__ = ("convert", "dates", "expand", "long_ids", "now")

    def __init__(
        self, now: int, dates: Dates, *, long_ids: bool = False, convert: bool = True, expand: bool = False
    ) -> None:
        self.now, self.dates, self.long_ids, self.convert, self.expand = now, dates, long_ids, convert, expand


def job_id_text(
    show: Show, job: int, array: int | None, task: int | None, tasks: str | None, het: int | None, offset: int | None
) -> str:
    """``12``, ``3_7``, ``3_[8-9%2]`` or ``54+1``."""
    if tasks:
        text = f"{array}_[{tasks}]"
        return Uncut(text) if show.long_ids else text[:_ID_LENGTH]
    if task is not None:
        return f"{array}_{task}"
    if het:
        return f"{het}+{offset}"
    return str(job)


def seconds_used(
    show: Show, state: str, start: int | None, end: int | None, suspended: int | None, before: int | None
) -> int:
    """Seconds a job has run, its suspensions left out; 0 while pending."""
    if not start or state == "PENDING":
        return 0
    if state == "SUSPENDED":
        return before or 0
    until = show.now if state == "RUNNING" or not end else end
    return until - suspended + (before or 0) if suspended else until - start


def _limit(_: Show, limit: int | None) -> str:
    if limit is None:
        return "UNLIMITED"
    return "NOT_SET" if limit < 0 else Uncut(bounded_clock(limit * 60))


def _left(show: Show, limit: int | None, *run: object) -> str:
    if limit is None or limit < 0:
        return _limit(show, limit)
    return Uncut(bounded_clock(limit * 60 - seconds_used(show, *run)))  # type: ignore[arg-type]


_WHY = frozenset({"PENDING", "TIMEOUT", "OUT_OF_MEMORY", "DEADLINE", "FAILED"})


def _reason_list(
    _: Show, state: str, flags: Sequence[str] | None, reason: str, text: str | None, nodes: str | None
) -> str:
    flags = flags or ()
    if "COMPLETING" not in flags and (state in _WHY or "STAGE_OUT" in flags):
        return f"({text or reason})"
    return Uncut(nodes or "")


def _nodes(_: Show, nodes: str | None) -> str:
    return nodes or ""


def _or_star(_: Show, value: int | None) -> str:
    return "*" if value is None else str(value)


def _or_na(_: Show, value: int | None) -> str:
    return "N/A" if value is None else str(value)


def _kept_cores(_: Show, value: int | None) -> str:
    return "N/A" if value is None else f"{value & ~THREAD_FLAG} Threads" if value & THREAD_FLAG else str(value)


def _text_or_na(_: Show, value: str | None) -> str:
    return "N/A" if value is None else value


def _federated(_: Show, value: str | None) -> str:
    return "NA" if value is None else value


def _flag(_: Show, value: object) -> str:
    return str(int(value)) if isinstance(value, int | float) else "0"


def _size(show: Show, mib: int | None) -> str:
    return quantity(mib or 0, "M", convert=show.convert)


def _seconds(_: Show, seconds: int | None) -> str:
    return bounded_clock(seconds or 0)


def _date(show: Show, when: int | None) -> str:
    return show.dates(when)


def _resized(_: Show, when: int | None) -> str:
    return bounded_clock(when * 60) if when else "N/A"  # Slurm prints the date as if it were a duration


def _het(_: Show, het: int | None, value: object) -> str:
    return str(value) if het else "N/A"


def _exit(_: Show, status: int | None) -> str:
    status = status or 0
    return f"{os.WEXITSTATUS(status)}:0" if os.WIFEXITED(status) else f"0:{os.WTERMSIG(status)}"


def _or_this(_: Show, asked: int | None, given: int | None) -> str:
    return str(asked or given or 0)


def _std_out(_: Show, path: str | None, folder: str | None, job: int) -> str:
    return path if path is not None else f"{folder}/slurm-{job}.out"


def _std_err(_: Show, batch: int | None, err: str | None, out: str | None, folder: str | None, job: int) -> str:
    return "N/A" if not batch else err if err is not None else _std_out(_, out, folder, job)


def _path(show: Show, path: str | None, *job: object) -> str:
    """Return a file name pattern of 24.11 and later, filled in only when asked."""
    if path is None:
        return NULL
    if not show.expand:
        return path
    from slurmsim.path_patterns import expand_path  # rarely needed

    return expand_path(path, *job)  # type: ignore[arg-type]


def _out_24(show: Show, path: str | None, batch: int | None, *job: object) -> str:
    if path is None and batch:
        path = f"{job[-1]}/{_pattern(job[1])}"
    return _path(show, path, *job)


def _out_26(show: Show, path: str | None, batch: int | None, *job: object) -> str:
    if path is None and batch:
        path = _pattern(job[1])
    return _path(show, path, *job)


def _pattern(array: object) -> str:
    return "slurm-%A_%a.out" if array else "slurm-%j.out"


_RUN = ("job_state", "start_time", "end_time", "suspend_time", "pre_sus_time")
_ID = ("job_id", "array_job_id", "array_task_id", "array_task_str", "het_job_id", "het_job_offset")
_PATH = ("job_id", "array_job_id", "array_task_id", "batch_host", "name", "user_name", "work_dir")


COLUMNS: tuple[Column, ...] = (
    C("ACCOUNT", "account", letter="a", names=("account",)),
    C("ACCRUE_TIME", "accrue_time", render=_date, names=("accruetime",)),
    C("ALLOC_NODES", "alloc_node", names=("allocnodes",)),
    C("ALLOC_SID", "alloc_sid", render=_flag, names=("allocsid",)),
    C("ARRAY_JOB_ID", "array_job_id", "array_task_id", "array_task_str", "job_id",
      render=lambda _, array, task, tasks, job: str(array if tasks or task is not None else job),
      letter="F", names=("arrayjobid",)),
    C("ARRAY_TASK_ID", "array_task_str", "array_task_id", render=lambda _, tasks, task: tasks or _or_na(_, task),
      letter="K", names=("arraytaskid",)),
    C("ASSOC_ID", "assoc_id", render=_flag, names=("associd",)),
    C("BATCH_FLAG", "batch_flag", render=_flag, names=("batchflag",)),
    C("EXEC_HOST", "batch_flag", "batch_host", "alloc_node",
      render=lambda _, batch, host, alloc_node: (host if batch else alloc_node) or "n/a", letter="B",
      names=("batchhost",)),
    C("BOARDS_PER_NODE", "boards_per_node", render=_flag, names=("boardspernode",)),
    C("BURST_BUFFER_STATE", "burst_buffer_state", names=("burstbufferstate",)),
    C("CLUSTER", "cluster", names=("cluster",)),
    C("COMMAND", "command", letter="o", names=("command",)),
    C("CONTAINERID", "container_id", names=("containerid",), since="23.02"),
    C("CONTAINERTYPE", "container_type", names=("containertype",), since="26.05"),
    C("CONTIGUOUS", "contiguous", render=_flag, letter="O", names=("contiguous",)),
    C("CORES_PER_SOCKET", "cores_per_socket", render=_or_star, letter="I", names=("cores",)),
    C("CORE_SPEC", "core_spec", render=_kept_cores, letter="X", names=("corespec",)),
    C("CPUS_PER_TASK", "cpus_per_task", render=_or_na, names=("cpuspertask", "cpus-per-task")),
    C("CPUS_PER_TRES", "cpus_per_tres", render=_text_or_na, names=("cpus-per-tres",)),
    C("CRON_JOB", "cron_job", render=lambda _, value: "Yes" if value else "No", names=("cronjob",), since="25.05"),
    C("DEADLINE", "deadline", render=_date, names=("deadline",)),
    C("DELAY_BOOT", "delay_boot", render=_seconds, names=("delayboot",)),
    C("DEPENDENCY", "dependency", letter="E", names=("dependency",)),
    C("DERIVED_EC", "derived_ec", render=_flag, names=("derivedec",), until="23.02"),
    C("DERIVED_EC", "derived_ec", render=_exit, names=("derivedec",), since="23.02"),
    C("ELIGIBLE_TIME", "eligible_time", render=_date, names=("eligibletime",)),
    C("END_TIME", "end_time", "time_limit",
      render=lambda show, end, limit: "NONE" if limit is None and (end or 0) > show.now else show.dates(end),
      letter="e", names=("endtime",)),
    C("EXC_NODES", "exc_nodes", render=_nodes, letter="x", uncut=True),
    C("EXC_NODES", "exc_nodes", render=_nodes, names=("excnodes",), uncut=True, since="24.05"),
    C("EXCLUSIVE", "exclusive", names=("exclusive",), since="26.05"),
    C("EXIT_CODE", "exit_code", render=_flag, names=("exit_code",), until="23.02"),
    C("EXIT_CODE", "exit_code", render=_exit, names=("exit_code",), since="23.02"),
    C("FEATURES", "features", letter="f", names=("feature",)),
    C("GROUP", "group_id", letter="G", names=("groupid",)),
    C("GROUP", "group_name", letter="g", names=("groupname",)),
    C("HET_JOB_ID", "het_job_id", "het_job_id", render=_het, names=("hetjobid", "packjobid")),
    C("HET_JOB_ID_SET", "het_job_id", "het_job_id_set", render=_het, names=("hetjobidset", "packjobidset")),
    C("HET_JOB_OFFSET", "het_job_id", "het_job_offset", render=_het, names=("hetjoboffset", "packjoboffset")),
    C("JOBID", *_ID, render=job_id_text, letter="i", names=("jobarrayid",), marked=True),
    C("JOBID", "job_id", letter="A", names=("jobid",)),
    C("LAST_SCHED_EVAL", "last_sched_eval", render=_date, names=("lastschedeval",)),
    C("LICENSES", "licenses", letter="W", names=("licenses",)),
    C("LICENSES_ALLOC", "licenses_alloc", names=("licensesalloc",), since="25.05"),
    C("MAX_CPUS", "max_cpus", "num_cpus", render=_or_this, names=("maxcpus",)),
    C("MAX_NODES", "max_nodes", "num_nodes", render=_or_this, names=("maxnodes",)),
    C("MEM_PER_TRES", "mem_per_tres", render=_text_or_na, names=("mem-per-tres",)),
    C("MIN_CPUS", "pn_min_cpus", render=lambda show, value: quantity(value or 0, "", convert=show.convert), letter="c",
      names=("mincpus",)),
    C("MIN_MEMORY", "pn_min_memory", render=_size, letter="m", names=("minmemory",)),
    C("TIME_MIN", "time_min", render=lambda _, minutes: bounded_clock((minutes or 0) * 60), names=("mintime",)),
    C("MIN_TMP_DISK", "pn_min_tmp_disk", render=_size, letter="d", names=("mintmpdisk",)),
    C("NAME", "name", letter="j", names=("name",)),
    C("NICE", "nice", render=_flag, letter="y", names=("nice",)),
    C("NODELIST", "nodes", render=_nodes, letter="N", names=("nodelist",), uncut=True, header_uncut=True),
    C("NTASKS_PER_BOARD", "ntasks_per_board", render=_flag, names=("ntperboard",)),
    C("NTASKS_PER_CORE", "ntasks_per_core", render=_or_na, names=("ntpercore",)),
    C("NTASKS_PER_NODE", "ntasks_per_node", render=_or_na, names=("ntpernode",)),
    C("NTASKS_PER_SOCKET", "ntasks_per_socket", render=_or_na, names=("ntpersocket",)),
    C("CPUS", "num_cpus", letter="C", names=("numcpus",)),
    C("NODES", "num_nodes", letter="D", names=("numnodes",)),
    C("TASKS", "num_tasks", names=("numtasks",)),
    C("ORIGIN", "fed_origin_str", render=_federated, names=("origin",)),
    C("ORIGIN_RAW", "fed_origin_str", render=_federated, names=("originraw",)),
    C("OVER_SUBSCRIBE", "shared", render=lambda _, shared: shared or "OK", letter="h",
      names=("oversubscribe", "shared"), until="26.05"),
    C("OVER_SUBSCRIBE", "oversubscribe", letter="h", names=("oversubscribe", "shared"), since="26.05"),
    C("PARTITION", "partition", letter="P", names=("partition",)),
    C("PENDING_TIME", "start_time", "submit_time",
      render=lambda show, start, submit: str((start if start and start < show.now else show.now) - submit),
      names=("pendingtime",)),
    C("PREEMPT_TIME", "preempt_time", render=_date, names=("preempttime",)),
    C("PRIORITY", "priority", render=lambda _, priority: f"{(priority or 0) / 0xFFFFFFFF:16.14f}", letter="p",
      names=("priority",)),
    C("PRIORITY", "priority", letter="Q", names=("prioritylong",)),
    C("PROFILE", "profile", render=lambda _, profile: profile or "NotSet", names=("profile",)),
    C("QOS", "qos", letter="q", names=("qos",)),
    C("REASON", "state_reason", "state_desc", render=lambda _, reason, text: text or reason, letter="r",
      names=("reason",)),
    C("NODELIST(REASON)", "job_state", "state_flags", "state_reason", "state_desc", "nodes", render=_reason_list,
      letter="R", names=("reasonlist",), header_uncut=True, marked=True),
    C("REBOOT", "reboot", render=_flag, names=("reboot",)),
    C("REQ_NODES", "req_nodes", render=_nodes, letter="n", names=("reqnodes",), uncut=True),
    C("REQ_SWITCH", "req_switch", render=_flag, names=("reqswitch",)),
    C("REQUEUE", "requeue", render=_flag, names=("requeue",)),
    C("RESERVATION", "resv_name", letter="v", names=("reservation",)),
    C("RESIZE_TIME", "resize_time", render=_resized, names=("resizetime",)),
    C("RESTART_COUNT", "restart_cnt", render=_flag, names=("restartcnt",)),
    C("SCHEDNODES", "sched_nodes", render=lambda _, nodes: nodes or NULL, letter="Y", names=("schednodes",), uncut=True,
      header_uncut=True),
    C("S:C:T", "sockets_per_node", "cores_per_socket", "threads_per_core",
      render=lambda _, *counts: ":".join(_or_star(_, count) for count in counts), letter="z", names=("sct",)),
    C("SEGMENT_SIZE", "segment_size", render=_flag, names=("segmentsize",), since="25.05"),
    C("", "job_id", render=lambda _, job: "", letter="s", names=("selectjobinfo",), until="23.02"),
    C("SLUID", "sluid", letter="s", names=("sluid",), since="25.11"),
    C("ACTIVE_SIBLINGS", "fed_siblings_active_str", render=_federated, names=("siblingsactive",)),
    C("ACTIVE_SIBLINGS_RAW", "fed_siblings_active_str", render=_federated, names=("siblingsactiveraw",)),
    C("VIABLE_SIBLINGS", "fed_siblings_viable_str", render=_federated, names=("siblingsviable",)),
    C("VIALBLE_SIBLINGS_RAW", "fed_siblings_viable_str", render=_federated, names=("siblingsviableraw",)),
    C("SOCKETS_PER_NODE", "sockets_per_node", render=_or_star, letter="H", names=("sockets",)),
    C("SOCKETS_PER_BOARD", "sockets_per_board", render=_flag, names=("sperboard",)),
    C("START_TIME", "start_time", render=_date, letter="S", names=("starttime",)),
    C("ST", "job_state", "state_flags", render=lambda _, state, flags: state_code(state, flags),
      letter="t", names=("statecompact",)),
    C("STATE", "job_state", "state_flags", render=lambda _, state, flags: state_text(state, flags),
      letter="T", names=("state",)),
    C("STDERR", "batch_flag", "std_err", "std_out", "work_dir", "job_id", render=_std_err, names=("stderr",),
      until="24.05"),
    C("STDERR", "std_err", *_PATH, render=_path, names=("stderr",), since="24.05"),
    C("STDIN", "std_in", names=("stdin",), until="24.05"),
    C("STDIN", "std_in", *_PATH, render=_path, names=("stdin",), since="24.05"),
    C("STDOUT", "std_out", "work_dir", "job_id", render=_std_out, names=("stdout",), until="24.05"),
    C("STDOUT", "std_out", "batch_flag", *_PATH, render=_out_24, names=("stdout",), since="24.05", until="25.11"),
    C("STDOUT", "std_out", "batch_flag", *_PATH, render=_out_26, names=("stdout",), since="25.11"),
    C("SUBMIT_TIME", "submit_time", render=_date, letter="V", names=("submittime",)),
    C("SYSTEM_COMMENT", "system_comment", names=("system_comment",)),
    C("THREADS_PER_CORE", "threads_per_core", render=_or_star, letter="J", names=("threads",)),
    C("TIME_LEFT", "time_limit", *_RUN, render=_left, letter="L", names=("timeleft",), marked=True),
    C("TIME_LIMIT", "time_limit", render=_limit, letter="l", names=("timelimit",), marked=True),
    C("TIME", *_RUN, render=lambda show, *run: Uncut(bounded_clock(seconds_used(show, *run))), letter="M",
      names=("timeused",), marked=True),
    C("TRES_ALLOC", "tres_alloc_str", "tres_req_str", render=lambda _, given, asked: given or asked or "N/A",
      names=("tres", "tres-alloc")),
    C("TRES_BIND", "tres_bind", render=_text_or_na, names=("tres-bind",)),
    C("TRES_FREQ", "tres_freq", render=_text_or_na, names=("tres-freq",)),
    C("TRES_PER_JOB", "tres_per_job", render=_text_or_na, names=("tres-per-job",)),
    C("TRES_PER_NODE", "tres_per_node", render=_text_or_na, letter="b", names=("tres-per-node", "gres")),
    C("TRES_PER_SOCKET", "tres_per_socket", render=_text_or_na, names=("tres-per-socket",)),
    C("TRES_PER_TASK", "tres_per_task_shown", render=_text_or_na, names=("tres-per-task",)),
    C("UID", "user_id", letter="U", names=("userid",)),
    C("USER", "user_name", letter="u", names=("username",)),
    C("WAIT4SWITCH", "wait4switch", render=_seconds, names=("wait4switch",)),
    C("WCKEY", "wckey", letter="w", names=("wckey",)),
    C("WORK_DIR", "work_dir", letter="Z", names=("workdir",)),
    *(C(row.column.header, row.name, letter=row.column.letter, names=(row.column.name.lower(),), since=row.since,
        until=row.until) for row in CARRIED if row.column),
)  # fmt: skip
