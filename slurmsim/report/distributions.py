"""How waits, overtaking and slowdowns are distributed: what the pictures of the page and those for papers show."""

from collections.abc import Sequence

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.metrics.percentiles import percentiles
from slurmsim.metrics.slowdown import TAU_S, bounded_slowdown
from slurmsim.metrics.wait import turnaround
from slurmsim.report import style
from slurmsim.report.occupancy import top_labels
from slurmsim.report.rundata import Labels, RunData
from slurmsim.report.series import FloatArray, ecdf, size_classes

NO_STARTS, NO_ENDS = "no job started", "no job that ran has ended"
WAIT_AXIS = "wait (those that started at once count as 1 s)"
SHARE_AXIS = "jobs that waited no longer, %"
STRETCH_TITLE, RUN_AXIS, STRETCH_AXIS = "Slowdown by run time", "run time", f"bounded slowdown (τ = {TAU_S} s)"


@dataclass(frozen=True, slots=True)
class Curve:
    """The share of jobs of a class, in percent, that waited no longer than ``x[i]`` seconds."""

    label: str
    color: str
    x: FloatArray
    share: FloatArray


@dataclass(frozen=True, slots=True)
class WaitCurves:
    """Curves of the classes of jobs; `what` they are classes of, `longest` is where the axis ends, seconds."""

    title: str
    what: str
    longest: float
    curves: list[Curve]


@dataclass(frozen=True, slots=True)
class BarChart:
    """Named bars; without any, `note` says why there are none, else what they come to."""

    title: str
    x: str
    y: str
    names: list[str]
    heights: FloatArray
    note: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """Jobs by run time and bounded slowdown, everything in log10.

    ``grid[i, j]`` jobs are between ``x_edges[i:i + 2]`` and ``y_edges[j:j + 2]``; `median` and `high` (the 90th
    percentile) of the slowdown are at the run times `at`. Ticks are positions and labels; `counts` those of the scale.
    """

    grid: FloatArray
    x_edges: FloatArray
    y_edges: FloatArray
    at: FloatArray
    median: FloatArray
    high: FloatArray
    x_ticks: tuple[FloatArray, list[str]]
    y_ticks: tuple[FloatArray, list[str]]
    counts: list[int]


def wait_curves(data: RunData) -> tuple[WaitCurves, WaitCurves]:
    """Distribution of the wait by job size and by partition."""
    what, sizes = _sizes(data)
    codes, names = size_classes(sizes)
    by_size = Labels(what, codes, names)
    parts = top_labels(data, data.labels("partition"), 7)
    return (
        _curves(data, by_size, style.ordered_colors(len(names)), "Wait by job size"),
        _curves(data, parts, style.colors(parts.names, "other"), "Wait by partition"),
    )


def _sizes(data: RunData) -> tuple[str, np.ndarray]:
    """Return what tells sizes apart best: nodes, or CPUs where nearly every job has one node."""
    jobs = data.jobs
    if len(jobs) and float((jobs.nodes == 1).mean()) > 0.95 and float((jobs.cpus == 1).mean()) < 0.95:
        return "CPUs", jobs.cpus
    return "nodes", jobs.nodes


def _curves(data: RunData, labels: Labels, colors: Sequence[str], title: str) -> WaitCurves:
    started = data.jobs.started
    longest = max(float(data.waits[started].max(initial=0)), 10) * 1.3
    found = []
    for code, (name, color) in enumerate(zip(labels.names, colors, strict=True)):
        mine = data.waits[started & (labels.codes == code)]
        if len(mine) == 0:
            continue
        x, share = ecdf(np.maximum(mine, 1))
        x, share = np.concatenate([[1.0], x, [longest]]), np.concatenate([[0.0], share, [1.0]])
        found.append(Curve(f"{name}  ({len(mine):,})", color, x, 100 * share))
    return WaitCurves(title, f"{labels.what} (jobs)", longest, found)


def overtaking(data: RunData) -> BarChart:
    """Backfill depth: how many jobs ahead of it in the queue each start overtook."""
    _, depth = data.starts
    title, x, y = "Backfill depth", "jobs overtaken", "starts"
    if not depth.any():
        why = "no job overtook another" if len(depth) else "the trace has no START events"
        return BarChart(title, x, y, [], np.zeros(0), why)
    jumped = depth[depth > 0]
    top = int(np.ceil(np.log2(int(jumped.max()) + 1)))
    counts = np.bincount(np.floor(np.log2(jumped)).astype(np.int64), minlength=top)
    names = [_span(2**k, 2 ** (k + 1) - 1) for k in range(len(counts))]
    share = 100 * len(jumped) / len(depth)
    note = f"{len(jumped):,} of {len(depth):,} starts ({share:.1f} %), median {np.median(jumped):,.0f}"
    return BarChart(title, x, y, names, counts.astype(np.float64), note)


def overtaking_sizes(data: RunData) -> BarChart:
    """Share of each size's starts that overtook another job."""
    what, sizes = _sizes(data)
    title, x, y = "Starts that overtook a job, by size", f"{what} of the job", "starts, %"
    by_id = np.argsort(data.job_id, kind="stable")
    ids, depth = data.starts
    at = np.searchsorted(data.job_id[by_id], ids)
    known = at < len(by_id)
    known[known] = data.job_id[by_id[at[known]]] == ids[known]
    if not known.any():
        return BarChart(title, x, y, [], np.zeros(0), "the trace has no START events")
    codes, names = size_classes(sizes[by_id[at[known]]], most=8)
    total = np.bincount(codes, minlength=len(names))
    jumped = np.bincount(codes, depth[known] > 0, minlength=len(names))
    return BarChart(title, x, y, names, 100 * jumped / total, "")


def stretch(data: RunData) -> Stretch | None:
    """Bounded slowdown against run time; None if no job that ran has ended."""
    jobs, done = data.jobs, data.jobs.finished
    if not done.any():
        return None
    # Everything in log10, on linear axes with ticks of our own: one image instead of thousands of cells.
    x = np.log10(np.maximum((jobs.end - jobs.start)[done], 1))
    slowdowns = bounded_slowdown(turnaround(jobs.submit, jobs.end)[done], (jobs.end - jobs.start)[done])
    y = np.log10(slowdowns)
    width, height = max(float(x.max()), 2.0) + 0.1, max(float(y.max()), 1.0) + 0.2
    grid, x_edges, y_edges = np.histogram2d(x, y, bins=(110, 60), range=((0, width), (-0.05, height)))
    at, middle, high = _quantiles_by(x, slowdowns, np.linspace(0, width, 25))
    seconds, names = style.duration_ticks(1, 10**width)
    powers = np.arange(int(height) + 1)
    counts = [10**p for p in range(int(np.log10(max(grid.max(), 2))) + 1)]
    return Stretch(
        grid, x_edges, y_edges, at, np.log10(middle), np.log10(high), (np.log10(seconds), names),
        (powers.astype(np.float64), [f"{10**p:,}" for p in powers.tolist()]), counts,
    )  # fmt: skip


def _quantiles_by(x: np.ndarray, y: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bin centres of x and the median and 90th percentile of y there, for bins with at least five values."""
    where = np.digitize(x, edges) - 1
    inside = (where >= 0) & (where < len(edges) - 1)
    where, y = where[inside], y[inside]
    y = y[np.lexsort((y, where))]
    counts = np.bincount(where, minlength=len(edges) - 1)
    shown = counts >= 5
    middle, high = (percentiles(y, counts, share)[shown] for share in (0.5, 0.9))
    return ((edges[:-1] + edges[1:]) / 2)[shown], middle, high


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
