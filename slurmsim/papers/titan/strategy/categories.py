"""Categories of jobs: bins of size and requested time, or exact shapes; and their moments, week by week."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slurmsim.papers.titan.strategy.data import HOUR_S, FloatArray, History

WEEK_S = 7 * 86_400
FEWEST = 30  # jobs a category must have had
MOST_DRAWN = 10_000  # rows of a category that stand for it where one is drawn for each job
DRAWN = "random: drawn anew for each job"
SIZES = (1, 4, 16, 64, 256, 1024, 4096, 16384)  # most nodes of each bin, where the policy has none of its own
HOURS = (2, 6, 12, 24)  # longest requested time of each bin
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Category:
    """Jobs that are taken for alike."""

    name: str  # as ``5-16 nodes, 2-6 h``
    rows: IntArray  # their places in the history
    # (n_weeks, 10): of the jobs of each week, how many, and sums of wait, run, use, wait², run², use², run x use, wait
    # x run, wait x use
    weeks: FloatArray


@dataclass(frozen=True, slots=True)
class Estimates:
    """Moments of a category; each a number, or (n_resamples,) of them."""

    n: FloatArray
    # wait, run, use: means, hours and node-hours
    wait: FloatArray
    run: FloatArray
    use: FloatArray
    wait_var: FloatArray
    run_var: FloatArray
    use_var: FloatArray
    run_use: FloatArray  # covariances
    wait_run: FloatArray
    wait_use: FloatArray


def categories(history: History, by: str, edges: tuple[tuple[int, int | None], ...] = ()) -> tuple[list[Category], int]:
    """Categories with enough jobs, and the number of those with too few.

    Parameters
    ----------
    by
        ``bins`` or ``shapes``.
    edges
        (from, to) nodes of each bin; none: `SIZES`.
    """
    keys, names = _shapes(history) if by == "shapes" else _bins(history, edges)
    found, few = [], 0
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0)) if len(order) else np.zeros(0, np.int64)
    for rows in np.split(order, starts[1:]):
        if len(rows) < FEWEST:
            few += 1
        else:
            found.append(category(history, names[int(keys[rows[0]])], np.sort(rows)))
    return found, few


def category(history: History, name: str, rows: IntArray) -> Category:
    """Jobs of some rows."""
    week = (history.submit[rows] - history.submit.min()) // WEEK_S
    return Category(name, rows, _weekly(history, rows, week))


def drawn_anew(history: History, found: Sequence[Category]) -> Category:
    """Return the jobs of all categories, each category as likely as any other.

    It is the strategy that draws a category anew for each job.
    """
    most = min(max(len(one.rows) for one in found), MOST_DRAWN)
    rows = [one.rows[np.arange(most) * len(one.rows) // most] for one in found]
    return category(history, DRAWN, np.concatenate(rows))


def _shapes(history: History) -> tuple[IntArray, list[str]]:
    shapes, keys = np.unique(np.stack([history.nodes, history.limit]), axis=1, return_inverse=True)
    names = [f"{nodes} nodes, {limit / HOUR_S:.4g} h" for nodes, limit in shapes.T.tolist()]
    return keys.ravel().astype(np.int64), names


def _bins(history: History, edges: tuple[tuple[int, int | None], ...]) -> tuple[IntArray, list[str]]:
    ranges = list(edges) or [(low + 1, high) for low, high in zip((0, *SIZES), (*SIZES, None), strict=True)]
    size = np.full(len(history), len(ranges), np.int64)
    for k, (low, high) in enumerate(ranges):
        size[(history.nodes >= low) & (history.nodes <= (high or history.nodes.max()))] = k
    spans = [f"{low}-{high}" if high is not None and high != low else f"{low}{'' if high else '+'}"
             for low, high in ranges]  # fmt: skip
    spans.append("other")
    hours = np.searchsorted(np.array(HOURS) * HOUR_S, history.limit)
    words = [f"{a}-{b} h" for a, b in zip((0, *HOURS), HOURS, strict=False)] + [f"over {HOURS[-1]} h"]
    return size * len(words) + hours, [f"{span} nodes, {word}" for span in spans for word in words]


def _weekly(history: History, rows: IntArray, week: IntArray) -> FloatArray:
    w, r, u = history.wait[rows], history.run[rows], history.use[rows]
    columns = np.stack([np.ones(len(rows)), w, r, u, w * w, r * r, u * u, r * u, w * r, w * u], axis=1)
    found = np.zeros((int(week.max()) + 1, columns.shape[1]))
    np.add.at(found, week, columns)
    return found[found[:, 0] > 0]


def estimates(sums: FloatArray) -> Estimates:
    """Moments from sums as in `Category.weeks`, added up; (…, 10)."""
    n, w, r, u, ww, rr, uu, ru, wr, wu = np.moveaxis(sums / np.maximum(sums[..., :1], 1), -1, 0)
    n = sums[..., 0]
    return Estimates(
        n, w, r, u, np.maximum(ww - w * w, 0), np.maximum(rr - r * r, 0), np.maximum(uu - u * u, 0), ru - r * u,
        wr - w * r, wu - w * u,
    )  # fmt: skip


def resampled(category: Category, times: int, seed: int) -> Estimates | None:
    """Moments of `times` bootstrap samples of whole weeks; None where there are less than two."""
    n = len(category.weeks)
    if n < 2:
        return None
    picks = np.random.default_rng(seed).integers(0, n, (times, n))
    return estimates(category.weeks[picks].sum(axis=1))
