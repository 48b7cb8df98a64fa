"""The data-quality report of a log as text, and the record keeper readers use to fill it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.workload import QualityReport

Mask = npt.NDArray[np.bool_]
N_EXAMPLES = 3


def format_quality(report: QualityReport) -> str:
    """Return the report as a short table: jobs kept, then every repair and every drop with its count and examples.

    Returns
    -------
    str
        Lines without a trailing newline. Reasons are ordered by count, then by name.
    """
    dropped = sum(report.dropped.values())
    lines = [f"{report.records:,} records: {report.jobs:,} jobs kept, {dropped:,} records dropped"]
    rows = [("dropped", *item) for item in _by_count(report.dropped)]
    rows += [("repaired", *item) for item in _by_count(report.repaired)]
    if rows:
        width = max(len(f"{count:,}") for _, _, count in rows)
        for what, reason, count in rows:
            places = "; ".join(report.examples.get(reason, []))
            lines.append(f"  {what:<8}  {count:>{width},}  {reason}" + (f"  [{places}]" if places else ""))
    return "\n".join(lines)


def format_problem_row(row: int, value: int, job: int) -> str:
    """Return what is wrong in a table's row, for an error: ``"row 3 (job 12) holds -5"``."""
    return f"row {row} (job {job}) holds {value}"


def _by_count(table: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(table.items(), key=lambda item: (-item[1], item[0]))


class Ledger:
    """Which records of a log are kept, and why the others are not.

    Parameters
    ----------
    report
        The report that counts.
    n
        Number of records.
    place
        Text for record `i`, such as ``"line 17: job 12"``.
    """

    def __init__(self, report: QualityReport, n: int, place: Callable[[int], str]) -> None:
        self.report, self.place = report, place
        self.keep: Mask = np.ones(n, np.bool_)

    def drop(self, mask: Mask, reason: str) -> None:
        """Drop the still kept records under `mask`; each record is counted under the first reason that hits it."""
        hit = mask & self.keep
        self._note(self.report.drop, hit, reason)
        self.keep &= ~hit

    def repair(self, mask: Mask, reason: str) -> None:
        """Count the kept records under `mask` as repaired."""
        self._note(self.report.repair, mask & self.keep, reason)

    def _note(self, note: Callable[..., Any], hit: Mask, reason: str) -> None:
        count = int(np.count_nonzero(hit))
        if not count:
            return
        first, *others = np.flatnonzero(hit)[:N_EXAMPLES]
        note(reason, count, self.place(int(first)))
        for i in others:
            self.report.examples[reason].append(self.place(int(i)))
