"""What a dispatcher answers: a plan, how good it is, and how it was found."""

from enum import Enum
from typing import Any

from slurmsim.data_classes import dataclass, field

Layout = dict[int, int]  # units of one job per node index

Box = tuple[int, tuple[int, ...]]
"""Where one unit lies: its node, and per resource of the instance the first position in it (0 where it needs none)."""


class Status(Enum):
    """How good a plan is known to be."""

    OPTIMAL = "optimal"  # proven best
    FEASIBLE = "feasible"  # the best found before the limit
    FALLBACK = "fallback"  # the solver had nothing: the list schedule, or the pure solution of a composite
    INFEASIBLE = "infeasible"  # proven to have no plan


@dataclass(frozen=True)
class Plan:
    """When and where; of the waiting jobs and the running ones."""

    starts: dict[str, int]  # start by job id (s)
    # units per node by job id. A dispatcher that schedules first and allocates afterwards (HCP'19) has one only for
    # jobs that start now.
    layout: dict[str, Layout]
    # of the box model: where each unit lies, by job id, and of running jobs too
    boxes: dict[str, list[Box]] = field(default_factory=dict)


@dataclass
class Answer:
    """A plan with its pedigree; `as_plain` is what leaves the package.

    Values of the objective are in the paper's unit, as `criteria.in_units` gives them.
    """

    plan: Plan
    status: Status
    criterion: str  # what was minimised
    values: dict[str, int | float]  # all criteria of the plan
    objective: int | float | None = None
    hint_objective: int | float | None = None  # of the list schedule the solver was given
    first_objective: int | float | None = None  # of the paper's own search: no solver, no hint
    bound: int | float | None = None  # no plan is better
    objective_integer: int | None = None
    scale: int = 1  # integers in one unit
    variables: int = 0  # by the paper's formula
    solver_variables: int = 0
    solver_constraints: int = 0
    asked: bool = False  # whether the solver was
    solves: int = 0
    deterministic_time: float = 0.0
    repeatable: bool = True  # False if the guard on the clock ended a solve
    build_seconds: float | None = None  # CPU; None without a clock
    solve_seconds: float | None = None
    queued: list[str] = field(default_factory=list)  # waiting jobs without a start in the plan
    start_now: list[str] = field(default_factory=list)
    cuts: int = 0  # plans that could not be placed and were forbidden (cp_classes)
    q_length: int | None = None  # how many jobs to admit next time
    bounds: dict[str, int | float] = field(default_factory=dict)  # of a composite: what the other two may be at most
    note: str = ""

    def as_plain(self) -> dict[str, Any]:
        """Dictionaries, lists, numbers and words; node indices are words, as in JSON."""
        seconds = None
        if self.build_seconds is not None and self.solve_seconds is not None:
            seconds = self.build_seconds + self.solve_seconds
        plain: dict[str, Any] = {
            "objective": self.objective, "first_objective": self.first_objective,
            "hint_objective": self.hint_objective, "status": self.status.value, "criterion": self.criterion,
            "values": self.values, "bound": self.bound, "bounds": self.bounds,
            "objective_integer": self.objective_integer,
            "scale": self.scale, "variables": self.variables, "solver_variables": self.solver_variables,
            "solver_constraints": self.solver_constraints, "asked": self.asked, "solves": self.solves,
            "cuts": self.cuts, "deterministic_time": self.deterministic_time, "repeatable": self.repeatable,
            "starts": self.plan.starts,
            "layout": {job: {str(k): n for k, n in sorted(where.items())} for job, where in self.plan.layout.items()},
            "start_now": self.start_now, "queued": self.queued, "q_length": self.q_length, "note": self.note,
            "seconds": seconds, "build_seconds": self.build_seconds, "solve_seconds": self.solve_seconds,
        }  # fmt: skip
        if self.plan.boxes:
            plain["boxes"] = {
                job: [[node, *offsets] for node, offsets in units] for job, units in self.plan.boxes.items()
            }
        return plain
