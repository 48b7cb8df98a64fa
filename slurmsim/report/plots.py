"""One function a figure, each from the columns of a trace; `FIGURES` lists them in report order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.metrics.utilization import Interval
from slurmsim.report import style
from slurmsim.report.distributions import (
    NO_ENDS,
    NO_STARTS,
    RUN_AXIS,
    SHARE_AXIS,
    STRETCH_AXIS,
    STRETCH_TITLE,
    WAIT_AXIS,
    overtaking,
    overtaking_sizes,
    stretch,
    wait_curves,
)
from slurmsim.report.gantt import gantt
from slurmsim.report.rundata import RunData
from slurmsim.report.series import bin_edges, bin_maxima, bin_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BINS = 1_000
_DAY = 86_400


@style.styled
def utilization(data: RunData) -> Figure:
    """CPUs in use and jobs pending and running over time, thinned to 1,000 bins.

    Lines are time-weighted means of a bin, the shade behind the queue its maximum.
    """
    fig = style.figure(11, 5.2)
    top, bottom = fig.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2]})
    fig.subplots_adjust(left=0.07, right=0.985, top=0.93, bottom=0.13, hspace=0.28)
    usage, over = data.usage, data.interval
    edges = bin_edges(over.begin, over.end, _BINS)
    cpus = data.n_cpus or int(usage.alloc_cpus.max(initial=1))
    share = 100 * bin_means(usage.time, usage.alloc_cpus, edges) / cpus
    nodes = data.n_nodes
    lost = 100 * bin_means(usage.time, usage.down_nodes, edges) / nodes if nodes else np.zeros(_BINS)
    style.shade(top, edges, share, color=style.ACCENT, alpha=0.25)
    style.steps(top, edges, share, color=style.ACCENT, linewidth=_thin(over), label="allocated")
    if lost.any():
        style.shade(top, edges, 100 - lost, 100, color=style.DOWN, alpha=0.55, label="down or drained")
    if over.length_s > 60 * _DAY:
        weeks = bin_edges(over.begin, over.end, over.length_s // (7 * _DAY))
        weekly = 100 * bin_means(usage.time, usage.alloc_cpus, weeks) / cpus
        top.plot((weeks[:-1] + weeks[1:]) / 2, weekly, color=style.INK, linewidth=1.8, label="weekly mean")
    mean = float(share.mean())
    top.axhline(mean, color=style.INK, linewidth=1, linestyle=(0, (4, 3)), label=f"mean {mean:.1f} %")
    top.set_ylim(0, 101)
    top.set_ylabel("CPUs allocated, %")
    top.set_title("Utilization" if data.n_cpus else "CPUs in use, share of the most ever in use")
    _legend_right(top)

    pending = bin_means(usage.time, usage.pending, edges)
    running = bin_means(usage.time, usage.running, edges)
    most = bin_maxima(usage.time, usage.pending, edges)
    style.shade(bottom, edges, most, color=style.QUEUE, alpha=0.25)
    style.steps(bottom, edges, pending, color=style.QUEUE, linewidth=_thin(over), label="pending")
    style.steps(bottom, edges, running, color=style.ACCENT, linewidth=_thin(over), label="running")
    bottom.set_ylim(0, max(1.0, float(max(most.max(), running.max())) * 1.05))
    bottom.set_ylabel("jobs")
    bottom.set_title("Queue")
    style.thousands(bottom.yaxis)
    _legend_right(bottom)
    style.time_axis(bottom, over, data.epoch, over.begin)
    return fig


def _thin(over: Interval) -> float:
    """Thinner lines for long runs, where they zigzag."""
    return 1.2 if over.length_s < 30 * _DAY else 0.7


@style.styled
def waits(data: RunData) -> Figure:
    """Distribution of the wait by job size and by partition: share of jobs that waited no longer than x."""
    fig = style.figure(11, 4.2)
    fig.subplots_adjust(left=0.07, right=0.985, top=0.9, bottom=0.14, wspace=0.06)
    for ax, found in zip(fig.subplots(1, 2, sharey=True), wait_curves(data), strict=True):
        ax.set_title(found.title)
        if not found.curves:
            style.note(ax, NO_STARTS)
            continue
        for curve in found.curves:
            ax.step(curve.x, curve.share, where="post", color=curve.color, label=curve.label)
        style.duration_axis(ax.xaxis, 1, found.longest)
        ax.set_ylim(0, 101)
        ax.set_xlabel(WAIT_AXIS)
        ax.legend(title=found.what, alignment="left", loc="lower right", title_fontsize=9, **style.CLEAR)
    fig.axes[0].set_ylabel(SHARE_AXIS)
    return fig


@style.styled
def backfill(data: RunData) -> Figure:
    """Backfill depth: how many jobs ahead of it in the queue each start overtook, and which sizes do so."""
    fig = style.figure(11, 3.8)
    fig.subplots_adjust(left=0.08, right=0.985, top=0.89, bottom=0.2, wspace=0.2)
    colors = (style.QUEUE, style.ACCENT)
    for ax, color, found in zip(fig.subplots(1, 2), colors, (overtaking(data), overtaking_sizes(data)), strict=True):
        ax.set_title(found.title)
        if not found.names:
            style.note(ax, found.note)
            continue
        ax.bar(range(len(found.names)), found.heights, color=color, width=0.82)
        style.categories(ax.xaxis, found.names)
        style.thousands(ax.yaxis)
        ax.grid(axis="x", visible=False)
        ax.set_xlabel(found.x)
        ax.set_ylabel(found.y)
        style.subtitle(ax, found.note)
    return fig


@style.styled
def slowdown(data: RunData) -> Figure:
    """Bounded slowdown against run time: density of jobs, with the median and the 90th percentile of each run time."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    fig = style.figure(11, 4.2)
    ax = fig.add_axes((0.08, 0.14, 0.83, 0.76))
    ax.set_title(STRETCH_TITLE)
    found = stretch(data)
    if found is None:
        style.note(ax, NO_ENDS)
        return fig
    x, y, grid = found.x_edges, found.y_edges, found.grid
    picture = ax.imshow(
        np.ma.masked_equal(grid.T, 0), cmap=LinearSegmentedColormap.from_list("jobs", style.DENSITY),
        norm=LogNorm(1, max(float(grid.max()), 2.0)), origin="lower",
        aspect="auto", interpolation="nearest", zorder=1, extent=(x[0], x[-1], y[0], y[-1]),
    )  # fmt: skip
    ax.plot(found.at, found.median, color=style.QUEUE, linewidth=2, label="median")
    ax.plot(found.at, found.high, color=style.QUEUE, linewidth=1.4, linestyle=(0, (4, 2)), label="90th percentile")
    ax.set_xticks(*found.x_ticks)
    ax.set_yticks(*found.y_ticks)
    ax.set_xlabel(RUN_AXIS)
    ax.set_ylabel(STRETCH_AXIS)
    ax.legend(loc="upper right")
    bar = fig.colorbar(picture, cax=fig.add_axes((0.925, 0.14, 0.016, 0.76)))
    bar.set_ticks(found.counts, labels=[f"{c:,}" for c in found.counts])
    bar.minorticks_off()
    bar.ax.set_title("jobs", fontsize=9, fontweight="normal", loc="center")
    bar.outline.set_visible(False)
    return fig


def _legend_right(ax: Axes) -> None:
    """Draw a legend above the right end of the axes, level with the title."""
    handles, _ = ax.get_legend_handles_labels()
    ax.legend(loc="lower right", bbox_to_anchor=(1.005, 0.97), ncols=len(handles), handlelength=1.4, columnspacing=1.2)


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure for papers and slides: file name, and how to draw it."""

    name: str
    draw: Callable[[RunData], Figure]


FIGURES: tuple[FigureKind, ...] = (
    FigureKind("utilization", utilization),
    FigureKind("gantt", gantt),
    FigureKind("waits", waits),
    FigureKind("backfill", backfill),
    FigureKind("slowdown", slowdown),
)
