"""An explanation as sentences for a terminal."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from slurmsim.numerals import counted
from slurmsim.report.text import duration, number, table
from slurmsim.states import REFUSED
from slurmsim.why.causes import Cause
from slurmsim.why.explain import Explanation
from slurmsim.why.jobs import Other

_UNIX = 631_152_000  # later than this a time can only be a Unix time


def as_text(found: Explanation, *, epoch: int = 0, shown: int = 3) -> str:
    """Return the explanation for people.

    `epoch` is the Unix time of the trace's second 0, `shown` how many other jobs to name.
    """
    job = found.job
    what = f"Job {job['shown_id']}" + (f" ({job['name']})" if job["name"] else "")
    owner = "/".join(part for part in (job["user"], job["account"]) if part)
    size = f"{counted(job['nodes'], 'node')}, {counted(job['cpus'], 'CPU')}"
    limit = f", limit {duration(job['time_limit_s'])}" if job["time_limit_s"] is not None else ""
    head = f"{what}{' of ' + owner if owner else ''}: {size}{limit}, partition {job['partition'] or '-'}"
    if job["state"] == REFUSED:
        return f"{head}\nRefused at submission: {job['reason']}"
    lines = [head, f"Submitted {moment(job['submit'], epoch)}; {_outcome(found, epoch)}", ""]
    if found.spans:
        rows = [(moment(s.begin, epoch), duration(s.end - s.begin), s.reason, s.rule) for s in found.spans]
        lines += [table([("from", "for", "reason", "rule"), *rows], left=4), ""]
    lines += _others(found, epoch, shown)
    return "\n".join(lines).rstrip()


def moment(time: int, epoch: int = 0) -> str:
    """Return a time of the trace as a date, or as seconds when the trace has no calendar."""
    if epoch + time < _UNIX:
        return f"{time} s"
    return datetime.fromtimestamp(epoch + time, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _outcome(found: Explanation, epoch: int) -> str:
    job = found.job
    if job["start"] is None:
        return f"never started in {duration(found.waited_s)} ({job['state']})"
    started = f"started {moment(job['start'], epoch)}"
    by = f" by {job['scheduler']}" if job["scheduler"] else ""
    if found.passed_over:
        return f"{started}{by} after {duration(found.waited_s)}, passing {counted(found.passed_over, 'waiting job')}"
    return f"{started}{by} after {duration(found.waited_s)}"


def _others(found: Explanation, epoch: int, shown: int) -> Iterator[str]:
    for span in found.spans:
        if span.first_in_line:
            named = ", ".join(_name(o) + f" for {duration(o.end - o.begin)}" for o in span.first_in_line[:shown])
            more = len(span.first_in_line) - shown
            rest = f", and {counted(more, 'other')}" if more > 0 else ""
            yield f"First in line while it showed {span.reason} from {moment(span.begin, epoch)}: {named}{rest}."
    for scheduler, (n, work) in found.started_before.items():
        hours = number(work / 3600, 1)
        yield f"While it stood in line {scheduler} started {counted(n, 'other job')} ({hours} CPU-hours)."
    for cause in found.causes:
        yield _cause(cause, epoch, shown)
    if found.freed_by:
        yield f"Its nodes were last left by {_names(found.freed_by)} at {moment(found.freed_by[0].end, epoch)}."
    if found.plans:
        at, planned = found.plans[0]
        times = counted(len(found.plans), "time")
        yield f"First planned at {moment(at, epoch)} for {moment(planned, epoch)}; planned {times}."


def _cause(cause: Cause, epoch: int, shown: int) -> str:
    since, until = moment(cause.begin, epoch), moment(cause.end, epoch)
    match cause.kind:
        case "preemption":
            gone = f"gone by {until}" if cause.end > cause.begin else "gone at once"
            return f"To make room it preempted {_some(cause.others, shown)}: told at {since}, {gone}."
        case "preempted":
            return f"At {since} it was preempted itself, by {_names(cause.others)}."
        case "boot":
            return f"Its nodes {cause.what} were powered down and took {duration(cause.end - cause.begin)} to come up."
        case "reservation":
            return f"Reservation {cause.what}: {cause.nodes or 'no nodes'}, from {since} to {until}."
        case "license":
            return f"License {cause.what} from {since}: held by {_some(cause.others, shown)}."
        case _:
            who = _some(cause.others, shown)
            return f"{cause.what} from {since} to {until}: under it ran {who}."


def _some(others: Sequence[Other], shown: int) -> str:
    if not others:
        return "no job of the trace"
    rest = f" and {counted(len(others) - shown, 'other job')}" if len(others) > shown else ""
    return _names(others[:shown]) + rest


def _name(other: Other) -> str:
    return f"job {other.shown_id}{' of ' + other.user if other.user else ''} ({counted(other.nodes, 'node')})"


def _names(others: Sequence[Other]) -> str:
    return ", ".join(map(_name, others))
