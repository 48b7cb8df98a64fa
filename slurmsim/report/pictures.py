"""The pictures of a run's page, also files beside it: how waits, overtaking and slowdowns are distributed."""

from typing import NamedTuple

import numpy as np

from slurmsim.report import style
from slurmsim.report.distributions import (
    NO_ENDS,
    NO_STARTS,
    RUN_AXIS,
    SHARE_AXIS,
    STRETCH_AXIS,
    STRETCH_TITLE,
    WAIT_AXIS,
    BarChart,
    WaitCurves,
    overtaking,
    overtaking_sizes,
    stretch,
    wait_curves,
)
from slurmsim.report.rundata import RunData
from slurmsim.report.svg import Plot, drawing

_WIDE, _HALF = 1040.0, 455.0
_LEFTS = (70.0, 575.0)
_TOP = 32.0
_SHADES = 12


class Picture(NamedTuple):
    """One of them: the name of its file, its caption, and the SVG element."""

    name: str
    caption: str
    svg: str


def pictures(data: RunData) -> list[Picture]:
    """All of them, in the order of the page."""
    return [
        Picture("waits", "How long jobs waited, by size and by partition.", waits(data)),
        Picture("backfill", "How far starts reached past jobs ahead of them in the queue.", backfill(data)),
        Picture("slowdown", "How much longer than their run time jobs took.", slowdown(data)),
    ]


def waits(data: RunData) -> str:
    """Share of jobs that waited no longer than x, by job size and by partition."""
    return drawing(_WIDE, 385, [_waits(left, found) for left, found in zip(_LEFTS, wait_curves(data), strict=True)])


def _waits(left: float, found: WaitCurves) -> Plot:
    last = float(np.log10(found.longest))
    plot = Plot((left, _TOP, _HALF, 310), (0, last), (0, 101))
    plot.title(found.title)
    if not found.curves:
        plot.note(NO_STARTS)
        return plot
    ticks, labels = style.duration_ticks(1, found.longest)
    plot.x_axis(np.log10(ticks).tolist(), labels, WAIT_AXIS)
    plot.y_axis(range(0, 101, 20), [str(y) for y in range(0, 101, 20)], SHARE_AXIS if left == _LEFTS[0] else "")
    for curve in found.curves:
        plot.line(np.log10(curve.x), curve.share, curve.color, step=True)
    plot.legend([(curve.label, curve.color, False) for curve in found.curves], found.what)
    return plot


def backfill(data: RunData) -> str:
    """How many jobs ahead of it in the queue each start overtook, and which sizes do so."""
    charts = (overtaking(data), style.QUEUE), (overtaking_sizes(data), style.ACCENT)
    return drawing(_WIDE, 400, [_bars(left, *chart) for left, chart in zip(_LEFTS, charts, strict=True)])


def _bars(left: float, found: BarChart, color: str) -> Plot:
    high = max(float(found.heights.max(initial=0)), 1.0) * 1.05
    plot = Plot((left, _TOP, _HALF, 290), (-0.6, len(found.names) - 0.4), (0, high))
    plot.title(found.title, found.note if found.names else "")
    if not found.names:
        plot.note(found.note)
        return plot
    step = max(style.nice_step(high, 6), 1.0)
    ticks = np.arange(0, high, step).tolist()
    plot.y_axis(ticks, [f"{y:,.0f}" for y in ticks], found.y)
    plot.bars(found.heights, color)
    plot.x_axis(range(len(found.names)), found.names, found.x, grid=False)
    return plot


def slowdown(data: RunData) -> str:
    """Density of jobs by run time and bounded slowdown, with the median and the 90th percentile of each run time."""
    found = stretch(data)
    if found is None:
        plot = Plot((_LEFTS[0], _TOP, 860, 310), (0, 1), (0, 1))
        plot.title(STRETCH_TITLE)
        plot.note(NO_ENDS)
        return drawing(_WIDE, 385, [plot])
    x, y = found.x_edges, found.y_edges
    plot = Plot((_LEFTS[0], _TOP, 860, 310), (x[0], x[-1]), (y[0], y[-1]))
    plot.title(STRETCH_TITLE)
    plot.x_axis(found.x_ticks[0].tolist(), found.x_ticks[1], RUN_AXIS)
    plot.y_axis(found.y_ticks[0].tolist(), found.y_ticks[1], STRETCH_AXIS)
    most = max(float(found.grid.max()), 2.0)
    shares = np.linspace(0, 1, _SHADES, endpoint=False)
    fill = style.ramp(style.DENSITY, np.linspace(0, 1, _SHADES).tolist())
    plot.cells(found.grid, x, y, (most**shares).tolist(), fill)
    plot.line(found.at, found.median, style.QUEUE)
    plot.line(found.at, found.high, style.QUEUE, dashed=True)
    plot.legend([("median", style.QUEUE, False), ("90th percentile", style.QUEUE, True)], upper=True)
    scale = Plot((975, _TOP, 18, 310), (0, 1), (0, float(np.log10(most))))
    scale.cells(most ** shares[None, :] * 1.0000001, np.array([0.0, 1.0]), np.linspace(0, np.log10(most), _SHADES + 1),
                (most**shares).tolist(), fill)  # fmt: skip
    scale.title("jobs")
    scale.y_axis(np.log10(found.counts).tolist(), [f"{c:,}" for c in found.counts])
    return drawing(_WIDE, 385, [plot, scale])
