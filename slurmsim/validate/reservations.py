"""Reservations and licenses: no other job on reserved nodes, no license given out twice."""

import re
from collections.abc import Collection, Mapping

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.validate.columns import NULL, BoolArray, IntArray, Table
from slurmsim.validate.nodelists import NodeIndex
from slurmsim.validate.report import ValidationReport
from slurmsim.validate.runs import JobRuns

EVENT = "RESERVATION"
_PLACES = re.compile(r"\([^()]*\)")  # nodes of layers


@dataclass(slots=True)
class Period:
    """A stretch in which a reservation held whole nodes; `begin` and `end` are times, `nodes` pairs (low, high).

    `told` is the row of the events table that tells of its begin.
    """

    name: str
    flags: frozenset[str]
    begin: int
    end: int
    nodes: list[tuple[int, int]]
    told: int


class Flags:
    """The flags of every reservation by name; one may be created again with others when it is gone."""

    def __init__(self) -> None:
        self._told: dict[str, list[tuple[int, frozenset[str]]]] = {}

    def tell(self, name: str, time: int, flags: frozenset[str]) -> None:
        """From `time` on it has these."""
        self._told.setdefault(name, []).append((time, flags))

    def at(self, name: str, time: int) -> frozenset[str]:
        """Those it has at `time`, the first it ever has if it comes later."""
        told = self._told.get(name, [])
        return next((flags for since, flags in reversed(told) if since <= time), told[0][1] if told else frozenset())


def periods(events: Table, index: NodeIndex) -> tuple[list[Period], Flags]:
    """All such stretches in order of begin, and the flags of every reservation by name."""
    found: list[Period] = []
    known = Flags()
    rows = np.flatnonzero(events.texts["event"].mask([EVENT]))
    if not len(rows):
        return found, known
    nodes: dict[int, list[tuple[int, int]]] = {}
    lists = index.runs([events.texts["nodes"][r] for r in rows])
    for text, low, high in zip(lists.text.tolist(), lists.low.tolist(), lists.high.tolist(), strict=True):
        nodes.setdefault(text, []).append((low, high))
    current: dict[str, Period] = {}
    for k, row in enumerate(rows.tolist()):
        state, time = events.texts["state"][row], int(events.ints["time"][row])
        name, _, words = events.texts["reason"][row].partition(" ")
        if state == "REFUSED":
            continue
        flags = frozenset(words.split(","))
        known.tell(name, time, flags)
        if state in ("STARTED", "ENDED", "DELETED", "REMOVED") and name in current:
            current.pop(name).end = time
        if state == "STARTED" and "CORES" not in flags and nodes.get(k):
            value = events.ints["value"][row]
            end = int(value) if value != NULL else time
            current[name] = Period(name, flags, time, end, nodes[k], row)
            found.append(current[name])
    return found, known


def check_reservations(
    report: ValidationReport, events: Table | None, jobs: Table, runs: JobRuns, index: NodeIndex, edited: BoolArray,
    stopped_at: IntArray,
) -> None:  # fmt: skip
    """Check that no job starts on nodes reserved for other jobs, or could have been kept off them before the begin.

    A job that changes its size keeps nodes it had: it starts on those that are new to it, and its limit counts from
    its start.
    Jobs with an edited limit (`edited`, by row of `jobs`) are not held to it, nor jobs that had been suspended by then
    (`stopped_at`): the nodes of a suspended job may be reserved (_job_overlap, 22.05), and the job resumed there.
    """
    if events is None or not jobs.has("reservation"):
        report.skip("reservations_kept", "no events table" if events is None else "no column reservation")
        return
    spans, flags = periods(events, index)
    if not spans:
        report.skip("reservations_kept", "no reservation began")
        return
    check = report.new("reservations_kept", len(spans))
    ids, names = jobs.ints["job_id"], jobs.texts["reservation"]
    limit = jobs.ints["time_limit_s"] if jobs.has("time_limit_s") else np.full(jobs.n, NULL, np.int64)
    begin, end = runs.times[runs.begin], runs.times[runs.end]
    low, high, owner = runs.pieces.low, runs.pieces.high, runs.pieces.owner
    job = ids[runs.row]
    for span in spans:
        meets = np.zeros(runs.n, bool)
        for first, last in span.nodes:
            meets[owner[(low <= last) & (high >= first)]] = True
        # the trace has no reservation for runs that ended in a requeue and were not recorded
        for run in np.flatnonzero(meets & runs.known & (begin < span.end) & (end > span.begin)).tolist():
            row = int(runs.row[run])
            own = [name for name in names[row].split(",") if name]
            if span.name in own or any(flags.at(name, begin[run]) & {"MAINT", "OVERLAP"} for name in own):
                continue
            if begin[run] > span.begin or (begin[run] == span.begin and runs.told[run] > span.told):
                before = _before(runs, job, run)
                if before is not None and _nodes_within(runs, run, span) <= _nodes_within(runs, before, span):
                    continue
                check.add(f"job {ids[row]} started at {begin[run]} on nodes of reservation {span.name}")
                continue
            unlimited = limit[row] == NULL
            reaches = unlimited or begin[_first(runs, job, run)] + limit[row] > span.begin
            if reaches and "IGNORE_JOBS" not in span.flags and not edited[row] and stopped_at[row] > span.begin:
                check.add(f"job {ids[row]} ran on nodes of reservation {span.name} when it began at {span.begin}")


def _before(runs: JobRuns, job: IntArray, run: int) -> int | None:
    """Return the run that goes on in this one with another size; None if it is the job's start.

    `job`: id of the job of each run.
    """
    if not runs.resized[run]:
        return None
    earlier = np.flatnonzero((job == job[run]) & (runs.told < runs.told[run]))
    return int(earlier[np.argmax(runs.told[earlier])]) if len(earlier) else None


def _first(runs: JobRuns, job: IntArray, run: int) -> int:
    """Return the run that is the start of the job that has gone on in this one."""
    while (before := _before(runs, job, run)) is not None:
        run = before
    return run


def _nodes_within(runs: JobRuns, run: int, span: Period) -> set[int]:
    """Nodes of a run that the period has, by index."""
    mine = runs.pieces.owner == run
    return {
        node
        for low, high in zip(runs.pieces.low[mine].tolist(), runs.pieces.high[mine].tolist(), strict=True)
        for first, last in span.nodes
        for node in range(max(low, first), min(high, last) + 1)
    }


def check_licenses(
    report: ValidationReport, jobs: Table, runs: JobRuns, totals: Mapping[str, int], layered: Collection[str] = ()
) -> None:
    """At no instant do running jobs hold more licenses than there are; those `layered` are judged by their layers."""
    if not totals:
        report.skip("licenses_not_overused", "the cluster has no licenses")
        return
    if not jobs.has("licenses"):
        report.skip("licenses_not_overused", "no column licenses")
        return
    held: dict[str, list[tuple[int, int]]] = {}
    code_of = jobs.texts["licenses"].codes[runs.row]
    wanted = [_counts(value) for value in jobs.texts["licenses"].values]
    for run in np.flatnonzero(np.array([bool(w) for w in wanted], bool)[code_of] & runs.known if wanted else []):
        for name, count in wanted[int(code_of[run])]:
            if name in layered:
                continue
            held.setdefault(name, []).append((int(run), count))
    check = report.new("licenses_not_overused", sum(len(pairs) for pairs in held.values()))
    for name, pairs in sorted(held.items()):
        if name not in totals:
            check.add(f"license {name} is in use, which the cluster does not have")
            continue
        for time, used in in_excess(runs, pairs, totals[name]):
            check.add(f"at {time}: {used} of {totals[name]} licenses {name} in use")


def _counts(text: str) -> list[tuple[str, int]]:
    items = (item.partition(":") for item in _PLACES.sub("", text).split(",") if item)
    return [(name, int(count or 1)) for name, _, count in items]


def in_excess(runs: JobRuns, pairs: list[tuple[int, int]], total: int) -> list[tuple[int, int]]:
    """(time, in use) after each instant that leaves more in use than there are."""
    run = np.array([r for r, _ in pairs])
    count = np.array([n for _, n in pairs])
    change: IntArray = np.zeros(len(runs.times), np.int64)
    np.add.at(change, runs.begin[run], count)
    np.add.at(change, runs.end[run], -count)
    used = np.cumsum(change)
    return [(int(runs.times[k]), int(used[k])) for k in np.flatnonzero(used > total).tolist()]
