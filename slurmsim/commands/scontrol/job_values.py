"""Keywords of ``scontrol update job`` and how their values are read: one row each, the first that matches counts."""

from __future__ import annotations

from slurmsim.commands.scontrol.keywords import keywords
from slurmsim.commands.scontrol.session import Session
from slurmsim.commands.text.dates import BadDate, parse_date
from slurmsim.commands.text.values import INFINITE, MAIL_BITS, NICE_LIMIT, leading_number, minutes_of, seconds_of
from slurmsim.records.job import CARRIED
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Words = Sequence[str]
NO_SIGN = "Option {} does not accept [+|-]= syntax"


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


if TYPE_CHECKING:
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


def _nice(request: Request, value: str, name: str) -> int:
    number = leading_number(value)[0]
    if abs(number) > NICE_LIMIT:
        what = "Nice" if name == "Nice" else "SiteFactor"
        raise request.error(f"{what} value out of range (+/- {NICE_LIMIT}). Value ignored")
    return number


def _throttle(request: Request, value: str, name: str) -> str:
    number = leading_number(value)[0]  # what is no number is 0
    if number < 0:
        raise request.error("Invalid ArrayTaskThrottle value")
    return str(number)


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
    if most is not None and most < least and since(request.session.release, "node_range_refused"):
        # before, slurmctld found it out
        request.session.error(f"Maximum node count {most} is less than minimum node count {least}")
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


def _memory(*, per_cpu: bool) -> Reader:
    return lambda request, value, name: {"pn_min_memory": _u64(request, value, name), "mem_per_cpu": per_cpu}


if TYPE_CHECKING:
    Row = tuple[str, int, str, Reader, str]
_CARRIED = {"text": _text, "count": _u32, "flag": _yes_or_no("a flag")}  # kind -> the reader of what a job only carries
ROWS: tuple[Row, ...] = (
    ("SiteFactor", 5, "", _nice, "site_factor"), ("ArrayTaskThrottle", 10, "", _throttle, "array_inx"),
    ("Clusters", 8, "", _text, "clusters"), ("DelayBoot", 5, "", _delay_boot, "delay_boot"),
    ("TimeMin", 5, "", _time_min, "time_min"),
    ("Priority", 2, "", lambda request, value, name: _u32(request, value, "Priority"), "priority"),
    ("Nice", 2, "", _nice, "nice"),
    ("CPUsPerTask", 9, "", _u16, "cpus_per_task"), ("CpusPerTres", 9, "", _text, "cpus_per_tres"),
    ("NumCPUs", 6, "", _cpus, "cpus"), ("NumTasks", 8, "", _u32, "num_tasks"), ("ReqProcs", 8, "", _u32, "num_tasks"),
    ("Requeue", 4, "", _u16, "requeue"), ("ReqNodes", 8, "", _nodes, ""), ("NumNodes", 8, "", _nodes, ""),
    ("ReqSockets", 4, "", _u16, "sockets_per_node"), ("ReqCores", 4, "", _u16, "cores_per_socket"),
    ("TasksPerNode", 2, "", _u16, "ntasks_per_node"), ("ReqThreads", 4, "", _u16, "threads_per_core"),
    ("MinCPUsNode", 4, "", _u16, "pn_min_cpus"), ("MinMemoryNode", 10, "", _memory(per_cpu=False), ""),
    ("MinMemoryCPU", 10, "", _memory(per_cpu=True), ""), ("MinTmpDiskNode", 5, "", _u32, "pn_min_tmp_disk"),
    ("Partition", 2, "", _text, "partition"), ("QOS", 2, "", _text, "qos"),
    ("ReservationName", 3, "", _text, "reservation"), ("Name", 2, "", _text, "name"), ("JobName", 4, "", _text, "name"),
    ("WCKey", 1, "", _text, "wckey"), ("StdErr", 6, "23.02", _text, "std_err"), ("StdIn", 5, "23.02", _text, "std_in"),
    ("StdOut", 6, "", _text, "std_out"), ("Switches", 5, "", _switches, ""),
    ("wait-for-switch", 5, "", _u32, "wait4switch"), ("OverSubscribe", 2, "", _yes_or_no("OverSubscribe"), "shared"),
    ("Shared", 2, "", _yes_or_no("OverSubscribe"), "shared"),
    ("Contiguous", 3, "", _yes_or_no("Contiguous"), "contiguous"), ("CoreSpec", 4, "", _core_spec(0), "core_spec"),
    ("MemPerTres", 5, "", _text, "mem_per_tres"), ("ThreadSpec", 4, "", _core_spec(0x8000), "core_spec"),
    ("TresPerJob", 8, "", _text, "tres_per_job"), ("TresPerNode", 8, "", _text, "tres_per_node"),
    ("TresPerSocket", 8, "", _text, "tres_per_socket"), ("TresPerTask", 8, "", _text, "tres_per_task"),
    ("ExcNodeList", 3, "", _text, "exc_nodes"), ("NodeList", 8, "", _node_list, "req_nodes"),
    ("ReqNodeList", 8, "", _node_list, "req_nodes"), ("Features", 1, "", _text, "features"),
    ("Gres", 2, "", _gres, "tres_per_node"), ("Account", 1, "", _text, "account"),
    ("Dependency", 1, "", _text, "dependency"),
    ("Licenses", 1, "", _text, "licenses"), ("EligibleTime", 2, "", _begin, "begin_time"),
    ("StartTime", 2, "", _begin, "begin_time"), ("EndTime", 2, "", _date, "end_time"),
    ("Reboot", 3, "", _yes_or_no("reboot"), "reboot"), ("Deadline", 3, "", _date, "deadline"),
    ("WorkDir", 2, "", _text, "work_dir"),
    ("MailType", 5, "", _mail, "mail_type"), ("MailUser", 5, "", _text, "mail_user"),
    *((word.name, word.least, word.since, _CARRIED[word.row.kind], word.row.name) for word in keywords(CARRIED)),
)  # fmt: skip
