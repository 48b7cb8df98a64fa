"""What a cell of a public trace means: each function reads one, and raises ValueError for what it is not.

Cells are texts (CSV, JSON) or what Arrow has made of them (numbers, dates). None is an empty cell.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from math import ceil, isfinite
from typing import Any

from slurmsim.numerals import is_number
from slurmsim.states import COMPACT

EMPTY = {"", "nan", "none", "null", "na", "\\n"}
MOST = 1 << 53  # a number beyond which floats are not whole
LONGEST = 1000  # characters of a name
_ZONES = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}
_DATE = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d|[A-Z]{3}))?")
_STATES = {
    **{str(number): state for number, state in enumerate(COMPACT)}, **{state.lower(): state for state in COMPACT},
    "pass": "COMPLETED", "killed": "CANCELLED", "canceled": "CANCELLED", "terminated": "COMPLETED",
    "succeeded": "COMPLETED", "interrupted": "CANCELLED", "waiting": "PENDING",
}  # fmt: skip


def text(cell: Any) -> str:
    """Read a name: one line, of a length that names have."""
    found = str(cell).strip()
    if len(found) > LONGEST or not found.isprintable():
        raise ValueError(found[:40])
    return found.replace(",", "_")


def number(cell: Any) -> float:
    """Read a number that is not negative."""
    if isinstance(cell, str):
        word = cell.strip()
        if not is_number(word.replace(".", "", 1)) and not re.fullmatch(r"\d{1,17}(?:\.\d{1,17})?e[+-]?\d{1,2}", word):
            raise ValueError(word[:40])
    found = float(cell)
    if not (isfinite(found) and 0 <= found <= MOST):
        raise ValueError(str(cell)[:40])
    return found


def count(cell: Any) -> int:
    """Read a number of things; part of one is a whole one."""
    return ceil(number(cell))


def seconds(cell: Any) -> int:
    """Read a time or a duration in seconds, rounded down."""
    return int(number(cell))


def minutes(cell: Any) -> int:
    """Read a duration in minutes; Slurm's UNLIMITED is -2."""
    if isinstance(cell, str) and cell.strip().upper() == "UNLIMITED":
        return -2
    found = number(cell)
    return -2 if found >= 0xFFFFFFFE else int(found * 60)


def milli(cell: Any) -> int:
    """Read thousandths, rounded up."""
    return ceil(number(cell) / 1000)


def percent(cell: Any) -> int:
    """Read hundredths, rounded up: 600 is 6 CPUs."""
    return ceil(number(cell) / 100)


def share(cell: Any) -> float:
    """Read hundredths as they are, for GPUs of which jobs have parts."""
    return number(cell) / 100


def thousandths(cell: Any) -> float:
    """Read thousandths as they are."""
    return number(cell) / 1000


def gib(cell: Any) -> int:
    """Read GiB as MiB."""
    return ceil(number(cell) * 1024)


def date(cell: Any) -> int:
    """Read a date as seconds of the epoch; UTC where it has no zone."""
    if isinstance(cell, datetime):
        return int((cell if cell.tzinfo else cell.replace(tzinfo=UTC)).timestamp())
    if not isinstance(cell, str):
        return int(number(cell))
    word = cell.strip()
    if is_number(word):
        return int(word)
    if not _DATE.fullmatch(word):
        raise ValueError(word[:40])
    head, zone = (word[:-3], _ZONES.get(word[-3:], "")) if word[-1].isalpha() and word[-1] != "Z" else (word, "+")
    if not zone:
        raise ValueError(word[:40])
    found = datetime.fromisoformat(head.strip() + (zone if zone != "+" else ""))
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())


def state(cell: Any) -> str:
    """Read a final state by the publisher's word or Slurm's number, as Slurm's word."""
    words = str(cell).strip().lower().split()
    word = words[0] if words else ""
    if word not in _STATES:
        raise ValueError(word[:40])
    return _STATES[word]


def tres(cell: Any) -> dict[str, int]:
    """Read Slurm's ``1=40,2=170000,4=1,1002=2``: CPUs, memory in MiB, nodes, and GPUs by their ids on SuperCloud."""
    names = {"1": "cpus", "2": "mem", "4": "nodes", "1001": "gpus", "1002": "gpus"}
    found: dict[str, int] = {}
    for item in filter(None, str(cell).strip().strip("\"'").split(",")):
        name, _, amount = item.partition("=")
        if not is_number(name.strip()) or not is_number(amount.strip()):
            raise ValueError(item[:40])
        if (what := names.get(name.strip())) is not None:
            found[what] = found.get(what, 0) + int(amount)
    return found


def watts(cell: Any) -> tuple[float, ...]:
    """Read one number of watts of all nodes of a job, or a series of them; NaN for a sample that is none."""
    if not isinstance(cell, (list, tuple)):
        return (number(cell),)
    found = [float("nan") if is_empty(one) else float(one) for one in cell]
    return tuple(one if 0 <= one <= MOST else float("nan") for one in found)


def runs(cell: Any) -> tuple[int, ...]:
    """Read lengths of runs, seconds."""
    return tuple(map(seconds, cell))


def is_empty(cell: Any) -> bool:
    """Return True if a cell says nothing."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return True
    return not cell if isinstance(cell, (list, tuple)) else str(cell).strip().lower() in EMPTY
