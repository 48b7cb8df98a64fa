"""What sacct can show: a row a field, with its width, its releases, and how its text is made for a job and for a step.

Mirrors sacct.c and print.c (22.05; later rows from 24.11 and 26.05). A maker is called with `Show` and the record; it
gives the text, or None for an empty cell.
"""

from __future__ import annotations

import os

from slurmsim.commands.sacct.flags import flags_in
from slurmsim.commands.text import array_text
from slurmsim.commands.text.clock_text import long_clock
from slurmsim.commands.text.dashed_table import DATE, NUMBER, TEXT
from slurmsim.commands.text.units import quantity, thousands
from slurmsim.fast_imports import NamedTuple
from slurmsim.release_changes import since
from slurmsim.releases import has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from slurmsim.commands.text.clock_text import Dates

    Record = Mapping[str, Any]
    Maker = Callable[["Show", Record], str | None]
_NEVER = 0xFFFFFFFE  # stands for the start of a job that never started, and for an unknown exit status


class Show(NamedTuple):
    """What is common to all cells."""

    now: int
    release: str
    dates: Dates
    convert: bool = True
    unit: str = ""  # of --units
    expand: bool = False

    def size(self, number: float, unit: str) -> str:
        """Return a number with its unit, as --units and --noconvert ask."""
        if self.unit and int(number):
            return _in_unit(number, unit, self.unit)
        return quantity(number, unit, convert=self.convert)


def _in_unit(number: float, unit: str, wanted: str) -> str:
    """``--units``: exactly that unit, two decimals where it has any."""
    have, want = " KMGTP".index(unit or " "), " KMGTP".index(wanted)
    value = number * 1024.0 ** (have - want)
    return f"{int(value)}{wanted}" if value == int(value) else f"{value:.2f}{wanted}"


class Field(NamedTuple):
    """One field of ``--format``."""

    name: str
    width: int
    kind: str
    job: Maker | None
    step: Maker | None
    since: str = ""
    until: str = ""


def tres_text(show: Show, counts: Mapping[str, int | None] | None) -> str | None:
    """``billing=4,cpu=4,mem=400M,node=2``: by name, memory with its unit."""
    if not counts:
        return None
    parts = [
        f"{name}={show.size(count, 'M') if name == 'mem' else count}"
        for name, count in counts.items()
        if count is not None
    ]
    return ",".join(sorted(parts)) or None


def job_id_text(job: Record) -> str:
    """``12``, ``12_3`` or ``12_[4-9%2]``."""
    if job["array_task_str"]:
        return f"{job['array_job_id']}_[{array_text.shown(job['array_task_str'], array_text.DEFAULT_LENGTH)}]"
    if job["array_task_id"] is not None:
        return f"{job['array_job_id']}_{job['array_task_id']}"
    if job.get("het"):
        return f"{job['het'][0]}+{job['het'][1]}"
    return str(job["job_id"])


def state_text(record: Record) -> str:
    """Return ``CANCELLED by 1000``, or the state."""
    if record["state"] == "CANCELLED" and record["killed_by"] is not None:
        return f"CANCELLED by {record['killed_by']}"
    return str(record["state"])


def exit_text(status: int, release: str) -> str:
    """``code:signal`` of a wait status; sacct took 128 off high codes before 26.05. Nothing where there is none."""
    if status == _NEVER:
        return ""
    signal, code = status & 0x7F, status >> 8 & 0xFF
    if signal:
        code = 0
    if code >= 128 and not since(release, "exit_code_above_127"):
        code -= 128
    return f"{code}:{signal}"


def cpus_of(show: Show, job: Record) -> int:
    """CPUs of a job: those it has; before 24.11 those it asked for while it has none."""
    if job["tres_alloc"]:
        return int(job["tres_alloc"].get("cpu", 0))
    return 0 if since(show.release, "no_cpus_before_start") else int(job["tres_req"].get("cpu", 0))


def _step_cpus(step: Record) -> int:
    tres = step["tres"] or step["job"]["tres_alloc"] or step["job"]["tres_req"]
    return int(tres.get("cpu", 0))


def _planned(show: Show, job: Record) -> int | None:
    """Seconds between being eligible and starting, so far."""
    eligible: int = job["eligible"]
    if not eligible:
        return 0
    if job["start"] is None:  # it never started
        return int(job["end"]) - eligible if since(show.release, "planned_without_start") else None
    return int(job["start"] or show.now) - eligible


def _planned_text(show: Show, job: Record) -> str:
    seconds = _planned(show, job)
    if seconds is None or seconds < 0:
        return "INVALID"
    return long_clock(seconds)


def _planned_cpu(show: Show, job: Record) -> str:
    seconds = _planned(show, job)
    if job["start"] is None and job["eligible"] and since(show.release, "planned_without_start"):
        seconds = _NEVER - int(job["eligible"])  # as if it had started then
    if seconds is None or seconds < 0:
        return "INVALID"
    return long_clock(seconds * job["req_cpus"])


def _planned_raw(show: Show, job: Record) -> str:
    seconds = _planned(show, job)
    return str(((seconds or 0) * job["req_cpus"]) % 2**32) if seconds is not None else "0"


def _number(key: str) -> Maker:
    return lambda show, record: None if record[key] is None else str(record[key])


def _text(key: str) -> Maker:
    return lambda show, record: record.get(key) or None


def _date(key: str) -> Maker:
    def make(show: Show, record: Record) -> str:
        value = record[key]
        return "None" if value is None else show.dates(value)

    return make


def _const(text: str | None) -> Maker:
    return lambda show, record: text


def _limit(show: Show, job: Record) -> str | None:
    minutes = job["time_limit"]
    if minutes is None:
        return "UNLIMITED"
    if minutes < 0:
        return "Partition_Limit"
    return long_clock(minutes * 60) if minutes else None


def _limit_raw(show: Show, job: Record) -> str | None:
    minutes = job["time_limit"]
    if minutes is None or minutes < 0:
        return _limit(show, job)
    return str(minutes) if minutes else None


def _req_mem(show: Show, job: Record) -> str:
    mem = job["tres_req"].get("mem")
    if mem is None and not job["tres_req"] and not since(show.release, "no_memory_is_zero"):
        return "16?"  # of a job of which slurmdbd knows steps alone
    if mem is None:
        return "0" if since(show.release, "no_memory_is_zero") else "16777216.00T"
    return show.size(mem, "M")


def _path(key: str) -> Maker:
    """Return a stream's path of a job; a pattern unless it is to be expanded (24.11)."""

    def make(show: Show, job: Record) -> str | None:
        path = job.get(key)
        if not path:
            return None
        return expanded(str(path), job) if show.expand else str(path)

    return make


def expanded(path: str, job: Record) -> str:
    """Return the file name a pattern of a job stands for."""
    task = NO_TASK if job["array_task_str"] else job["array_task_id"]
    values = {
        "A": job["array_job_id"] or job["job_id"], "a": task, "j": job["job_id"], "J": job["job_id"],
        "u": job["user"], "x": job["name"], "N": str(job["nodes"]).partition(",")[0],
    }  # fmt: skip
    out = []
    letters = iter(path)
    for letter in letters:
        if letter != "%":
            out.append(letter)
            continue
        code = next(letters, "")
        out.append(str(values[code]) if values.get(code) is not None else f"%{code}")
    return "".join(out)


def _step_path(key: str) -> Maker:
    def make(show: Show, step: Record) -> str | None:
        path = step.get(key)
        if not since(show.release, "streams_of_steps") or not path:
            return None
        return path if path.startswith("/") else os.path.join(step.get("cwd") or "", path)

    return make


def _of_job(make: Maker) -> Maker:
    return lambda show, step: make(show, step["job"])


def _energy(show: Show, job: Record) -> str | None:
    joules = job["tres_alloc"].get("energy")
    if joules is not None:
        return _in_unit(joules, "", show.unit) if show.unit and joules else thousands(joules, convert=show.convert)
    return None if job["tres_alloc"] else "0"


def _energy_raw(show: Show, job: Record) -> str | None:
    joules = job["tres_alloc"].get("energy")
    return None if joules is None and job["tres_alloc"] else str(joules or 0)


def _step_frequency(show: Show, step: Record) -> str:
    return "0" if step["step_id"] < 0 else "Unknown"


NO_TASK = 4294967294  # the task number of a record of several tasks
_NOTHING = _const("")
_ZERO_TIME = _const("00:00:00")
_ELAPSED: Maker = lambda show, record: long_clock(record["elapsed"])  # noqa: E731
_ACCOUNT = _text("account")
_USAGE = ("TRESUsageInAve", "TRESUsageInMax", "TRESUsageInMaxNode", "TRESUsageInMaxTask", "TRESUsageInMin",
          "TRESUsageInMinNode", "TRESUsageInMinTask", "TRESUsageInTot", "TRESUsageOutAve", "TRESUsageOutMax",
          "TRESUsageOutMaxNode", "TRESUsageOutMaxTask", "TRESUsageOutMin", "TRESUsageOutMinNode",
          "TRESUsageOutMinTask", "TRESUsageOutTot")  # fmt: skip


def _usage(name: str) -> Field:
    width = (14 if "In" in name else 15) + (4 if name.endswith(("Node", "Task")) else 0)
    return Field(name, width, TEXT, None, None)


def _empty(name: str, width: int, kind: str = TEXT) -> Field:
    return Field(name, width, kind, None, None)


F = Field
FIELDS: tuple[Field, ...] = (
    F("Account", 10, TEXT, _ACCOUNT, _of_job(_ACCOUNT)),
    F("AdminComment", 15, TEXT, _text("admin_comment"), None),
    F("AllocCPUS", 10, NUMBER, lambda s, j: str(cpus_of(s, j)), lambda s, p: str(_step_cpus(p))),
    F("AllocNodes", 10, TEXT, lambda s, j: quantity(j["alloc_nodes"], "", convert=s.convert),
      lambda s, p: quantity(p["n_nodes"], "", convert=s.convert)),
    F("AllocTRES", 10, TEXT, lambda s, j: tres_text(s, j["tres_alloc"]), lambda s, p: tres_text(s, p["tres"])),
    F("AssocID", 7, NUMBER, _number("assoc_id"), _of_job(_number("assoc_id"))),
    _empty("AveCPU", 10),
    F("AveCPUFreq", 10, TEXT, None, _const("0")),
    _empty("AveDiskRead", 14), _empty("AveDiskWrite", 14), _empty("AvePages", 10), _empty("AveRSS", 10),
    _empty("AveVMSize", 10), _empty("BlockID", 16),
    F("Cluster", 10, TEXT, _text("cluster"), _of_job(_text("cluster"))),
    F("Comment", 14, TEXT, _text("stored_comment"), None),
    F("Constraints", 19, TEXT, _text("constraints"), None),
    F("ConsumedEnergy", 14, TEXT, _energy, _const("0")),
    F("ConsumedEnergyRaw", 17, NUMBER, _energy_raw, _const("0")),
    F("Container", 19, TEXT, _text("container"), None),
    F("CPUTime", 10, NUMBER, lambda s, j: long_clock(j["elapsed"] * cpus_of(s, j)),
      lambda s, p: long_clock(p["elapsed"] * _step_cpus(p))),
    F("CPUTimeRAW", 10, NUMBER, lambda s, j: str(j["elapsed"] * cpus_of(s, j)),
      lambda s, p: str(p["elapsed"] * _step_cpus(p))),
    F("DBIndex", -10, NUMBER, _number("db_index"), _of_job(_number("db_index")), until="24.11"),
    F("DBIndex", -21, NUMBER, _number("db_index"), _of_job(_number("db_index")), since="24.11"),
    F("DerivedExitCode", 15, TEXT, lambda s, j: exit_text(j["derived_ec"], "26.05") or "0:0", _NOTHING),
    F("Elapsed", 10, NUMBER, _ELAPSED, _ELAPSED),
    F("ElapsedRaw", 10, NUMBER, _number("elapsed"), _number("elapsed")),
    F("Eligible", 19, DATE, lambda s, j: s.dates(j["eligible"] or 0), _date("start")),
    F("End", 19, DATE, _date("end"), _date("end")),
    F("Exclusive", 14, TEXT, _text("exclusive"), None, since="26.05"),
    F("ExitCode", 8, TEXT, lambda s, j: exit_text(j["exit_code"], s.release),
      lambda s, p: exit_text(p["exit_code"], s.release)),
    F("Extra", 14, TEXT, _text("extra"), None, since="23.02"),
    F("FailedNode", 8, TEXT, _text("failed_node"), None, since="23.02"),
    F("Flags", 19, TEXT, lambda s, j: ",".join(flags_in(s.release, j["flags"])) or None, None),
    F("GID", 6, NUMBER, _number("gid"), None),
    F("Group", 9, TEXT, _text("group"), None),
    F("JobID", -12, TEXT, lambda s, j: job_id_text(j), lambda s, p: f"{job_id_text(p['job'])}.{p['shown_id']}"),
    F("JobIDRaw", -12, TEXT, _number("job_id"), lambda s, p: f"{p['job']['job_id']}.{p['shown_id']}"),
    F("JobName", 10, TEXT, _text("name"), _text("name")),
    F("Layout", 9, TEXT, None, _text("layout")),
    F("Licenses", 10, TEXT, _text("licenses"), None, since="23.02"),
    _empty("MaxDiskRead", 12), _empty("MaxDiskReadNode", 15), _empty("MaxDiskReadTask", 15, NUMBER),
    _empty("MaxDiskWrite", 12), _empty("MaxDiskWriteNode", 16), _empty("MaxDiskWriteTask", 16, NUMBER),
    _empty("MaxPages", 8), _empty("MaxPagesNode", 12), _empty("MaxPagesTask", 14, NUMBER),
    _empty("MaxRSS", 10), _empty("MaxRSSNode", 10), _empty("MaxRSSTask", 10, NUMBER),
    _empty("MaxVMSize", 10), _empty("MaxVMSizeNode", 14), _empty("MaxVMSizeTask", 14, NUMBER),
    _empty("McsLabel", 12), _empty("MinCPU", 10), _empty("MinCPUNode", 10), _empty("MinCPUTask", 10, NUMBER),
    F("NCPUS", 10, NUMBER, lambda s, j: str(cpus_of(s, j)), lambda s, p: str(_step_cpus(p))),
    F("NNodes", 8, NUMBER, lambda s, j: str(j["alloc_nodes"] or (j["tres_alloc"] or j["tres_req"]).get("node", 0)),
      _number("n_nodes")),
    F("NodeList", 15, TEXT, _text("nodes"), _text("nodes")),
    F("NTasks", 8, NUMBER, None, _number("n_tasks")),
    F("OriginalSLUID", 14, TEXT, _text("original_sluid"), _of_job(_text("original_sluid")), since="26.05"),
    F("OverSubscribe", 14, TEXT, _text("oversubscribe"), None, since="26.05"),
    F("Partition", 10, TEXT, _text("partition"), None),
    F("Planned", 10, NUMBER, _planned_text, None, since="23.02"),
    F("PlannedCPU", 10, NUMBER, _planned_cpu, None, since="23.02"),
    F("PlannedCPURAW", 13, NUMBER, _planned_raw, None, since="23.02"),
    F("Priority", 10, NUMBER, _number("priority"), None),
    F("QOS", 10, TEXT, lambda s, j: j["qos"] or None, None),
    F("QOSRAW", 6, NUMBER, _number("qos_id"), None),
    F("QOSREQ", 10, TEXT, _text("qos_req"), None, since="24.11"),
    F("Reason", 22, TEXT, _text("reason"), None),
    F("ReqCPUFreq", 10, TEXT, _const("Unknown"), _step_frequency),
    F("ReqCPUFreqGov", 13, TEXT, _const("Unknown"), _step_frequency),
    F("ReqCPUFreqMax", 13, TEXT, _const("Unknown"), _step_frequency),
    F("ReqCPUFreqMin", 13, TEXT, _const("Unknown"), _step_frequency),
    F("ReqCPUS", 8, NUMBER, _number("req_cpus"), lambda s, p: str(_step_cpus(p))),
    F("ReqMem", 10, TEXT, _req_mem, None),
    F("ReqNodes", 8, TEXT, lambda s, j: s.size(j["tres_req"].get("node", 0), ""),
      lambda s, p: s.size(p["n_nodes"], "")),
    F("ReqTRES", 10, TEXT, lambda s, j: tres_text(s, j["tres_req"]), None),
    F("Reservation", 20, TEXT, _text("resv_name"), None),
    F("ReservationId", 8, NUMBER, lambda s, j: str(j["resv_id"]) if j["resv_id"] else None, None),
    F("Reserved", 10, NUMBER, _planned_text, None, until="23.02"),
    F("ReqReservation", 20, TEXT, _text("reservation"), None, since="25.05"),
    F("Restarts", 8, NUMBER, _number("restarts"), None, since="24.11"),
    F("ResvCPU", 10, NUMBER, _planned_cpu, None, until="23.02"),
    F("ResvCPURAW", 10, NUMBER, _planned_raw, None, until="23.02"),
    F("SegmentSize", 11, NUMBER, _text("segment_size"), None, since="25.05"),
    F("SLUID", 14, TEXT, _text("sluid"), _of_job(_text("sluid")), since="24.11"),
    F("Start", 19, DATE, _date("start"), _date("start")),
    F("State", 10, TEXT, lambda s, j: state_text(j), lambda s, p: state_text(p)),
    F("StdErr", 20, TEXT, _path("std_err"), _step_path("std_err"), since="24.05"),
    F("StdIn", 20, TEXT, _path("std_in"), _step_path("std_in"), since="24.05"),
    F("StdOut", 20, TEXT, _path("std_out"), _step_path("std_out"), since="24.05"),
    F("Submit", 19, DATE, _date("submit"), _date("start")),
    F("SubmitLine", 20, TEXT, _text("submit_line"), _text("submit_line")),
    F("Suspended", 10, NUMBER, lambda s, j: long_clock(j["suspended"]), lambda s, p: long_clock(p["suspended"])),
    F("SystemComment", 15, TEXT, _text("system_comment"), None),
    F("SystemCPU", 10, TEXT, _ZERO_TIME, _ZERO_TIME),
    F("Timelimit", 10, TEXT, _limit, None),
    F("TimelimitRaw", 10, TEXT, _limit_raw, None),
    F("TotalCPU", 10, TEXT, _ZERO_TIME, _ZERO_TIME),
    *(_usage(name) for name in _USAGE),
    F("UID", 6, NUMBER, _number("uid"), None),
    F("User", 9, TEXT, lambda show, job: str(job["user"]), None),
    F("UserCPU", 10, TEXT, _ZERO_TIME, _ZERO_TIME),
    F("WCKey", 10, TEXT, lambda s, j: j["wckey"] or "", None),
    F("WCKeyID", 10, NUMBER, _const("0"), None),
    F("WorkDir", 20, TEXT, _text("work_dir"), None),
)  # fmt: skip
"""In the order of ``--helpformat``."""
BRIEF = "jobid,state,exitcode"
DEFAULT = "jobid,jobname,partition,account,alloccpus,state,exitcode"
LONG = (
    "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,"
    "averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,alloccpus,elapsed,"
    "state,exitcode,avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,"
    "maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,reqtres,"
    "alloctres,tresusageinave,tresusageinmax,tresusageinmaxn,tresusageinmaxt,tresusageinmin,tresusageinminn,"
    "tresusageinmint,tresusageintot,tresusageoutmax,tresusageoutmaxn,tresusageoutmaxt,tresusageoutave,tresusageouttot"
)


def fields_of(release: str) -> list[Field]:
    return [f for f in FIELDS if has(release, f.since, f.until)]
