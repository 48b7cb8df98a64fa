"""Figures: what is drawn, not only that something is."""

from __future__ import annotations

import numpy as np
import pytest
from fake_traces import EPOCH, event_row, job_row, make_trace, usage_row, write_trace

from slurmsim.metrics.utilization import Interval
from slurmsim.report import plots, style
from slurmsim.report.rundata import RunData
from slurmsim.trace.reader import read_trace


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return RunData(read_trace(make_trace(tmp_path_factory.mktemp("small") / "t", n_jobs=60, n_nodes=10)))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "t"
    return RunData(read_trace(make_trace(path, n_jobs=3_000, n_nodes=500, load=1.1)))


def run_of(path, *, jobs=(), events=(), usage=(), **manifest):
    return RunData(read_trace(write_trace(path, jobs=list(jobs), events=list(events), usage=list(usage), **manifest)))


def texts(ax):
    return [t.get_text() for t in ax.texts]


def test_small_gantt_has_a_bar_for_each_job_and_node_and_ids_where_they_fit(small):
    fig = plots.gantt(small)
    bars = [c for c in fig.axes[0].collections if type(c).__name__ == "PolyCollection" and len(c.get_paths()) > 1]
    assert len(bars) == 1
    assert len(bars[0].get_paths()) == int(small.jobs.nodes[small.jobs.started].sum())
    ids = [t for t in texts(fig.axes[0]) if t.isdigit()]
    longest = small.job_id[np.argmax(small.ends - small.jobs.start)]
    assert str(longest) in ids
    assert [t.get_text() for t in fig.axes[0].get_yticklabels()] == [f"n{i}" for i in range(1, 11)]
    legend = [t.get_text() for t in fig.legends[0].texts]
    assert legend[:2] == ["batch", "debug"] and legend[-2:] == ["free", "down or drained"]


def test_large_gantt_is_an_image_of_all_nodes_with_a_closer_look(large):
    fig = plots.gantt(large)
    assert [len(ax.images) for ax in fig.axes][:1] == [1]
    image = fig.axes[0].images[0]
    assert image.get_array().shape == (440, 1080)
    assert not fig.axes[0].collections or len(fig.axes) == 2
    names = [t.get_text() for t in fig.axes[0].get_yticklabels()]
    assert names[0] == "n1" and names[-1] == "n500"


def test_gantt_without_node_lists_says_so(tmp_path):
    data = run_of(tmp_path / "t", jobs=[job_row(job_id=i, submit=0, start=0, end=5) for i in range(2)])
    assert texts(plots.gantt(data).axes[0]) == ["no job has a node list"]


def test_utilization_curve_is_the_share_of_cpus_and_its_mean(tmp_path):
    usage = [
        usage_row(time=0, alloc_nodes=1, idle_nodes=1, alloc_cpus=2, running_jobs=1, pending_jobs=3),
        usage_row(time=50, alloc_nodes=2, idle_nodes=0, alloc_cpus=4, running_jobs=2),
        usage_row(time=100, alloc_nodes=0, idle_nodes=1, down_nodes=1),
        usage_row(time=0, partition="p", alloc_cpus=77),
    ]
    jobs = [job_row(job_id=1, submit=0, start=0, end=100), job_row(job_id=2, submit=0, start=50, end=100)]
    data = run_of(tmp_path / "t", jobs=jobs, usage=usage, cluster={"nodes": [["n[1-2]", 2, 0, {}]]})
    top, bottom = plots.utilization(data).axes
    share = next(line for line in top.lines if line.get_label() == "allocated").get_ydata()[:-1]  # the last twice
    assert share[:500] == pytest.approx(50) and share[500:] == pytest.approx(100)
    assert top.get_legend().get_texts()[-1].get_text() == "mean 75.0 %"
    curves = {line.get_label(): line.get_ydata() for line in bottom.lines}
    assert curves["pending"][0] == pytest.approx(3) and curves["pending"][-1] == 0
    assert curves["running"][-1] == pytest.approx(2)


def test_usage_is_worked_out_from_the_jobs_when_there_is_none(tmp_path):
    jobs = [job_row(job_id=1, submit=0, start=2, end=10, cpus=3), job_row(job_id=2, submit=1, start=None, end=5)]
    usage = run_of(tmp_path / "t", jobs=jobs).usage
    assert usage.time.tolist() == [0, 1, 2, 5, 10]
    assert usage.pending.tolist() == [1, 2, 1, 0, 0]
    assert usage.running.tolist() == [0, 0, 1, 1, 0] and usage.alloc_cpus.tolist() == [0, 0, 3, 3, 0]


def test_long_curves_are_thinned(large):
    top, bottom = plots.utilization(large).axes
    assert len(top.lines) >= 2 and len(bottom.lines) == 2
    assert all(len(line.get_ydata()) <= 2_000 for ax in (top, bottom) for line in ax.lines)


def test_wait_curves_reach_all_jobs_and_start_at_those_that_did_not_wait(large):
    left, right = plots.waits(large).axes
    assert [line.get_ydata()[-1] for line in left.lines] == pytest.approx([100] * len(left.lines))
    assert 2 <= len(left.lines) <= 6 and len(right.lines) == 2
    batch = next(line for line in right.lines if line.get_label().startswith("batch"))
    codes = large.labels("partition")
    mine = large.waits[codes.codes == codes.names.index("batch")]
    assert batch.get_label() == f"batch  ({len(mine):,})"
    at_once = batch.get_ydata()[batch.get_xdata() == 1].max()
    assert at_once == pytest.approx(100 * (mine <= 1).mean())


def test_backfill_bars_count_starts_by_depth(tmp_path):
    depths = [0, 0, 1, 2, 3, 3, 9]
    jobs = [job_row(job_id=i, submit=0, start=i, end=20, nodes=4 if d else 1) for i, d in enumerate(depths)]
    events = [event_row(time=i, event="START", job_id=i, value=d) for i, d in enumerate(depths)]
    events.append(event_row(time=20, event="END", job_id=1, value=64))
    left, right = plots.backfill(run_of(tmp_path / "t", jobs=jobs, events=events)).axes
    assert [b.get_height() for b in left.patches] == [1, 3, 0, 1]
    assert [t.get_text() for t in left.get_xticklabels()] == ["1", "2–3", "4–7", "8–15"]
    assert texts(left) == ["5 of 7 starts (71.4 %), median 3"]
    assert [b.get_height() for b in right.patches] == [0, 100]
    assert [t.get_text() for t in right.get_xticklabels()] == ["1", "4"]


def test_no_starts_and_no_overtaking_are_said(tmp_path):
    jobs = [job_row(job_id=1, submit=0, start=0, end=1)]
    left, _ = plots.backfill(run_of(tmp_path / "a", jobs=jobs)).axes
    assert texts(left) == ["the trace has no START events"]
    events = [event_row(time=0, event="START", job_id=1, value=0)]
    left, _ = plots.backfill(run_of(tmp_path / "b", jobs=jobs, events=events)).axes
    assert texts(left) == ["no job overtook another"]


def test_slowdown_density_holds_every_finished_job(large):
    ax = plots.slowdown(large).axes[0]
    assert ax.images[0].get_array().sum() == int(large.jobs.finished.sum())
    median = next(line for line in ax.lines if line.get_label() == "median")
    assert (median.get_ydata() >= 0).all() and len(median.get_xdata()) > 5


def test_figures_leave_matplotlibs_settings_alone(small):
    import matplotlib

    before = matplotlib.rcParams["font.size"]
    plots.waits(small)
    assert matplotlib.rcParams["font.size"] == before


# -- axes -----------------------------------------------------------------------------------------------------------

DAY = 86_400


@pytest.mark.parametrize(
    ("begin", "length", "labels"),
    [
        (EPOCH, 5 * DAY, ["14 Mar", "15 Mar", "16 Mar", "17 Mar", "18 Mar"]),
        (EPOCH // DAY * DAY, 6 * 3600, ["00:00\n13 Mar", "01:00", "02:00", "03:00", "04:00", "05:00", "06:00"]),
        (EPOCH, 365 * DAY, ["May\n2011", "Jul", "Sep", "Nov", "Jan\n2012", "Mar"]),
    ],
)
def test_dates_when_the_epoch_is_known(begin, length, labels):
    for epoch in (begin, 0):
        over = Interval(begin - epoch, begin - epoch + length)
        ticks, found, title = style.time_ticks(over, epoch, over.begin)
        assert found == labels and title.startswith("time (UTC, 2011")
        assert all(over.begin <= t <= over.end for t in ticks)


@pytest.mark.parametrize(
    ("length", "labels", "unit"),
    [
        (10 * DAY, ["0", "2", "4", "6", "8", "10"], "days"),
        (6 * 3600, ["0", "1", "2", "3", "4", "5", "6"], "hours"),
        (90, ["0", "10", "20", "30", "40", "50", "60", "70", "80", "90"], "seconds"),
    ],
)
def test_time_since_the_first_submit_otherwise(length, labels, unit):
    _, found, title = style.time_ticks(Interval(50, 50 + length), None, 50)
    assert found == labels and title == f"{unit} since the first submit"


def test_a_closer_look_keeps_counting_from_the_first_submit():
    _, found, _ = style.time_ticks(Interval(100 * DAY + 5, 104 * DAY), None, 5)
    assert found == ["100", "100.5", "101", "101.5", "102", "102.5", "103", "103.5"]


def test_the_epoch_is_only_believed_when_it_gives_a_date(tmp_path):
    def epoch(path, submit, workload):
        return run_of(
            path, jobs=[job_row(job_id=1, submit=submit, start=submit, end=submit + 1)], workload=workload
        ).epoch

    assert epoch(tmp_path / "a", 0, {"epoch": EPOCH}) == EPOCH
    assert epoch(tmp_path / "b", EPOCH, {"epoch": 0}) == 0
    assert epoch(tmp_path / "c", 1000, {"epoch": 0}) is None
    assert epoch(tmp_path / "d", 1000, {}) is None


def test_durations_are_named():
    assert style.duration_ticks(1, 3 * DAY)[1] == ["1 s", "10 s", "1 min", "10 min", "1 h", "6 h", "1 d"]
