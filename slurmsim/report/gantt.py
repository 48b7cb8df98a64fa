"""Node-by-time Gantt chart: bars with job ids for a small cluster, an image for a large one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slurmsim.metrics.utilization import Interval
from slurmsim.report import style
from slurmsim.report.occupancy import (
    FREE,
    SIZE,
    UNUSABLE,
    Bars,
    bars,
    busiest,
    color_labels,
    image,
    node_ticks,
)  # fmt: skip
from slurmsim.report.rundata import Labels, RunData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH_PX = 1_080
_HEIGHT_PX = 440
_MAX_TEXTS = 150
_GAP = 0.95  # inches between the panels


@style.styled
def gantt(data: RunData) -> Figure:
    """Which job was on which node when; a second, closer look at the longest queue when the run is long.

    Up to 64 nodes and 1,200 rectangles are drawn as bars with job ids; jobs that share a node share its row's height.
    Anything larger is an image in which each pixel is the job on one node at one instant.
    """
    over = data.interval
    zoom = busiest(data, over)
    n_panels = 2 if zoom else 1
    panel = min(4.4, max(2.0, 0.6 + 0.32 * data.rows.n))
    height = n_panels * panel + _GAP * (n_panels - 1) + 1.4
    fig = style.figure(11, height)
    labels = color_labels(data)
    tops = [(height - 0.75 - i * (panel + _GAP)) / height for i in range(n_panels)]
    axes = [fig.add_axes((0.085, top - panel / height, 0.9, panel / height)) for top in tops]
    _panel(axes[0], data, over, labels, "Node occupancy")
    if zoom:
        _panel(axes[1], data, zoom, labels, "Around the longest queue")
        axes[0].axvspan(zoom.begin, zoom.end, facecolor="none", edgecolor=style.INK, linewidth=1.0)
    _legend(fig, labels, bool(len(data.down_spells[0])), height)
    return fig


def _panel(ax: Axes, data: RunData, over: Interval, labels: Labels, title: str) -> None:
    ax.set_title(title)
    if data.rows.n == 0:
        style.note(ax, "no job has a node list")
        return
    found = bars(data, over)
    ax.grid(False)
    ax.set_facecolor(style.IDLE)
    if found is not None:
        _draw_bars(ax, data, over, labels, found)
        style.subtitle(ax, f"{data.rows.n} nodes, one bar a job and node")
    else:
        _draw_image(ax, data, over, labels)
        style.subtitle(ax, f"{data.rows.n:,} nodes; each pixel: the job on one node at one instant")
    ax.set_ylabel("node")
    style.time_axis(ax, over, data.epoch, data.interval.begin)


def _draw_bars(ax: Axes, data: RunData, over: Interval, labels: Labels, found: Bars) -> None:
    from matplotlib.collections import PolyCollection

    fill = _job_colors(labels)[_color_codes(data, labels)[found.job]]
    thick = 0.84 / found.lanes[found.row]
    low = found.row - 0.42 + found.lane * thick
    high = low + thick * np.where(found.lanes[found.row] > 1, 0.94, 1.0)
    x0, x1 = found.begin.astype(float), found.end.astype(float)
    corners = np.stack(
        [np.stack([x0, low], 1), np.stack([x1, low], 1), np.stack([x1, high], 1), np.stack([x0, high], 1)], axis=1
    )
    ax.add_collection(PolyCollection(list(corners), facecolors=fill, edgecolors="white", linewidths=0.6))
    _spells(ax, data)
    rows = data.rows.n
    ax.set_ylim(rows - 0.5, -0.5)
    ax.set_yticks(*node_ticks(data.rows, rows, most=24))
    _ids(ax, data, over, found, (low + high) / 2, fill)


def _ids(ax: Axes, data: RunData, over: Interval, found: Bars, middle: np.ndarray, fill: np.ndarray) -> None:
    """Job ids, once a job on each run of its rows, where they fit."""
    begin, end = np.maximum(found.begin, over.begin), np.minimum(found.end, over.end)
    # A digit of this size is about 0.07 % of the axis wide; rows must be tall enough too.
    digits = np.char.str_len(data.job_id[found.job].astype(str)) if len(found.job) else np.zeros(0, int)
    fits = (end - begin) > (digits + 1.0) * 0.0072 * over.length_s
    fits &= found.lanes[found.row] <= 2
    if data.rows.n > 40:
        return
    # White on dark bars, ink on light ones, by the perceived brightness of the fill.
    ink = np.where(fill @ (0.299, 0.587, 0.114) > 0.62, style.INK, "white")
    for i in np.flatnonzero(fits)[:_MAX_TEXTS].tolist():
        ax.text(
            (begin[i] + end[i]) / 2, middle[i], str(data.job_id[found.job[i]]),
            ha="center", va="center", fontsize=7.5, color=ink[i], clip_on=True,
        )  # fmt: skip


def _spells(ax: Axes, data: RunData) -> None:
    row, begin, end = data.down_spells
    for r, b, e in zip(row.tolist(), begin.tolist(), end.tolist(), strict=True):
        ax.broken_barh(
            [(b, e - b)], (r - 0.42, 0.84), facecolor=style.DOWN, hatch="///", edgecolor=style.MUTED, zorder=0.6
        )


def _draw_image(ax: Axes, data: RunData, over: Interval, labels: Labels) -> None:
    from matplotlib.colors import ListedColormap, NoNorm, to_rgb

    found = image(data, over, _color_codes(data, labels), height=_HEIGHT_PX, width=_WIDTH_PX)
    table = np.ones((FREE + UNUSABLE + 1, 3))
    jobs = _job_colors(labels)
    table[FREE], table[FREE + 1 : len(jobs) + 1], table[UNUSABLE] = to_rgb(style.IDLE), jobs, to_rgb(style.DOWN)
    shown = found.pixels.shape[0]
    ax.imshow(
        found.pixels, cmap=ListedColormap(table), norm=NoNorm(), aspect="auto", interpolation="nearest",
        extent=(over.begin, over.end, shown - 0.5, -0.5),
    )  # fmt: skip
    ax.set_yticks(*node_ticks(data.rows, shown))


def _job_colors(labels: Labels) -> np.ndarray:
    """Colours by class and shade, shape (3 * classes, 3)."""
    return np.array([shade for color in _class_colors(labels) for shade in style.shades(color)])


def _class_colors(labels: Labels) -> list[str]:
    """Sizes are an order and look like one; names are not."""
    if labels.what == SIZE:
        return style.ordered_colors(len(labels.names))
    return style.colors(labels.names, "other")


def _color_codes(data: RunData, labels: Labels) -> np.ndarray:
    """Row of `_job_colors` for each job: its class, and a shade that differs between jobs of neighbouring ids."""
    return 3 * labels.codes + data.job_id % 3


def _legend(fig: Figure, labels: Labels, down: bool, height: float) -> None:
    from matplotlib.patches import Patch

    names = list(labels.names)
    handles = [
        Patch(facecolor=color, label=name if len(name) <= 18 else name[:17] + "…")
        for name, color in zip(names, _class_colors(labels), strict=True)
    ]
    handles.append(Patch(facecolor=style.IDLE, edgecolor="#c3cad3", label="free"))
    if down:
        handles.append(Patch(facecolor=style.DOWN, label="down or drained"))
    fig.legend(
        handles=handles, loc="upper right", ncols=len(handles), bbox_to_anchor=(0.99, 1 - 0.08 / height),
        columnspacing=1.0, handlelength=1.0, handletextpad=0.5,
        title=None, fontsize=8.5,
    )  # fmt: skip
    fig.text(0.085, 1 - 0.2 / height, f"colour: {labels.what}", color=style.MUTED, fontsize=8.5, va="center")
