"""Runs that ended in a requeue: those the events tell of against those of ``requeued.parquet``."""

from __future__ import annotations

import numpy as np

from slurmsim.validate.columns import NULL, IntArray, Table, stacked
from slurmsim.validate.history import History, rows_of
from slurmsim.validate.report import ValidationReport
from slurmsim.validate.runs import RawRuns, held_since, runs_from_rows


def join_requeued(
    report: ValidationReport,
    jobs: Table,
    requeued: Table | None,
    raw: RawRuns,
    history: History | None,
    complete: bool,
) -> tuple[Table, RawRuns]:
    """Return the rows of both tables one after the other, and `raw` with what is recorded of each run.

    Parameters
    ----------
    raw
        All runs as `raw_runs` found them: rows of `jobs`, the amounts of earlier runs unknown.
    complete
        False for an interrupted run: the last events and rows may lack each other.

    Returns
    -------
    records
        `jobs`, then `requeued`.
    raw
        Runs as rows of `records`; amounts are known of all that `requeued` has.
    """
    if requeued is None:
        report.skip("requeued_runs_agree", "no table of requeued runs")
        return jobs, raw
    records = stacked(jobs, requeued)
    if history is None:
        report.skip("requeued_runs_agree", "no events table")
        return records, runs_from_rows(records)
    earlier = np.flatnonzero(~raw.known)
    told = _find(jobs.ints["job_id"][raw.row[earlier]], raw.start[earlier], requeued)
    check = report.new("requeued_runs_agree", max(len(earlier), requeued.n))
    ids, found = jobs.ints["job_id"][raw.row[earlier]], told >= 0
    if complete:
        lost = np.flatnonzero(~found)
        text = "job {} started at {} and was requeued, but that run has no row"
        check.flag(len(lost), (text.format(ids[k], raw.start[earlier[k]]) for k in lost))
        untold = np.setdiff1d(np.arange(requeued.n), told[found])
        text = "job {} has a requeued run from {} that no event tells of"
        check.flag(len(untold), (text.format(requeued.ints["job_id"][k], requeued.ints["start"][k]) for k in untold))
    run, row = earlier[found], told[found]
    _compare(report, raw, run, requeued, row, _booted(history))
    merged_row, known = raw.row.copy(), raw.known.copy()
    merged_row[run], known[run] = jobs.n + row, True
    return records, RawRuns(merged_row, raw.start, raw.end, raw.partition, raw.nodes, known, raw.resized, told=raw.told)


def owners(jobs: Table, records: Table) -> IntArray:
    """For each row of `records`, the row of `jobs` that is of the same job, -1 for none."""
    return np.append(np.arange(jobs.n), rows_of(records.ints["job_id"][jobs.n :], jobs))


def _find(ids: IntArray, start: IntArray, requeued: Table) -> IntArray:
    """Row of `requeued` of each (job, start), -1 for none.

    A job starts once in a second, but may be resized in the same one: such runs are in both in the same order.
    """
    index: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(zip(requeued.ints["job_id"].tolist(), held_since(requeued).tolist(), strict=True)):
        index.setdefault(key, []).append(row)
    left = {key: iter(rows) for key, rows in index.items()}
    keys = zip(ids.tolist(), start.tolist(), strict=True)
    return np.array([next(left.get(key, iter(())), -1) for key in keys], np.int64)


def _booted(history: History) -> set[tuple[int, int]]:
    """(job, time) at which its nodes had booted."""
    at = history.row[history.of("READY")]
    ids, time = history.events.ints["job_id"][at], history.events.ints["time"][at]
    return set(zip(ids.tolist(), time.tolist(), strict=True))


def _compare(
    report: ValidationReport, raw: RawRuns, run: IntArray, requeued: Table, row: IntArray, booted: set[tuple[int, int]]
) -> None:
    """Start, end, nodes and partition of runs `run`, from the events, with rows `row` of the table."""
    check = report.check("requeued_runs_agree")
    for k, j in zip(run.tolist(), row.tolist(), strict=True):
        end, begin = int(raw.end[k]), int(raw.start[k])
        start = int(requeued.ints["start"][j])
        for what, said, tells in (
            ("start", start, start if (int(requeued.ints["job_id"][j]), start) in booted else begin),
            ("end", requeued.ints["end"][j], end if end != NULL else "null"),
            ("node_list", requeued.texts["node_list"][j], raw.nodes[k]),
            ("partition", requeued.texts["partition"][j], raw.partition[k]),
        ):
            if said != tells:
                job = requeued.ints["job_id"][j]
                check.add(f"job {job}, run from {raw.start[k]}: {what} is {said}, its events say {tells}")
