"""Every scheme x category x number of streams, by how likely it uses more than the allocation within the period.

Scheme ``start``: the next job is queued when the one before has left the queue, so that Q, the time between starts, is
the wait. Scheme ``end``: when it has ended; Q is wait + run time. P is the model's (equations 1-13 with corrections),
fed with the moments of node-hours per job, so that nodes and times need not be independent. The use of a job and its Q
are correlated, which the formula leaves out: `Candidate.renewal` has the spread with it.

The paper's hypothesis is that a fixed strategy uses up a large allocation with a higher probability than one that draws
its category anew for each job (`categories.drawn_anew`). `above` counts in how many ways that is so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from slurmsim.errors import ConfigError
from slurmsim.papers.titan.allocation import Moments, normal_probability, probability
from slurmsim.papers.titan.allocation.normal_law import all_normal_below
from slurmsim.papers.titan.strategy.categories import Category, Estimates, estimates, resampled
from slurmsim.papers.titan.strategy.data import FloatArray

SCHEMES = ("start", "end")
SHORTEST_H = 1 / 3600  # a gap of less than a second is taken for one
BOOTSTRAPS = 200


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way of submitting jobs."""

    scheme: str
    category: Category
    streams: int
    # P(U > U0) by the formula; `low` and `high`: 5 % and 95 % of bootstraps over weeks (None: fewer than two weeks), by
    # the spread of a long period
    probability: float
    renewal: float  # the same with the renewal spread, in which use and Q are correlated
    # expected, sd: of the use within the period, node-hours
    expected: float
    sd: float
    low: float | None = None
    high: float | None = None
    flags: tuple[str, ...] = ()  # what is to be heeded, one phrase each
    seen: bool = False  # its waits are those of a simulation, no more the log's

    @property
    def feasible(self) -> bool:
        """True if the machine has that many node-hours."""
        return BEYOND not in self.flags

    @property
    def name(self) -> str:
        streams = f", {self.streams} streams" if self.streams > 1 else ""
        return f"{self.category.name}, next on {self.scheme}{streams}"


BEYOND = "more than the machine has"


@dataclass(frozen=True, slots=True)
class Goal:
    """U0 node-hours within `period_h` hours, on a machine of `n_nodes` (0: unknown); `limit` queued jobs of a user."""

    target: float
    period_h: float
    n_nodes: int = 0
    limit: int | None = None

    def check(self) -> None:
        """Raise ConfigError for what the whole machine could not do."""
        most = self.n_nodes * self.period_h
        if most and self.target > most:
            raise ConfigError(f"{self.target:,.0f} node-hours are more than the machine has in {self.period_h:g} h",
                              field="--allocation", expected=f"at most {most:,.0f}")  # fmt: skip


def rank(found: Sequence[Category], goal: Goal, streams: Sequence[int], seed: int = 0) -> list[Candidate]:
    """All candidates, best first: what the machine has not comes last, then by P, then by E[U], then by name."""
    goal.check()
    made = []
    for category in found:
        whole = estimates(category.weeks.sum(axis=0))
        samples = resampled(category, BOOTSTRAPS, seed)
        for scheme in SCHEMES:
            made += [candidate(category, scheme, k, goal, whole, samples) for k in streams]
    return sorted(made, key=order)


def above(ranked: Sequence[Candidate], drawn: Sequence[Candidate]) -> tuple[int, int, int]:
    """Return of how many ways of submitting P is above, equal to, and below that of drawing anew in the same way.

    The same way is the same scheme and the same number of streams.
    """
    other = {(one.scheme, one.streams): round(one.probability, 9) for one in drawn}
    signs = [np.sign(round(one.probability, 9) - other[one.scheme, one.streams]) for one in ranked]
    return signs.count(1), signs.count(0), signs.count(-1)


def order(one: Candidate) -> tuple[bool, float, float, int, str]:
    """Return the best first; probabilities that differ by less than 1e-9 tie, as 0 and 1 do."""
    return (not one.feasible, -round(one.probability, 9), -one.expected, one.streams, one.name)


def candidate(
    category: Category, scheme: str, streams: int, goal: Goal, whole: Estimates, samples: Estimates | None
) -> Candidate:
    """One way of submitting, judged by moments."""
    gap, gap_var, _ = _gap(scheme, whole)
    period = goal.period_h * streams
    wait = float(gap), math.sqrt(float(gap_var))
    per_job = float(whole.use), math.sqrt(float(whole.use_var))
    expected, sd = (float(one) for one in _use(scheme, whole, period))
    try:
        p = float(probability(goal.target, goal.period_h, wait, per_job=per_job, streams=streams))
    except ConfigError as error:
        if error.field != "period_h":
            raise
        p = float(normal_probability(goal.target, Moments(expected, sd)))  # so many jobs that it is the same
    low = high = None
    if samples is not None:
        means, sds = _use(scheme, samples, period)
        ps = all_normal_below((means - goal.target) / np.maximum(sds, 1e-300))
        low, high = (float(one) for one in np.quantile(ps, (0.05, 0.95)))
    flags = []
    if goal.n_nodes and expected > goal.n_nodes * goal.period_h:
        flags.append(BEYOND)
    if goal.limit is not None and streams > goal.limit:
        flags.append(f"more streams than the {goal.limit} queued jobs a user may have")
    renewal = float(normal_probability(goal.target, Moments(expected, sd)))
    return Candidate(scheme, category, streams, p, renewal, expected, sd, low, high, tuple(flags))


def with_waits(one: Candidate, waits: FloatArray, goal: Goal) -> Candidate:
    """Return the same with other waits (hours), those of a simulation in which its own jobs are part of the load."""
    whole = estimates(one.category.weeks.sum(axis=0))
    mean, variance = np.asarray(waits.mean(), np.float64), np.asarray(waits.var(), np.float64)
    seen = replace(whole, wait=mean, wait_var=variance, wait_run=np.zeros(()), wait_use=np.zeros(()))
    again = candidate(one.category, one.scheme, one.streams, goal, seen, None)
    return replace(again, seen=True)


def curve(one: Candidate, targets: FloatArray) -> FloatArray:
    """P(U > x) for each of `targets`, as the normal use of a long period."""
    return np.asarray(normal_probability(targets, Moments(one.expected, one.sd)), np.float64)


def _gap(scheme: str, of: Estimates) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and variance of Q, and its covariance with use."""
    if scheme == "start":
        return np.maximum(of.wait, SHORTEST_H), of.wait_var, of.wait_use
    mean = np.maximum(of.wait + of.run, SHORTEST_H)
    return mean, np.maximum(of.wait_var + of.run_var + 2 * of.wait_run, 0), of.run_use + of.wait_use


def _use(scheme: str, of: Estimates, period: float) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the use within a long period (renewal reward)."""
    gap, variance, shared = _gap(scheme, of)
    rate = of.use / gap
    spread = np.maximum(of.use_var + rate**2 * variance - 2 * rate * shared, 0)
    return rate * period, np.sqrt(spread * period / gap)
