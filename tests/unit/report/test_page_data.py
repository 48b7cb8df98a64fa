"""What the page of a run works on, against the trace."""

from __future__ import annotations

import numpy as np
import pytest
from fake_traces import event_row, job_row, make_trace, usage_row, write_trace

import slurmsim
from slurmsim.report import rundata as rundata_module
from slurmsim.report.rundata import RunData
from slurmsim.report.web import page_data as page_data_module
from slurmsim.report.web.packing import unpack
from slurmsim.report.web.page_data import chosen, page_data
from slurmsim.report.web.workbench import workbench
from slurmsim.trace.reader import read_trace


def loaded(folder):
    data = RunData(read_trace(folder))
    found, text = page_data(data)
    return data, found, unpack(found["places"], text)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return loaded(make_trace(tmp_path_factory.mktemp("page") / "t", n_jobs=90, n_nodes=8))


def test_every_job_is_there_in_order_of_submission(made):
    data, found, col = made
    frame = data.trace.jobs_frame(dates=False).sort_values(["submit", "job_id"])
    assert (found["jobs"], found["shown"]) == (90, 90)
    ((_, cpus, memory, *_),) = data.section("cluster")["nodes"]
    assert found["cluster"] == {
        "nodes": 8, "cpus": 8 * cpus, "gpus": 0, "memory_mib": 8 * memory, "node_lists": None,
    }  # fmt: skip
    assert col["job_id"].tolist() == frame["job_id"].tolist()
    assert (col["submit"] + found["begin"]).tolist() == frame["submit"].tolist()
    assert col["wait"].tolist() == frame["wait_s"].fillna(-1).tolist()
    for name in ("user", "partition", "state"):
        assert [found["texts"][name][code] for code in col[name].tolist()] == frame[name].tolist()
        assert found["texts"][name] == sorted(set(frame[name]))


def test_each_job_is_on_the_nodes_of_its_list(made):
    data, found, col = made
    frame = data.trace.jobs_frame(dates=False).sort_values(["submit", "job_id"])
    last = np.cumsum(col["on_count"])
    for i, expression in enumerate(frame["node_list"]):
        rows = range(int(last[i] - col["on_count"][i]), int(last[i]))
        names = [
            found["nodes"][row]
            for k in rows
            for row in range(int(col["on_first"][k]), int(col["on_first"][k] + col["on_length"][k]))
        ]
        expected = [found["nodes"][r] for a, b in data.rows.intervals(expression) for r in range(a, b)]
        assert names == expected and bool(names) == (col["wait"][i] >= 0)


def test_earlier_runs_are_there_on_their_nodes(tmp_path):
    jobs = [
        job_row(job_id=7, submit=100, start=300, end=390, node_list="n[1-2]", restarts=1),
        job_row(job_id=5, submit=90, start=None, end=None, state="PENDING", restarts=1),
    ]
    requeued = [
        job_row(job_id=5, submit=90, start=210, end=220, state="PREEMPTED", node_list="n[2-3]"),
        job_row(job_id=7, submit=100, start=150, end=190, state="NODE_FAIL", node_list="n[1,3]"),
        job_row(job_id=8, submit=100, start=150, end=190, state="NODE_FAIL", node_list="n4"),  # a job that is not shown
    ]
    _, found, col = loaded(write_trace(tmp_path / "t", jobs=jobs, requeued=requeued))
    assert [col["job_id"][i] for i in col["past_job"]] == [7, 5]
    assert (col["past_start"].tolist(), col["past_run"].tolist()) == ([60, 120], [40, 10])
    assert [found["texts"]["past_state"][code] for code in col["past_state"]] == ["NODE_FAIL", "PREEMPTED"]
    assert col["on_count"].tolist() == [0, 1, 2, 1]
    places = zip(col["on_first"].tolist(), col["on_length"].tolist(), strict=True)
    on = [[found["nodes"][row] for row in range(first, first + length)] for first, length in places]
    assert on == [["n1", "n2"], ["n1"], ["n3"], ["n2", "n3"]]


def test_what_a_job_showed_overtook_and_was_planned_for(tmp_path):
    jobs = [
        job_row(job_id=7, submit=100, start=150, end=190, node_list="n1", scheduler="Backfill"),
        job_row(job_id=3, submit=110, start=None, end=None, state="PENDING"),
        job_row(job_id=9, submit=105, start=None, end=105, state="REFUSED", reason="no such account"),
    ]
    events = [
        event_row(time=100, event="SUBMIT", job_id=7, reason="None"),
        event_row(time=110, event="SUBMIT", job_id=3, reason="Priority"),
        event_row(time=120, event="REASON", job_id=7, reason="Resources"),
        event_row(time=121, event="PLAN", job_id=7, value=160),
        event_row(time=122, event="PLAN", job_id=7, value=170),
        event_row(time=150, event="START", job_id=7, value=2),
        event_row(time=190, event="END", job_id=7),
    ]
    _, found, col = loaded(write_trace(tmp_path / "t", jobs=jobs, events=events))
    assert col["job_id"].tolist() == [7, 9, 3]
    assert col["span_count"].tolist() == [2, 1, 1]
    told = [(int(s), found["reasons"][code][0]) for s, code in zip(col["span_s"], col["span_reason"], strict=True)]
    assert told == [(20, "None"), (30, "Resources"), (85, "None"), (80, "Priority")]
    assert "first in line" in {text: rule for text, rule, _ in found["reasons"]}["Resources"]
    assert {text: place for text, _, place in found["reasons"]} == {"None": 1, "Priority": 1, "Resources": 2}
    assert col["overtook"].tolist() == [2, -1, -1]
    assert col["planned"].tolist() == [60, -1, -1]  # the first plan, since the begin
    assert col["ended"].tolist() == [1, 1, 0] and col["run"].tolist() == [40, -1, -1]


def test_use_over_time_has_what_the_trace_knows(tmp_path):
    jobs = [job_row(job_id=1, submit=0, start=0, end=20, node_list="n1", gpus=4, mem_mib=2048)]
    usage = [
        usage_row(time=0, alloc_cpus=8, alloc_gpus=4, alloc_mem_mib=2048, running_jobs=1),
        usage_row(time=5, partition="p", alloc_cpus=99),
        usage_row(time=20, idle_nodes=1),
    ]
    data, found, col = loaded(write_trace(tmp_path / "t", jobs=jobs, usage=usage))
    use = {name.removeprefix("use_"): values.tolist() for name, values in col.items() if name.startswith("use_")}
    assert use["time"] == [0, 20] and use["alloc_cpus"] == [8, 0] and use["alloc_gpus"] == [4, 0]
    assert use["alloc_mem_mib"] == [2048, 0] and use["running"] == [1, 0] and "drawn_mw" not in use
    assert "off_nodes" not in use  # what never is anything else than 0 is no series
    (row,) = found["classes"]["user"]
    assert row["gpu_hours"] == pytest.approx(4 * 20 / 3600) and data.gpus.tolist() == [4]


def test_above_the_limit_a_sample_always_the_same_with_the_longest_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(page_data_module, "MOST_JOBS", 30)
    monkeypatch.setattr(page_data_module, "KEPT_LONGEST", 5)
    data = RunData(read_trace(make_trace(tmp_path / "t", n_jobs=90, n_nodes=8)))
    rows = chosen(data)
    assert len(rows) == len(set(rows.tolist())) == 30 and rows.tolist() == chosen(data).tolist()
    assert (np.diff(data.jobs.submit[rows]) >= 0).all()
    longest = np.argsort(-data.waits, kind="stable")[:5]
    assert sorted(data.waits[longest]) == sorted(data.waits[rows])[-5:]
    found, text = page_data(data)
    assert (found["jobs"], found["shown"]) == (90, 30)
    assert unpack(found["places"], text)["job_id"].tolist() == data.job_id[rows].tolist()
    assert sum(row["jobs"] for row in found["classes"]["user"]) == 90  # of all jobs
    assert "A sample: 30 of 90 jobs, always the same" in workbench(data)


def test_very_many_steps_become_exact_means(tmp_path, monkeypatch):
    for module in (page_data_module, rundata_module):
        monkeypatch.setattr(module, "MOST_STEPS", 3)
    monkeypatch.setattr(page_data_module, "BINS", 2)
    jobs = [job_row(job_id=1, submit=0, start=0, end=20, node_list="n1")]
    usage = [usage_row(time=t, alloc_cpus=c) for t, c in ((0, 1), (5, 3), (10, 4), (15, 0), (20, 0))]
    data, found, col = loaded(write_trace(tmp_path / "t", jobs=jobs, usage=usage))
    assert found["thinned"] and col["use_time"].tolist() == [0, 10] and col["use_alloc_cpus"].tolist() == [2, 2]
    assert "means of 2 equal parts" in workbench(data)


def test_the_page_names_the_folder_the_trace_will_have(tmp_path):
    """A run makes its page in the staging folder."""
    slurmsim.run("generate:lublin:jobs=5,nodes=4", out=tmp_path / "mine", policy="easy")
    assert '"folder":"mine"' in (tmp_path / "mine" / "report.html").read_text().replace('": "', '":"')
