"""Parts of a table, without the rest of it in memory."""

from __future__ import annotations

import numpy as np
from fake_traces import event_row, job_row, write_trace

from slurmsim.metrics.timelines import COLUMNS, JobEvents
from slurmsim.trace import writer
from slurmsim.trace.reader import read_trace


def test_texts_at_rows_in_any_order_over_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "ROW_GROUP", 4)
    jobs = [job_row(job_id=i, submit=i, start=i, end=i + 1, node_list=f"n{i % 7}") for i in range(11)]
    trace = read_trace(write_trace(tmp_path / "t", jobs=jobs))
    rows = np.array([10, 0, 3, 4, 3])
    assert trace.texts_at("jobs", "node_list", rows) == ["n3", "n0", "n3", "n4", "n3"]
    assert trace.texts_at("jobs", "node_list", rows[:0]) == []


def test_events_of_some_jobs_are_those_of_all_that_are_theirs(tmp_path):
    events = [event_row(time=t, event="REASON", job_id=t % 5, reason=f"r{t % 3}") for t in range(20)]
    trace = read_trace(write_trace(tmp_path / "t", events=events))
    everybody = JobEvents.of(trace.groups("events", [*COLUMNS, "value"]))
    some = JobEvents.of(trace.groups("events", [*COLUMNS, "value"]), of_jobs=np.array([4, 1]))
    theirs = np.isin(everybody.job, [1, 4])
    assert some.time.tolist() == everybody.time[theirs].tolist()
    assert [some.reasons[c] for c in some.reason] == [everybody.reasons[c] for c in everybody.reason[theirs]]
