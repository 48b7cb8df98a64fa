"""One call of CP-SAT, and how often it is called: everything that could make two runs differ is fixed here.

One worker, a fixed seed, a limit in deterministic time (work done, not seconds), a complete first solution. A guard in
seconds is only for the unforeseen: an answer it cut short says that it is not repeatable.
"""

from collections.abc import Callable, Iterator
from math import ceil

from ortools.sat.python import cp_model

from slurmsim.data_classes import dataclass
from slurmsim_policies.cp.models.base import ScheduleModel

Clock = Callable[[], float]  # CPU seconds of this process


@dataclass(frozen=True, slots=True)
class Limits:
    """How long each call may take, in deterministic time, and when to call again.

    EURORA's code multiplies by 5 while there is no solution, PCP'20 adds half a second, HCP'19 and PCP'19 double
    until the search is exhausted or the best value comes twice.
    """

    first: float
    factor: float = 1.0
    step: float = 0.0
    calls: int = 1
    settle: bool = False  # go on although there is a solution, until a value comes twice

    def each(self) -> Iterator[float]:
        """Yield the limit of each call."""
        limit = self.first
        for _ in range(self.calls):
            yield limit
            limit = limit * self.factor + self.step


@dataclass(frozen=True, slots=True)
class Effort:
    """What the solver is told beside the model."""

    limits: Limits
    seed: int = 1
    linearization_level: int = 0
    fixed_search: bool = False  # decide as the model's decision strategies say, which are the paper's
    guard_s: float | None = None
    presolve: bool = True


@dataclass(slots=True)
class Found:
    """What some calls found: the solver with the best solution, if there is one.

    `value` and `bound` are in the model's integers; `bound` is the best over all calls.
    """

    solver: cp_model.CpSolver | None = None
    value: int | None = None
    bound: int | None = None
    optimal: bool = False
    infeasible: bool = False
    invalid: str = ""
    calls: int = 0
    deterministic_time: float = 0.0
    repeatable: bool = True


def search(model: ScheduleModel, effort: Effort) -> Found:
    """Call the solver until the rules of `effort` are content."""
    found = Found(invalid=model.cp.validate())
    if found.invalid:
        return found
    for limit in effort.limits.each():
        before = found.value
        _call(model, effort, limit, found)
        if found.optimal or found.infeasible or not found.repeatable:
            break
        if found.value is not None and (not effort.limits.settle or found.value == before):
            break
    return found


def _call(model: ScheduleModel, effort: Effort, limit: float, found: Found) -> None:
    solver = cp_model.CpSolver()
    told = solver.parameters
    told.max_deterministic_time = limit
    told.num_workers = 1
    told.random_seed = effort.seed
    told.linearization_level = effort.linearization_level
    # What costs seconds before the search begins without counting as deterministic time: a third of these models' CPU.
    told.symmetry_level = told.cp_model_probing_level = 0
    told.max_presolve_iterations = 1
    told.cp_model_presolve = effort.presolve
    if effort.fixed_search:
        told.search_branching = told.FIXED_SEARCH
    if effort.guard_s is not None:
        told.max_time_in_seconds = effort.guard_s
    status = solver.solve(model.cp)
    spent = solver.response_proto.deterministic_time
    found.calls += 1
    found.deterministic_time += spent
    found.optimal = status == cp_model.OPTIMAL
    found.infeasible = status == cp_model.INFEASIBLE
    if effort.guard_s is not None and not found.optimal and not found.infeasible:
        found.repeatable = spent >= limit  # the clock ends a solve a little before its time, so do not read the clock
    if not found.infeasible:
        bound = _up(solver.best_objective_bound)
        found.bound = bound if found.bound is None else max(found.bound, bound)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        value = round(solver.objective_value)
        if found.value is None or value < found.value:
            found.solver, found.value = solver, value


def _up(bound: float) -> int:
    """Return the next integer, since objectives are integers; less what a float of that size cannot tell."""
    noise = 1e-6 + abs(bound) * 2**-50
    return ceil(bound - noise)
