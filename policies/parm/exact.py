"""The best choice and its proof: all choices that lose little at the relaxation's prices, job by job.

What a choice is worth less than the bound is the sum of what its options lose, and what unused nodes and watts would
cost. So a choice that loses at most as much as is tried for has options that do, together. Those are few, and partial
choices with the same nodes and watts differ in their worth alone. Until one is found, twice as much is tried.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim_policies.parm.decision import IDLE, Choice, Columns, Decision, FloatArray, IntArray
from slurmsim_policies.parm.relaxation import Relaxation, relax

DIGITS = 10**12  # of the objective, as integers
ROOM = 1 << 62
STATES = 100_000  # partial choices that are kept at most; with less than all nothing is proven
FEW = 64  # as many are kept as they are
BEYOND = 20  # columns tried at first, beside one a job
NEAR = 1e-9  # rounding errors rule no choice out


def choose(decision: Decision, states: int = STATES) -> Choice:
    """Return the best choice; ties go to the fewest resizes and then to the fewest watts."""
    columns = decision.columns
    if (np.diff(columns.first) == 0).any():
        return Choice({}, 0.0, 0.0, "infeasible")
    if not len(columns.value):
        return Choice({}, 0.0, 0.0, "optimal")
    relaxed = relax(decision, columns)
    near = NEAR * max(abs(relaxed.bound), 1.0)
    if relaxed.bound < -near:
        return Choice({}, 0.0, 0.0, "infeasible")
    at = min(len(relaxed.loss) - 1, len(decision.jobs) + BEYOND)
    most = float(np.maximum.reduceat(relaxed.loss, columns.first[:-1]).sum()) + relaxed.price_n + relaxed.price_w
    tried = max(float(np.partition(relaxed.loss, at)[at]), near)
    while True:
        search = _Search(decision, columns, relaxed, tried + near, states)
        found = search.best()
        if not search.complete:
            return _answer(columns, found, relaxed.bound, "feasible" if found else "unknown")
        if found and found.loss <= tried + near:
            return _answer(columns, found, relaxed.bound, "optimal")
        if tried > most:
            return Choice({}, 0.0, 0.0, "infeasible")
        tried = 2 * tried if found is None else min(2 * tried, found.loss + near)


class _Found(NamedTuple):
    columns: IntArray  # the column of each job, (n_jobs,)
    loss: float  # how much less it is worth than the bound


def _answer(columns: Columns, found: _Found | None, bound: float, status: str) -> Choice:
    taken = () if found is None else found.columns
    objective = float(sum(columns.value[k] for k in taken))
    bound = objective if status == "optimal" else max(bound, objective)
    chosen = {int(columns.job[k]): int(columns.option[k]) for k in taken if columns.option[k] != IDLE}
    return Choice(chosen, objective, bound, status)


@dataclass(slots=True)
class _States:
    """Partial choices side by side, (n_states,) each: what their columns have together."""

    nodes: IntArray
    draw: IntArray
    worth: IntArray  # value, then how few resizes
    loss: FloatArray

    def of(self, kept: IntArray) -> _States:
        return _States(self.nodes[kept], self.draw[kept], self.worth[kept], self.loss[kept])


class _Search:
    """All choices of columns that lose at most `tried` together, without those that another is at least as good as."""

    def __init__(self, decision: Decision, columns: Columns, relaxed: Relaxation, tried: float, states: int) -> None:
        self._decision, self._columns, self._relaxed = decision, columns, relaxed
        self._tried, self._most = tried, states
        self.complete = True  # nothing was left out for lack of room
        jobs = len(decision.jobs)
        scale = min(DIGITS, ROOM // (2 * (jobs + 1) ** 2)) / (float(np.abs(columns.value).max()) or 1.0)
        self._worth = np.rint(columns.value * scale).astype(np.int64) * (jobs + 1) - columns.resize

    def best(self) -> _Found | None:
        """Return the best of them; None if there is none."""
        columns, relaxed = self._columns, self._relaxed
        open_ = np.flatnonzero(relaxed.loss <= self._tried)
        counts = np.bincount(columns.job[open_], minlength=len(columns.first) - 1)
        edges = np.cumsum(counts) - counts
        least_n = np.minimum.reduceat(columns.nodes[open_], edges)
        least_w = np.minimum.reduceat(columns.draw[open_], edges)
        taken = open_[edges]  # right for jobs that have one column left
        alone = taken[counts == 1]
        several = np.flatnonzero(counts > 1)
        several = several[np.argsort(counts[several], kind="stable")]
        states = _States(*(
            np.array([values[alone].sum()]) for values in (columns.nodes, columns.draw, self._worth, relaxed.loss)
        ))  # fmt: skip
        room_n = self._decision.nodes - int(least_n[several].sum())
        room_w = self._decision.budget - int(least_w[several].sum())
        back: list[tuple[int, IntArray, IntArray]] = []
        for job in several.tolist():
            room_n, room_w = room_n + int(least_n[job]), room_w + int(least_w[job])
            mine = open_[edges[job] : edges[job] + counts[job]]
            grown = self._with(states, mine, room_n, room_w)
            if grown is None:
                return None
            states, before, which = grown
            back.append((job, before, which))
        if not (fit := (states.nodes <= self._decision.nodes) & (states.draw <= self._decision.budget)).any():
            return None
        at = int(np.lexsort((states.draw, -states.worth, ~fit))[0])
        loss = (
            float(states.loss[at])
            + relaxed.price_n * (1 - int(states.nodes[at]) / self._decision.nodes)
            + relaxed.price_w * (1 - int(states.draw[at]) / max(self._decision.budget, 1))
        )
        for job, before, which in reversed(back):
            taken[job], at = which[at], int(before[at])
        return _Found(taken, loss)

    def _with(
        self, states: _States, mine: IntArray, room_n: int, room_w: int
    ) -> tuple[_States, IntArray, IntArray] | None:
        """Return the states with each of the columns `mine` added, of which state each is one, and which column."""
        columns, loss = self._columns, self._relaxed.loss
        nodes, draw = states.nodes[:, None] + columns.nodes[mine], states.draw[:, None] + columns.draw[mine]
        lost = states.loss[:, None] + loss[mine]
        good = np.flatnonzero((lost <= self._tried) & (nodes <= room_n) & (draw <= room_w))
        if not len(good):
            return None
        before, which = good // len(mine), mine[good % len(mine)]
        worth = states.worth[before] + self._worth[which]
        grown = _States(nodes.ravel()[good], draw.ravel()[good], worth, lost.ravel()[good])
        kept = _undominated(grown)
        if len(kept) > self._most:
            self.complete = False
            kept = kept[np.argsort(grown.loss[kept], kind="stable")[: self._most]]
        return grown.of(kept), before[kept], which[kept]


def _undominated(states: _States) -> IntArray:
    """Return the states that none with as many nodes and no more watts is at least as good as; of equals the first."""
    if len(states.nodes) < FEW:
        return np.arange(len(states.nodes))
    order = np.lexsort((-states.worth, states.draw, states.nodes))
    nodes, worth = states.nodes[order], states.worth[order]
    _, rank = np.unique(worth, return_inverse=True)
    # ranks that begin anew with each number of nodes, so that one running maximum does for all
    rank = rank + len(order) * np.cumsum(np.diff(nodes, prepend=nodes[0]) != 0)
    higher = np.diff(np.maximum.accumulate(rank), prepend=-1) > 0
    return order[higher]
