"""The linear relaxation of a decision: a bound, prices of nodes and watts, and a good choice by rounding.

A multiple-choice knapsack in two dimensions. At its optimum at most two jobs are split among options, so rounding loses
little where jobs are many.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slurmsim_policies.parm.decision import Columns, Decision

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Relaxation:
    """What the linear program tells."""

    bound: float  # its value: no choice is worth more
    loss: FloatArray  # what a choice with this option is worth less than `bound`, at least; (n_options,)
    idle_loss: FloatArray  # the same of a choice in which the job has no option; (n_jobs,)
    share: FloatArray  # of each option in the relaxed optimum; (n_options,)


def relax(decision: Decision, columns: Columns) -> Relaxation | None:
    """Solve the relaxation; None where even it has no solution."""
    from ortools.linear_solver import pywraplp

    solver = pywraplp.Solver.CreateSolver("GLOP")
    count = len(columns.value)
    shares = [solver.NumVar(0, 1, "") for _ in range(count)]
    solver.Maximize(solver.Sum([float(v) * x for v, x in zip(columns.value, shares, strict=True)]))
    nodes = solver.Constraint(-solver.infinity(), 1)  # scaled: both resources are 1
    watts = solver.Constraint(-solver.infinity(), 1)
    for x, n, w in zip(shares, columns.nodes / decision.nodes, columns.draw / decision.budget, strict=True):
        nodes.SetCoefficient(x, float(n))
        watts.SetCoefficient(x, float(w))
    for index, job in enumerate(decision.jobs):
        one = solver.Constraint(1 if job.running is not None else -solver.infinity(), 1)
        for k in range(columns.first[index], columns.first[index + 1]):
            one.SetCoefficient(shares[k], 1)
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        return None
    price_n, price_w = max(nodes.dual_value(), 0.0), max(watts.dual_value(), 0.0)
    return priced(decision, columns, price_n, price_w, np.array([x.solution_value() for x in shares]))


def priced(decision: Decision, columns: Columns, price_n: float, price_w: float, share: FloatArray) -> Relaxation:
    """Bound and losses at prices of all nodes and of all watts, whatever the prices are (Lagrange)."""
    left = columns.value - price_n * columns.nodes / decision.nodes - price_w * columns.draw / decision.budget
    best = np.full(len(decision.jobs), -np.inf)
    np.maximum.at(best, columns.job, left)
    must = np.array([job.running is not None for job in decision.jobs], bool)
    best = np.where(must, best, np.maximum(best, 0.0))
    idle = np.where(must, np.inf, best)
    bound = float(best.sum() + price_n + price_w)
    return Relaxation(bound, best[columns.job] - left, idle, share)


def rounded(decision: Decision, columns: Columns, found: Relaxation) -> dict[int, int] | None:
    """Return a choice near the relaxed one, as column by job; None if running jobs found no room that way.

    A job with a whole option keeps it. Of the others, running jobs get their smallest one, as they must have one, and
    waiting jobs none. Then options are raised one by one where that brings most by the prices, until nothing fits.
    """
    first, nodes, draw = columns.first, columns.nodes, columns.draw
    chosen: dict[int, int] = {}
    for index, job in enumerate(decision.jobs):
        mine = np.arange(first[index], first[index + 1])
        if not len(mine):
            continue
        whole = mine[found.share[mine] > 1 - 1e-9]
        if len(whole):
            chosen[index] = int(whole[0])
        elif job.running is not None:
            split = mine[found.share[mine] > 1e-9]
            among = split if len(split) else mine
            chosen[index] = int(among[np.argmin(draw[among])])
    free_n = decision.nodes - int(sum(nodes[k] for k in chosen.values()))
    free_w = decision.budget - int(sum(draw[k] for k in chosen.values()))
    if free_n < 0 or free_w < 0:
        return None
    order = np.argsort(found.loss, kind="stable")
    changed = True
    while changed:
        changed = False
        for k in order:
            index = int(columns.job[k])
            before = chosen.get(index)
            gain = columns.value[k] - (0.0 if before is None else columns.value[before])
            if gain <= 0:
                continue
            more_n = int(nodes[k]) - (0 if before is None else int(nodes[before]))
            more_w = int(draw[k]) - (0 if before is None else int(draw[before]))
            if more_n <= free_n and more_w <= free_w:
                chosen[index] = int(k)
                free_n -= more_n
                free_w -= more_w
                changed = True
    return chosen
