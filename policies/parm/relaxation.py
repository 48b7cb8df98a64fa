"""The linear relaxation of a decision: prices of nodes and watts, a bound, and what each option loses at these prices.

A multiple-choice knapsack in two dimensions has two prices, and for any two the best option of each job is seen at once
(Lagrange). The bound is convex in both. So its least value is found by cutting planes: the best price of nodes for a
price of watts, and around that the best price of watts; each next price is where two tangents meet.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from slurmsim.data_classes import dataclass
from slurmsim_policies.parm.decision import Columns, Decision

FloatArray = NDArray[np.float64]
TIGHT = 1e-9
STEPS = 200  # of a search; it takes five to ten


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What prices tell; `price_n` of all nodes and `price_w` of all watts."""

    bound: float  # no choice is worth more; below 0 there is no choice
    loss: FloatArray  # what a choice with this column is worth less than `bound`, at least; (n_columns,)
    price_n: float
    price_w: float


@dataclass(frozen=True, slots=True)
class _Point:
    """The bound at a price, and how it grows with that price; `across` is how it grows with the other one."""

    price: float
    bound: float
    slope: float
    across: float = 0.0
    other: float = 0.0  # the other price, where that was searched, too


def relax(decision: Decision, columns: Columns) -> Relaxation:
    """Return the relaxation at the best prices."""
    job_best, nodes, draw = columns.first[:-1], columns.nodes, columns.draw
    all_n, all_w = decision.nodes, max(decision.budget, 1)
    share_n, share_w = nodes / all_n, draw / all_w
    counts = np.diff(columns.first)
    last = guess = float(np.maximum.reduceat(columns.value, job_best).sum()) / 2 or 1.0

    def at(price_n: float, price_w: float) -> _Point:
        left = columns.value - price_n * share_n - price_w * share_w
        best = np.maximum.reduceat(left, job_best)
        hits = np.flatnonzero(left == np.repeat(best, counts))
        taken = hits[np.searchsorted(hits, job_best)]
        return _Point(
            price_n, float(best.sum()) + price_n + price_w, (all_n - int(nodes[taken].sum())) / all_n,
            (decision.budget - int(draw[taken].sum())) / all_w,
        )  # fmt: skip

    def at_watts(price_w: float) -> _Point:
        """Return the best price of nodes at a price of watts; what the last one was is where the search begins."""
        nonlocal last
        found = _least(lambda price_n: at(price_n, price_w), last)
        last = found.price or last
        return _Point(price_w, found.bound, found.across, other=found.price)

    found = _least(at_watts, guess)
    return priced(decision, columns, found.other, found.price)


def _least(at: Callable[[float], _Point], guess: float) -> _Point:
    """Return the point of a convex bound where it is least, or one below 0."""
    low = at(0.0)
    if low.slope >= 0 or low.bound < 0:
        return low
    high: _Point | None = None
    price, line = guess, -np.inf
    best = low
    for _ in range(STEPS):
        point = at(price)
        best = min(best, point, key=lambda one: one.bound)
        if high is not None and point.bound <= line + TIGHT * abs(point.bound):
            share = high.slope / (high.slope - low.slope)
            across = share * low.across + (1 - share) * high.across
            return _Point(point.price, point.bound, 0.0, across, point.other)
        if point.bound < 0 or point.slope == 0:
            return point
        if point.slope < 0:
            low = point
        else:
            high = point
        if high is None:
            price *= 4
            continue
        price = (low.bound - low.slope * low.price - high.bound + high.slope * high.price) / (high.slope - low.slope)
        line = low.bound + low.slope * (price - low.price)
    return best


def priced(decision: Decision, columns: Columns, price_n: float, price_w: float) -> Relaxation:
    """Bound and losses at prices of all nodes and of all watts, whatever the prices are."""
    left = columns.value - price_n * columns.nodes / decision.nodes - price_w * columns.draw / max(decision.budget, 1)
    best = np.maximum.reduceat(left, columns.first[:-1])
    bound = float(best.sum()) + price_n + price_w
    return Relaxation(bound, best[columns.job] - left, price_n, price_w)
