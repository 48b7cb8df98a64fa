"""One decision of PARM: which jobs run on how many nodes at which cap (the paper's Fig. 2, equations 1 to 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, lcm

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Option:
    """A job on `nodes` nodes with processors capped at `watts`, and what that is worth: its part of equation 1."""

    nodes: int
    watts: float
    value: float


@dataclass(frozen=True, slots=True)
class JobOptions:
    """A job and what it may be given.

    Attributes
    ----------
    id
        Unique in the decision.
    options
        Of which it gets one (equation 3) or at most one (equation 2).
    running
        Nodes and cap it has now; None while it waits. What runs goes on, equation 3.
    """

    id: str
    options: tuple[Option, ...]
    running: tuple[int, float] | None = None


@dataclass(frozen=True)
class Decision:
    """The problem: maximise the sum of values, with so many nodes (equation 4) and watts (equation 5).

    Attributes
    ----------
    nodes
        N.
    budget_w
        W_max.
    base_w
        What a node draws beside its processor (equation 5 with the memory's watts).
    jobs
        In any order; the answer does not depend on it but among equals.
    """

    nodes: int
    budget_w: float
    base_w: float
    jobs: tuple[JobOptions, ...]

    @cached_property
    def scale(self) -> int:
        """Parts of a watt in which all powers are whole numbers; at most a million."""
        powers = {self.budget_w, self.base_w, *(one.watts for job in self.jobs for one in job.options)}
        return min(lcm(*(_exact(power).denominator for power in powers)), 10**6)

    @cached_property
    def budget(self) -> int:
        """The budget in these parts."""
        return floor(_exact(self.budget_w) * self.scale)

    def draw(self, option: Option) -> int:
        """What all nodes of an option draw, in these parts, rounded up."""
        return option.nodes * ceil((_exact(option.watts) + _exact(self.base_w)) * self.scale)

    @cached_property
    def columns(self) -> Columns:
        """All options that can be the best, as arrays."""
        return Columns.of(self)


def _exact(power: float) -> Fraction:
    """A power as it is written."""
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
        """The options of `decision` that no other one of the same job dominates."""
        rows: list[Row] = []
        jobs: list[int] = []
        first = [0]
        for index, job in enumerate(decision.jobs):
            now = None if job.running is None else job.running[0]
            mine = [
                (one.nodes, decision.draw(one), one.value, int(now is not None and one.nodes != now), k)
                for k, one in enumerate(job.options)
            ]
            best = _undominated([one for one in mine if one[0] <= decision.nodes and one[1] <= decision.budget])
            rows += best
            jobs += [index] * len(best)
            first.append(len(rows))
        nodes, draw, value, resize, option = zip(*rows, strict=True) if rows else ((), (), (), (), ())
        whole = [np.array(one, np.int64) for one in (jobs, option, nodes, draw, resize, first)]
        return cls(whole[0], whole[1], whole[2], whole[3], np.array(value, np.float64), whole[4], whole[5])


Row = tuple[int, int, float, int, int]


def _undominated(rows: list[Row]) -> list[Row]:
    """(nodes, draw, value, resize, index): those no other is at least as good as in everything; of equals the first."""
    kept: list[Row] = []
    for row in sorted(rows, key=lambda one: (one[0], one[1], -one[2], one[3], one[4])):
        nodes, draw, value, resize, _ = row
        if not any(n <= nodes and w <= draw and v >= value and r <= resize for n, w, v, r, _ in kept):
            kept.append(row)
    return sorted(kept, key=lambda one: one[4])


@dataclass(frozen=True)
class Choice:
    """The answer.

    Attributes
    ----------
    chosen
        Index of the option of each job that has one, by index of the job.
    bound
        No choice is worth more.
    status
        ``optimal`` (proven), ``feasible`` (the best found), or ``infeasible``: what runs has no room.
    """

    chosen: dict[int, int]
    objective: float
    bound: float
    status: str
