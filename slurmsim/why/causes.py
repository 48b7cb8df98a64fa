"""What stood behind a job's reasons besides the line: victims' grace, reservations, licenses, limits, booting nodes."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.report.noderows import spans
from slurmsim.states import Reason
from slurmsim.trace.columns import NULL, int_values, text_codes
from slurmsim.trace.reader import Trace
from slurmsim.tres import parse_licenses, resource_of
from slurmsim.why.jobs import Jobs, Other, Span
from slurmsim.why.rules import is_limit

_FAR = 1 << 60


@dataclass(frozen=True, slots=True)
class Cause:
    """One of them."""

    # ``preemption``: `others` were told at their `begin` to make way for the job, and gone at their `end`.
    # ``preempted``: the job itself was told to, for the first of `others`. ``boot``: it waited for the nodes `what` to
    # come up. ``reservation``: `what` (its name and flags) was in force over the period and took `nodes`. ``license``:
    # `others` held the license `what`. ``limit``: `others` ran and counted under the limit `what`.
    kind: str
    what: str
    # begin, end: from when to when; of a reservation its period, as far as the trace has it
    begin: int
    end: int
    nodes: str = ""
    others: tuple[Other, ...] = ()


def causes(
    trace: Trace, jobs: Jobs, job: dict[str, Any], mine: Sequence[dict[str, Any]], timeline: Sequence[Span]
) -> tuple[Cause, ...]:
    """Everything the trace tells of the kind, in order of time. `mine` are the job's events."""
    found = [*_preemption(trace, jobs, job), *_preempted(jobs, mine), *_boots(trace, mine)]
    found += _reservations(trace, job, timeline)
    found += _licenses(jobs, job, timeline)
    found += _limits(jobs, job, timeline)
    return tuple(sorted(found, key=lambda cause: (cause.begin, cause.kind, cause.what)))


def _events_of(trace: Trace, kind: str) -> list[dict[str, Any]]:
    events = trace.events
    codes, names = text_codes(events.column("event"))
    rows: list[dict[str, Any]] = []
    if kind in names:
        rows = events.take(np.flatnonzero(codes == names.index(kind))).to_pylist()
    return rows


def _preemption(trace: Trace, jobs: Jobs, job: dict[str, Any]) -> Iterator[Cause]:
    told = [e for e in _events_of(trace, "PREEMPT") if e["value"] == job["job_id"]]
    if not told:
        return
    events = trace.events
    time, ids = int_values(events.column("time")), int_values(events.column("job_id"))
    kinds, names = text_codes(events.column("event"))
    leaving = np.isin(kinds, [i for i, name in enumerate(names) if name in ("END", "REQUEUE", "SUSPEND")])
    victims = []
    for event in told:
        gone = time[leaving & (ids == event["job_id"]) & (time >= event["time"])]
        row = jobs.row[event["job_id"]]
        victims.append(jobs.other(row, event["time"], int(gone[0]) if len(gone) else event["time"]))
    yield Cause("preemption", "", min(v.begin for v in victims), max(v.end for v in victims), others=tuple(victims))


def _preempted(jobs: Jobs, mine: Sequence[dict[str, Any]]) -> Iterator[Cause]:
    """Who made it go."""
    for event in mine:
        if event["event"] == "PREEMPT" and event["value"] in jobs.row:
            by = jobs.other(jobs.row[event["value"]], event["time"], event["time"])
            yield Cause("preempted", "", event["time"], event["time"], others=(by,))


def _boots(trace: Trace, mine: Sequence[dict[str, Any]]) -> Iterator[Cause]:
    """Nodes it was given that were powered down."""
    start: dict[str, Any] | None = None
    for event in mine:
        if event["event"] == "START":
            start = event
        elif event["event"] == "READY" and start is not None:
            ups = [e for e in _events_of(trace, "POWER") if e["time"] == start["time"] and e["state"] == "POWERING_UP"]
            booted = ",".join(e["nodes"] for e in ups if _meet(e["nodes"], start["nodes"]))
            yield Cause("boot", booted or start["nodes"], start["time"], event["time"], start["nodes"])


def _reservations(trace: Trace, job: dict[str, Any], timeline: Sequence[Span]) -> Iterator[Cause]:
    """Those that met its wait, or what its limit would have reached into, on nodes of its partitions."""
    # not every ReqNodeNotAvail: UnavailableNodes are down, which no reservation explains
    barred = [
        span for span in timeline
        if span.reason.startswith((Reason.REQ_NODE_NOT_AVAIL + ", Ma", Reason.REQ_NODE_NOT_AVAIL + ", Reserved"))
        or span.reason == Reason.RESERVATION
    ]  # fmt: skip
    if not barred:
        return
    reach = max(span.end for span in barred) + (job["time_limit_s"] or 0)
    facts = trace.manifest.get("cluster", {}).get("partitions", {})
    mine = ",".join(facts[name]["nodes"] for name in job["partition"].split(",") if name in facts)
    named = set(filter(None, job["reservation"].split(",")))
    begun: dict[str, list[tuple[int, int]]] = {}
    seen: dict[str, dict[str, Any]] = {}
    for event in _events_of(trace, "RESERVATION"):
        if event["state"] == "REFUSED" or event["value"] is None:
            continue
        seen[event["reason"]] = event
        if event["state"] == "STARTED":
            begun.setdefault(event["reason"], []).append((event["time"], event["value"]))
    for what, event in seen.items():
        name = what.partition(" ")[0]
        if (named and name not in named) or (not named and not _meet(event["nodes"], mine)):
            continue
        for begin, end in begun.get(what) or [(event["time"], event["value"])]:
            if begin < reach and end > barred[0].begin:
                yield Cause("reservation", what, begin, end, event["nodes"])


def _licenses(jobs: Jobs, job: dict[str, Any], timeline: Sequence[Span]) -> Iterator[Cause]:
    """Who held what it lacked."""
    for span in timeline:
        if span.reason != Reason.LICENSES:
            continue
        for name in sorted(_names(job["licenses"])):
            codes, texts = jobs.texts["licenses"]
            having = [i for i, text in enumerate(texts) if name in _names(text)]
            yield Cause("license", name, span.begin, span.end,
                        others=_running(jobs, np.isin(codes, having), job["job_id"], span))  # fmt: skip


def _limits(jobs: Jobs, job: dict[str, Any], timeline: Sequence[Span]) -> Iterator[Cause]:
    """Who counted under the limit: the same user, account or QOS, as its name says."""
    for span in timeline:
        if not is_limit(span.reason) or "PerJob" in span.reason or span.reason.startswith("QOSMin"):
            continue  # a limit on one job alone
        same = ["account"]
        if span.reason.startswith("AssocMax"):
            same = ["account", "user"]
        elif span.reason.startswith("QOS"):
            same = ["qos", "user"] if "PerUser" in span.reason else ["qos"]
        elif span.reason.endswith("PerAccount"):
            same = ["account", "qos"]
        rows = np.ones(len(jobs.ints["job_id"]), np.bool_)
        for name in same:
            codes, texts = jobs.texts[name]
            rows &= codes == texts.index(job[name])
        yield Cause("limit", span.reason, span.begin, span.end, others=_running(jobs, rows, job["job_id"], span))


def _running(jobs: Jobs, rows: Any, job_id: int, span: Span) -> tuple[Other, ...]:
    """Of `rows` the jobs that ran in `span`, those that ended last first."""
    ints = jobs.ints
    end = np.where(ints["end"] == NULL, _FAR, ints["end"])
    met = rows & (ints["job_id"] != job_id) & (ints["start"] != NULL) & (ints["start"] < span.end) & (end > span.begin)
    found = [
        jobs.other(row, max(int(ints["start"][row]), span.begin), min(int(end[row]), span.end))
        for row in np.flatnonzero(met).tolist()
    ]
    return tuple(sorted(found, key=lambda other: (-other.end, -other.cpus, other.job_id)))


def _names(licenses: str) -> set[str]:
    return {resource_of(name) for name, _ in parse_licenses(licenses, layers=True)}


def _meet(some: str, others: str) -> bool:
    pairs = spans(others)
    return any(a == b and first <= end and begin <= last for a, first, last in spans(some) for b, begin, end in pairs)
