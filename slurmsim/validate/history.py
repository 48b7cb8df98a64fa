"""Checks on the events table: legal orders, requeues, agreement with the jobs table; and the runs it tells of."""

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.states import REFUSED
from slurmsim.validate.columns import NULL, BoolArray, IntArray, Table, Texts, distinct
from slurmsim.validate.report import ValidationReport
from slurmsim.validate.runs import LAST, RawRuns, runs_from_rows

# Phases of a job's life.
UNKNOWN, PENDING, RUNNING, FINISHED, TURNED_AWAY, SUSPENDED = range(6)
# Event -> (phases in which it may happen, phase after it or None for the same).
LEGAL: dict[str, tuple[tuple[int, ...], int | None]] = {
    "SUBMIT": ((UNKNOWN,), PENDING),
    "REFUSE": ((UNKNOWN,), TURNED_AWAY),
    "ELIGIBLE": ((PENDING,), None),
    "START": ((PENDING,), RUNNING),
    "READY": ((RUNNING,), None),
    "RESIZE": ((RUNNING,), None),
    "END": ((PENDING, RUNNING, SUSPENDED), FINISHED),
    "REQUEUE": ((RUNNING, SUSPENDED, FINISHED), PENDING),
    "SUSPEND": ((RUNNING,), SUSPENDED),
    "RESUME": ((SUSPENDED,), RUNNING),
    "PREEMPT": ((RUNNING, SUSPENDED), None),
    "CANCEL": ((PENDING, RUNNING, SUSPENDED), None),
    "REASON": ((PENDING, RUNNING, SUSPENDED), None),
    "PLAN": ((PENDING,), None),
    "PRIORITY": ((PENDING, RUNNING, SUSPENDED), None),
    "CAP": ((RUNNING,), None),
    "LIMIT": ((PENDING, RUNNING, SUSPENDED), None),
    "MIGRATE": ((PENDING,), None),
    "HOLD": ((PENDING,), None),
    "RELEASE": ((PENDING,), None),
}
_KINDS = list(LEGAL)
_OTHERS = ("NODE", "POWER", "RESERVATION", "BUDGET")  # events that belong to no job
_PHASE_NAMES = ("not submitted", "pending", "running", "finished", "refused", "suspended")


@dataclass(slots=True)
class History:
    """Job events in order of job, then time."""

    events: Table
    row: IntArray  # row of the events table
    kind: IntArray  # index into `LEGAL`
    job: IntArray  # row of the jobs table, -1 for a job that has none
    # before, after: phase before and after the event
    before: IntArray
    after: IntArray

    def of(self, *kinds: str) -> IntArray:
        """Positions of events of these kinds, ascending."""
        return np.flatnonzero(np.isin(self.kind, [_KINDS.index(kind) for kind in kinds]))

    def last(self, n_jobs: int, *kinds: str) -> IntArray:
        """Per row of the jobs table, the position of its last event of these kinds, -1 for none."""
        found = np.full(n_jobs, -1, np.int64)
        at = self.of(*kinds)
        at = at[self.job[at] >= 0]
        found[self.job[at]] = at  # ascending: the last assignment wins
        return found

    def count(self, n_jobs: int, kind: str) -> IntArray:
        """Events of a kind per row of the jobs table."""
        job = self.job[self.of(kind)]
        return np.bincount(job[job >= 0], minlength=n_jobs)

    def time(self, positions: IntArray) -> IntArray:
        """When they happened."""
        return self.events.ints["time"][self.row[positions]]


def check_history(report: ValidationReport, events: Table, jobs: Table, complete: bool) -> History:
    """Judge the order of events and put them in order of job.

    Parameters
    ----------
    complete
        False for an interrupted run: the last events may lack their rows and rows their events.
    """
    time, event = events.ints["time"], events.texts["event"]
    check = report.new("events_in_time_order", events.n)
    bad = np.flatnonzero(time[1:] < time[:-1]) + 1
    check.flag(len(bad), (f"row {i}: {event[i]} at {time[i]} follows an event at {time[i - 1]}" for i in bad))

    check = report.new("events_known", events.n)
    kind_of = np.array([_KINDS.index(v) if v in LEGAL else -1 for v in event.values] + [-1], np.int64)
    kind = kind_of[event.codes]
    ids = events.ints["job_id"]
    strange = np.flatnonzero((kind < 0) & ~event.mask(_OTHERS))
    check.flag(len(strange), (f"row {i}: unknown event {event[i]!r}" for i in strange))
    nameless = np.flatnonzero((kind >= 0) & (ids == NULL))
    check.flag(len(nameless), (f"row {i}: {event[i]} without a job" for i in nameless))

    rows = np.flatnonzero((kind >= 0) & (ids != NULL))
    order = rows[np.argsort(ids[rows], kind="stable")]
    kind, ids = kind[order], ids[order]
    before, after = _phases(kind, ids)
    allowed = np.array([[phase in LEGAL[k][0] for phase in range(len(_PHASE_NAMES))] for k in _KINDS])
    check = report.new("event_order", len(order))
    bad = np.flatnonzero(~allowed[kind, before])
    text = "job {}: {} at {} while {}"
    check.flag(len(bad), (text.format(ids[i], _KINDS[kind[i]], time[order[i]], _PHASE_NAMES[before[i]]) for i in bad))
    history = History(events, order, kind, rows_of(ids, jobs), before, after)
    _check_rows_and_events(report, history, jobs, ids, complete)
    return history


def _phases(kind: IntArray, ids: IntArray) -> tuple[IntArray, IntArray]:
    """Phase before and after each event, for events in order of job."""
    n = len(kind)
    if n == 0:
        return kind, kind
    leads_to = np.array([-1 if LEGAL[k][1] is None else LEGAL[k][1] for k in _KINDS], np.int64)
    first = np.concatenate([[True], ids[1:] != ids[:-1]])
    sets = leads_to[kind]
    # each event takes the phase of the last one that set it, but not from before the job's first
    source = np.maximum.accumulate(np.where((sets >= 0) | first, np.arange(n), 0))
    after = np.maximum(sets[source], UNKNOWN)
    before = np.concatenate([[UNKNOWN], after[:-1]])
    before[first] = UNKNOWN
    return before, after


def rows_of(ids: IntArray, jobs: Table) -> IntArray:
    """Row of the jobs table for each id, -1 for none."""
    known = jobs.ints["job_id"]
    if not len(known):
        return np.full(len(ids), -1, np.int64)
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known, ids, sorter=order), len(known) - 1)
    return np.where(known[order[at]] == ids, order[at], -1)


def _check_rows_and_events(report: ValidationReport, h: History, jobs: Table, ids: IntArray, complete: bool) -> None:
    """Every job of the one table is in the other and ends in the same way."""
    job_ids, n = jobs.ints["job_id"], jobs.n
    check = report.new("jobs_and_events_agree", n)
    if complete:
        orphans = distinct(ids[h.job < 0])
        check.flag(len(orphans), (f"job {i} has events but no row" for i in orphans))
    last = h.last(n, *_KINDS)
    silent = np.flatnonzero(last < 0)
    if complete:
        check.flag(len(silent), (f"job {job_ids[j]} has a row but no events" for j in silent))

    seen = last >= 0
    requeues = h.count(n, "REQUEUE")
    if jobs.has("restarts"):
        said = jobs.ints["restarts"]
        bad = np.flatnonzero(seen & (said != requeues))
        text = "job {} has restarts {}, but {} REQUEUE events"
        check.flag(len(bad), (text.format(job_ids[j], said[j], requeues[j]) for j in bad))
    start, submit = h.last(n, "START"), h.last(n, "SUBMIT")
    requeued = h.last(n, "REQUEUE")

    def times(name: str, positions: IntArray, what: str, which: BoolArray) -> None:
        """Column `name` against the time of the event, null against none."""
        told = np.where(positions >= 0, h.time(np.maximum(positions, 0)) if len(h.row) else NULL, NULL)
        said = jobs.ints[name]
        bad = np.flatnonzero(which & (said != told))
        check.flag(len(bad), (f"job {job_ids[j]} has {name} {_show(said[j])}, {what} at {_show(told[j])}" for j in bad))

    refuse = h.last(n, "REFUSE")
    came = np.maximum(submit, refuse)
    times("submit", came, "SUBMIT or REFUSE", seen)
    if jobs.has("last_submit"):
        times("last_submit", np.where(requeued >= 0, requeued, came), "SUBMIT or last REQUEUE", seen)
    times("start", np.maximum(start, h.last(n, "READY")), "last START or READY", seen & (start > requeued))
    held = h.last(n, "START", "RESIZE")
    if jobs.has("held_since"):
        times("held_since", held, "last START or RESIZE", seen & (held > requeued))
    times("start", np.full(n, -1), "no START", seen & (start < 0))
    end = h.last(n, "END")
    times("end", end, "last END", seen & (end > requeued))
    phase = np.where(seen, h.after[np.maximum(last, 0)] if len(h.row) else UNKNOWN, UNKNOWN)
    ended_row = jobs.ints["end"] != NULL
    # a pending job may leave by CANCEL alone
    cancelled = seen & (phase == PENDING) & (last == h.last(n, "CANCEL"))
    bad = np.flatnonzero(seen & ended_row & (phase != FINISHED) & ~cancelled)
    text = "job {} has an end, but its events leave it {}"
    check.flag(len(bad), (text.format(job_ids[j], _PHASE_NAMES[phase[j]]) for j in bad))
    bad = np.flatnonzero(seen & ~ended_row & (phase == FINISHED))
    check.flag(len(bad), (f"job {job_ids[j]} has no end, but its events end it" for j in bad))
    if jobs.has("state"):
        bad = np.flatnonzero(seen & (jobs.texts["state"].mask([REFUSED]) != (refuse >= 0)))
        check.flag(len(bad), (f"job {job_ids[j]} is {REFUSED} in one table only" for j in bad))
    _check_texts(report, h, jobs, held, np.where(end > requeued, end, -1), requeued)


def _check_texts(
    report: ValidationReport, h: History, jobs: Table, start: IntArray, end: IntArray, requeued: IntArray
) -> None:
    """Check that final states and node lists are the same in both tables."""
    job_ids, events = jobs.ints["job_id"], h.events
    for name, column, event_column, at in (
        ("final_state_agrees", "state", "state", end),
        ("node_list_agrees", "node_list", "nodes", np.where(start > requeued, start, -1)),
    ):
        if not jobs.has(column) or not events.has(event_column):
            report.skip(name, f"no column {column if not jobs.has(column) else event_column}")
            continue
        which = np.flatnonzero(at >= 0)
        check = report.new(name, len(which))
        mine, told = jobs.texts[column], events.texts[event_column]
        index = {value: i for i, value in enumerate(mine.values)}
        same = np.array([index.get(value, -1) for value in told.values] + [-1], np.int64)
        bad = which[same[told.codes[h.row[at[which]]]] != mine.codes[which]]
        text = "job {} has {} {}, its event says {}"
        check.flag(len(bad), (text.format(job_ids[j], column, mine[j], told[h.row[at[j]]]) for j in bad))


def raw_runs(jobs: Table, history: History | None) -> tuple[RawRuns, BoolArray]:
    """Return all runs of all jobs, and a mask of the rows that have start and end of one run.

    A job that was never requeued has its run in its row; the runs of other jobs are read from the events.
    """
    if history is None:
        return runs_from_rows(jobs), np.ones(jobs.n, bool)
    last_start = history.last(jobs.n, "START", "RESIZE")
    again = history.count(jobs.n, "REQUEUE") + history.count(jobs.n, "RESIZE") > 0
    plain = runs_from_rows(jobs)
    keep = ~again[plain.row]
    at = history.of("START", "RESIZE")
    at = at[history.job[at] >= 0]
    at = at[again[history.job[at]]]
    turns = history.of("START", "RESIZE", "END", "REQUEUE", "SUBMIT")
    following = turns[np.minimum(np.searchsorted(turns, at) + 1, len(turns) - 1)] if len(at) else at
    closed = (following > at) & (history.job[following] == history.job[at])
    row = history.job[at]
    start = history.time(at)
    requeued = history.last(jobs.n, "REQUEUE")
    is_last = (last_start[row] == at) & (last_start[row] > requeued[row])
    events = history.events
    begun = last_start[plain.row[keep]]
    told = np.where(begun >= 0, history.row[begun] if len(history.row) else begun, LAST)
    lists, partition = events.texts["nodes"], events.texts["partition"]
    own, theirs = plain.nodes, Texts(lists.codes[history.row[at]], lists.values)
    theirs_in = Texts(partition.codes[history.row[at]], partition.values)
    merged = RawRuns(
        np.concatenate([plain.row[keep], row]),
        np.concatenate([plain.start[keep], start]),
        np.concatenate([plain.end[keep], np.where(closed, history.time(following), NULL)]),
        Texts(plain.partition.codes[keep], plain.partition.values).then(theirs_in),
        Texts(own.codes[keep], own.values).then(theirs),
        np.concatenate([plain.known[keep], is_last]),
        np.concatenate([plain.resized[keep], history.kind[at] == _KINDS.index("RESIZE")]),
        told=np.concatenate([told, history.row[at]]),
    )
    return merged, ~again | (last_start > requeued)


def _show(value: int) -> str:
    return "null" if value == NULL else str(value)
