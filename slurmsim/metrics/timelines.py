"""What jobs showed while they waited: the reasons of any number of jobs at once, from the events of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.metrics.columns import BoolArray, IntArray
from slurmsim.states import Reason
from slurmsim.trace.columns import NULL, int_values, text_codes

if TYPE_CHECKING:
    import pyarrow as pa

RUNNING, BOOTING = "(it ran)", "(its nodes boot)"  # what stands in a timeline where no reason can

_MARKS = ("SUBMIT", "REASON", "REQUEUE", "HOLD", "RELEASE")  # events that set the reason a pending job shows
_KINDS = (*_MARKS, "START", "READY", "END")
_OTHER = len(_KINDS)  # kind of an event that `JobEvents` was asked for besides
COLUMNS = ("time", "event", "job_id", "reason")  # columns of events that `JobEvents` needs


@dataclass(frozen=True, slots=True)
class JobEvents:
    """Events that tell how jobs waited, as equally long columns in order of time."""

    # time, job: (n,) int64, trace seconds and job ids
    time: IntArray
    job: IntArray
    kind: IntArray  # (n,) int64, place in the kinds of event that matter here; see `of_kind`
    reason: IntArray  # (n,) int64, code into `reasons`
    reasons: list[str]
    value: IntArray  # (n,) int64, `NULL` for none and where the table had no such column

    @classmethod
    def of(cls, tables: Iterable[pa.Table], more: str = "", of_jobs: IntArray | None = None) -> JobEvents:
        """From tables with the columns `COLUMNS`, and ``value`` if it is wanted; `more` is a kind to keep besides.

        Only events of the jobs `of_jobs`, if they are given. Read a table after another, so what does not matter, most
        of a long trace, is never in memory at once.
        """
        kinds = {name: i for i, name in enumerate((*_KINDS, more))}
        index: dict[str, int] = {}
        parts: list[tuple[IntArray, ...]] = []
        for table in tables:
            codes, names = text_codes(table.column("event"))
            kind = np.array([kinds.get(name, -1) for name in names], np.int64)[codes]
            job = int_values(table.column("job_id"))
            wanted = (kind >= 0) & (job != NULL)
            if of_jobs is not None:
                wanted &= rows_of(of_jobs, job) >= 0
            rows = np.flatnonzero(wanted)
            shown, texts = text_codes(table.column("reason"))
            place = np.array([index.setdefault(text, len(index)) for text in texts], np.int64)
            value = int_values(table.column("value")) if "value" in table.column_names else np.full(len(job), NULL)
            time = int_values(table.column("time"))
            parts.append((time[rows], job[rows], kind[rows], place[shown[rows]], value[rows]))
        none = np.zeros(0, np.int64)
        time, job, kind, reason, value = (
            (np.concatenate(column) for column in zip(*parts, strict=True)) if parts else (none,) * 5
        )
        return cls(time, job, kind, reason, list(index), value)

    def of_kind(self, name: str) -> IntArray:
        """Rows of the events of a kind."""
        return np.flatnonzero(self.kind == (_KINDS.index(name) if name in _KINDS else _OTHER))


@dataclass(frozen=True, slots=True)
class Timelines:
    """Spans with one reason, job after job and each job's in the order of time, without gaps."""

    job: IntArray  # (n_spans,) int64, position of the span's job in the ids asked for; ascending
    # begin, end: (n_spans,) int64, trace seconds, ``begin < end``
    begin: IntArray
    end: IntArray
    reason: IntArray  # (n_spans,) int64, code into `reasons`
    reasons: list[str]  # texts: reasons in squeue's words, `RUNNING` and `BOOTING`
    # (n_jobs,) int64: when the wait ended, which is the last start (its nodes being up) or the end of a job that never
    # started; `NULL` where neither happened
    over: IntArray

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        """(begin, end, reason) of each span."""
        texts = [self.reasons[code] for code in self.reason.tolist()]
        return zip(self.begin.tolist(), self.end.tolist(), texts, strict=True)


def timelines(events: JobEvents, job_ids: IntArray, submits: IntArray, last: int) -> Timelines:
    """Return the reasons jobs showed from their submission until they started, or ended unstarted, or until `last`.

    Parameters
    ----------
    events
        Those of other jobs may be among them.
    job_ids, submits
        (n_jobs,) int64: the jobs asked for, each once, and when they were submitted, trace seconds.
    last
        Last time of the trace: end of the spans of jobs that wait still.
    """
    reasons = [*events.reasons, RUNNING, BOOTING, str(Reason.NONE)]
    running, booting, none = range(len(reasons) - 3, len(reasons))

    job = rows_of(job_ids, events.job)
    rows = np.flatnonzero((job >= 0) & (events.kind != _OTHER))
    rows = rows[np.argsort(job[rows], kind="stable")]
    job, time, kind, shown = job[rows], events.time[rows], events.kind[rows], events.reason[rows]

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


def rows_of(job_ids: IntArray, wanted: IntArray) -> IntArray:
    """Position of each of `wanted` in `job_ids`, in which each is once; -1 where it is not there."""
    if not len(job_ids):
        return np.full(len(wanted), -1)
    order = np.argsort(job_ids, kind="stable")
    at = order[np.minimum(np.searchsorted(job_ids[order], wanted), len(order) - 1)]
    return np.where(job_ids[at] == wanted, at, -1)


def _in_run(job: IntArray, kind: IntArray, turns: IntArray, requeue: int) -> BoolArray:
    """Return True where the latest of `turns` before an event, in the same job, is no `requeue`: it has its nodes."""
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


__all__ = ["BOOTING", "COLUMNS", "RUNNING", "JobEvents", "Timelines", "rows_of", "timelines"]
