"""A `JobRecord` as a row of a table, and back: plain columns by which queries select, everything else as JSON.

Column names are those of slurmdbd's job table. Of the request only the texts that accounting tells are kept; the
script is a row of its own, as many jobs have the same.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from slurmsim.data_classes import dataclass, fields
from slurmsim.json_text import loads
from slurmsim.slurmctld.base.job_record import JobRecord
from slurmsim.slurmctld.base.step import Step

FROM_REQUEST = ("work_dir", "submit_line", "container", "wckey", "std_in", "std_out", "std_err", "licenses", "extra",
                "script", "shared", "qos")  # fmt: skip
"""What accounting tells of a job's request."""
_OF_STEP = ("task_dist", "distribution", "submit_line", "cwd", "std_in", "std_out", "std_err", "time_limit")
_HALF = 1 << 63


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table, its SQL type, and the attribute of a record it holds; None: none."""

    name: str
    kind: str
    attribute: str | None = None


COLUMNS = (
    Column("job_db_inx", "INTEGER", "db_index"), Column("id_job", "INTEGER", "job_id"),
    Column("id_array_job", "INTEGER", "array_job_id"), Column("id_array_task", "INTEGER", "array_task_id"),
    Column("id_assoc", "INTEGER", "assoc_id"), Column("account", "TEXT", "account"), Column("user", "TEXT", "user"),
    Column("id_user", "INTEGER", "uid"), Column("id_group", "INTEGER", "gid"),
    Column("partition", "TEXT", "partition"), Column("qos", "TEXT", "qos"), Column("job_name", "TEXT", "name"),
    Column("state", "TEXT", "state"), Column("time_submit", "INTEGER", "submit"),
    Column("time_eligible", "INTEGER", "eligible"), Column("time_start", "INTEGER", "start"),
    Column("time_end", "INTEGER", "end"), Column("time_suspended", "INTEGER", "suspended"),
    Column("nodelist", "TEXT", "nodes"), Column("nodes_alloc", "INTEGER", "alloc_nodes"),
    Column("cpus_req", "INTEGER", "req_cpus"), Column("tres_alloc", "TEXT"), Column("rest", "TEXT"),
    Column("script", "INTEGER"), Column("place", "INTEGER"), Column("shown", "TEXT"),
)  # fmt: skip
_PLAIN = tuple(c.attribute for c in COLUMNS if c.attribute is not None)
_REST = tuple(f.name for f in fields(JobRecord) if f.name not in {*_PLAIN, "tres_alloc", "asked", "steps"})
_STEP = tuple(f.name for f in fields(Step))
_NUMBERS = ("array_max_tasks", "exit_code", "derived_ec", "time_limit", "resv_id", "restarts", "first_cpus",
            "first_mem")  # fmt: skip
_NOTHING: dict[str, Any] = {name: 0 if name in _NUMBERS else None for name in _REST}
"""What an attribute is that was left out."""
_LISTS: dict[str, Callable[[Any], Any]] = {"nodes": tuple, "tasks": tuple, "cpus": tuple, "memory": tuple}
_dumps = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def encodable(text: str) -> str:
    """Return a text as a column can hold it: halves of characters, which clients can send, are spelled out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def signed(number: int) -> int:
    """Return an unsigned number of 64 bits as SQLite has it."""
    return number - 2 * _HALF if number >= _HALF else number


def script_of(record: JobRecord) -> tuple[bytes | None, bytes]:
    """Digest and bytes of its script; None without one."""
    script = record.asked.get("script")
    if script is None:
        return None, b""
    text = str(script).encode("utf-8", "surrogatepass")
    return sha256(text).digest(), text


def to_row(record: JobRecord, script: int | None, place: int | None, shown: Sequence[Any] | None) -> tuple[Any, ...]:
    """Its values in the order of `COLUMNS`."""
    rest = {name: value for name in _REST if (value := getattr(record, name)) != _NOTHING[name]}
    plain = [getattr(record, name) for name in _PLAIN]
    plain[0] = signed(plain[0])
    for at, (name, value) in enumerate(zip(_PLAIN, plain, strict=True)):
        if type(value) is int and not -_HALF <= value < _HALF:
            # SQLite has 64 bits and no halves of characters: the column gets the nearest value, `rest` the true one
            plain[at], rest[name] = max(-_HALF, min(value, _HALF - 1)), value
        elif isinstance(value, str) and (held := encodable(value)) != value:
            plain[at], rest[name] = held, value
    asked = record.asked
    kept = {name: asked[name] for name in FROM_REQUEST if asked.get(name) is not None and name != "script"}
    if kept:
        rest["asked"] = kept
    if record.steps:
        rest["steps"] = [_of_step(step) for step in record.steps]
    values = None if shown is None else _dumps(list(shown))
    return (*plain, _dumps(record.tres_alloc), _dumps(rest), script, place, values)


def _of_step(step: Step) -> list[Any]:
    values = [getattr(step, name) for name in _STEP]
    values[_STEP.index("asked")] = {name: step.asked[name] for name in _OF_STEP if step.asked.get(name) is not None}
    return values


def to_record(row: Sequence[Any]) -> JobRecord:
    """Return the record of a row of `COLUMNS` and its script's bytes."""
    n = len(_PLAIN)
    tres, rest_text, script = row[n], row[n + 1], row[-1]
    rest: dict[str, Any] = loads(rest_text)
    asked = rest.pop("asked", {})
    if script is not None:
        asked["script"] = script.decode("utf-8", "surrogatepass")
    values: dict[str, Any] = _NOTHING | dict(zip(_PLAIN, row, strict=False)) | rest
    values["db_index"] %= 2 * _HALF
    values["flags"] = tuple(values["flags"])
    values["steps"] = [_to_step(step) for step in values.get("steps", ())]
    return JobRecord(tres_alloc=loads(tres), asked=asked, **values)


def _to_step(values: Sequence[Any]) -> Step:
    found: Mapping[str, Any] = dict(zip(_STEP, values, strict=True))
    return Step(**{name: _LISTS[name](value) if name in _LISTS else value for name, value in found.items()})
