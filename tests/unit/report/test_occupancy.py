"""The geometry of the Gantt chart, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest
from fake_traces import event_row, job_row, make_trace, usage_row, write_trace

from slurmsim.metrics.utilization import Interval
from slurmsim.report import occupancy
from slurmsim.report.rundata import RunData
from slurmsim.trace.reader import read_trace


def open_run(path, jobs, events=(), usage=(), nodes="n[1-4]"):
    cluster = {"nodes": [[nodes, 2, 0, {}]]}
    return RunData(read_trace(write_trace(path, jobs=jobs, events=list(events), usage=list(usage), cluster=cluster)))


def ran(job_id, start, end, node_list, cpus=1, **more):
    return job_row(job_id=job_id, submit=0, start=start, end=end, node_list=node_list, cpus=cpus, **more)


def test_one_bar_a_job_and_node(tmp_path):
    data = open_run(
        tmp_path / "t", [ran(1, 0, 10, "n[1-2,4]"), ran(2, 10, 15, "n1"), job_row(job_id=3, submit=1, start=None)]
    )
    bars = occupancy.bars(data, data.interval)
    assert bars is not None
    found = sorted(zip(data.job_id[bars.job], bars.row, bars.begin, bars.end, strict=True))
    assert found == [(1, 0, 0, 10), (1, 1, 0, 10), (1, 3, 0, 10), (2, 0, 10, 15)]
    assert bars.lanes.tolist() == [1, 1, 1, 1] and not bars.lane.any()


def test_jobs_that_share_a_node_get_lanes_and_lanes_are_used_again(tmp_path):
    data = open_run(
        tmp_path / "t", [ran(1, 0, 10, "n1"), ran(2, 5, 20, "n1"), ran(3, 10, 20, "n1"), ran(4, 0, 20, "n2")]
    )
    bars = occupancy.bars(data, data.interval)
    assert bars is not None and bars.lanes.tolist() == [2, 1, 1, 1]
    lanes = dict(zip(data.job_id[bars.job].tolist(), bars.lane.tolist(), strict=True))
    assert lanes == {1: 0, 2: 1, 3: 0, 4: 0}


def test_too_many_bars_or_nodes_are_none(tmp_path):
    assert occupancy.bars(open_run(tmp_path / "a", [ran(1, 0, 9, "n1")], nodes="n[1-65]"), Interval(0, 9)) is None
    many = [ran(i, i, i + 1, "n1") for i in range(occupancy.MAX_BARS + 1)]
    data = open_run(tmp_path / "b", many)
    assert occupancy.bars(data, data.interval) is None
    assert occupancy.bars(data, Interval(0, 10)) is not None


def test_image_pixels_are_the_job_on_the_node_at_the_instant(tmp_path):
    data = RunData(read_trace(make_trace(tmp_path / "t", n_jobs=80, n_nodes=10)))
    over = data.interval
    codes = data.job_id % 250
    image = occupancy.image(data, over, codes, height=7, width=90)
    assert image.pixels.shape == (7, 90)
    codes_of, lists = data.node_lists
    expected = np.full((7, 90), occupancy.FREE)
    for row, begin, end in zip(*data.down_spells, strict=True):
        for r, node in enumerate(image.nodes):
            expected[r, (image.times >= begin) & (image.times < end) & (node == row)] = occupancy.UNUSABLE
    for j in range(80):
        for low, high in data.rows.intervals(lists[codes_of[j]]):
            for r, node in enumerate(image.nodes):
                if low <= node < high:
                    here = (image.times >= data.jobs.start[j]) & (image.times < data.jobs.end[j])
                    expected[r, here] = codes[j] + 1
    assert (image.pixels == expected).all()
    assert len(np.unique(image.pixels)) > 5


def test_image_is_the_same_when_painted_in_pieces(tmp_path, monkeypatch):
    data = RunData(read_trace(make_trace(tmp_path / "t", n_jobs=60, n_nodes=16)))
    whole = occupancy.image(data, data.interval, data.job_id, height=16, width=50).pixels
    monkeypatch.setattr(occupancy, "_MAX_PIXELS", 13)
    assert (occupancy.image(data, data.interval, data.job_id, height=16, width=50).pixels == whole).all()


def test_where_jobs_share_the_larger_one_is_seen(tmp_path):
    data = open_run(tmp_path / "t", [ran(1, 0, 10, "n1", cpus=2), ran(2, 0, 10, "n1", cpus=1)])
    pixels = occupancy.image(data, data.interval, data.job_id, height=4, width=10).pixels
    assert set(pixels[0].tolist()) == {2} and not pixels[1:].any()


def test_nodes_are_unusable_from_down_or_drain_until_they_return(tmp_path):
    events = [
        event_row(time=2, event="NODE", state="DOWN", nodes="n[1-3]"),
        event_row(time=4, event="NODE", state="IDLE", nodes="n2"),
        event_row(time=6, event="NODE", state="DRAIN", nodes="n4"),
    ]
    data = open_run(tmp_path / "t", [ran(1, 0, 10, "n4")], events)
    spells = sorted(zip(*(c.tolist() for c in data.down_spells), strict=True))
    assert spells == [(0, 2, 10), (1, 2, 4), (2, 2, 10), (3, 6, 10)]
    pixels = occupancy.image(data, data.interval, data.job_id, height=4, width=10).pixels
    assert (pixels[1] == occupancy.UNUSABLE).tolist() == [t in (2, 3) for t in range(10)]
    # The job on the node that drains goes on.
    assert set(pixels[3].tolist()) == {2}


def test_the_closer_look_is_around_the_longest_queue(tmp_path):
    jobs = [ran(i, 100 * i, 100 * i + 100, "n1") for i in range(100)]
    usage = [usage_row(time=0, pending_jobs=1), usage_row(time=6_000, pending_jobs=9), usage_row(time=6_100)]
    data = open_run(tmp_path / "t", jobs, usage=usage)
    assert occupancy.busiest(data, data.interval) == Interval(5_400, 6_600)
    assert occupancy.busiest(data, Interval(0, 3_000)) is None


def test_classes_are_ranked_by_cpu_time_and_the_rest_is_other(tmp_path):
    jobs = [ran(i, 0, 10 * (i + 1), "n1", user=f"u{i}") for i in range(6)]
    data = open_run(tmp_path / "t", jobs)
    top = occupancy.top_labels(data, data.labels("user"), 3)
    assert top.names == ["u5", "u4", "u3", "other"]
    assert [top.names[c] for c in top.codes] == ["other", "other", "other", "u3", "u4", "u5"]
    assert occupancy.top_labels(data, data.labels("user"), 5).names == ["u5", "u4", "u3", "u2", "u1", "u0"]


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ([{"partition": "a"}, {"partition": "b"}], "partition"),
        ([{"account": "x"}, {"account": "y"}], "account"),
        ([{"user": "u"}, {"user": "v"}], "user"),
        ([{"nodes": 1}, {"nodes": 4}], occupancy.SIZE),
        ([{"user": f"u{i}", "nodes": i % 2 + 1} for i in range(40)], occupancy.SIZE),
    ],
)
def test_colours_tell_apart_what_differs(tmp_path, columns, what):
    data = open_run(tmp_path / "t", [ran(i, 0, 9, "n1", **more) for i, more in enumerate(columns)])
    labels = occupancy.color_labels(data)
    assert labels.what == what and len(labels.names) == 2


def test_node_ticks_name_first_and_last(tmp_path):
    data = open_run(tmp_path / "t", [ran(1, 0, 9, "n1")], nodes="n[1-5000]")
    at, names = occupancy.node_ticks(data.rows, 100, most=3)
    assert names == ["n1", "n2501", "n5000"] and at == pytest.approx([-0.49, 49.51, 99.49])
