"""What the jobs of a workload were measured to draw (its column ``watts``), for the core's meter."""

from __future__ import annotations

import numpy as np

from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.model.measured import MeasuredPower, read_measured
from slurmsim.workload import Workload


def is_measured(workload: Workload) -> bool:
    """Return True if a job of `workload` has measured watts."""
    return not workload.texts["watts"].is_silent()


class Measured:
    """A meter of the jobs of a workload.

    Raises
    ------
    WorkloadError
        A cell is no series of watts, or its job has an application as well: job and field are named.
    """

    def __init__(self, workload: Workload) -> None:
        column, app = workload.texts["watts"], workload.texts["app"]
        self._series: dict[int, MeasuredPower] = {}  # by the code of the cell
        rows = np.flatnonzero(column.said())
        for code in column.used():
            if column.values[code]:
                try:
                    self._series[code] = read_measured(column.values[code])
                except ConfigError as error:
                    row = int(np.flatnonzero(column.codes == code)[0])
                    raise self._wrong(workload, row, error.message, error.expected or "") from None
        both = rows[[bool(app.values[code]) for code in app.codes[rows].tolist()]] if len(rows) else rows
        if len(both):
            raise self._wrong(workload, int(both[0]), "measured watts beside an application", "one of them")
        ids, nodes, codes = workload.ints["job_id"][rows], workload.ints["nodes"][rows], column.codes[rows]
        self._of = {
            job: (code, asked) for job, code, asked in zip(ids.tolist(), codes.tolist(), nodes.tolist(), strict=True)
        }

    def __call__(self, job_id: int, nodes: int, ran_s: float) -> tuple[int, float | None] | None:
        """Return what a job on so many nodes draws after so many seconds of its run, and for how long."""
        found = self._of.get(job_id)
        if found is None:
            return None
        code, asked = found
        level, lasts_s = self._series[code].at(ran_s)
        return (round(level * nodes / asked) if asked > 0 else level), lasts_s

    @staticmethod
    def _wrong(workload: Workload, row: int, message: str, expected: str) -> WorkloadError:
        job, source = int(workload.ints["job_id"][row]), workload.header.source
        return WorkloadError(f"job {job}: {message}", file=source or None, field="watts", expected=expected)
