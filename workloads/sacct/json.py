"""``sacct --json``: the same columns as the lines of ``sacct -P``, from data parsers of 21.08 to 26.05.

What differs between releases (`slurm/src/plugins/openapi/dbv0.0.36` to `data_parser/v0.0.45`) is the shape of values:

- numbers are plain, null, or ``{"set": …, "infinite": …, "number": …}``; older ones print NO_VAL and INFINITE as the
  numbers they are;
- ``state.current`` is a text, or a list of states and flags (``["PENDING", "REQUEUED"]``);
- ``exit_code.signal`` has ``signal_id`` (to 23.02) or ``id``; names of TRES are null or empty;
- 21.08 and 22.05 have no ``submit_line``, ``licenses`` and ``restart_cnt``, and no usable name of a reservation.

Each job becomes the texts that -P prints for it, so both forms are read by the same rules. Jobs are read one at a time.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slurmsim.errors import WorkloadError
from slurmsim.numerals import is_number, ranges
from slurmsim_workloads.sacct.fields import FINISHED, STATES
from slurmsim_workloads.sacct.json_stream import JsonStream
from slurmsim_workloads.sacct.table import Dump

if TYPE_CHECKING:
    import pyarrow as pa

_JOBS = re.compile(rb'"jobs"\s*:\s*\[')
_OF_SQUEUE = re.compile(rb'"(?:submit_time|batch_host|eligible_time)"\s*:')
# NO_VAL and INFINITE of 32 and 64 bits; no number read here has 16, of which they are numbers of jobs, too
_NOT_SET = {0xFFFFFFFE, 0xFFFFFFFFFFFFFFFE}
_INFINITE = {0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF}
# States that say more than the one beside them in a list: sacct -P prints these.
_SAYS_MORE = ("REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESIZING", "REVOKED")
_PLAIN = {
    "Partition": ("partition",), "QOS": ("qos",), "Account": ("account",), "Constraints": ("constraints",),
    "NodeList": ("nodes",), "JobName": ("name",), "SubmitLine": ("submit_line",), "Licenses": ("licenses",),
    "Exclusive": ("exclusive",), "OverSubscribe": ("oversubscribe",), "Reservation": ("reservation", "name"),
}  # fmt: skip
_TIMES = {"Submit": "submission", "Eligible": "eligible", "Start": "start", "End": "end"}
_LATER = frozenset({"SubmitLine", "Licenses", "Exclusive", "OverSubscribe", "Restarts"})


class _Wrong(Exception):
    """A value of a job is not what it should be: its path and what came."""


def is_json(head: bytes) -> bool:
    """Return True if a file that begins with `head` is JSON."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def looks_like_json(head: bytes) -> bool:
    """Return True if a file that begins with `head` can be the output of ``sacct --json``."""
    return is_json(head) and _JOBS.search(head) is not None and _OF_SQUEUE.search(head) is None


def read_json(path: Path, *, drop_bad: bool = False) -> Dump:
    """Read the output of ``sacct --json``; `drop_bad` leaves out jobs with a value of a wrong kind.

    Raises
    ------
    WorkloadError
        No JSON, no list of jobs, a job of squeue or scontrol, or a value of a wrong kind: line and field are named.
    """
    columns: dict[str, list[str]] = {}
    lines: list[int] = []
    bad: list[tuple[int, int]] = []
    for line, job in JsonStream(path).elements("jobs"):
        try:
            cells = job_cells(job)
        except _Wrong as error:
            if not drop_bad:
                field, message, expected = error.args
                raise WorkloadError(message, file=str(path), line=line, field=field, expected=expected) from None
            bad.append((line, 0))
            continue
        for name, text in cells.items():
            columns.setdefault(name, [""] * len(lines)).append(text)
        lines.append(line)
        for name in columns.keys() - cells.keys():
            columns[name].append("")
    return Dump(_arrays(columns), np.array(lines, np.int64), bad)


def _arrays(columns: dict[str, list[str]]) -> dict[str, pa.ChunkedArray]:
    import pyarrow as pa

    names = columns or {name: list[str]() for name in ("JobIDRaw", "Submit", "State", "ElapsedRaw", "ReqTRES")}
    return {name: pa.chunked_array([pa.array(texts, pa.string())]) for name, texts in names.items()}


def job_cells(job: Any) -> dict[str, str]:
    """Return the texts of a job's fields as ``sacct -P`` prints them, by name, without fields the release lacks."""
    if not isinstance(job, dict):
        raise _Wrong("jobs", f"{str(job)[:40]!r} is not a job", "an object")
    if "time" not in job and "submit_time" in job:
        raise _Wrong("time", "this is a job of squeue or scontrol", "the output of sacct --json")
    limit = _number(job, "time", "limit")
    asked = _tres(job, "requested")
    cells = {
        "JobIDRaw": _shown(_number(job, "job_id")),
        "JobID": _job_id(job),
        "ElapsedRaw": _shown(_number(job, "time", "elapsed")),
        "Suspended": _clock(_number(job, "time", "suspended")),
        "TimelimitRaw": "Partition_Limit" if limit is None else "UNLIMITED" if limit < 0 else str(limit),
        "State": _state(job),
        "ExitCode": _exit_code(job),
        "ReqTRES": asked,
        "AllocTRES": _tres(job, "allocated"),
        "ReqCPUS": _shown(_number(job, "required", "CPUs")),
        "ReqMem": "" if "mem=" in asked else _memory(job),
        "NNodes": _shown(_number(job, "allocation_nodes")),
        "User": _text(job, "user") or _text(job, "association", "user"),
        "Restarts": _shown(_number(job, "restart_cnt")),
    }
    for name, key in _TIMES.items():
        cells[name] = _shown(_number(job, "time", key)) or "Unknown"
    for name, path in _PLAIN.items():
        cells[name] = _text(job, *path)
    return {name: text for name, text in cells.items() if text or name not in _LATER}


def _at(job: Any, *path: str) -> Any:
    """Return what is at `path`; None where a part of it is missing, null or no object."""
    for key in path:
        job = job.get(key) if isinstance(job, dict) else None
    return job


def _text(job: Any, *path: str) -> str:
    """Return a text; empty without one, and for a number (22.05 prints one for the name of a reservation)."""
    found = _at(job, *path)
    return found if isinstance(found, str) else ""


def _number(job: Any, *path: str) -> int | None:
    """Return a count in any release's shape: None when not set, -1 for no limit."""
    found = _at(job, *path)
    if isinstance(found, dict):
        if found.get("infinite") is True:
            return -1
        found = found.get("number") if found.get("set", True) else None
    text = isinstance(found, str) and is_number(found)
    if text or (isinstance(found, float) and found.is_integer() and abs(found) < 2**53):
        found = int(found)
    if found is None or (isinstance(found, int) and found in _NOT_SET):
        return None
    if isinstance(found, bool) or not isinstance(found, int):
        raise _Wrong(".".join(path), f"{str(found)[:40]!r} is not a count", "a number, or set, infinite and number")
    if found in _INFINITE:
        return -1
    if not -2 <= found < 1 << 60:
        raise _Wrong(".".join(path), f"{str(found)[:40]} is no count of Slurm", "fewer than 19 digits")
    return found if found >= 0 else None


def _shown(number: int | None) -> str:
    return "" if number is None or number < 0 else str(number)


def _clock(seconds: int | None) -> str:
    if not seconds or seconds < 0:
        return ""
    minutes, rest = divmod(seconds, 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _job_id(job: Any) -> str:
    """``12``, ``12_3``, ``12_[1-5%2]`` or ``12+1``."""
    own = _shown(_number(job, "job_id"))
    if het := _number(job, "het", "job_id"):
        return f"{het}+{_number(job, 'het', 'job_offset') or 0}"
    array = _number(job, "array", "job_id")
    if not array or array < 0:
        return own
    task = _number(job, "array", "task_id")
    if task is not None and task >= 0:
        return f"{array}_{task}"
    tasks = _tasks(_text(job, "array", "task"))
    most = _number(job, "array", "limits", "max", "running", "tasks") or 0
    throttle = f"%{most}" if most > 0 and "%" not in tasks else ""
    return f"{array}_[{tasks}{throttle}]" if tasks else own


def _tasks(text: str) -> str:
    """Return the tasks of a pending array; Slurm's database keeps some as a bitmap in hexadecimal digits."""
    if not text.startswith("0x"):
        return text
    digits, percent, throttle = text[2:].partition("%")
    if len(digits) > 1 << 20 or not re.fullmatch(r"[0-9A-Fa-f]+", digits):
        raise _Wrong("array.task", f"{text[:40]!r} is not a list of tasks", "1-5,9 or a bitmap such as 0x3E")
    bits = bin(int(digits, 16))[:1:-1]
    return ranges([i for i, bit in enumerate(bits) if bit == "1"]) + percent + throttle


def _state(job: Any) -> str:
    found = _at(job, "state", "current")
    states = found if isinstance(found, list) else [found]
    if not states or not all(isinstance(state, str) for state in states):
        raise _Wrong("state.current", f"{str(found)[:40]!r} is not a state", "a text or a list of texts")
    known = [state for state in states if state in STATES]
    chosen = next((state for state in _SAYS_MORE if state in known), None)
    chosen = chosen or next((state for state in known if state in FINISHED), known[0] if known else states[0])
    by = _text(job, "kill_request_user")
    return f"CANCELLED by {by}" if chosen == "CANCELLED" and len(by.split()) == 1 else str(chosen)


def _exit_code(job: Any) -> str:
    signal = _number(job, "exit_code", "signal", "id") or _number(job, "exit_code", "signal", "signal_id") or 0
    return f"{_number(job, 'exit_code', 'return_code') or 0}:{signal}"


def _tres(job: Any, key: str) -> str:
    """``cpu=4,mem=8000M,gres/gpu=2`` from the list of objects; counts that are not set (-2, null) are left out."""
    found = _at(job, "tres", key)
    if found is None:
        return ""
    if not isinstance(found, list):
        raise _Wrong(f"tres.{key}", f"{str(found)[:40]!r} is not a list", "objects with type, name and count")
    parts: dict[str, str] = {}
    for item in found:
        kind, name, count = _text(item, "type"), _text(item, "name"), _number(item, "count")
        if kind and count is not None and count >= 0:
            label = f"{kind}/{name}" if name else kind
            parts[label] = f"{label}={count}{'M' * (kind == 'mem')}"
    return ",".join(parts.values())


def _memory(job: Any) -> str:
    """ReqMem where no TRES says it: a CPU's (``c``), a node's (``n``)."""
    for key, scope in (("memory_per_cpu", "c"), ("memory_per_node", "n"), ("memory", "n")):
        number = _number(job, "required", key)
        if number is not None and number > 0:
            return f"{number}M{scope}"
    return ""
