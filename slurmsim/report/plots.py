"""One function a figure, each from the columns of a trace; `FIGURES` lists them in report order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from slurmsim.metrics.slowdown import TAU_S, bounded_slowdown
from slurmsim.metrics.utilization import Interval
from slurmsim.metrics.wait import turnaround
from slurmsim.report import style
from slurmsim.report.gantt import gantt
from slurmsim.report.occupancy import top_labels
from slurmsim.report.rundata import Labels, RunData
from slurmsim.report.series import bin_edges, bin_maxima, bin_means, ecdf, size_classes

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
    style.steps(bottom, edges, running, color=style.PALETTE[2], linewidth=_thin(over), label="running")
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
    left, right = fig.subplots(1, 2, sharey=True)
    fig.subplots_adjust(left=0.07, right=0.985, top=0.9, bottom=0.14, wspace=0.06)
    what, sizes = _sizes(data)
    codes, names = size_classes(sizes)
    _wait_curves(left, data, Labels(what, codes, names), style.ordered_colors(len(names)), "Wait by job size")
    parts = top_labels(data, data.labels("partition"), 7)
    _wait_curves(right, data, parts, style.colors(parts.names, "other"), "Wait by partition")
    left.set_ylabel("jobs that waited no longer, %")
    return fig


def _sizes(data: RunData) -> tuple[str, np.ndarray]:
    """What tells sizes apart best: nodes, or CPUs where nearly every job has one node."""
    jobs = data.jobs
    if len(jobs) and float((jobs.nodes == 1).mean()) > 0.95 and float((jobs.cpus == 1).mean()) < 0.95:
        return "CPUs", jobs.cpus
    return "nodes", jobs.nodes


def _wait_curves(ax: Axes, data: RunData, labels: Labels, colors: Sequence[str], title: str) -> None:
    ax.set_title(title)
    started = data.jobs.started
    if not started.any():
        style.note(ax, "no job started")
        return
    longest = float(data.waits[started].max())
    for code, (name, color) in enumerate(zip(labels.names, colors, strict=True)):
        mine = data.waits[started & (labels.codes == code)]
        if len(mine) == 0:
            continue
        x, share = ecdf(np.maximum(mine, 1))
        x, share = np.concatenate([[1.0], x, [max(longest, 10) * 1.3]]), np.concatenate([[0.0], share, [1.0]])
        ax.step(x, 100 * share, where="post", color=color, label=f"{name}  ({len(mine):,})")
    style.duration_axis(ax.xaxis, 1, max(longest, 10) * 1.3)
    ax.set_ylim(0, 101)
    ax.set_xlabel("wait (those that started at once count as 1 s)")
    unit = f"{labels.what} (jobs)"
    ax.legend(title=unit, alignment="left", loc="lower right", title_fontsize=9, **style.CLEAR)


@style.styled
def backfill(data: RunData) -> Figure:
    """Backfill depth: how many jobs ahead of it in the queue each start overtook, and which sizes do so."""
    fig = style.figure(11, 3.8)
    left, right = fig.subplots(1, 2)
    fig.subplots_adjust(left=0.08, right=0.985, top=0.89, bottom=0.2, wspace=0.2)
    _, depth = data.starts
    left.set_title("Backfill depth")
    if not depth.any():
        style.note(left, "no job overtook another" if len(depth) else "the trace has no START events")
    else:
        jumped = depth[depth > 0]
        top = int(np.ceil(np.log2(int(jumped.max()) + 1)))
        counts = np.bincount(np.floor(np.log2(jumped)).astype(np.int64), minlength=top)
        names = [_span(2**k, 2 ** (k + 1) - 1) for k in range(len(counts))]
        left.bar(range(len(counts)), counts, color=style.QUEUE, width=0.82)
        style.categories(left.xaxis, names)
        style.thousands(left.yaxis)
        left.grid(axis="x", visible=False)
        left.set_xlabel("jobs overtaken")
        left.set_ylabel("starts")
        share = 100 * len(jumped) / len(depth)
        style.subtitle(
            left, f"{len(jumped):,} of {len(depth):,} starts ({share:.1f} %), median {np.median(jumped):,.0f}"
        )
    _overtaking_sizes(right, data)
    return fig


def _overtaking_sizes(ax: Axes, data: RunData) -> None:
    """Share of each size's starts that overtook another job."""
    ax.set_title("Starts that overtook a job, by size")
    what, sizes = _sizes(data)
    by_id = np.argsort(data.job_id, kind="stable")
    ids, depth = data.starts
    at = np.searchsorted(data.job_id[by_id], ids)
    known = at < len(by_id)
    known[known] = data.job_id[by_id[at[known]]] == ids[known]
    if not known.any():
        style.note(ax, "the trace has no START events")
        return
    codes, names = size_classes(sizes[by_id[at[known]]], most=8)
    total = np.bincount(codes, minlength=len(names))
    jumped = np.bincount(codes, depth[known] > 0, minlength=len(names))
    ax.bar(range(len(names)), 100 * jumped / total, color=style.ACCENT, width=0.82)
    style.categories(ax.xaxis, names)
    ax.grid(axis="x", visible=False)
    ax.set_xlabel(f"{what} of the job")
    ax.set_ylabel("starts, %")


@style.styled
def slowdown(data: RunData) -> Figure:
    """Bounded slowdown against run time: density of jobs, with the median and the 90th percentile of each run time."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    fig = style.figure(11, 4.2)
    ax = fig.add_axes((0.08, 0.14, 0.83, 0.76))
    ax.set_title("Slowdown by run time")
    jobs, done = data.jobs, data.jobs.finished
    if not done.any():
        style.note(ax, "no job that ran has ended")
        return fig
    # Everything in log10, on linear axes with ticks of our own: one image instead of thousands of cells.
    x = np.log10(np.maximum((jobs.end - jobs.start)[done], 1))
    stretch = bounded_slowdown(turnaround(jobs.submit, jobs.end)[done], (jobs.end - jobs.start)[done])
    y = np.log10(stretch)
    width, height = max(float(x.max()), 2.0) + 0.1, max(float(y.max()), 1.0) + 0.2
    grid, x_edges, y_edges = np.histogram2d(x, y, bins=(110, 60), range=((0, width), (-0.05, height)))
    shades = LinearSegmentedColormap.from_list("jobs", ["#dbe6f1", style.ACCENT, "#16324f"])
    picture = ax.imshow(
        np.ma.masked_equal(grid.T, 0), cmap=shades, norm=LogNorm(1, max(float(grid.max()), 2.0)), origin="lower",
        aspect="auto", interpolation="nearest", zorder=1, extent=(x_edges[0], x_edges[-1], y_edges[0], y_edges[-1]),
    )  # fmt: skip
    at, middle, high = _quantiles_by(x, stretch, np.linspace(0, width, 25))
    ax.plot(at, np.log10(middle), color=style.QUEUE, linewidth=2, label="median")
    ax.plot(at, np.log10(high), color=style.QUEUE, linewidth=1.4, linestyle=(0, (4, 2)), label="90th percentile")
    seconds, names = style.duration_ticks(1, 10**width)
    ax.set_xticks(np.log10(seconds), names)
    powers = range(int(height) + 1)
    ax.set_yticks(powers, [f"{10**p:,}" for p in powers])
    ax.set_xlabel("run time")
    ax.set_ylabel(f"bounded slowdown (τ = {TAU_S} s)")
    ax.legend(loc="upper right")
    bar = fig.colorbar(picture, cax=fig.add_axes((0.925, 0.14, 0.016, 0.76)))
    counts = [10**p for p in range(int(np.log10(max(grid.max(), 2))) + 1)]
    bar.set_ticks(counts, labels=[f"{c:,}" for c in counts])
    bar.minorticks_off()
    bar.ax.set_title("jobs", fontsize=9, fontweight="normal", loc="center")
    bar.outline.set_visible(False)
    return fig


def _quantiles_by(x: np.ndarray, y: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bin centres of x and the median and 90th percentile of y there, for bins with at least five values."""
    where = np.digitize(x, edges) - 1
    order = np.argsort(where, kind="stable")
    bounds = np.searchsorted(where[order], np.arange(len(edges)))
    found = [
        ((edges[i] + edges[i + 1]) / 2, *np.percentile(y[order[lo:hi]], (50, 90)))
        for i, (lo, hi) in enumerate(pairwise(bounds.tolist()))
        if hi - lo >= 5
    ]
    table = np.array(found).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _legend_right(ax: Axes) -> None:
    """A legend above the right end of the axes, level with the title."""
    handles, _ = ax.get_legend_handles_labels()
    ax.legend(loc="lower right", bbox_to_anchor=(1.005, 0.97), ncols=len(handles), handlelength=1.4, columnspacing=1.2)


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure of the report: file name, what it shows, how to draw it.

    `in_page`: the page holds the picture; the others it draws itself, to be worked in.
    """

    name: str
    caption: str
    draw: Callable[[RunData], Figure]
    in_page: bool = True


FIGURES: tuple[FigureKind, ...] = (
    FigureKind("utilization", "CPUs in use and the queue over time.", utilization, False),
    FigureKind("gantt", "Which job was on which node when.", gantt, False),
    FigureKind("waits", "How long jobs waited, by size and by partition.", waits),
    FigureKind("backfill", "How far starts reached past jobs ahead of them in the queue.", backfill),
    FigureKind("slowdown", "How much longer than their run time jobs took.", slowdown),
)
