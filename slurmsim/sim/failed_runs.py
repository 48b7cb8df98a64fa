"""Runs of jobs that failed and were repeated, as a log tells of them (its column ``failed_runs``).

A job's next runs end after these seconds and put it back into the queue; the one after them is its last. A run that
ends for another reason, such as preemption, is repeated as it was.
"""

from __future__ import annotations

import numpy as np

from slurmsim.errors import WorkloadError
from slurmsim.numerals import is_number
from slurmsim.workload import Workload

EXPECTED = "seconds of each failed run: 60,1200"
MOST_RUNS, LONGEST_S = 10_000, 1 << 40


class FailedRuns:
    """What fails next of each job. Raises WorkloadError for a cell that is none: job and field are named."""

    def __init__(self, workload: Workload) -> None:
        column, ids = workload.texts["failed_runs"], workload.ints["job_id"]
        self._to_come: dict[int, list[int]] = {}
        for code in column.used():
            if not (text := column.values[code]):
                continue
            words = text.split(",")
            rows = np.flatnonzero(column.codes == code)
            known = len(words) <= MOST_RUNS and all(map(is_number, words))
            if not known or not all(1 <= int(word) <= LONGEST_S for word in words):
                raise WorkloadError(f"job {ids[rows[0]]}: {text[:60]!r}", file=workload.header.source or None,
                                    field="failed_runs", expected=EXPECTED)  # fmt: skip
            for job in ids[rows].tolist():
                self._to_come[job] = [int(word) for word in reversed(words)]

    def next_s(self, job_id: int) -> int | None:
        """Return after how many seconds the job's next run fails; None if it does not."""
        runs = self._to_come.get(job_id)
        return runs[-1] if runs else None

    def failed(self, job_id: int) -> None:
        """Take note that a run has failed as it was to."""
        self._to_come[job_id].pop()
