"""Did what a policy decided about single jobs come true? Holds, cancels, limits, migrations, requeues: from the trace.

An event of such a decision names the policy in its column `scheduler`. An administrator may hold a job and start it all
the same, by setting its priority; a policy may not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.hostlist import expand
from slurmsim.validate.columns import NULL, Table
from slurmsim.validate.history import LEGAL, History
from slurmsim.validate.report import ValidationReport

_KINDS = list(LEGAL)
_DECIDED = ("HOLD", "RELEASE", "CANCEL", "LIMIT", "MIGRATE", "REQUEUE", "SUSPEND", "RESUME", "PRIORITY")
_NO_POLICY = ("", "Gang", "Budget")


@dataclass(slots=True)
class _Event:
    """One event of a job."""

    kind: str
    time: int
    value: int
    nodes: str
    state: str
    by_policy: bool


@dataclass(slots=True)
class _Decided:
    """What decisions ask of one job, as its events are read in order."""

    held: bool = False
    limit_s: int = NULL
    over_at: int = NULL  # when a cancel's grace time ends
    grace_s: int = 0
    requeued: int = NULL
    nodes: frozenset[str] | None = None  # those it may have, once it was migrated


def check_decided(report: ValidationReport, history: History, jobs: Table, requeue_s: int) -> None:
    """Judge every job about which a policy decided anything but its start.

    None may begin within `requeue_s` seconds of a requeue.
    """
    events = history.events
    if not (events.has("scheduler", "value", "nodes", "state") and jobs.has("time_limit_s")):
        report.skip("decisions_kept", "no column scheduler, value, nodes, state or time_limit_s")
        return
    plain = events.texts["scheduler"].mask(_NO_POLICY)
    known = np.isin(history.kind, [_KINDS.index(kind) for kind in _DECIDED])
    decided = known & ~plain[history.row] & (history.job >= 0)
    if not decided.any():
        report.skip("decisions_kept", "no policy decided anything about a job but its start")
        return
    check = report.new("decisions_kept", int(decided.sum()))
    by_job = np.argsort(history.job, kind="stable")  # the events of a job side by side, in their order
    concerned = np.unique(history.job[decided])
    firsts, lasts = (np.searchsorted(history.job[by_job], concerned, side).tolist() for side in ("left", "right"))
    for job, first, last in zip(concerned.tolist(), firsts, lasts, strict=True):
        told = [_event(history, at, plain) for at in by_job[first:last].tolist()]
        for message in _wrong(told, int(jobs.ints["time_limit_s"][job]), requeue_s):
            check.add(f"job {jobs.ints['job_id'][job]}: {message}")


def _event(history: History, at: int, plain: np.ndarray) -> _Event:
    row, events = int(history.row[at]), history.events
    return _Event(
        _KINDS[int(history.kind[at])], int(events.ints["time"][row]), int(events.ints["value"][row]),
        events.texts["nodes"][row], events.texts["state"][row], not plain[row],
    )  # fmt: skip


def _wrong(told: list[_Event], limit_s: int, requeue_s: int) -> Iterator[str]:
    """Yield what the events of a job do that a decision about it forbids; `limit_s` is its limit in the end."""
    has = _Decided()
    for event in told:
        if event.kind == "START":
            yield from _wrong_start(event, has, requeue_s)
        elif event.kind in ("END", "REQUEUE"):
            yield from _wrong_end(event, has)
        _take_in(event, has)
    if has.limit_s not in (NULL, limit_s) and limit_s != NULL:
        yield f"has a limit of {limit_s} s, but its last LIMIT says {has.limit_s}"


def _take_in(event: _Event, has: _Decided) -> None:
    """Note what `event` asks of the job from now on."""
    if event.kind in ("HOLD", "RELEASE"):
        has.held = event.kind == "HOLD" and event.by_policy
    elif event.kind == "LIMIT":
        has.limit_s = event.value
    elif event.kind == "START":  # which may give it another one
        has.limit_s = NULL
    elif event.kind == "CANCEL" and event.by_policy:
        has.grace_s = max(0, event.value)
        has.over_at = event.time + has.grace_s
    elif event.kind == "REQUEUE":
        has.over_at, has.limit_s, has.requeued = NULL, NULL, event.time if event.by_policy else NULL
    elif event.kind == "MIGRATE":
        has.nodes = frozenset(expand(event.nodes)) if event.nodes else frozenset()


def _wrong_start(event: _Event, has: _Decided, requeue_s: int) -> Iterator[str]:
    if has.held:
        yield f"starts at {event.time}, while it is held"
    if has.requeued != NULL and event.time < has.requeued + requeue_s:
        yield f"starts at {event.time}, sooner than {requeue_s} s after its requeue at {has.requeued}"
    if has.nodes is not None and not has.nodes.issuperset(expand(event.nodes)):
        yield f"starts at {event.time} on {event.nodes}, from which it was migrated"


def _wrong_end(event: _Event, has: _Decided) -> Iterator[str]:
    if has.over_at == NULL:
        return
    if event.time > has.over_at:
        yield f"runs until {event.time}, but its grace time is over at {has.over_at}"
    elif event.time == has.over_at and not has.grace_s and event.state != "CANCELLED":
        yield f"is {event.state} at {event.time}, when it was cancelled"
