"""Step series thinned for drawing without losing what they say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from slurmsim.metrics.columns import IntArray

FloatArray = npt.NDArray[np.float64]


def bin_edges(begin: float, end: float, bins: int) -> FloatArray:
    """Edges of `bins` equal bins over ``[begin, end]``."""
    return np.linspace(begin, end, bins + 1)


def bin_means(time: IntArray, value: npt.NDArray[np.generic], edges: FloatArray) -> FloatArray:
    """Time-weighted mean of a step series in each bin; exact, however many steps a bin holds.

    ``value[i]`` holds on ``[time[i], time[i + 1])``, the last for ever; before the first it is 0.
    """
    if len(time) == 0:
        return np.zeros(len(edges) - 1)
    at = time.astype(np.float64)
    level = np.asarray(value, np.float64)
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(at))])
    position = np.searchsorted(at, edges, "right") - 1
    inside = np.maximum(position, 0)
    integral = np.where(position >= 0, area[inside] + level[inside] * (edges - at[inside]), 0.0)
    return np.diff(integral) / np.diff(edges)


def bin_maxima(time: IntArray, value: npt.NDArray[np.generic], edges: FloatArray) -> FloatArray:
    """Largest value a step series takes in each bin."""
    if len(time) == 0:
        return np.zeros(len(edges) - 1)
    level = np.asarray(value, np.float64)
    # What holds at the bin's left edge, and the steps inside it.
    position = np.searchsorted(time, edges[:-1], "right") - 1
    held = np.where(position >= 0, level[np.maximum(position, 0)], 0.0)
    first = np.searchsorted(time, edges[:-1], "left")
    last = np.searchsorted(time, edges[1:], "left")
    out = held.copy()
    some = last > first
    if some.any():
        pairs = np.column_stack([first[some], last[some]]).ravel()
        padded = np.append(level, -np.inf)
        out[some] = np.maximum(held[some], np.maximum.reduceat(padded, pairs)[::2])
    return out


def counts_over_time(begin: IntArray, end: IntArray, weight: IntArray) -> tuple[IntArray, IntArray]:
    """Step series of the summed weight of the intervals ``[begin, end)`` that are open at each time."""
    time = np.concatenate([begin, end])
    change = np.concatenate([weight, -weight])
    times, inverse = np.unique(time, return_inverse=True)
    return times, np.cumsum(np.bincount(inverse, change, len(times))).astype(np.int64)


def ecdf(values: npt.NDArray[np.generic], points: int = 400) -> tuple[FloatArray, FloatArray]:
    """Empirical distribution ``F(x) = share of values <= x`` at up to `points` of its steps."""
    ordered = np.sort(np.asarray(values, np.float64))
    n = len(ordered)
    if n == 0:
        return np.zeros(0), np.zeros(0)
    picked = np.linspace(0, n - 1, min(n, points)).round().astype(np.int64)
    x = ordered[picked]
    return x, np.searchsorted(ordered, x, "right") / n


def size_classes(sizes: IntArray, most: int = 6) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Classes of job sizes by powers of two, merged until there are at most `most`: codes and labels (``9–32``).

    Neighbouring classes with the fewest jobs together are merged first; every class holds at least one job.
    """
    if len(sizes) == 0:
        return np.zeros(0, np.int64), []
    power = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)  # 1, 2, 3-4, 5-8, ...
    kinds, codes, counts = np.unique(power, return_inverse=True, return_counts=True)
    groups = [([int(kind)], int(count)) for kind, count in zip(kinds, counts, strict=True)]
    while len(groups) > most:
        together = [a[1] + b[1] for a, b in pairwise(groups)]
        i = int(np.argmin(together))
        groups[i : i + 2] = [(groups[i][0] + groups[i + 1][0], together[i])]
    of_kind = np.zeros(len(kinds), np.int64)
    for g, (members, _) in enumerate(groups):
        of_kind[np.isin(kinds, members)] = g
    found = of_kind[codes]
    labels = []
    for g in range(len(groups)):
        inside = sizes[found == g]
        low, high = int(inside.min()), int(inside.max())
        labels.append(f"{low:,}" if low == high else f"{low:,}–{high:,}")
    return found, labels
