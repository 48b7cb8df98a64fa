"""What the page of a comparison works on: each run's columns, and beside them what the others did."""

from __future__ import annotations

import html
import json
import re

import numpy as np
from fake_traces import job_row, make_trace, usage_row, write_trace

from slurmsim.report.compare import compare
from slurmsim.report.web.comparison import comparison
from slurmsim.report.web.packing import unpack


def shown(*folders):
    page = comparison(compare(list(folders)))
    facts = [json.loads(found) for found in re.findall(r'class="run-data">(.*?)</script>', page)]
    texts = re.findall(r'class="run-columns">(.*?)</script>', page)
    return [(one, unpack(one["places"], html.unescape(text))) for one, text in zip(facts, texts, strict=True)]


def test_waits_and_starts_in_the_other_run(tmp_path):
    first = [
        job_row(job_id=1, submit=0, start=10, end=100, node_list="n1"),
        job_row(job_id=2, submit=5, start=50, end=60, node_list="n1"),
        job_row(job_id=3, submit=6, start=60, end=90, node_list="n1"),
        job_row(job_id=4, submit=7, start=None, end=None, state="PENDING"),
        job_row(job_id=5, submit=8, start=8, end=9, node_list="n1"),
    ]
    other = [
        job_row(job_id=1, submit=0, start=30, end=120, node_list="n1"),
        job_row(job_id=2, submit=5, start=15, end=25, node_list="n1"),
        job_row(job_id=3, submit=6, start=None, end=None, state="PENDING"),
        job_row(job_id=4, submit=7, start=9, end=50, node_list="n1"),
        job_row(job_id=6, submit=8, start=8, end=200, node_list="n1"),
    ]
    folders = [write_trace(tmp_path / name, jobs=jobs) for name, jobs in (("a", first), ("b", other))]
    (a, of_a), (b, of_b) = shown(*folders)
    assert (a["runs"], a["which"], a["others"], b["which"], b["others"]) == (["a", "b"], 0, [1], 1, [0])
    assert a["end"] == b["end"] == 200
    assert of_a["job_id"].tolist() == [1, 2, 3, 4, 5]
    assert of_a["wait_1"].tolist() == [30, 10, -1, 2, -1]
    assert of_a["later_1"].tolist() == [20, -1, -1, -1, -1]
    assert of_a["earlier_1"].tolist() == [-1, 35, -1, -1, -1]
    assert of_b["job_id"].tolist() == [1, 2, 3, 4, 6]
    assert of_b["earlier_0"].tolist() == [20, -1, -1, -1, -1]
    assert of_b["later_0"].tolist() == [-1, 35, -1, -1, -1]


def test_use_of_all_runs_at_the_same_instants(tmp_path):
    job = job_row(job_id=1, submit=0, start=10, end=40, node_list="n1")
    steps = {"a": [(0, 0), (10, 4), (40, 0)], "b": [(5, 2), (10, 3), (20, 0)]}
    folders = [
        write_trace(tmp_path / name, jobs=[job], usage=[usage_row(time=t, alloc_cpus=n) for t, n in found])
        for name, found in steps.items()
    ]
    for facts, col in shown(*folders):
        assert col["use_time"].tolist() == [0, 5, 10, 20, 40]
        assert col["use_cpus_0"].tolist() == [0, 0, 4, 4, 0]
        assert col["use_cpus_1"].tolist() == [0, 2, 3, 0, 0]
        assert [chart["title"] for chart in facts["series"]] == ["CPUs in use", "Pending jobs", "Running jobs"]
        assert [line["label"] for line in facts["series"][0]["lines"]] == ["a", "b"]


def test_long_series_are_means(tmp_path, monkeypatch):
    from slurmsim.report.web import comparison as module

    monkeypatch.setattr(module, "MOST_STEPS", 10)
    monkeypatch.setattr(module, "BINS", 8)
    folders = [make_trace(tmp_path / name, n_jobs=60, n_nodes=8, seed=1) for name in "ab"]
    runs = compare(folders).runs
    (facts, col), _ = shown(*folders)
    assert facts["thinned"] and len(col["use_time"]) == 8
    usage = runs[0].usage
    width = np.diff(col["use_time"].astype(float)).mean()
    area = float((usage.alloc_cpus[:-1] * np.diff(usage.time)).sum())
    assert abs(float(col["use_cpus_0"].sum()) * width - area) / area < 0.01


def test_runs_without_jobs_have_no_such_part(tmp_path):
    folders = [write_trace(tmp_path / name) for name in "ab"]
    assert comparison(compare(folders)) == ""
