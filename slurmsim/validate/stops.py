"""When jobs were suspended, from the events: run time without it, and runs cut where they stop and go on.

A suspended job uses no CPU and keeps memory and GRES. When an administrator resumes a job, Slurm does not test that its
CPUs are free, so from then on its CPUs are not judged.
"""

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.validate.columns import NULL, BoolArray, IntArray, Table, Texts
from slurmsim.validate.history import History
from slurmsim.validate.runs import RawRuns


@dataclass(slots=True)
class Stops:
    """Times of suspension, in order of job, then time; one row each."""

    job: IntArray  # row of the jobs table
    start: IntArray  # start of the run it belongs to
    # begin, end: from when until when; `NULL` when the run was suspended to its end
    begin: IntArray
    end: IntArray
    unchecked: BoolArray  # it was an administrator who ended it

    @property
    def n(self) -> int:
        """How many."""
        return len(self.job)


def stops_of(history: History | None) -> Stops:
    """All times of suspension that the events tell of."""
    nothing = np.zeros(0, np.int64)
    if history is None or not len(history.of("SUSPEND")):
        return Stops(nothing, nothing, nothing, nothing, np.zeros(0, bool))
    turns = history.of("START", "RESIZE", "SUSPEND", "RESUME", "END", "REQUEUE")
    turns = turns[history.job[turns] >= 0]
    starts, stopped, resumed = (
        np.isin(turns, history.of(*kinds)) for kinds in (("START", "RESIZE"), ("SUSPEND",), ("RESUME",))
    )
    at = np.arange(len(turns))
    last_start = np.maximum.accumulate(np.where(starts, at, 0))
    here = np.flatnonzero(stopped)
    following = np.minimum(here + 1, len(turns) - 1)
    closed = (following > here) & (history.job[turns[following]] == history.job[turns[here]]) & resumed[following]
    events = history.events
    by = events.texts["scheduler"].mask([""]) if events.has("scheduler") else np.zeros(events.n, bool)
    return Stops(
        history.job[turns[here]],
        history.time(turns[last_start[here]]),
        history.time(turns[here]),
        np.where(closed, history.time(turns[following]), NULL),
        closed & by[history.row[turns[following]]],
    )


def first_stopped(stops: Stops, n_jobs: int, owner: IntArray) -> IntArray:
    """When the job of each record was first suspended, (n_records,); never: later than everything."""
    first: IntArray = np.full(n_jobs + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, stops.job, stops.begin)
    return first[owner]


def suspended_seconds(stops: Stops, jobs: Table, owner: IntArray) -> IntArray:
    """How long each record's run was suspended, (n_records,); 0 for those that had not ended.

    A record is a row of `jobs`, from its start to its end, of the job that `owner` says.
    """
    found = np.zeros(jobs.n, np.int64)
    records: dict[int, list[int]] = {}
    for record in np.flatnonzero(np.isin(owner, stops.job)).tolist():
        records.setdefault(int(owner[record]), []).append(record)
    start, end = jobs.ints["start"], jobs.ints["end"]
    for job, begin, until in zip(stops.job.tolist(), stops.begin.tolist(), stops.end.tolist(), strict=True):
        for record in records.get(job, ()):
            last = int(end[record])
            if start[record] != NULL and last != NULL and start[record] <= begin < last:
                found[record] += (last if until == NULL else min(until, last)) - begin
    return found


def cut(raw: RawRuns, owner: IntArray, stops: Stops) -> RawRuns:
    """Return the runs with each suspended one in pieces: running, suspended, running, and so on."""
    again = _by_run(stops, raw, owner)
    index, start, end, stopped, unchecked = [], [], [], [], []
    for k in range(len(raw.row)):
        at, last, free = int(raw.start[k]), int(raw.end[k]), False
        for s in again.get(k, ()):
            begin, until = int(stops.begin[s]), int(stops.end[s])
            for first, stop, still in ((at, begin, False), (begin, last if until == NULL else until, True)):
                index.append(k)
                start.append(first)
                end.append(stop)
                stopped.append(still)
                unchecked.append(free and not still)
            at, free = (last if until == NULL else until), free or bool(stops.unchecked[s])
            if until == NULL:
                break
        else:
            index.append(k)
            start.append(at)
            end.append(last)
            stopped.append(False)
            unchecked.append(free)
    return RawRuns(
        raw.row[index],
        np.array(start, np.int64),
        np.array(end, np.int64),
        Texts(raw.partition.codes[index], raw.partition.values),
        Texts(raw.nodes.codes[index], raw.nodes.values),
        raw.known[index],
        raw.resized[index],
        np.array(stopped, bool),
        np.array(unchecked, bool),
    )


def _by_run(stops: Stops, raw: RawRuns, owner: IntArray) -> dict[int, list[int]]:
    """Run -> its times of suspension."""
    if not stops.n:
        return {}
    runs = {key: k for k, key in enumerate(zip(owner[raw.row].tolist(), raw.start.tolist(), strict=True))}
    found: dict[int, list[int]] = {}
    for s, key in enumerate(zip(stops.job.tolist(), stops.start.tolist(), strict=True)):
        if key in runs:
            found.setdefault(runs[key], []).append(s)
    return found
