"""Measures against values worked out by hand and against naive definitions."""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.metrics.columns import JobColumns
from slurmsim.metrics.slowdown import bounded_slowdown, slowdown
from slurmsim.metrics.summary import summarize
from slurmsim.metrics.utilization import (
    Interval,
    StepSeries,
    busy_cpu_seconds,
    central_window,
    utilization,
    whole_interval,
)
from slurmsim.metrics.wait import percentile, turnaround, wait


def array(*values):
    return np.array(values, np.int64)


def jobs(rows):
    """JobColumns of (submit, start, end, cpus, state) rows, None for null."""
    submit, start, end, cpus, state = (list(c) for c in zip(*rows, strict=True)) if rows else ([], [], [], [], [])
    return JobColumns.of({"submit": submit, "start": start, "end": end, "cpus": cpus, "nodes": cpus, "state": state})


def test_wait_and_turnaround():
    assert wait(array(5, 0), array(7, 0)).tolist() == [2, 0]
    assert turnaround(array(5, 0), array(17, 1)).tolist() == [12, 1]


def test_slowdown_is_not_defined_for_a_run_time_of_zero():
    found = slowdown(array(30, 10, 5), array(10, 10, 0))
    assert found.tolist()[:2] == [3.0, 1.0] and math.isnan(found[2])


def test_bounded_slowdown_counts_short_runs_as_tau_and_is_at_least_one():
    t, r = array(105, 30, 4, 0, 200), array(5, 30, 4, 0, 20)
    assert bounded_slowdown(t, r).tolist() == [10.5, 1.0, 1.0, 1.0, 10.0]
    assert bounded_slowdown(t, r, tau_s=1).tolist() == [21.0, 1.0, 1.0, 1.0, 10.0]
    with pytest.raises(ValueError, match="positive"):
        bounded_slowdown(t, r, tau_s=0)


def test_percentile_is_linear_between_order_statistics():
    assert percentile(array(10, 0), 50) == 5.0
    assert percentile(array(0, 1, 2, 3, 10), 95) == pytest.approx(3 + 0.8 * 7)
    assert percentile(array(), 50) is None


def test_step_series_integral():
    series = StepSeries(array(10, 20, 20, 30), array(4, 9, 1, 0))
    assert series.integral(Interval(0, 100)) == 40 + 10
    assert series.integral(Interval(15, 25)) == 20 + 5
    assert series.integral(Interval(40, 50)) == 0
    assert StepSeries(array(10), array(3)).integral(Interval(0, 15)) == 15
    assert StepSeries(array(), array()).integral(Interval(0, 15)) == 0


def test_busy_time_is_cut_at_the_interval():
    found = jobs([(0, 0, 100, 2, "COMPLETED"), (0, 50, None, 3, "RUNNING"), (0, None, None, 9, "PENDING")])
    assert busy_cpu_seconds(found, Interval(0, 100)) == 200 + 150
    assert busy_cpu_seconds(found, Interval(40, 60)) == 40 + 30
    assert busy_cpu_seconds(found, Interval(200, 210)) == 30


def test_utilization_does_not_count_down_nodes_as_available():
    found = jobs([(0, 0, 100, 2, "COMPLETED")])
    over = whole_interval(found)
    assert over == Interval(0, 100)
    assert utilization(found, over, 4) == 0.5
    down = StepSeries(array(0, 50), array(0, 2))
    assert utilization(found, over, 4, down=down) == 200 / 300
    requeued = StepSeries(array(0), array(3))
    assert utilization(found, over, 4, allocated=requeued) == 0.75
    assert utilization(found, over, 4, down=StepSeries(array(0), array(4))) is None
    assert utilization(found, Interval(5, 5), 4) is None


def test_the_central_window_runs_from_a_tenth_to_nine_tenths_of_the_submits():
    rows = [(100 * i, 100 * i, 100 * i + 5, 1, "COMPLETED") for i in range(11)]
    assert central_window(jobs(rows)) == Interval(100, 900)
    # A straggler long before everything else does not move it far, nor does a job that drains for ever.
    rows[0] = (-1_000_000, 0, 5, 1, "COMPLETED")
    rows[10] = (1000, 1000, 1_000_000, 1, "COMPLETED")
    assert central_window(jobs(rows)) == Interval(100, 900)


def test_the_central_window_of_jobs_submitted_at_once_is_the_middle_of_the_run():
    assert central_window(jobs([(0, i * 10, i * 10 + 10, 1, "COMPLETED") for i in range(10)])) == Interval(10, 90)


def test_nothing_ended_has_no_interval():
    pending = jobs([(0, None, None, 1, "PENDING")])
    assert whole_interval(pending) is None and central_window(pending) is None
    assert whole_interval(jobs([])) is None


TIMES = st.integers(0, 1_000)
STATES = st.sampled_from(["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"])


@st.composite
def job(draw):
    submit, cpus = draw(TIMES), draw(st.integers(1, 64))
    kind = draw(st.sampled_from(["pending", "cancelled", "running", "finished", "finished", "finished"]))
    start = None if kind in ("pending", "cancelled") else submit + draw(TIMES)
    if kind == "pending":
        return submit, None, None, cpus, "PENDING"
    if kind == "cancelled":
        return submit, None, submit + draw(TIMES), cpus, "CANCELLED"
    if kind == "running":
        return submit, start, None, cpus, "RUNNING"
    return submit, start, start + draw(TIMES), cpus, draw(STATES)


@given(st.lists(job(), max_size=12))
def test_summary_equals_the_definitions(rows):
    found = summarize(jobs(rows), cpus=100)
    waits = [b - s for s, b, _, _, _ in rows if b is not None]
    done = [(e - s, e - b) for s, b, e, _, _ in rows if b is not None and e is not None]
    ends = [e for _, _, e, _, _ in rows if e is not None]
    states = [r[4] for r in rows]
    assert found["jobs"] == len(rows)
    assert found["never_started"] == len(rows) - len(waits)
    assert found["mean_wait_s"] == (pytest.approx(statistics.fmean(waits)) if waits else None)
    assert found["median_wait_s"] == (pytest.approx(statistics.median(waits)) if waits else None)
    assert found["max_wait_s"] == (max(waits) if waits else None)
    assert found["mean_turnaround_s"] == (pytest.approx(statistics.fmean(t for t, _ in done)) if done else None)
    ratios = [t / r for t, r in done if r > 0]
    assert found["mean_slowdown"] == (pytest.approx(statistics.fmean(ratios)) if ratios else None)
    bounded = [max(1, t / max(r, 10)) for t, r in done]
    assert found["mean_bounded_slowdown"] == (pytest.approx(statistics.fmean(bounded)) if bounded else None)
    assert found["completed"] == states.count("COMPLETED")
    assert found["failed"] == sum(states.count(s) for s in ("FAILED", "OUT_OF_MEMORY", "PREEMPTED"))
    counts = ("completed", "timeout", "cancelled", "failed", "node_fail", "unfinished")
    assert sum(found[key] for key in counts) == len(rows)
    if not ends:
        assert found["makespan_s"] is None and found["utilization"] is None
        return
    begin, end = min(r[0] for r in rows), max(ends)
    assert (found["first_submit"], found["last_end"], found["makespan_s"]) == (begin, end, end - begin)
    if end > begin:
        busy = sum(c * sum(1 for t in range(b, end) if e is None or t < e) for _, b, e, c, _ in rows if b is not None)
        assert found["utilization"] == pytest.approx(busy / (100 * (end - begin)))


def test_whole_nodes_give_the_node_based_ratio():
    rows = [(0, 0, 60, 2, "COMPLETED"), (0, 30, 90, 3, "COMPLETED")]
    by_cpu = [(s, b, e, 16 * n, state) for s, b, e, n, state in rows]
    assert (
        summarize(jobs(by_cpu), cpus=16 * 5)["utilization"] == summarize(jobs(rows), cpus=5)["utilization"] == 300 / 450
    )


@pytest.mark.parametrize(
    "start", [[1.0, math.nan], np.ma.array([1, 0], mask=[False, True]), array(1, np.iinfo(np.int64).min), [1, None]]
)
def test_nulls_in_columns_by_name(start):
    columns = {"submit": [0, 0], "start": start, "end": start, "cpus": [1, 1], "nodes": [1, 1], "state": ["A", "B"]}
    found = JobColumns.of(columns)
    assert found.started.tolist() == [True, False] and found.start[0] == 1


def test_missing_or_uneven_columns_are_refused():
    columns = {"submit": [0], "start": [0], "end": [1], "cpus": [1], "nodes": [1], "state": ["COMPLETED"]}
    with pytest.raises(ValueError, match="columns missing: end"):
        JobColumns.of({k: v for k, v in columns.items() if k != "end"})
    with pytest.raises(ValueError, match="different lengths"):
        JobColumns.of(columns | {"cpus": [1, 2]})


def test_refused_submissions_count_nowhere_but_as_refused():
    jobs = {
        "submit": [0, 10, 999], "start": [5, 20, np.nan], "end": [15, 40, np.nan], "cpus": [1, 1, 50],
        "nodes": [1, 1, 50], "state": ["COMPLETED", "COMPLETED", "REFUSED"],
    }  # fmt: skip
    without = {name: values[:2] for name, values in jobs.items()}
    found, plain = summarize(jobs, cpus=2), summarize(without, cpus=2)
    assert (found.pop("refused"), plain.pop("refused")) == (1, 0)
    assert found == plain and found["jobs"] == 2


def test_runs_that_ended_in_a_requeue_are_added_up():
    one = {"submit": [0], "start": [60], "end": [90], "cpus": [2], "nodes": [1], "state": ["COMPLETED"]}
    lost = {"submit": [0, 0], "start": [0, 20], "end": [10, 40], "cpus": [2, 3], "nodes": [1, 1]}
    lost["state"] = ["NODE_FAIL", "REQUEUED"]
    found = summarize(one, cpus=4, requeued=lost)
    assert (found["requeues"], found["requeued_cpu_s"]) == (2, 2 * 10 + 3 * 20)
    assert found["mean_wait_s"] == 60 and found["jobs"] == 1


def test_a_run_with_gpus_loads_no_pandas(tmp_path):
    """It takes half a second; `slurmsim.trace.columns` does without."""
    code = (
        "import sys, slurmsim\n"
        "slurmsim.run('sample.parquet', conf='sample.conf', jobs=40, out=sys.argv[1], report=False)\n"
        "print('pandas' in sys.modules)\n"
    )
    samples = Path(__file__).parents[3] / "workloads" / "samples"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "o")], capture_output=True, text=True, cwd=samples
    )
    assert done.stdout.strip() == "False", done.stderr
