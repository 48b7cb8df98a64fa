"""Who was on which node when: the geometry behind the Gantt chart, as plain arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.metrics.columns import IntArray
from slurmsim.metrics.utilization import Interval
from slurmsim.report.noderows import NodeRows
from slurmsim.report.rundata import Labels, RunData
from slurmsim.report.series import size_classes

# Above this many rectangles, or nodes, separate bars are dust: draw an image.
MAX_BARS = 1_200
MAX_BAR_NODES = 64
_MAX_PIXELS = 6_000_000

FREE, UNUSABLE = 0, 255
SIZE = "nodes of the job"  # what the classes of `color_labels` are when names tell too little apart


@dataclass(frozen=True, slots=True)
class Bars:
    """Rectangles: job `job[i]` (row of the jobs table) on node row `row[i]`, lane `lane[i]` of `lanes[row[i]]`.

    Jobs that share a node at one time are in different lanes of its row.
    """

    job: IntArray
    row: IntArray
    begin: IntArray
    end: IntArray
    lane: IntArray
    lanes: IntArray


@dataclass(frozen=True, slots=True)
class Image:
    """Occupancy sampled at points: ``pixels[r, c]`` is the class + 1 of the job on node ``nodes[r]`` at ``times[c]``.

    `FREE` where there is none, `UNUSABLE` where the node was down. On shared nodes it is the job with most CPUs there.
    """

    pixels: npt.NDArray[np.uint8]
    nodes: IntArray
    times: npt.NDArray[np.floating]


def bars(data: RunData, over: Interval) -> Bars | None:
    """Return the rectangles of the jobs that ran within `over`, or None when they are too many to tell apart."""
    if data.rows.n > MAX_BAR_NODES:
        return None
    chosen = _overlapping(data, over.begin, over.end)
    if len(chosen) > MAX_BARS:
        return None
    owner, first, last = data.rows.flat(_expressions(data, chosen))
    count = last - first
    if count.sum() > MAX_BARS:
        return None
    job = np.repeat(chosen[owner], count)
    row = np.repeat(first, count) + _within(count)
    begin, end = data.jobs.start[job], data.ends[job]
    order = np.lexsort((job, begin, row))
    job, row, begin, end = job[order], row[order], begin[order], end[order]
    lane, lanes = _lanes(row, begin, end, data.rows.n)
    return Bars(job, row, begin, end, lane, lanes)


def image(data: RunData, over: Interval, codes: IntArray, *, height: int, width: int) -> Image:
    """Sample who was on which node at `width` instants and at most `height` nodes, both spread evenly.

    `codes` is a class, 0 to 253, for every job of the trace.

    Only jobs that run at one of the instants are looked at, so a year costs little more than a day.
    """
    rows = data.rows
    shown = min(rows.n, height)
    nodes = ((np.arange(shown) + 0.5) * rows.n / shown).astype(np.int64) if shown else np.zeros(0, np.int64)
    times = over.begin + (np.arange(width) + 0.5) * (over.length_s / width)
    c0, c1 = np.searchsorted(times, data.jobs.start), np.searchsorted(times, data.ends)
    # Largest share of a node last, so that it is the one seen where jobs share.
    chosen = np.flatnonzero(data.jobs.started & (c1 > c0))
    per_node = data.jobs.cpus[chosen] // np.maximum(data.jobs.nodes[chosen], 1)
    chosen = chosen[np.argsort(per_node, kind="stable")]
    owner, first, last = rows.flat(_expressions(data, chosen))
    r0, r1 = np.searchsorted(nodes, first), np.searchsorted(nodes, last)
    job = chosen[owner]
    pixels = np.full((shown, width), FREE, np.uint8)
    row, begin, end = data.down_spells
    at = np.searchsorted(nodes, row), np.searchsorted(nodes, row + 1)
    # Under the jobs: what runs on a node that drains goes on.
    _paint(
        pixels, *at, np.searchsorted(times, begin), np.searchsorted(times, end), np.full(len(row), UNUSABLE, np.uint8)
    )
    _paint(pixels, r0, r1, c0[job], c1[job], (codes[job] + 1).astype(np.uint8))
    return Image(pixels, nodes, times)


def top_labels(data: RunData, labels: Labels, most: int) -> Labels:
    """Return the `most` classes with the most CPU time, largest first, and ``other`` for the rest."""
    ran = data.jobs.started
    weight = np.where(ran, data.jobs.cpus * (data.ends - data.jobs.start), 0)
    total = np.bincount(labels.codes, weight, len(labels.names))
    order = np.argsort(-total, kind="stable")
    order = order[total[order] > 0] if total.any() else order
    kept = order if len(order) <= most + 1 else order[:most]
    target = np.full(len(labels.names), len(kept), np.int64)
    target[kept] = np.arange(len(kept))
    names = [labels.names[i] for i in kept.tolist()]
    codes = target[labels.codes] if len(labels.codes) else labels.codes
    if len(codes) and bool((codes == len(kept)).any()):
        names.append("other")
    return Labels(labels.what, codes, names)


def color_labels(data: RunData, most: int = 9) -> Labels:
    """Classes to colour jobs by: the first of partition, account and user that tells jobs apart, else the size.

    One that leaves more than two fifths of the CPU time to ``other`` tells too little apart.
    """
    spent = np.where(data.jobs.started, data.jobs.cpus * (data.ends - data.jobs.start), 0)
    for column in ("partition", "account", "user"):
        labels = data.labels(column)
        if len(labels.codes) and (labels.codes != labels.codes[0]).any():
            top = top_labels(data, labels, most)
            rest = spent[top.codes == top.names.index("other")].sum() if "other" in top.names else 0
            if rest <= 0.4 * spent.sum():
                return top
    codes, names = size_classes(data.jobs.nodes, most)
    return Labels(SIZE, codes, names)


def busiest(data: RunData, over: Interval) -> Interval | None:
    """Return a stretch around the longest queue in which single jobs can be seen, None when the whole is short enough.

    Twelve times the mean run time, jobs weighted by their CPU time.
    """
    jobs = data.jobs
    run_time = (data.ends - jobs.start)[jobs.started].astype(np.float64)
    area = run_time * jobs.cpus[jobs.started]
    if not area.any():
        return None
    length = int(12 * np.dot(area, run_time) / area.sum())
    if length * 3 > over.length_s:
        return None
    usage = data.usage
    peak = int(usage.time[int(np.argmax(usage.pending))]) if len(usage.time) else over.begin
    begin = min(max(peak - length // 2, over.begin), over.end - length)
    return Interval(begin, begin + length)


def node_ticks(rows: NodeRows, shown: int, most: int = 11) -> tuple[list[float], list[str]]:
    """Positions and names of up to `most` nodes spread over an axis of `shown` picture rows for all nodes."""
    picked = np.unique(np.linspace(0, rows.n - 1, min(rows.n, most)).round().astype(np.int64))
    return ((picked + 0.5) * shown / rows.n - 0.5).tolist(), [rows.name(i) for i in picked.tolist()]


def _overlapping(data: RunData, begin: int, end: int) -> IntArray:
    jobs = data.jobs
    return np.flatnonzero(jobs.started & (jobs.start < end) & (data.ends > begin))


def _expressions(data: RunData, chosen: IntArray) -> list[str]:
    return data.trace.texts_at("jobs", "node_list", chosen)


def _within(count: IntArray) -> IntArray:
    """0 to count[i] - 1 for each i, one after another."""
    total = int(count.sum())
    return np.arange(total) - np.repeat(np.cumsum(count) - count, count)


def _paint(
    pixels: npt.NDArray[np.uint8],
    r0: IntArray,
    r1: IntArray,
    c0: IntArray,
    c1: IntArray,
    value: npt.NDArray[np.uint8],
) -> None:
    """Fill the rectangles ``[r0, r1) x [c0, c1)`` in order, later ones over earlier ones."""
    width = pixels.shape[1]
    flat = pixels.reshape(-1)
    seen = np.flatnonzero((r1 > r0) & (c1 > c0))
    r0, r1, c0, c1, value = r0[seen], r1[seen], c0[seen], c1[seen], value[seen]
    covered = np.cumsum((r1 - r0) * (c1 - c0))
    begin = 0
    while begin < len(r0):
        # A slice at a time: where jobs share nodes they cover the picture many times over.
        done = int(covered[begin - 1]) if begin else 0
        stop = max(begin + 1, int(np.searchsorted(covered, done + _MAX_PIXELS, "right")))
        high = (r1 - r0)[begin:stop]
        row = np.repeat(r0[begin:stop], high) + _within(high)
        long = np.repeat((c1 - c0)[begin:stop], high)
        at = np.repeat(row * width + np.repeat(c0[begin:stop], high), long) + _within(long)
        flat[at] = np.repeat(np.repeat(value[begin:stop], high), long)
        begin = stop


def _lanes(row: IntArray, begin: IntArray, end: IntArray, n_rows: int) -> tuple[IntArray, IntArray]:
    """First free lane for each rectangle (sorted by row, then begin), and the lanes each row needs."""
    lane = np.zeros(len(row), np.int64)
    lanes = np.ones(n_rows, np.int64)
    free_at: list[int] = []
    previous = -1
    for i, (r, b, e) in enumerate(zip(row.tolist(), begin.tolist(), end.tolist(), strict=True)):
        if r != previous:
            free_at, previous = [], r
        for k, free in enumerate(free_at):
            if free <= b:
                lane[i], free_at[k] = k, e
                break
        else:
            lane[i] = len(free_at)
            free_at.append(e)
        lanes[r] = len(free_at)
    return lane, lanes
