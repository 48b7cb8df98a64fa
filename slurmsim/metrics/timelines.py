"""What jobs showed while they waited: the reasons of any number of jobs at once, from the events of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slurmsim.metrics.columns import BoolArray, IntArray
from slurmsim.states import Reason
from slurmsim.trace.columns import NULL, int_values, text_codes

if TYPE_CHECKING:
    import pyarrow as pa

RUNNING, BOOTING = "(it ran)", "(its nodes boot)"  # what stands in a timeline where no reason can

_MARKS = ("SUBMIT", "REASON", "REQUEUE", "HOLD", "RELEASE")  # events whose reason a pending job shows from then on
_KINDS = (*_MARKS, "START", "READY", "END")
COLUMNS = ("time", "event", "job_id", "reason")
"""Columns of events that `timelines` needs."""


@dataclass(frozen=True, slots=True)
class Timelines:
    """Spans with one reason, job after job and each job's in the order of time, without gaps.

    Attributes
    ----------
    job
        (n_spans,) int64, position of the span's job in the ids asked for; ascending.
    begin, end
        (n_spans,) int64, trace seconds, ``begin < end``.
    reason
        (n_spans,) int64, code into `reasons`.
    reasons
        Texts: reasons in squeue's words, `RUNNING` and `BOOTING`.
    over
        (n_jobs,) int64: when the wait ended, which is the last start (its nodes being up) or the end of a job that
        never started; `NULL` where neither happened.
    """

    job: IntArray
    begin: IntArray
    end: IntArray
    reason: IntArray
    reasons: list[str]
    over: IntArray

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        """(begin, end, reason) of each span."""
        texts = [self.reasons[code] for code in self.reason.tolist()]
        return zip(self.begin.tolist(), self.end.tolist(), texts, strict=True)


def timelines(events: pa.Table, job_ids: IntArray, submits: IntArray, last: int) -> Timelines:
    """The reasons jobs showed from their submission until they started, or ended unstarted, or until `last`.

    Parameters
    ----------
    events
        Rows with the columns `COLUMNS`, in order of time; those of other jobs may be among them.
    job_ids, submits
        (n_jobs,) int64: the jobs asked for, each once, and when they were submitted, trace seconds.
    last
        Last time of the trace: end of the spans of jobs that wait still.
    """
    time, owner = int_values(events.column("time")), int_values(events.column("job_id"))
    codes, names = text_codes(events.column("event"))
    reason, reasons = text_codes(events.column("reason"))
    reasons = [*reasons, RUNNING, BOOTING, str(Reason.NONE)]
    running, booting, none = range(len(reasons) - 3, len(reasons))

    order = np.argsort(job_ids, kind="stable")
    at = np.minimum(np.searchsorted(job_ids[order], owner), max(len(order) - 1, 0))
    kind = np.array([_KINDS.index(name) if name in _KINDS else -1 for name in names], np.int64)[codes]
    wanted = (kind >= 0) & (owner != NULL)
    if len(order):
        wanted &= job_ids[order][at] == owner
    rows = np.flatnonzero(wanted) if len(order) else np.zeros(0, np.int64)
    job = order[at[rows]] if len(rows) else np.zeros(0, np.int64)
    by_job = np.argsort(job, kind="stable")
    rows, job = rows[by_job], job[by_job]
    time, kind, shown = time[rows], kind[rows], reason[rows].astype(np.int64)

    requeue, start, ready, end = (_KINDS.index(name) for name in ("REQUEUE", "START", "READY", "END"))
    ran = (kind == start) | (kind == ready)
    turns = np.flatnonzero(ran | (kind == requeue))
    in_run = _in_run(job, kind, turns, requeue)
    over = np.full(len(job_ids), NULL, np.int64)
    over[job[turns]] = np.where(ran[turns], time[turns], NULL)  # the last of a job stays
    unstarted = (kind == end) & ~in_run
    over[job[unstarted]] = time[unstarted]
    until = np.where(over == NULL, last, over)

    up = np.full(len(job_ids), NULL, np.int64)  # last time its nodes came up within the wait
    came = (kind == ready) & (time <= until[job])
    np.maximum.at(up, job[came], time[came])
    shown[kind == ready] = running
    started = kind == start
    shown[started] = np.where(time[started] < up[job[started]], booting, running)
    told = (ran | (kind == requeue) | ((kind < start) & ~in_run)) & (time <= until[job])

    everyone = np.arange(len(job_ids))
    job = np.concatenate([everyone, job[told]])  # before the first event, which may come later, there is no reason
    begin = np.concatenate([submits, time[told]])
    shown = np.concatenate([np.full(len(job_ids), none), shown[told]])
    by_job = np.argsort(job, kind="stable")
    return _joined(job[by_job], begin[by_job], shown[by_job], until, reasons, over)


def _in_run(job: IntArray, kind: IntArray, turns: IntArray, requeue: int) -> BoolArray:
    """Whether the latest of `turns` before each event, in the same job, is no `requeue`: the job has its nodes."""
    before = np.searchsorted(turns, np.arange(len(job)), "left") - 1
    found = before >= 0
    latest = turns[before[found]]
    found[found] = (job[latest] == job[found]) & (kind[latest] != requeue)
    return found


def _joined(
    job: IntArray, begin: IntArray, shown: IntArray, until: IntArray, reasons: list[str], over: IntArray
) -> Timelines:
    """Spans from what was shown since when: empty ones left out, equal neighbours made one."""
    n = len(job)
    next_same = np.append(job[1:] == job[:-1], False) if n else np.zeros(0, bool)
    end = np.where(next_same, np.append(begin[1:], 0), until[job]) if n else begin
    kept = end > begin
    job, begin, end, shown = job[kept], begin[kept], end[kept], shown[kept]
    first = np.ones(len(job), bool)
    first[1:] = (job[1:] != job[:-1]) | (shown[1:] != shown[:-1])
    starts = np.flatnonzero(first)
    stops = np.append(starts[1:], len(job)) - 1 if len(starts) else starts
    return Timelines(job[starts], begin[starts], end[stops], shown[starts], reasons, over)


__all__ = ["BOOTING", "COLUMNS", "RUNNING", "Timelines", "timelines"]
