"""The pictures inside the page: what is drawn where."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from fake_traces import event_row, job_row, make_trace, write_trace

from slurmsim.report import pictures, style
from slurmsim.report.distributions import stretch, wait_curves
from slurmsim.report.rundata import RunData
from slurmsim.report.svg import Plot, drawing
from slurmsim.trace.reader import read_trace


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "t"
    return RunData(read_trace(make_trace(path, n_jobs=3_000, n_nodes=500, load=1.1)))


def parsed(markup):
    return ElementTree.fromstring(markup)


def texts(markup):
    return [node.text for node in parsed(markup).iter("text")]


def points(node):
    return [tuple(map(float, pair.split(","))) for pair in node.get("points").split()]


def plot():
    return Plot((100, 50, 200, 100), (0, 10), (0, 4))


def test_a_line_goes_through_its_points_and_steps_stay_until_the_next():
    one, other = plot(), plot()
    one.line(np.array([0.0, 5.0, 10.0]), np.array([0.0, 4.0, 2.0]), "#000000")
    other.line(np.array([0.0, 5.0, 10.0]), np.array([0.0, 4.0, 2.0]), "#000000", step=True)
    straight, stepped = (parsed(drawing(400, 200, [p])).find("polyline") for p in (one, other))
    assert points(straight) == [(100, 150), (200, 50), (300, 100)]
    assert points(stepped) == [(100, 150), (200, 150), (200, 50), (300, 50), (300, 100)]


def test_bars_stand_on_the_axis():
    drawn = plot()
    drawn.bars(np.array([1.0, 4.0]), "#123456")
    first, second = parsed(drawing(400, 200, [drawn])).iter("rect")
    assert (first.get("y"), first.get("height"), second.get("y"), second.get("height")) == ("125", "25", "50", "100")


def test_cells_have_the_colour_of_their_class_and_empty_ones_none():
    drawn = plot()
    drawn.cells(np.array([[1.0, 0.0], [7.0, 20.0]]), np.array([0.0, 5.0, 10.0]), np.array([0.0, 2.0, 4.0]),
                [1.0, 5.0, 50.0], ["#light", "#dark", "#none"])  # fmt: skip
    found = {path.get("fill"): path.get("d") for path in parsed(drawing(400, 200, [drawn])).iter("path")}
    assert found == {"#light": "M100 100H200V150H100z", "#dark": "M200 100H300V150H200zM200 50H300V100H200z"}


def test_labels_that_would_meet_are_slanted_and_names_are_text():
    drawn = plot()
    drawn.x_axis([1, 9], ["a < b", "long " * 12], "names")
    found = parsed(drawing(400, 200, [drawn]))
    labels = [node for node in found.iter("text") if node.get("transform")]
    assert [node.text for node in labels] == ["a < b", "long " * 12]
    assert all(node.get("transform").startswith("rotate(-30 ") for node in labels)


def test_wait_curves_end_with_all_jobs(large):
    found = parsed(pictures.waits(large))
    lines = list(found.iter("polyline"))
    assert len(lines) == sum(len(half.curves) for half in wait_curves(large)) >= 4
    tops = {points(line)[-1][1] for line in lines}
    assert len(tops) == 1 and min(y for line in lines for _, y in points(line)) == tops.pop()
    assert {curve.label for half in wait_curves(large) for curve in half.curves} <= set(texts(pictures.waits(large)))


def test_bars_and_what_they_come_to(tmp_path):
    depths = [0, 0, 1, 2, 3, 3, 9]
    jobs = [job_row(job_id=i, submit=0, start=i, end=20, nodes=4 if d else 1) for i, d in enumerate(depths)]
    events = [event_row(time=i, event="START", job_id=i, value=d) for i, d in enumerate(depths)]
    markup = pictures.backfill(RunData(read_trace(write_trace(tmp_path / "t", jobs=jobs, events=events))))
    assert "5 of 7 starts (71.4 %), median 3" in texts(markup)
    rects = [rect for rect in parsed(markup).iter("rect") if rect.get("fill") == style.QUEUE]
    heights = [float(rect.get("height")) for rect in rects]
    assert [round(h / heights[0], 1) for h in heights] == [1, 3, 0, 1]


def test_slowdown_shows_a_cell_where_there_are_jobs(large):
    markup = pictures.slowdown(large)
    found = stretch(large)
    assert found is not None
    cells = sum(len(re.findall("z", path.get("d"))) for path in parsed(markup).iter("path") if path.get("fill"))
    assert cells == int((found.grid > 0).sum()) + 12  # the scale beside it
    assert {"median", "90th percentile", "jobs"} <= set(texts(markup))


def test_empty_pictures_say_why(tmp_path):
    data = RunData(read_trace(write_trace(tmp_path / "t", jobs=[job_row(job_id=1, submit=0, start=None, end=None)])))
    assert "no job started" in texts(pictures.waits(data))
    assert "the trace has no START events" in texts(pictures.backfill(data))
    assert "no job that ran has ended" in texts(pictures.slowdown(data))


def test_colours_between_stops():
    assert style.ramp(("#000000", "#ff0080"), [0, 0.5, 1]) == ["#000000", "#800040", "#ff0080"]
    assert style.ordered_colors(5) == list(style.RAMP)
