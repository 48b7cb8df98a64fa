"""Jobs of ``squeue --json`` and ``scontrol show job --json`` as the records that ``show job`` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slurmsim.errors import WorkloadError
from slurmsim.json_text import loads
from slurmsim.numerals import is_number, ranges
from slurmsim.twin.shown import MOST_RECORDS, Shown

_SHARED = {"none": "NO", "exclusive": "NO", "oversubscribe": "YES", "user": "USER"}
_TEXTS = (
    ("JobName", "name"), ("Account", "account"), ("QOS", "qos"), ("Dependency", "dependency"),
    ("ReqNodeList", "required_nodes"), ("ExcNodeList", "excluded_nodes"), ("NodeList", "nodes"),
    ("Partition", "partition"),
    ("ReqTRES", "tres_req_str"), ("AllocTRES", "tres_alloc_str"), ("Features", "features"), ("Licenses", "licenses"),
    ("Reservation", "resv_name"), ("Command", "command"), ("WorkDir", "current_working_directory"),
    ("StdOut", "standard_output"), ("StdErr", "standard_error"), ("StdIn", "standard_input"), ("Comment", "comment"),
    ("SubmitLine", "submit_line"), ("TresPerNode", "tres_per_node"), ("TresPerJob", "tres_per_job"),
    ("TresPerTask", "tres_per_task"), ("TresPerSocket", "tres_per_socket"), ("CpusPerTres", "cpus_per_tres"),
    ("MemPerTres", "memory_per_tres"), ("SchedNodeList", "scheduled_nodes"), ("ArrayTaskId", "array_task_string"),
)  # fmt: skip
_NUMBERS = (
    ("JobId", "job_id"), ("Priority", "priority"), ("Nice", "nice"), ("Restarts", "restart_cnt"),
    ("SubmitTime", "submit_time"), ("EligibleTime", "eligible_time"), ("AccrueTime", "accrue_time"),
    ("StartTime", "start_time"), ("EndTime", "end_time"), ("Deadline", "deadline"), ("SuspendTime", "suspend_time"),
    ("SecsPreSuspend", "pre_sus_time"), ("LastSchedEval", "last_sched_evaluation"), ("NumCPUs", "cpus"),
    ("NumTasks", "tasks"), ("CPUs/Task", "cpus_per_task"), ("NtasksPerN:B:S:C", "tasks_per_node"),
    ("MinCPUsNode", "minimum_cpus_per_node"), ("TimeLimit", "time_limit"), ("TimeMin", "time_minimum"),
    ("HetJobId", "het_job_id"), ("HetJobOffset", "het_job_offset"), ("ArrayTaskThrottle", "array_max_tasks"),
)  # fmt: skip
_MEMORY = (("MinMemoryCPU", "memory_per_cpu"), ("MinMemoryNode", "memory_per_node"),
           ("MinTmpDiskNode", "minimum_tmp_disk_per_node"))  # fmt: skip
_MOST_THREADS = 8  # of a core
_KILLS = {"KILL_INV_DEP": "Yes", "KILL_INVALID_DEPENDENCY": "Yes",
          "NO_KILL_INV_DEP": "No", "NO_KILL_INVALID_DEPENDENCY": "No"}  # fmt: skip
Job = Mapping[str, Any]


def shown_jobs(text: str, file: str) -> Iterator[Shown]:
    """Yield the jobs of a document, each as a record; its line is its number. Raises WorkloadError."""
    try:
        document = loads(text)
    except ValueError as error:
        raise WorkloadError(f"is no JSON: {error}", file=file) from None
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list) or len(jobs) > MOST_RECORDS:
        raise WorkloadError("has no list of jobs", file=file, field="jobs", expected="the output of squeue --json")
    for number, job in enumerate(jobs, 1):
        if not isinstance(job, dict):
            raise WorkloadError("is no job", file=file, line=number, field="jobs", expected="an object a job")
        yield Shown(number, {key: value for key, value in _fields(job) if value}, tuple(_details(job)))


def _fields(job: Job) -> Iterator[tuple[str, str]]:
    yield from ((ours, _text(job.get(theirs))) for ours, theirs in _TEXTS)
    yield from ((ours, _number(job.get(theirs))) for ours, theirs in _NUMBERS)
    yield from ((ours, f"{size}M") for ours, theirs in _MEMORY if (size := _number(job.get(theirs))) not in ("", "0"))
    yield "UserId", f"{_text(job.get('user_name'))}({_number(job.get('user_id'))})"
    yield "GroupId", f"{_text(job.get('group_name'))}({_number(job.get('group_id'))})"
    yield "JobState", next(iter(_words(job.get("job_state"))), "")
    yield "Reason", _text(job.get("state_description")) or _text(job.get("state_reason"))
    yield "Requeue", str(int(job.get("requeue") is not False))
    yield "BatchFlag", str(int(job.get("batch_flag") is not False))
    yield "ExitCode", _exit_code(job.get("exit_code"))
    yield "OverSubscribe", _shared(job)
    yield "Contiguous", str(int(job.get("contiguous") is True))
    yield "ReqB:S:C:T", f"0:0:*:{_number(job.get('threads_per_core')) or '*'}"
    yield "KillOnInvalidDependent", next((_KILLS[word] for word in _words(job.get("flags")) if word in _KILLS), "")
    switches, wait = _number(job.get("required_switches")), _number(job.get("maximum_switch_wait_time"))
    yield "Switches", f"{switches}@00:00:{wait or 0}" if switches not in ("", "0") else ""
    low, high = _number(job.get("node_count")), _number(job.get("max_nodes"))
    yield "NumNodes", f"{low or 1}-{high}" if high not in ("", "0") else low
    array, task = _number(job.get("array_job_id")), _number(job.get("array_task_id"))
    if array not in ("", "0"):
        yield "ArrayJobId", array
        if not _text(job.get("array_task_string")):
            yield "ArrayTaskId", task


def _shared(job: Job) -> str:
    """Return what OverSubscribe says; of a job that runs on whole nodes its resources tell it, too."""
    held = job.get("job_resources")
    nodes = held.get("nodes") if isinstance(held, dict) else None
    if isinstance(nodes, dict) and nodes.get("whole") is True:
        return "NO"
    return next((_SHARED[word] for word in map(str.lower, _words(job.get("shared"))) if word in _SHARED), "OK")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _words(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [one for one in value or () if isinstance(one, str)] \
        if isinstance(value, list) else []  # fmt: skip


def _number(value: Any) -> str:
    """Return a number as text, whichever way its release writes it; "" for one that is not set."""
    if isinstance(value, dict):
        if value.get("infinite") is True:
            return "UNLIMITED"
        value = value.get("number") if value.get("set") is True else None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _exit_code(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):  # a wait status
        return f"{value >> 8 & 0xFF}:{value & 0x7F}"
    if not isinstance(value, dict):
        return "0:0"
    signal = value.get("signal")
    number = _number(signal.get("id")) if isinstance(signal, dict) else ""
    return f"{_number(value.get('return_code')) or 0}:{number or 0}"


def _details(job: Job) -> Iterator[dict[str, str]]:
    """Yield what it has of each node: CPUs, MiB and GRES."""
    held = job.get("job_resources")
    if not isinstance(held, dict):
        return
    nodes = held.get("nodes")
    rows = _rows(nodes.get("allocation") if isinstance(nodes, dict) else held.get("allocated_nodes"))
    rows = [row for row in rows if isinstance(row, dict)]
    gres = _words(job.get("gres_detail"))
    cores = [_cores(row.get("sockets")) for row in rows]
    threads = _threads_a_core(held, sum(map(len, cores)))
    for number, row in enumerate(rows):
        memory = row.get("memory")
        size = memory.get("allocated") if isinstance(memory, dict) else row.get("memory_allocated")
        yield {
            "Nodes": _text(row.get("name")) or _text(row.get("nodename")),
            "CPU_IDs": ranges([core * threads + one for core in cores[number] for one in range(threads)]),
            "Mem": f"{_number(size) or 0}M",
            "GRES": gres[number] if number < len(gres) else "",
        }  # fmt: skip


def _threads_a_core(held: Mapping[str, Any], cores: int) -> int:
    """Return how many CPUs of each of its cores a job has; 22.05 calls them cores where it counts them."""
    cpus = _number(held.get("cpus")) or _number(held.get("allocated_cores"))
    return min(max(1, int(cpus) // cores), _MOST_THREADS) if is_number(cpus) and cores else 1


def _cores(sockets: Any) -> list[int]:
    """Return the numbers of allocated cores, socket after socket; 22.05 has objects of these alone, so from 0 on."""
    found: list[int] = []
    at = 0
    for socket in _rows(sockets):
        for core in _rows(socket.get("cores") if isinstance(socket, dict) else None):
            words = _words(core.get("status")) if isinstance(core, dict) else _words(core)
            if "allocated" in (word.lower() for word in words):
                found.append(at)
            at += 1
    return found


def _rows(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
