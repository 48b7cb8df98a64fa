"""``scontrol update job``: the keywords, how their values are read, and what is sent.

Mirrors scontrol_update_job (22.05 to 26.05). Each keyword is a row: name, how much of it must be there, releases, the
reader of its value and the field of the request; the first row that matches counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from slurmsim.commands.dates import BadDate, parse_date
from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scontrol_jobs import INVALID_JOB, ask, job_ids
from slurmsim.commands.scontrol_session import Session
from slurmsim.commands.scontrol_update import tag_matches
from slurmsim.commands.values import INFINITE, MAIL_BITS, NICE_LIMIT, leading_number, minutes_of, seconds_of

Words = Sequence[str]
_NO_SIGN = "Option {} does not accept [+|-]= syntax"


class Abort(Exception):
    """The update is not sent; everything has been said."""


class Request:
    """The update as it is read: fields of job_desc_msg_t, the ids, and how many changes there are."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.job: dict[str, Any] = {}
        self.ids: str | None = None
        self.changes = 0
        self.resizes = False
        self.user: int | None = None

    def error(self, text: str) -> Abort:
        """Complain as Slurm's log does."""
        self.session.code = 1
        self.session.error(text)
        return Abort()

    def abort(self, *lines: str) -> Abort:
        """Complain without a prefix."""
        self.session.code = 1
        for line in lines:
            self.session.io.error(line)
        return Abort()


Reader = Callable[[Request, str, str], Any]


# -- readers ---------------------------------------------------------------------------------------------------------


def _text(request: Request, value: str, name: str) -> str:
    return value


def _number(most: int) -> Reader:
    def read(request: Request, value: str, name: str) -> int:
        number, rest = leading_number(value)
        if rest or not value or not 0 <= number <= most:
            if number == INFINITE and not rest:
                return number
            raise request.error(f"Invalid {name} value: {value}")
        return number

    return read


_u16, _u32, _u64 = _number(0xFFFF), _number(0xFFFFFFFF), _number((1 << 63) - 1)


def _priority(request: Request, value: str, name: str) -> int:
    return int(_u32(request, value, "Priority"))


def _nice(request: Request, value: str, name: str) -> int:
    number = leading_number(value)[0]
    if abs(number) > NICE_LIMIT:
        what = "Nice" if name == "Nice" else "SiteFactor"
        raise request.error(f"{what} value out of range (+/- {NICE_LIMIT}). Value ignored")
    return number


def _throttle(request: Request, value: str, name: str) -> str:
    if leading_number(value)[0] < 0:
        raise request.error("Invalid ArrayTaskThrottle value")
    return value


def _delay_boot(request: Request, value: str, name: str) -> int:
    seconds = seconds_of(value)
    if seconds is None:
        raise request.error("Invalid DelayBoot value")
    return seconds


def _time_min(request: Request, value: str, name: str) -> int:
    minutes = minutes_of(value)
    if minutes is None or (minutes < 0 and minutes != INFINITE):
        raise request.error("Invalid TimeMin value")
    return minutes


def _yes_or_no(name: str) -> Reader:
    def read(request: Request, value: str, tag: str) -> int:
        upper = value.upper()
        if value and "YES".startswith(upper):
            return 1
        if value and "NO".startswith(upper):
            return 0
        return int(_u16(request, value, name))

    return read


def _core_spec(flag: int) -> Reader:
    def read(request: Request, value: str, name: str) -> int | str:
        if value in ("-1", "*"):
            return "none"
        return int(_u16(request, value, name)) | flag

    return read


def _cpus(request: Request, value: str, name: str) -> tuple[int, int | None]:
    found = _node_range(value)
    if found is None or found[0] <= 0 or (found[1] is not None and found[1] < found[0]):
        raise request.error(f"Invalid NumCPUs value: {value}")
    return found


def _node_range(text: str) -> tuple[int, int | None] | None:
    """``2``, ``2-4``, ``1k``."""
    least, rest = leading_number(text)
    if rest == text or least < 0:
        return None
    if rest[:1] in ("k", "K"):
        least, rest = least * 1024, rest[1:]
    if not rest:
        return least, None
    if not rest.startswith("-"):
        return None
    most, tail = leading_number(rest[1:])
    if tail[:1] in ("k", "K"):
        most, tail = most * 1024, tail[1:]
    return (least, most) if not tail and rest[1:] else None


def _nodes(request: Request, value: str, name: str) -> dict[str, Any]:
    request.resizes = True
    if value == "0":
        return {"min_nodes": 0}
    if value.upper() == "ALL":
        return {"min_nodes": INFINITE}
    found = _node_range(value)
    if found is None:
        request.session.error(f'"{value}" is not a valid requested node count')
        raise Abort
    least, most = found
    if most is not None and most < least:
        request.session.error(
            f'"{value}" is not a valid requested node count' if request.session.release < "24.11"
            else f"Invalid node count specification: {value}"
        )  # fmt: skip
        raise Abort
    return {"min_nodes": least} if most is None else {"min_nodes": least, "max_nodes": most}


def _node_list(request: Request, value: str, name: str) -> str:
    request.resizes = True
    return value


def _switches(request: Request, value: str, name: str) -> dict[str, Any]:
    count, rest = leading_number(value)
    found: dict[str, Any] = {"req_switch": count}
    if rest.startswith("@"):
        found["wait4switch"] = (minutes_of(rest[1:]) or 0) * 60
    return found


def _gres(request: Request, value: str, name: str) -> str:
    items = [item if item.startswith(("gres:", "gres/")) else f"gres:{item}" for item in value.split(",") if item]
    return ",".join(items)


def _begin(request: Request, value: str, name: str) -> int | None:
    when = _date(request, value)
    return None if when is None else max(when, request.session.now)


def _date(request: Request, value: str, *_: str) -> int | None:
    try:
        return parse_date(value, request.session.now) or None
    except BadDate as bad:
        request.session.io.error(bad.line)
        return None


def _mail(request: Request, value: str, name: str) -> int:
    bits = 0
    for word in filter(None, value.split(",")):
        upper = word.upper()
        if upper == "NONE":
            return 0
        if upper != "ALL" and upper not in MAIL_BITS:
            raise request.abort(f"Invalid MailType: {value}")
        bits |= 0x50F if upper == "ALL" else MAIL_BITS[upper]
    if not bits:
        raise request.abort(f"Invalid MailType: {value}")
    return bits


def _mem_per_cpu(request: Request, value: str, name: str) -> dict[str, Any]:
    return {"pn_min_memory": _u64(request, value, name), "mem_per_cpu": True}


def _mem_per_node(request: Request, value: str, name: str) -> dict[str, Any]:
    return {"pn_min_memory": _u64(request, value, name), "mem_per_cpu": False}


Row = tuple[str, int, str, Reader, str]
_ROWS: tuple[Row, ...] = (
    ("SiteFactor", 5, "", _nice, "site_factor"), ("ArrayTaskThrottle", 10, "", _throttle, "array_inx"),
    ("Comment", 3, "", _text, "comment"), ("Clusters", 8, "", _text, "clusters"),
    ("ClusterFeatures", 8, "", _text, "cluster_features"), ("DelayBoot", 5, "", _delay_boot, "delay_boot"),
    ("Extra", 3, "24.11", _text, "extra"), ("TimeMin", 5, "", _time_min, "time_min"),
    ("Priority", 2, "", _priority, "priority"), ("Nice", 2, "", _nice, "nice"),
    ("CPUsPerTask", 9, "", _u16, "cpus_per_task"), ("CpusPerTres", 9, "", _text, "cpus_per_tres"),
    ("NumCPUs", 6, "", _cpus, "cpus"), ("NumTasks", 8, "", _u32, "num_tasks"), ("ReqProcs", 8, "", _u32, "num_tasks"),
    ("Requeue", 4, "", _u16, "requeue"), ("ReqNodes", 8, "", _nodes, ""), ("NumNodes", 8, "", _nodes, ""),
    ("ReqSockets", 4, "", _u16, "sockets_per_node"), ("ReqCores", 4, "", _u16, "cores_per_socket"),
    ("TasksPerNode", 2, "", _u16, "ntasks_per_node"), ("ReqThreads", 4, "", _u16, "threads_per_core"),
    ("MinCPUsNode", 4, "", _u16, "pn_min_cpus"), ("MinMemoryNode", 10, "", _mem_per_node, ""),
    ("MinMemoryCPU", 10, "", _mem_per_cpu, ""), ("MinTmpDiskNode", 5, "", _u32, "pn_min_tmp_disk"),
    ("Partition", 2, "", _text, "partition"), ("QOS", 2, "", _text, "qos"),
    ("ReservationName", 3, "", _text, "reservation"), ("Name", 2, "", _text, "name"), ("JobName", 4, "", _text, "name"),
    ("WCKey", 1, "", _text, "wckey"), ("StdErr", 6, "24.11", _text, "std_err"), ("StdIn", 5, "24.11", _text, "std_in"),
    ("StdOut", 6, "", _text, "std_out"), ("Switches", 5, "", _switches, ""),
    ("wait-for-switch", 5, "", _u32, "wait4switch"), ("OverSubscribe", 2, "", _yes_or_no("OverSubscribe"), "shared"),
    ("Shared", 2, "", _yes_or_no("OverSubscribe"), "shared"),
    ("Contiguous", 3, "", _yes_or_no("Contiguous"), "contiguous"), ("CoreSpec", 4, "", _core_spec(0), "core_spec"),
    ("MemPerTres", 5, "", _text, "mem_per_tres"), ("ThreadSpec", 4, "", _core_spec(0x8000), "core_spec"),
    ("TresBind", 5, "", _text, "tres_bind"), ("TresFreq", 5, "", _text, "tres_freq"),
    ("TresPerJob", 8, "", _text, "tres_per_job"), ("TresPerNode", 8, "", _text, "tres_per_node"),
    ("TresPerSocket", 8, "", _text, "tres_per_socket"), ("TresPerTask", 8, "", _text, "tres_per_task"),
    ("ExcNodeList", 3, "", _text, "exc_nodes"), ("NodeList", 8, "", _node_list, "req_nodes"),
    ("ReqNodeList", 8, "", _node_list, "req_nodes"), ("Features", 1, "", _text, "features"),
    ("Prefer", 3, "", _text, "prefer"), ("Gres", 2, "", _gres, "tres_per_node"), ("Account", 1, "", _text, "account"),
    ("BurstBuffer", 1, "", _text, "burst_buffer"), ("Dependency", 1, "", _text, "dependency"),
    ("Licenses", 1, "", _text, "licenses"), ("EligibleTime", 2, "", _begin, "begin_time"),
    ("StartTime", 2, "", _begin, "begin_time"), ("EndTime", 2, "", _date, "end_time"),
    ("Reboot", 3, "", _yes_or_no("reboot"), "reboot"), ("Deadline", 3, "", _date, "deadline"),
    ("WorkDir", 2, "", _text, "work_dir"), ("MCSLabel", 4, "26.05", _text, "mcs_label"),
    ("MailType", 5, "", _mail, "mail_type"), ("MailUser", 5, "", _text, "mail_user"),
)  # fmt: skip


# -- the request -----------------------------------------------------------------------------------------------------


def update_job(session: Session, words: Words) -> None:
    """Read the words and send the update, once for each job they name."""
    request = Request(session)
    try:
        at = 0
        while at < len(words):
            at += _word(request, words, at)
        _send(request)
    except Abort:
        pass


def _word(request: Request, words: Words, at: int) -> int:
    """Read the word there; how many words it took."""
    word = words[at]
    tag, equals, value = word.partition("=")
    sign = ""
    taken = 1
    if equals:
        if tag[-1:] in ("+", "-") and tag:
            tag, sign = tag[:-1], tag[-1]
    elif tag_matches(word, "Nice", 2):
        request.job["nice"] = 100
        request.changes += 1
        return 1
    elif tag_matches(word, "ResetAccrueTime", 3):
        request.job["reset_accrue_time"] = True
        request.changes += 1
        return 1
    elif at + 1 < len(words):
        value, taken = words[at + 1], 2
    else:
        raise request.abort(f"Invalid input: {word}", "Request aborted")
    _keyword(request, tag, value, sign, words[at + taken - 1])
    return taken


def _keyword(request: Request, tag: str, value: str, sign: str, word: str) -> None:
    if tag_matches(tag, "JobId", 3):
        request.ids = value
    elif tag_matches(tag, "AdminComment", 6):
        sign = _admin_comment(request, value, sign)
    elif tag_matches(tag, "TimeLimit", 5):
        request.job["time_limit"] = _time_limit(request, value, sign)
        request.changes += 1
        sign = ""
    elif tag_matches(tag, "UserID", 3):
        request.user = request.session.uid_of(value)
        if request.user is None:
            raise request.abort(f"Invalid UserID: {value}", "Request aborted")
    else:
        _row(request, tag, value, word)
    if sign:
        raise request.error(_NO_SIGN.format(tag))


def _row(request: Request, tag: str, value: str, word: str) -> None:
    for name, least, since, reader, field in _ROWS:
        if since > request.session.release or not tag_matches(tag, name, least):
            continue
        found = reader(request, value, name)
        if field == "cpus":
            least_cpus, most = found
            request.job["min_cpus"] = least_cpus
            if most:
                request.job["max_cpus"] = most
        elif not field:
            request.job |= found
        elif field == "tres_per_node" and request.job.get(field):
            request.job[field] += f",{found}"
        elif found is None:
            return  # no date: nothing changes
        else:
            request.job[field] = found
        request.changes += 1
        return
    raise request.abort(f"Update of this parameter is not supported: {word}", "Request aborted")


def _admin_comment(request: Request, value: str, sign: str) -> str:
    if sign and request.session.release >= "24.11":
        raise request.error("Invalid syntax, AdminComment can not be added/subtracted from.")
    if sign == "-":
        raise request.error("Invalid syntax, AdminComment can not be subtracted from.")
    request.job["admin_comment"] = f"+={value}" if sign else value
    request.changes += 1
    return ""


def _time_limit(request: Request, value: str, sign: str) -> int:
    """Minutes; ``+`` and ``-`` are relative to what the job has."""
    if value[:1] in ("+", "-") and value:
        if sign:
            raise request.error("Invalid syntax, variations of +=- are not accepted.")
        sign, value = value[0], value[1:]
    minutes = minutes_of(value)
    if minutes is None:
        raise request.error("Invalid TimeLimit value")
    if not sign:
        return minutes % (1 << 32)
    if request.ids is None:
        raise request.error("JobId must precede TimeLimit increment or decrement")
    now = _present_limit(request, request.ids)
    if now == INFINITE and request.session.release >= "24.11":
        raise request.error("Cannot increment/decrement TimeLimit when set to UNLIMITED.")
    if sign == "+":
        return now + minutes
    if minutes > now:
        raise request.error(f"TimeLimit decrement larger than current time limit ({minutes} > {now})")
    return now - minutes


def _rows_of(request: Request, text: str) -> tuple[list[dict[str, Any]], int | None]:
    job, rest = leading_number(text)
    task = None
    if rest.startswith("_"):
        task, rest = leading_number(rest[1:])
    if rest:
        raise request.error(f"Invalid job ID {text}")
    fields = ["job_id", "array_job_id", "array_task_id", "array_task_str", "time_limit"]
    try:
        rows = request.session.load("jobs", fields, job_id=str(job), show_all=True)
    except FAILED_CALLS as error:
        raise request.error(f"Could not load state information for job {text}: {text_of(error)}") from None
    return rows, task


def _present_limit(request: Request, text: str) -> int:
    from slurmsim.commands.array_text import tasks_of

    rows, task = _rows_of(request, text)
    if len(rows) > 1 and task is None:
        raise request.error("TimeLimit increment/decrement not supported for job arrays")
    for row in rows:
        tasks = tasks_of(row["array_task_str"]) if row["array_task_str"] else [row["array_task_id"]]
        if task is None or task in tasks:
            return INFINITE if row["time_limit"] is None else int(row["time_limit"])
    raise Abort


def _send(request: Request) -> None:
    session = request.session
    if not request.changes:
        raise request.abort("No changes specified")
    if request.ids is None and request.job.get("name"):
        request.ids = _ids_by_name(request, request.job["name"])
    if request.ids is None:
        raise request.error("No job ID specified")
    if request.resizes:
        rows, task = _rows_of(request, request.ids)
        if len(rows) > 1 and task is None:
            raise request.error("Job resizing not supported for job arrays")
    ids = job_ids(request.ids)
    if ids is None:
        session.warn(f"{INVALID_JOB} for job {request.ids}")
        return
    for job_id in ids:
        failed = ask(session, "update_job", job_id, job=request.job, acting_uid=session.acting_uid)
        if failed:
            session.code = 1
        elif request.resizes:
            from slurmsim.commands.scontrol_resize import write_scripts

            write_scripts(session, job_id)


def _ids_by_name(request: Request, name: str) -> str | None:
    session = request.session
    fields = ["job_id", "name", "user_id", "array_job_id", "array_task_id"]
    try:
        rows = session.load("jobs", fields, show_all=session.all)
    except FAILED_CALLS as error:
        raise request.error(f"Could not load state information: {text_of(error)}") from None
    if not rows:
        raise request.error(f"JobName {name} not found")
    found = [
        f"{row['array_job_id']}_{row['array_task_id']}" if row["array_task_id"] is not None else str(row["job_id"])
        for row in rows
        if row["name"] == name and request.user in (None, row["user_id"])
    ]
    if not found:
        who = "" if request.user is None else f"user ID {request.user} and "
        raise request.error(f"No jobs with {who}name '{name}'")
    return ",".join(found)


# -- steps -----------------------------------------------------------------------------------------------------------


def update_step(session: Session, words: Words) -> str:
    """``update stepid=JOB.STEP timelimit=T``: the error, "" for none."""
    step, limit = "", None
    for word in words:
        tag, equals, value = word.partition("=")
        if not equals:
            session.fail(f"Invalid input: {word}")
            session.io.error("Request aborted")
            return "Unspecified error"
        if tag_matches(tag, "StepId", 4):
            step = value
        elif tag_matches(tag, "TimeLimit", 2):
            limit = minutes_of(value.lstrip("+-"))
            if limit is None:
                session.code = 1
                session.error("Invalid TimeLimit value")
                return ""
        else:
            session.fail(f"Update of this parameter is not supported: {word}")
            session.io.error("Request aborted")
            return ""
    if limit is None:
        session.fail("No changes specified")
        return ""
    job, _, number = step.partition(".")
    try:
        session.io.client.call("update_step", job_id=job, step_id=number or None, time_limit=limit)
    except FAILED_CALLS as error:
        return text_of(error)
    return ""
