"""The body of a submission: fields of JOB_DESC_MSG into the request that sbatch would send.

A field of Slurm's that has no row here is refused by its name; one that Slurm does not have either is passed over with
a warning, as slurmrestd does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slurmsim.numerals import is_number
from slurmsim.records.job import CARRIED
from slurmsim.records.request import REQUEST, THREAD_FLAG

Job = dict[str, Any]
INFINITE = frozenset({"INFINITE", "UNLIMITED", "INFINITY"})
_NO_LIMIT = 0xFFFFFFFF


class Wrong(ValueError):
    """A value is not what its field takes."""


def number(value: Any) -> int | None:
    """Return a number, a numeral, or the object of a number; None where it is not set. Raises Wrong."""
    if isinstance(value, dict):
        if value.get("infinite"):
            return _NO_LIMIT
        if not value.get("set", "number" in value):
            return None
        value = value.get("number", 0)
    if isinstance(value, bool) or value is None:
        raise Wrong
    if isinstance(value, str):
        if value.upper() in INFINITE:
            return _NO_LIMIT
        if not is_number(value.removeprefix("-")):
            raise Wrong
    elif not isinstance(value, (int, float)) or value != value or abs(value) > 1 << 62:
        raise Wrong
    return int(value)


def text(value: Any) -> str:
    """Return a text; numbers are one, too. Raises Wrong."""
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        raise Wrong
    return str(value)


def csv(value: Any) -> str:
    """Return a comma list, or a list. Raises Wrong."""
    if isinstance(value, list):
        return ",".join(text(one) for one in value)
    return text(value)


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() in ("true", "false", "yes", "no"):
        return value.lower() in ("true", "yes")
    raise Wrong


def _environment(value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {str(name): text(one) for name, one in value.items()}
    if not isinstance(value, list):
        raise Wrong
    found = {}
    for word in value:
        name, equals, rest = text(word).partition("=")
        if not equals:
            raise Wrong
        found[name] = rest
    return found


def _minutes(value: Any) -> int | None:
    found = number(value)
    return -1 if found == _NO_LIMIT else found


def _shared(value: Any) -> str | None:
    word = (value[0] if value else "") if isinstance(value, list) else value
    words = {"none": "exclusive", "exclusive": "exclusive", "true": "exclusive", "oversubscribe": "ok", "user": "user",
             "mcs": "mcs", "topo": "topo", "": None, "false": None}  # fmt: skip
    if not isinstance(word, str) or word.lower() not in words:
        raise Wrong
    return words[word.lower()]


def _nodes(value: Any) -> dict[str, int]:
    low, dash, high = text(value).partition("-")
    if not is_number(low) or (dash and not is_number(high)):
        raise Wrong
    return {"min_nodes": int(low), "max_nodes": int(high or low)}


def _memory(per_cpu: bool) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        found = number(value)
        return {} if found is None else {"pn_min_memory": found, "mem_per_cpu": per_cpu}

    return read


def _argv(value: Any) -> list[str]:
    return [text(one) for one in value] if isinstance(value, list) else [text(value)]


def _threads_kept(value: Any) -> int | None:
    found = number(value)
    return None if found is None else found | THREAD_FLAG


_BITS = {"BEGIN": 1, "END": 2, "FAIL": 4, "REQUEUE": 8, "TIME=100%": 0x10, "TIME=90%": 0x20, "TIME=80%": 0x40,
         "TIME=50%": 0x80, "STAGE_OUT": 0x100, "ARRAY_TASKS": 0x200, "INVALID_DEPENDENCY": 0x400}  # fmt: skip


def _mail(value: Any) -> int:
    mask = 0
    for word in csv(value).upper().split(","):
        if word not in _BITS:
            raise Wrong
        mask |= _BITS[word]
    return mask


_KINDS: dict[str, Callable[[Any], Any]] = {
    "text": text, **dict.fromkeys(("words", "nodes"), csv), **dict.fromkeys(("flag", "switch"), _flag),
    **dict.fromkeys(("count", "amount", "signed", "product", "time"), number),
}  # fmt: skip
_OWN: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "argv": ("argv", _argv), "core_specification": ("core_spec", number),
    "thread_specification": ("core_spec", _threads_kept), "array": ("array_inx", text),
    "environment": ("environment", _environment),
    "mail_type": ("mail_type", _mail), "memory_per_cpu": ("", _memory(True)), "memory_per_node": ("", _memory(False)),
    "nodes": ("", _nodes), "shared": ("shared", _shared), "time_limit": ("time_limit", _minutes),
    "time_minimum": ("time_min", _minutes),
}  # fmt: skip
_ROWS = (*REQUEST, *CARRIED)
FIELDS = {row.json: (row.name, _KINDS[row.kind]) for row in _ROWS if row.body and row.kind != "own"} | _OWN
"""Field of the body -> the request's field ("": several) and how its value is read."""
NOT_MODELLED = frozenset(
    [
        *(row.json for row in _ROWS if row.body is False),
        "allocation_node_list",
        "allocation_node_port",
        "batch_features",
        "cluster_constraint",
        "container_id",
        "container_type",
        "cpu_binding",
        "cpu_binding_flags",
        "cpu_frequency",
        "crontab",
        "flags",
        "job_id",
        "memory_binding_type",
        "oversubscribe",
        "reserve_ports",
        "resv_mpi_ports",
        "selinux_context",
        "spank_environment",
        "step_id",
        "tasks_per_board",
        "user_id",
        "x11",
        "x11_magic_cookie",
        "x11_target_host",
        "x11_target_port",
        "hetjob_group",
        "minimum_boards_per_node",
        "minimum_sockets_per_board",
    ]
)
"""Fields that Slurm has besides."""


def read(body: dict[str, Any]) -> tuple[Job, list[str], list[tuple[str, str]]]:
    """Return the request, the names of fields that are not modelled, and names and types of unknown fields.

    Raises Wrong, with the field's name, for a value that cannot be read.
    """
    job: Job = {}
    refused, unknown = [], []
    for name, value in body.items():
        found = FIELDS.get(name)
        if name in NOT_MODELLED:
            if value not in (None, "", [], {}) and name != "script":
                refused.append(name)
            continue
        if found is None:
            unknown.append((name, _kind(value)))
            continue
        try:
            made = found[1](value)
        except Wrong:
            raise Wrong(name) from None
        if not found[0]:
            job |= made
        elif made is not None:
            job[found[0]] = made
    if job.get("priority") == 0:
        job["hold"] = True
        del job["priority"]
    return job, refused, unknown


def _kind(value: Any) -> str:
    for kind, name in ((bool, "boolean"), (str, "string"), (int, "64 bit integer"), (float, "floating point number"),
                       (list, "list"), (dict, "dictionary")):  # fmt: skip
        if isinstance(value, kind):
            return name
    return "null"
