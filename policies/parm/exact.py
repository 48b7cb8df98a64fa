"""The best choice and its proof: options the relaxation rules out are left out, the rest goes to CP-SAT.

An option with a loss larger than the gap between the bound and a known choice is in no better choice. With the gap of
two split jobs few options are left, whatever their number was.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slurmsim.errors import InvariantError
from slurmsim_policies.parm.decision import Choice, Columns, Decision
from slurmsim_policies.parm.relaxation import Relaxation, relax, rounded

DIGITS = 10**12  # of the objective, as integers
LIMIT = 4.0  # deterministic seconds of CP-SAT
MANY = 500  # beyond as many jobs the choice by rounding is taken where its gap is small
GAP = 0.01


@dataclass(frozen=True)
class Effort:
    """How long to try: deterministic seconds, and the gap that is good enough for many jobs."""

    limit: float = LIMIT
    many: int = MANY
    gap: float = GAP


def choose(decision: Decision, effort: Effort | None = None) -> Choice:
    """Return the best choice; ties go to the fewest resizes and then to the fewest watts.

    Raises
    ------
    ImportError
        OR-Tools is not installed.
    """
    effort = effort or Effort()
    columns = decision.columns
    must = [index for index, job in enumerate(decision.jobs) if job.running is not None]
    if any(columns.first[index] == columns.first[index + 1] for index in must):
        return Choice({}, 0.0, 0.0, "infeasible")
    if not len(columns.value):
        return Choice({}, 0.0, 0.0, "optimal")
    relaxed = relax(decision, columns)
    if relaxed is None:
        return Choice({}, 0.0, 0.0, "infeasible")
    known = rounded(decision, columns, relaxed)
    worth = -np.inf if known is None else float(columns.value[list(known.values())].sum())
    if known is not None and len(decision.jobs) > effort.many and worth >= (1 - effort.gap) * relaxed.bound:
        return _answer(columns, known, relaxed.bound, "feasible")
    return _core(decision, columns, relaxed, known, worth, effort)


def _answer(columns: Columns, chosen: dict[int, int], bound: float, status: str) -> Choice:
    taken = sorted(chosen.items())
    objective = float(sum(columns.value[k] for _, k in taken))
    bound = objective if status == "optimal" else max(bound, objective)
    return Choice({index: int(columns.option[k]) for index, k in taken}, objective, bound, status)


def _core(
    decision: Decision,
    columns: Columns,
    relaxed: Relaxation,
    known: dict[int, int] | None,
    worth: float,
    effort: Effort,
) -> Choice:
    """CP-SAT over the options that can be in a choice as good as the known one."""
    from ortools.sat.python import cp_model

    # the small part keeps rounding errors from ruling out the known choice itself
    gap = np.inf if known is None else relaxed.bound - worth + 1e-9 * max(abs(relaxed.bound), 1.0)
    open_ = np.flatnonzero(relaxed.loss <= gap)
    model = cp_model.CpModel()
    x = {int(k): model.new_bool_var("") for k in open_}
    for index, job in enumerate(decision.jobs):
        mine = [x[k] for k in range(columns.first[index], columns.first[index + 1]) if k in x]
        # to leave such a job out loses more than the gap, so each better choice has an option of it
        if job.running is not None or (mine and relaxed.idle_loss[index] > gap):
            model.add_exactly_one(mine)
        elif len(mine) > 1:
            model.add_at_most_one(mine)
    draws = [int(columns.draw[k]) for k in x]
    values = _integers(columns.value[list(x)])
    model.add(sum(int(columns.nodes[k]) * one for k, one in x.items()) <= decision.nodes)
    model.add(sum(draw * one for draw, one in zip(draws, x.values(), strict=True)) <= decision.budget)
    worth_of = sum(value * one for value, one in zip(values, x.values(), strict=True))
    model.maximize(worth_of)
    for k, one in x.items():
        model.add_hint(one, known is not None and known.get(int(columns.job[k])) == k)
    solver, status = _solved(model, effort)
    if status == cp_model.INFEASIBLE:
        return Choice({}, 0.0, 0.0, "infeasible")
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        if known is None:
            return Choice({}, 0.0, relaxed.bound, "unknown")
        return _answer(columns, known, relaxed.bound, "feasible")
    chosen = {int(columns.job[k]): k for k, one in x.items() if solver.boolean_value(one)}
    if status == cp_model.FEASIBLE:
        return _answer(columns, chosen, relaxed.bound, "feasible")
    calmest = _calmest(model, worth_of, columns, x, draws, decision.budget, solver, effort)
    return _answer(columns, calmest or chosen, relaxed.bound, "optimal")


def _calmest(
    model: Any,
    worth_of: Any,
    columns: Columns,
    x: dict[int, Any],
    draws: list[int],
    budget: int,
    solver: Any,
    effort: Effort,
) -> dict[int, int] | None:
    """Of the best choices the one with the fewest resizes, then with the fewest watts; None if that was not found."""
    from ortools.sat.python import cp_model

    model.add(worth_of >= round(solver.objective_value))
    model.clear_hints()
    for one in x.values():
        model.add_hint(one, solver.boolean_value(one))
    resize = 1 + budget  # more than what any choice draws
    model.minimize(sum(
        (resize * int(columns.resize[k]) + draw) * one for (k, one), draw in zip(x.items(), draws, strict=True)
    ))  # fmt: skip
    second, status = _solved(model, effort)
    if status != cp_model.OPTIMAL:
        return None
    return {int(columns.job[k]): k for k, one in x.items() if second.boolean_value(one)}


def _solved(model: Any, effort: Effort) -> tuple[Any, Any]:
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = effort.limit
    solver.parameters.linearization_level = 2
    status = solver.solve(model)
    if status == cp_model.MODEL_INVALID:
        raise InvariantError(f"a model CP-SAT does not take: {model.validate()}")
    return solver, status


def _integers(values: NDArray[np.float64]) -> list[int]:
    most = float(np.abs(values).max()) or 1.0
    return [round(float(value) / most * DIGITS) for value in values]
