"""The reasons of many jobs at once, against a walk over each job's events."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.metrics.timelines import BOOTING, RUNNING, JobEvents, timelines
from slurmsim.trace.columns import NULL, int_array, text_array

KINDS = ("SUBMIT", "REASON", "REQUEUE", "HOLD", "RELEASE", "START", "READY", "END", "PLAN", "NODE")
MARKS = KINDS[:5]
Event = tuple[int, str, int | None, str]


def tables(events: list[Event]) -> list[pa.Table]:
    """The events as two row groups, which number their texts differently."""
    return [table(events[: len(events) // 2]), table(events[len(events) // 2 :])]


def table(events: list[Event]) -> pa.Table:
    time, kind, job, reason = ([e[i] for e in events] for i in range(4))
    columns = [int_array(time, nullable=False), text_array(kind), int_array(job, nullable=True), text_array(reason)]
    return pa.Table.from_arrays(columns, names=["time", "event", "job_id", "reason"])


def walked(mine: list[Event], submit: int, last: int) -> tuple[int | None, list[tuple[int, int, str]]]:
    """When the wait ended, and its spans: one event after another."""
    over: int | None = None
    for time, kind, _, _ in mine:
        if kind in ("START", "READY"):
            over = time
        elif kind == "REQUEUE":
            over = None
        elif kind == "END" and over is None:
            over = time
            break
    until = last if over is None else over
    up = [time for time, kind, _, _ in mine if kind == "READY"]
    marks, running = [(submit, "None")], False
    for time, kind, _, reason in mine:
        if time > until:
            break
        if kind == "START":
            marks.append((time, BOOTING if any(time < ready <= until for ready in up) else RUNNING))
            running = True
        elif kind == "READY":
            marks.append((time, RUNNING))
        elif kind in MARKS and (kind == "REQUEUE" or not running):
            marks.append((time, reason))
            running = False
    found: list[tuple[int, int, str]] = []
    for (begin, reason), end in zip(marks, [*(t for t, _ in marks[1:]), until], strict=True):
        if end > begin and found and found[-1][2] == reason:
            found[-1] = (found[-1][0], end, reason)
        elif end > begin:
            found.append((begin, end, reason))
    return over, found


@st.composite
def lives(draw: st.DrawFn) -> tuple[list[int], list[int], list[Event]]:
    """Jobs in any order of ids, and events in order of time: of each job a submission, turns, at most one end."""
    ids = draw(st.lists(st.integers(1, 50), min_size=0, max_size=5, unique=True))
    submits = [draw(st.integers(0, 20)) for _ in ids]
    events: list[tuple[int, int, Event]] = []
    for job, submit in zip(ids, submits, strict=True):
        time, runs = submit, False
        for _ in range(draw(st.integers(0, 8))):
            kind = draw(st.sampled_from(("REQUEUE", "READY", "PLAN") if runs else ("REASON", "HOLD", "START", "PLAN")))
            runs = kind in ("START", "READY") or (runs and kind == "PLAN")
            events.append((time, len(events), (time, kind, job, draw(st.sampled_from(["Priority", "Resources", ""])))))
            time += draw(st.integers(0, 5))
        if draw(st.booleans()):
            events.append((time, len(events), (time, "END", job, "")))
    events += [(t, len(events), (t, "NODE", None, "")) for t in draw(st.lists(st.integers(0, 40), max_size=2))]
    return ids, submits, [event for _, _, event in sorted(events)]


@given(lives())
def test_all_at_once_is_one_after_another(life: tuple[list[int], list[int], list[Event]]) -> None:
    ids, submits, events = life
    last = max((e[0] for e in events), default=100)
    found = timelines(JobEvents.of(tables(events)), np.array(ids, np.int64), np.array(submits, np.int64), last)
    spans = list(found)
    for i, (job, submit) in enumerate(zip(ids, submits, strict=True)):
        over, expected = walked([e for e in events if e[2] == job], submit, last)
        assert [span for span, owner in zip(spans, found.job.tolist(), strict=True) if owner == i] == expected
        assert found.over[i] == (NULL if over is None else over)
    assert (np.diff(found.job) >= 0).all() and len(found.job) == len(spans)


def test_events_of_jobs_not_asked_for_are_left_alone() -> None:
    events: list[Event] = [(0, "SUBMIT", 1, "Priority"), (0, "SUBMIT", 2, "Resources"), (9, "START", 2, "")]
    found = timelines(JobEvents.of(tables(events)), np.array([2]), np.array([0]), 9)
    assert list(found) == [(0, 9, "Resources")] and found.over.tolist() == [9]
