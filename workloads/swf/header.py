"""Header comments of an SWF file: ``; Key: value`` lines, machine size, names of queues and partitions."""

import re
from collections.abc import Iterable

from slurmsim.workload import WorkloadHeader

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")
_NUMBER = re.compile(r"-?\d{1,18}")
_NAMED = re.compile(r"(\d{1,18})\s*[:,]?\s+(\S+)")


def parse_header(comments: Iterable[str]) -> WorkloadHeader:
    """Return the header of a log from its comment lines (without ``;``).

    A key that comes several times (``Note``, ``Queue``) keeps all its values, one a line; a comment without a key
    goes on with the value above it. ``MaxProcs`` is by definition given only when it differs from ``MaxNodes``.
    """
    header = WorkloadHeader()
    last = ""
    for comment in comments:
        key, colon, value = comment.partition(":")
        if colon and _KEY.fullmatch(key.rstrip()):
            last, value = key.rstrip(), value.strip()
            header.fields[last] = f"{header.fields[last]}\n{value}" if last in header.fields else value
        elif comment and last:
            header.fields[last] += "\n" + comment
    header.epoch = max(0, _leading_number(header.fields.get("UnixStartTime", "")))
    header.max_nodes = max(0, _leading_number(header.fields.get("MaxNodes", "")))
    header.max_procs = max(0, _leading_number(header.fields.get("MaxProcs", ""))) or header.max_nodes
    return header


def named_numbers(header: WorkloadHeader, kind: str) -> dict[int, str]:
    """Names the header gives to ``queue`` or ``partition`` numbers (``; Queue: 1 batch``)."""
    names: dict[int, str] = {}
    for line in header.fields.get(kind.capitalize(), "").split("\n"):
        if match := _NAMED.match(line.strip()):
            names[int(match[1])] = match[2]
    return names


def _leading_number(text: str) -> int:
    match = _NUMBER.match(text.strip())
    return int(match[0]) if match else 0
