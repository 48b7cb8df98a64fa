"""How long a model takes by itself: built, and solved without a hint until it has a plan of a given value.

Dispatchers hand the solver a list schedule and stop at a limit of work, so their times say little about their models.
Here all get the same target and nothing else. They search as the paper does (the earliest job first, by slowdown, at
its earliest start, then the last position or node), or as CP-SAT likes. It does not simplify models first, since that
takes longer than most searches of a model this size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from slurmsim.data_classes import dataclass
from slurmsim_policies.cp import criteria
from slurmsim_policies.cp.admission import Q_LENGTH, admit
from slurmsim_policies.cp.boards import PooledBoard
from slurmsim_policies.cp.box_board import BoxBoard
from slurmsim_policies.cp.listing import by_slowdown, earliest_starts
from slurmsim_policies.cp.placing import node_classes, place
from slurmsim_policies.cp.problem import Instance

if TYPE_CHECKING:
    from slurmsim_policies.cp.models.base import ScheduleModel

MODELS = ("hcp19", "pcp19", "pcp20", "cp_classes")
SEARCHES = ("paper", "solver")


MOST_S = 60.0  # by the wall clock; classes of nodes in the order of the paper took 500 to 2,000 s on KIT


@dataclass(frozen=True, slots=True)
class Cold:
    """What came of it."""

    # build_s, solve_s: CPU seconds; the first from the admitted jobs to the whole model, the second with placing, where
    # there is one
    build_s: float
    solve_s: float
    value: int | None  # sum of slowdowns of the best plan, in `criteria`'s integers; None: no plan in the limit
    reached: bool  # whether it is the target or better


def admitted(instance: Instance, *, on_fitting_nodes: bool = False) -> Instance:
    """Return the instance of the jobs that could start now, from which the papers' dispatchers make a model."""
    return admit(instance, by_slowdown(instance), Q_LENGTH, on_fitting_nodes=on_fitting_nodes)


def cold(
    name: str, instance: Instance, target: int, limit: float, clock: Callable[[], float], search: str = "paper"
) -> Cold:
    """Build the model of dispatcher `name` for all jobs of `instance`, and solve it for slowdown.

    Parameters
    ----------
    search
        One of `SEARCHES`.
    target
        The solver stops when a plan has this sum of slowdowns (`criteria`'s integers) or less.
    limit
        Deterministic seconds after which it gives up. Some searches count as next to nothing there: none goes on for
        more than `MOST_S`.
    clock
        CPU seconds of this process.
    """
    from ortools.sat.python import cp_model

    began = clock()
    earliest = _earliest(name, instance)
    model = _model(name, instance, earliest)
    model.objective.minimise(criteria.SLOWDOWN)
    if search == "paper":
        model.decide_in(by_slowdown(instance))
    built = clock()
    solver = cp_model.CpSolver()
    told = solver.parameters
    told.max_deterministic_time, told.num_workers, told.random_seed, told.linearization_level = limit, 1, 1, 0
    told.max_time_in_seconds, told.cp_model_presolve = MOST_S, False
    if search == "paper":
        told.search_branching = told.FIXED_SEARCH

    class Stop(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            if self.objective_value <= target:
                self.stop_search()

    status = solver.solve(model.cp, Stop())
    value = None
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        value = _value(name, model, solver)
    done = clock()
    return Cold(built - began, done - built, value, value is not None and value <= target)


def _earliest(name: str, instance: Instance) -> dict[int, int]:
    if name == "hcp19":
        return {i: PooledBoard(instance).slot(instance.jobs[i], instance.now).start for i in instance.waiting}
    return earliest_starts(instance)


def _model(name: str, instance: Instance, earliest: Mapping[int, int]) -> ScheduleModel:
    from slurmsim_policies.cp.models.boxes import BoxModel
    from slurmsim_policies.cp.models.classes import ClassModel
    from slurmsim_policies.cp.models.interval import IntervalModel
    from slurmsim_policies.cp.models.pooled import PooledModel

    if name == "hcp19":
        return PooledModel(instance, earliest)
    if name == "pcp19":
        return IntervalModel(instance, earliest)
    if name == "pcp20":
        return BoxModel(instance, earliest, BoxBoard(instance).loads, fixed=True)
    return ClassModel(instance, earliest, node_classes(instance))


def _value(name: str, model: ScheduleModel, solver: object) -> int:
    """Of the solver's plan; of a model of pools with classes, of that plan once it is on nodes."""
    from ortools.sat.python import cp_model

    from slurmsim_policies.cp.models.classes import ClassModel

    assert isinstance(solver, cp_model.CpSolver)
    instance = model.instance
    starts = {i: solver.value(var) for i, var in model.starts.items()}
    if isinstance(model, ClassModel):
        plan, _ = place(instance, starts, model.read_split(solver), model.of)
        return criteria.value(instance, criteria.SLOWDOWN, plan.starts)
    return criteria.value(instance, criteria.SLOWDOWN, {instance.jobs[i].id: s for i, s in starts.items()})
