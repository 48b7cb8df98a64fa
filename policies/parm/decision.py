"""One decision of PARM: which jobs run on how many nodes at which cap (the paper's Fig. 2, equations 1 to 6)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, floor, lcm

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
FINEST = 10**6
MOST_W = 1e300  # far from where floats end
ROOM = 1 << 62  # below what all numbers of a solver's sum have to stay


@dataclass(frozen=True, slots=True)
class Option:
    """A job on `nodes` nodes with processors capped at `watts`, and what that is worth: its part of equation 1.

    `least_w` is what it draws at least, however little that were: while its data move it still draws what it had.
    """

    nodes: int
    watts: float
    value: float
    least_w: float = 0.0


@dataclass(frozen=True, slots=True)
class JobOptions:
    """A job and what it may be given."""

    id: str  # unique in the decision
    options: tuple[Option, ...]  # of which it gets one (equation 3) or at most one (equation 2)
    # nodes and cap it has now; None while it waits. What runs goes on, equation 3.
    running: tuple[int, float] | None = None


@dataclass(frozen=True)
class Decision:
    """The problem: maximise the sum of values, with so many nodes (equation 4) and watts (equation 5)."""

    nodes: int  # N
    budget_w: float  # W_max
    base_w: float  # what a node draws beside its processor (equation 5 with the memory's watts)
    jobs: tuple[JobOptions, ...]  # in any order; the answer does not depend on it but among equals

    @cached_property
    def scale(self) -> Fraction:
        """Return the parts of a watt in which all powers are whole numbers.

        At most a million, and never so many that sums of them would not fit into 62 bits. If they are too coarse, draws
        are rounded up and the budget down.
        """
        powers = {self.budget_w, self.base_w, *(one.watts for job in self.jobs for one in job.options)}
        fine = min(lcm(*(_exact(power).denominator for power in powers)), FINEST)
        draws = [watts for job in self.jobs for one in job.options if (watts := self._watts_up(one)) is not None]
        # resizes count before watts, one more than the whole budget each: that sum is the largest there is
        most = (1 + len(draws)) * (min(ceil(_exact(self.budget_w)), sum(draws)) + 1) + sum(draws)
        return min(Fraction(fine), Fraction(ROOM, 2 * most))

    @cached_property
    def budget(self) -> int:
        """The budget in these parts; no more than all options together would draw."""
        every = sum(self.draw(one) for job in self.jobs for one in job.options if self._watts_up(one) is not None)
        return min(floor(_exact(self.budget_w) * self.scale), every)

    def draw(self, option: Option) -> int:
        """Return what all nodes of an option draw, in these parts, rounded up."""
        each = self._each.get(option.watts)
        if each is None:
            each = self._each[option.watts] = ceil((_exact(option.watts) + _exact(self.base_w)) * self.scale)
        least = ceil(_exact(option.least_w) * self.scale) if option.least_w else 0
        return max(option.nodes * each, least)

    def fits(self, option: Option) -> bool:
        """Return True if an option is within nodes and budget when nothing else runs."""
        return option.nodes <= self.nodes and self.draw(option) <= self.budget

    @cached_property
    def _each(self) -> dict[float, int]:
        """What a node draws at a cap, in parts of a watt."""
        return {}

    def _watts_up(self, option: Option) -> int | None:
        """Return what an option draws in whole watts, rounded up; None for more than there is."""
        watts = max(option.nodes * (option.watts + self.base_w), option.least_w)
        if option.nodes > self.nodes or not watts <= min(2 * self.budget_w, MOST_W):
            return None
        return ceil(watts) + 1

    @cached_property
    def columns(self) -> Columns:
        """All options that can be the best, as arrays."""
        return Columns.of(self)


@lru_cache(maxsize=4096)
def _exact(power: float) -> Fraction:
    """Return a power as it is written."""
    return Fraction(repr(power))


@dataclass(frozen=True)
class Columns:
    """Options side by side, those that are dominated left out; (n_options,) each, by job.

    `job` is its index in `Decision.jobs`, `option` the index in its options, `draw` in parts of a watt; `resize` is 1
    where a running job would change its number of nodes.
    """

    job: IntArray
    option: IntArray
    nodes: IntArray
    draw: IntArray
    value: FloatArray
    resize: IntArray
    first: IntArray = field(repr=False)  # (n_jobs + 1,): where the options of each job begin

    @classmethod
    def of(cls, decision: Decision) -> Columns:
        """Return the options of `decision` that no other one of the same job dominates."""
        rows: list[Row] = []
        jobs: list[int] = []
        first = [0]
        for index, job in enumerate(decision.jobs):
            now = None if job.running is None else job.running[0]
            mine = [
                (one.nodes, decision.draw(one), one.value, int(now is not None and one.nodes != now), k)
                for k, one in enumerate(job.options)
            ]
            best = _undominated([row for row in mine if decision.fits(job.options[row[4]])])
            rows += best
            jobs += [index] * len(best)
            first.append(len(rows))
        nodes, draw, value, resize, option = zip(*rows, strict=True) if rows else ((), (), (), (), ())
        whole = [np.array(one, np.int64) for one in (jobs, option, nodes, draw, resize, first)]
        return cls(whole[0], whole[1], whole[2], whole[3], np.array(value, np.float64), whole[4], whole[5])


Row = tuple[int, int, float, int, int]


def _undominated(rows: list[Row]) -> list[Row]:
    """(nodes, draw, value, resize, index): those no other is at least as good as in everything; of equals the first.

    By ascending nodes; what is left to compare are draw and value, for which stairs are kept: O(n log n).
    """
    stairs = _Stairs(), _Stairs()  # of rows without and with a resize
    kept: list[Row] = []
    for row in sorted(rows, key=lambda one: (one[0], one[1], -one[2], one[3], one[4])):
        _, draw, value, resize, _ = row
        if any(stair.best(draw) >= value for stair in stairs[: resize + 1]):
            continue
        kept.append(row)
        stairs[resize].add(draw, value)
    return sorted(kept, key=lambda one: one[4])


class _Stairs:
    """The highest value for up to a draw: steps of ascending draw and ascending value."""

    def __init__(self) -> None:
        self._draws: list[int] = []
        self._values: list[float] = []

    def best(self, draw: int) -> float:
        """Return the highest value of all that draw no more."""
        at = bisect_right(self._draws, draw)
        return self._values[at - 1] if at else -np.inf

    def add(self, draw: int, value: float) -> None:
        """Add a step, higher than those up to it; remove later ones that are no higher."""
        at = bisect_right(self._draws, draw)
        end = bisect_right(self._values, value, at)
        if at and self._draws[at - 1] == draw:
            at -= 1
        self._draws[at:end], self._values[at:end] = [draw], [value]


@dataclass(frozen=True)
class Choice:
    """The answer."""

    chosen: dict[int, int]  # index of the option of each job that has one, by index of the job
    objective: float
    bound: float  # no choice is worth more
    status: str  # ``optimal`` (proven), ``feasible`` (the best found), or ``infeasible``: what runs has no room
