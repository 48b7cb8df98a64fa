"""One decision of PARM: which jobs run on how many nodes at which cap (the paper's Fig. 2, equations 1 to 6)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, floor, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slurmsim.data_classes import dataclass, field

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
FINEST = 10**6
MOST_W = 1e300  # far from where floats end
ROOM = 1 << 62  # below what all numbers of a solver's sum have to stay
IDLE = -1


@dataclass(frozen=True, slots=True)
class Option:
    """A job on `nodes` nodes with processors capped at `watts`, and what that is worth: its part of equation 1.

    `least_w` is what it draws at least, however little that were: while its data move it still draws what it had.
    """

    nodes: int
    watts: float
    value: float
    least_w: float = 0.0


@dataclass(frozen=True, eq=False, slots=True)
class Options:
    """Options side by side, (n_options,) each: the fields of `Option`."""

    nodes: IntArray
    watts: FloatArray
    value: FloatArray
    least_w: FloatArray

    @classmethod
    def of(cls, found: Iterable[Option]) -> Options:
        """Return these options."""
        rows = [(one.nodes, one.watts, one.value, one.least_w) for one in found]
        nodes, *others = zip(*rows, strict=True) if rows else ((), (), (), ())
        return cls(np.array(nodes, np.int64), *(np.array(column, np.float64) for column in others))

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, k: int) -> Option:
        return Option(int(self.nodes[k]), float(self.watts[k]), float(self.value[k]), float(self.least_w[k]))


@dataclass(frozen=True, eq=False, slots=True)
class JobOptions:
    """A job and what it may be given."""

    id: str  # unique in the decision
    options: Options  # of which it gets one (equation 3) or at most one (equation 2)
    # nodes and cap it has now; None while it waits. What runs goes on, equation 3.
    running: tuple[int, float] | None = None


@dataclass(frozen=True, eq=False)
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
        powers = {self.budget_w, self.base_w, *self._all.levels.tolist()}
        fine = min(lcm(*(_exact(power).denominator for power in powers)), FINEST)
        draws = self._all.most_w[self._all.bearable]
        total = float(draws.sum())
        drawn = int(total) if total < 1 << 53 else sum(map(int, draws.tolist()))
        # resizes count before watts, one more than the whole budget each: that sum is the largest there is
        most = (1 + len(draws)) * (min(ceil(_exact(self.budget_w)), drawn) + 1) + drawn
        return min(Fraction(fine), Fraction(ROOM, 2 * most))

    @cached_property
    def budget(self) -> int:
        """The budget in these parts; no more than all options together would draw."""
        return min(floor(_exact(self.budget_w) * self.scale), int(self._draws.sum()))

    def draw(self, option: Option) -> int:
        """Return what all nodes of an option draw, in these parts, rounded up."""
        return max(option.nodes * self._each(option.watts), self._parts(option.least_w))

    def _each(self, watts: float) -> int:
        """Return what a node draws at a cap."""
        return ceil((_exact(watts) + _exact(self.base_w)) * self.scale)

    def _parts(self, watts: float) -> int:
        return ceil(_exact(watts) * self.scale)

    @cached_property
    def _all(self) -> _All:
        return _All.of(self)

    @cached_property
    def _draws(self) -> IntArray:
        """What each option draws; 0 for those that are beyond nodes and watts by far."""
        rows = self._all
        used = np.unique(rows.level[rows.bearable])  # others may be too large for a number of 64 bits
        each = np.zeros(len(rows.levels), np.int64)
        each[used] = [self._each(watts) for watts in rows.levels[used].tolist()]
        drawn = np.where(rows.bearable, rows.nodes, 0) * each[rows.level]
        for k in np.flatnonzero(rows.least_w * rows.bearable):
            drawn[k] = max(int(drawn[k]), self._parts(float(rows.least_w[k])))
        return drawn

    @cached_property
    def columns(self) -> Columns:
        """All options that fit when nothing else runs, as arrays."""
        return Columns.of(self)

    @property
    def most_worth(self) -> float:
        """Return what all jobs would be worth if each had the most valuable option of all."""
        with np.errstate(over="ignore"):
            return float(self._all.value.max(initial=0.0)) * len(self.jobs)

    @property
    def drawn(self) -> IntArray:
        """Return what the options of all jobs draw, job by job; 0 for those that are far too large."""
        return self._draws


@lru_cache(maxsize=4096)
def _exact(power: float) -> Fraction:
    """Return a power as it is written."""
    return Fraction(repr(power))


@dataclass(frozen=True, eq=False)
class _All:
    """The options of all jobs, job by job, (n_options,) each but `levels`."""

    nodes: IntArray
    value: FloatArray
    least_w: FloatArray
    levels: FloatArray  # all caps, ascending
    level: IntArray  # of each option
    most_w: FloatArray  # what it draws in whole watts, rounded up
    bearable: NDArray[np.bool_]  # not beyond the nodes, nor beyond twice the budget

    @classmethod
    def of(cls, decision: Decision) -> _All:
        tables = [job.options for job in decision.jobs] or [Options.of(())]
        nodes, watts, value, least_w = (
            np.concatenate([getattr(table, name) for table in tables])
            for name in ("nodes", "watts", "value", "least_w")
        )
        levels, level = np.unique(watts, return_inverse=True)
        with np.errstate(over="ignore"):
            drawn = np.maximum(nodes * (watts + decision.base_w), least_w)
        bearable = (nodes <= decision.nodes) & (drawn <= min(2 * decision.budget_w, MOST_W))
        return cls(nodes, value, least_w, levels, level, np.ceil(drawn) + 1, bearable)


@dataclass(frozen=True, eq=False)
class Columns:
    """Options side by side that fit when nothing else runs; (n_options,) each, by job.

    `job` is its index in `Decision.jobs`, `option` the index in its options, `draw` in parts of a watt; `resize` is 1
    where a running job would change its number of nodes. A waiting job has one more, the first: to go on waiting, with
    `IDLE` as option.
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
        """Return the options of `decision`."""
        rows, draws = decision._all, decision.drawn
        counts = np.array([len(job.options) for job in decision.jobs], np.int64)
        begins = np.cumsum(counts) - counts
        held = np.array([IDLE if job.running is None else job.running[0] for job in decision.jobs], np.int64)
        waits = np.flatnonzero(held == IDLE)
        job = np.repeat(np.arange(len(counts)), counts)
        fit = rows.bearable & (draws <= decision.budget)
        kept = np.flatnonzero(fit)
        # those that wait come before the options of their job
        at = np.concatenate([begins[waits], kept])
        order = np.argsort(2 * at + np.repeat([0, 1], [len(waits), len(kept)]), kind="stable")
        both = np.concatenate([waits, job[kept]])[order]

        def column(values: Any, idle: int = 0) -> Any:
            return np.concatenate([np.full(len(waits), idle, values.dtype), values[kept]])[order]

        resize = ((held[job] != IDLE) & (rows.nodes != held[job])).astype(np.int64)
        first = np.searchsorted(both, np.arange(len(counts) + 1))
        return cls(
            both, column(np.arange(len(job)) - begins[job], IDLE), column(rows.nodes), column(draws),
            column(rows.value), column(resize), first,
        )  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """The answer."""

    chosen: dict[int, int]  # index of the option of each job that has one, by index of the job
    objective: float
    bound: float  # no choice is worth more
    # ``optimal`` (proven), ``feasible`` (the best found), ``unknown`` (none was found), or ``infeasible``: what runs
    # has no room
    status: str
