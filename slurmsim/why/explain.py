"""One job's wait, put together from the trace: the reasons it showed, who was first in line, who started meanwhile."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import asdict, dataclass, field
from slurmsim.errors import WorkloadError
from slurmsim.metrics.timelines import RUNNING, JobEvents, timelines
from slurmsim.report.noderows import spans
from slurmsim.states import REFUSED
from slurmsim.trace.columns import NULL, int_values, text_codes
from slurmsim.trace.reader import Trace
from slurmsim.why.causes import Cause, causes
from slurmsim.why.jobs import Jobs, Other, Span
from slurmsim.why.rules import FIRST_IN_LINE, IN_LINE, rule


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the trace says about one job's wait. Times are seconds of the trace's clock."""

    job: dict[str, Any]  # the job's row of jobs.parquet, the columns that matter here; None for what never happened
    # from submission to its (last) start, or to its end unstarted, or to the end of the trace, without gaps. The spans
    # of a requeued job include `RUNNING`; the last span of a job is `BOOTING` if its nodes had to boot.
    spans: tuple[Span, ...]
    # jobs that started in its partitions while it stood in line, in number and CPU-seconds they then ran: in the order
    # of the queue, and by backfill
    started_before: dict[str, tuple[int, int]] = field(default_factory=dict)
    passed_over: int | None = None  # how many pending jobs stood before it when it started (0: it was first)
    freed_by: tuple[Other, ...] = ()  # the jobs that left its nodes last before it started
    plans: tuple[tuple[int, int], ...] = ()  # (when, planned start) as backfill or the policy foresaw it, oldest first
    causes: tuple[Cause, ...] = ()  # what else stood behind its reasons

    @property
    def waited_s(self) -> int:
        """Length of the whole wait, without what it ran before a requeue."""
        return sum(span.end - span.begin for span in self.spans if span.reason != RUNNING)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "waited_s": self.waited_s}


def explain(trace: Trace, job: int | str) -> Explanation:
    """Explain the wait of a job, given by its id or as ``ARRAY_TASK``.

    Raises WorkloadError when the trace has no such job.
    """
    jobs = Jobs(trace)
    row = jobs.find(str(job))
    if row is None:
        raise WorkloadError(f"no job {job} in the trace", file=str(trace.path / "jobs.parquet"), field="job_id")
    return _explain(trace, jobs, jobs.describe(row))


def _explain(trace: Trace, jobs: Jobs, job: dict[str, Any]) -> Explanation:
    job_id = job["job_id"]
    if job["state"] == REFUSED:
        return Explanation(job, ())
    events = trace.events
    rows = np.flatnonzero(int_values(events.column("job_id")) == job_id)
    mine = _rows(rows, events)
    until = int(int_values(events.column("time"))[-1])
    shown = timelines(JobEvents.of([events.take(rows)]), np.array([job_id]), np.array([job["submit"]]), until)
    over = None if shown.over[0] == NULL else int(shown.over[0])
    last = until if over is None else over
    partitions = {e["partition"] for e in mine} | set(job["partition"].split(","))
    line = _first_in_line(trace, jobs, partitions, job["submit"], last, job_id)
    timeline = tuple(
        Span(begin, end, reason, rule(reason), _within(jobs, line, begin, end) if reason in IN_LINE else ())
        for begin, end, reason in shown
    )
    depth = next((e["value"] for e in reversed(mine) if e["event"] == "START"), None)
    plans = tuple((e["time"], e["value"]) for e in mine if e["event"] == "PLAN" and e["value"] is not None)
    in_line = [(s.begin, s.end) for s in timeline if s.reason in IN_LINE]
    return Explanation(
        job,
        timeline,
        _started(jobs, partitions, in_line, job_id),
        depth,
        _freed_by(jobs, job) if over is not None and job["start"] is not None else (),
        plans,
        causes(trace, jobs, job, mine, timeline),
    )


def _rows(rows: npt.NDArray[np.integer], table: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.take(rows).to_pylist()
    return found


@dataclass(frozen=True, slots=True)
class _Turn:
    """Row `row` of jobs was first in line over ``[begin, end)``."""

    row: int
    begin: int
    end: int


def _first_in_line(trace: Trace, jobs: Jobs, partitions: set[str], begin: int, end: int, job_id: int) -> list[_Turn]:
    """Every other job that showed Resources in one of `partitions` during ``[begin, end)``."""
    events = trace.events
    time, ids = int_values(events.column("time")), int_values(events.column("job_id"))
    places, place_names = text_codes(events.column("partition"))
    here = np.isin(places, [i for i, name in enumerate(place_names) if name in partitions])
    found: list[_Turn] = []
    since: dict[int, int] = {}
    for event in _rows(np.flatnonzero(here & (time < end) & (ids != NULL) & (ids != job_id)), events):
        other = event["job_id"]
        if event["event"] == "REASON" and event["reason"] in FIRST_IN_LINE:
            since.setdefault(other, event["time"])
        elif event["event"] in ("REASON", "START", "END", "REQUEUE", "HOLD") and other in since:
            found.append(_Turn(jobs.row[other], since.pop(other), event["time"]))
    found += [_Turn(jobs.row[other], start, end) for other, start in since.items()]
    return [turn for turn in found if turn.end > begin]


def _within(jobs: Jobs, line: Sequence[_Turn], begin: int, end: int) -> tuple[Other, ...]:
    """Who was first in line in ``[begin, end)``, longest first."""
    found = [
        jobs.other(turn.row, max(turn.begin, begin), min(turn.end, end))
        for turn in line
        if turn.begin < end and turn.end > begin
    ]
    return tuple(sorted(found, key=lambda other: (other.begin - other.end, other.begin, other.job_id)))


def _started(
    jobs: Jobs, partitions: set[str], in_line: Sequence[tuple[int, int]], job_id: int
) -> dict[str, tuple[int, int]]:
    """How many jobs of `partitions` started during `in_line`, and their CPU-seconds: by the main pass, by backfill."""
    ints = jobs.ints
    codes, names = jobs.texts["partition"]
    here = np.isin(codes, [i for i, name in enumerate(names) if name in partitions]) & (ints["job_id"] != job_id)
    during = np.zeros(len(here), np.bool_)
    for begin, end in in_line:
        during |= (ints["start"] >= begin) & (ints["start"] < end)
    until = np.where(ints["end"] == NULL, ints["start"], ints["end"])
    work = (until - ints["start"]) * ints["cpus"]
    who, schedulers = jobs.texts["scheduler"]
    found = {}
    for code, name in enumerate(schedulers):
        rows = here & during & (who == code)
        if name and rows.any():
            found[name] = (int(rows.sum()), int(work[rows].sum()))
    return found


def _freed_by(jobs: Jobs, job: dict[str, Any]) -> tuple[Other, ...]:
    """Return the jobs that left one of its nodes last before it started, at most five."""
    ints, start = jobs.ints, job["start"]
    before = (ints["end"] != NULL) & (ints["end"] <= start) & (ints["end"] >= job["submit"]) & (ints["start"] != NULL)
    rows = np.flatnonzero(before)
    rows = rows[np.argsort(ints["end"][rows], kind="stable")[::-1]]
    mine = spans(job["node_list"])
    latest: list[Other] = []
    for row in rows.tolist():
        if latest and ints["end"][row] < latest[0].end:
            break
        if _meet(mine, spans(jobs.text("node_list", row))):
            latest.append(jobs.other(row, int(ints["start"][row]), int(ints["end"][row])))
    return tuple(sorted(latest, key=lambda other: (-other.nodes, other.job_id))[:5])


def _meet(some: Sequence[tuple[str, int, int]], others: Sequence[tuple[str, int, int]]) -> bool:
    return any(a == b and first <= end and begin <= last for a, first, last in some for b, begin, end in others)
