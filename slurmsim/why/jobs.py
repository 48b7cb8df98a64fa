"""The jobs of a trace as an explanation sees them: their columns, a job beside another, a time with one reason."""

from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.numerals import is_number
from slurmsim.trace.columns import NULL, int_values, text_codes
from slurmsim.trace.reader import Trace
from slurmsim.trace.task_ids import task_id

Ints = npt.NDArray[np.int64]
_COLUMNS = (
    "job_id",
    "array_job_id",
    "array_task_id",
    "nodes",
    "cpus",
    "submit",
    "eligible",
    "start",
    "end",
    "priority",
    "time_limit_s",
)
_TEXTS = ("user", "account", "partition", "qos", "state", "reason", "node_list", "scheduler", "name", "licenses",
          "reservation")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Other:
    """Another job that had to do with the wait.

    `begin`, `end`: from when to when it was in the way (first in line, on the nodes), clipped to the wait.
    """

    job_id: int
    shown_id: str  # as commands show it: ``2218_25`` for a task of an array
    user: str
    nodes: int
    cpus: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Span:
    """A time during which the job showed one reason, ``[begin, end)``.

    `first_in_line`: who showed Resources in one of the job's partitions meanwhile, longest first.
    """

    begin: int
    end: int
    reason: str
    rule: str
    first_in_line: tuple[Other, ...] = ()


class Jobs:
    """Columns of jobs.parquet, and each job's row in them."""

    def __init__(self, trace: Trace) -> None:
        table = trace.read("jobs", [*_COLUMNS, *_TEXTS])
        self.ints: dict[str, Ints] = {name: int_values(table.column(name)) for name in _COLUMNS}
        self.texts = {name: text_codes(table.column(name)) for name in _TEXTS}
        self.row = {int(job_id): i for i, job_id in enumerate(self.ints["job_id"])}

    def find(self, name: str) -> int | None:
        """Return the row of ``ID`` or ``ARRAY_TASK``."""
        array, underscore, task = name.partition("_")
        if not is_number(array) or (underscore and not is_number(task)):
            return None
        if not underscore:
            return self.row.get(int(array))
        found = np.flatnonzero((self.ints["array_job_id"] == int(array)) & (self.ints["array_task_id"] == int(task)))
        return int(found[0]) if len(found) else None

    def text(self, name: str, row: int) -> str:
        codes, values = self.texts[name]
        return str(values[codes[row]])

    def describe(self, row: int) -> dict[str, Any]:
        found: dict[str, Any] = {name: int(column[row]) for name, column in self.ints.items()}
        found = {name: None if value == NULL else value for name, value in found.items()}
        return found | {"shown_id": self.shown_id(row)} | {name: self.text(name, row) for name in _TEXTS}

    def shown_id(self, row: int) -> str:
        """Return the id as commands show it."""
        array, task = (int(self.ints[name][row]) for name in ("array_job_id", "array_task_id"))
        return task_id(int(self.ints["job_id"][row]), array, task)

    def other(self, row: int, begin: int, end: int) -> Other:
        ints = self.ints
        return Other(int(ints["job_id"][row]), self.shown_id(row), self.text("user", row), int(ints["nodes"][row]),
                     int(ints["cpus"][row]), begin, end)  # fmt: skip
