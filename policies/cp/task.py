"""One instance on its way through a dispatcher: what is known so far, the books, and how one criterion is solved.

What all dispatchers share: no solver where a list schedule is known to be best, the best list schedule as the hint, and
nothing worse than it as the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from slurmsim.data_classes import dataclass, field
from slurmsim_policies.cp import criteria
from slurmsim_policies.cp.admission import Q_LENGTH
from slurmsim_policies.cp.listing import by_slowdown
from slurmsim_policies.cp.plan import Answer, Plan, Status
from slurmsim_policies.cp.problem import Instance

if TYPE_CHECKING:
    from slurmsim_policies.cp.models.base import ScheduleModel
    from slurmsim_policies.cp.search import Effort, Found

Clock = Callable[[], float]  # CPU seconds used so far


@dataclass
class Task:
    """One instance for one dispatcher, and what is known of it so far."""

    instance: Instance  # what is to be planned; with ``admit=now`` only those who entered
    options: Mapping[str, Any]
    clock: Clock | None = None
    q_length: int = Q_LENGTH
    solving_s: float = 0.0
    solves: int = 0
    deterministic_time: float = 0.0
    repeatable: bool = True
    asked: bool = False
    note: str = ""
    left_out: list[str] = field(default_factory=list)
    # when each waiting job could start were it alone, by index (s)
    earliest: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began = self.clock() if self.clock else 0.0

    def value(self, criterion: str, plan: Plan) -> int:
        """Return `criterion` of `plan` in integers."""
        return criteria.value(self.instance, criterion, plan.starts)

    def best(self, criterion: str, plans: Sequence[Plan]) -> Plan:
        return min(plans, key=lambda plan: self.value(criterion, plan))

    def lower_bound(self, criterion: str) -> int:
        """`criterion` if every job started as early as it could alone; of a makespan also what the work takes."""
        jobs = self.instance.jobs
        starts = {job.id: self.earliest[i] if job.start is None else job.start for i, job in enumerate(jobs)}
        alone = criteria.value(self.instance, criterion, starts)
        return max(alone, criteria.least_makespan(self.instance)) if criterion == criteria.MKS else alone

    def too_large(self, effort: Effort) -> bool:
        """Return True if `effort` has no time for a model of this size (`options.interval_limit`); the note says it."""
        if effort.limits.first > 0:
            return False
        self.note = "the solver was not asked: with so many variables limit=auto has no time for it"
        return True

    def search(self, model: ScheduleModel, effort: Effort) -> Found:
        """Ask the solver, and keep the books."""
        from slurmsim_policies.cp.search import search

        if effort.fixed_search and not self.asked:
            model.decide_in(by_slowdown(self.instance))
        with self._solving():
            found = search(model, effort)
        self.asked = True
        self.solves += found.calls
        self.deterministic_time += found.deterministic_time
        self.repeatable = self.repeatable and found.repeatable
        if found.invalid:
            self.note = f"the solver cannot take the model: {found.invalid.splitlines()[0]}"
        return found

    @contextmanager
    def _solving(self) -> Iterator[None]:
        began = self.clock() if self.clock else 0.0
        yield
        self.solving_s += (self.clock() if self.clock else 0.0) - began

    def answer(self, criterion: str, plan: Plan, status: Status, bound: int | None) -> Answer:
        """Return what is found, with the books; `bound` is in the integers of `criterion`."""
        instance = self.instance
        integer = self.value(criterion, plan)
        answer = Answer(
            plan, status, criterion,
            {name: criteria.in_units(instance, name, self.value(name, plan)) for name in criteria.NAMES},
        )  # fmt: skip
        answer.objective = criteria.in_units(instance, criterion, integer)
        answer.objective_integer, answer.scale = integer, criteria.scale(instance, criterion)
        if bound is not None:
            answer.bound = criteria.in_units(instance, criterion, min(bound, integer))
        answer.asked, answer.solves = self.asked, self.solves
        answer.deterministic_time, answer.repeatable = self.deterministic_time, self.repeatable
        answer.note = self.note
        if self.clock:
            answer.solve_seconds = self.solving_s
            answer.build_seconds = self.clock() - self._began - self.solving_s
        return answer


@dataclass
class Stage:
    """One criterion of one model, solved: the best plan in hand, how good it is, and what bounds it."""

    plan: Plan
    status: Status
    bound: int | None


def solve_one(task: Task, criterion: str, hint: Plan, make: Callable[[], ScheduleModel], effort: Effort) -> Stage:
    """Minimise `criterion`; nothing worse than `hint`, and no solver if that meets the lower bound.

    If everything that waits can start now, the hint is such a plan for every criterion. Without time for a model of
    this size it is not built: the hint is the answer.
    """
    lower = task.lower_bound(criterion)
    if task.value(criterion, hint) <= lower:
        return Stage(hint, Status.OPTIMAL, lower)
    if task.too_large(effort):
        return Stage(hint, Status.FALLBACK, lower)
    model = make()
    model.objective.minimise(criterion)
    if task.options["hint"]:
        model.hint(hint)
    found = task.search(model, effort)
    return concluded(task, criterion, hint, model, found, lower)


def concluded(task: Task, criterion: str, hint: Plan, model: ScheduleModel, found: Found, lower: int) -> Stage:
    """Return the better of what was found and the hint, and how good that is known to be."""
    bound = lower
    if found.bound is not None:
        bound = max(bound, rescaled(model, criterion, found.bound))
    if found.solver is None:
        return Stage(hint, Status.FALLBACK, bound)
    plan = task.best(criterion, [model.read(found.solver), hint])
    proven = found.optimal and model.objective.exact(criterion)
    if proven or task.value(criterion, plan) <= bound:
        return Stage(plan, Status.OPTIMAL, task.value(criterion, plan))
    return Stage(plan, Status.FEASIBLE, bound)


def rescaled(model: ScheduleModel, criterion: str, bound: int) -> int:
    """Return a bound of the model in the integers of `criteria`, rounded up: values are integers."""
    theirs, ours = model.objective.scale(criterion), criteria.scale(model.instance, criterion)
    return -(-bound * ours // theirs)
