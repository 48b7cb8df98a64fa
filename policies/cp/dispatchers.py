"""The dispatchers, as stages: list schedules, a model, the search, and for some a placing afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from slurmsim_policies.cp import criteria
from slurmsim_policies.cp.admission import admit, next_q_length
from slurmsim_policies.cp.allocators import last_position
from slurmsim_policies.cp.boards import Board, CapacityBoard, PooledBoard
from slurmsim_policies.cp.box_board import BoxBoard
from slurmsim_policies.cp.listing import ORDERS, by_slowdown, by_wait, earliest_first, earliest_starts, serial
from slurmsim_policies.cp.options import AUTO, interval_limit
from slurmsim_policies.cp.placing import node_classes, place, place_now
from slurmsim_policies.cp.plan import Answer, Plan, Status
from slurmsim_policies.cp.problem import Instance
from slurmsim_policies.cp.task import Stage, Task, concluded, rescaled, solve_one

if TYPE_CHECKING:
    from slurmsim_policies.cp.models.base import ScheduleModel
    from slurmsim_policies.cp.models.classes import ClassModel
    from slurmsim_policies.cp.search import Effort

PRESOLVED = 1_000
"""Variables up to which CP-SAT simplifies an interval model first: of larger ones that costs more than it gains."""
PRESOLVED_NODES = 256
"""Nodes up to which CP-SAT simplifies a model of boxes first: the domain of a position has a part for each node.

On 1,173 nodes that took 48 CPU seconds for two jobs of 24 units, and changed nothing.
"""
HOPELESS = 5_000
"""Variables beyond which, with a list schedule in hand, the default limit has no time for an interval model.

Of 243 solves of 5,000 to 7,000 variables in whole runs of EURORA's batches none found anything better than its hint.
"""


def list_plans(instance: Instance, make: Callable[[], Board], *orders: str) -> list[Plan]:
    """Return a list schedule for each of the named orders."""
    return [serial(instance, make(), ORDERS[name](instance)) for name in orders]


def list_schedule(task: Task) -> Answer:
    """No solver: one list schedule, the baseline of all others."""
    instance, options = task.instance, task.options
    task.earliest = earliest_starts(instance)
    scheme = earliest_first if options["scheme"] == "parallel" else serial
    plan = scheme(instance, CapacityBoard(instance), ORDERS[options["order"]](instance))
    name = options["model"]
    lower = task.lower_bound(name)
    status = Status.OPTIMAL if task.value(name, plan) <= lower else Status.FEASIBLE
    return _finish(task, name, Stage(plan, status, lower), plan, plan, 0, ())


def eurora(task: Task) -> Answer:
    """EURORA 2014: makespan, tardiness, late jobs, or one of them under bounds on the other two."""
    from slurmsim_policies.cp.models.interval import IntervalModel

    instance, options = task.instance, task.options
    task.earliest = earliest_starts(instance)
    variables = _paper_copies(task)
    name, *others = options["model"].split("_")

    def effort(share: int, again: bool = not options["hint"]) -> Effort:
        # the authors call again, five times as long, while there is no plan; a hint is one, where its bounds allow it
        rules = {"factor": 5, "calls": 4} if again else {}
        limit = interval_limit(options["limit"], variables, share)
        hopeless = options["limit"] == AUTO and options["hint"] and variables > HOPELESS
        return _effort(options, 0.0 if hopeless else limit, presolve=variables <= PRESOLVED, **rules)

    first = serial(instance, CapacityBoard(instance), by_wait(instance))
    plans = [first, *list_plans(instance, lambda: CapacityBoard(instance), "arrival", "duration", "length")]
    model: list[IntervalModel] = []

    def make() -> IntervalModel:
        if not model:
            model.append(IntervalModel(instance, task.earliest, pooled=bool(options["pooled"])))
        return model[0]

    hint = task.best(name, plans)
    if not others or all(hint.starts[task.instance.jobs[i].id] == start for i, start in task.earliest.items()):
        stage = solve_one(task, name, hint, make, effort(1))
        return _finish(task, name, stage, first, hint, variables, model)
    pure = {other: solve_one(task, other, task.best(other, plans), make, effort(4)) for other in others}
    stage, bounds = _bounded(task, name, pure, plans, make, (effort(2), effort(2, again=True)))
    if stage.status is Status.OPTIMAL and any(each.status is not Status.OPTIMAL for each in pure.values()):
        stage.status = Status.FEASIBLE  # best under bounds that are not: the pure models' values may be too large
        task.note = "the best under these bounds, which come from values that are not proven least"
    answer = _finish(task, name, stage, first, hint, variables, model)
    answer.bounds = bounds
    return answer


def _bounded(
    task: Task, name: str, pure: dict[str, Stage], plans: list[Plan], make: Callable[[], ScheduleModel],
    efforts: tuple[Effort, Effort],
) -> tuple[Stage, dict[str, int | float]]:  # fmt: skip
    """Minimise `name`, each other criterion at most delta times the value its pure model found (equations 12-14).

    A value of 0 posts no bound (the authors' code). Without a solution: the best plan in hand, the pure models' first.
    The second of `efforts` is for where no plan in hand is within the bounds.
    """
    instance, delta = task.instance, Fraction(task.options["delta"])
    most = {}
    for other, stage in pure.items():
        theta = task.value(other, stage.plan)
        if theta > 0:
            most[other] = int(delta * theta)
    shown = {other: criteria.in_units(instance, other, integers) for other, integers in most.items()}
    in_hand = [*(stage.plan for stage in pure.values()), *plans]
    within = [plan for plan in in_hand if all(task.value(other, plan) <= limit for other, limit in most.items())]
    hint = task.best(name, within or in_hand)
    lower = task.lower_bound(name)
    # nothing can be below the lower bound: there is nothing left to search for
    if within and task.value(name, hint) <= lower:
        return Stage(hint, Status.OPTIMAL, lower), shown
    effort = efforts[0] if within and task.options["hint"] else efforts[1]
    if within and task.too_large(effort):
        return Stage(hint, Status.FALLBACK, None), shown
    model = make()
    for other, limit in most.items():
        model.objective.at_most(other, limit * model.objective.scale(other) // criteria.scale(instance, other))
    model.objective.minimise(name)
    if task.options["hint"]:
        model.hint(hint)
    found = task.search(model, effort)
    # a hint that breaks the bounds is no answer, so what was found is not compared with it
    if found.solver is None or not within:
        plan = task.best(name, in_hand) if found.solver is None else model.read(found.solver)
        status = Status.FALLBACK if found.solver is None else Status.FEASIBLE
        if found.optimal and model.objective.exact(name):
            status = Status.OPTIMAL
        return Stage(plan, status, None if status is Status.FALLBACK else found.bound), shown
    return concluded(task, name, hint, model, found, lower), shown


def _paper_copies(task: Task) -> int:
    """|Q| + sum of p_{i,n}: what EURORA's and PCP'19's model has, built or not."""
    instance = task.instance
    return len(instance.waiting) + sum(int(instance.places(instance.jobs[i]).sum()) for i in instance.waiting)


def pcp19(task: Task) -> Answer:
    """PCP'19: EURORA's interval model, for slowdown."""
    from slurmsim_policies.cp.models.interval import IntervalModel

    _admit(task, on_fitting_nodes=True)
    instance, options = task.instance, task.options
    task.earliest = earliest_starts(instance)

    def board() -> CapacityBoard:
        return CapacityBoard(instance, last_position)

    first = earliest_first(instance, board(), by_slowdown(instance))
    hint = task.best(criteria.SLOWDOWN, [first, *list_plans(instance, board, "slowdown", "duration")])
    made: list[IntervalModel] = []

    def make() -> IntervalModel:
        made.append(IntervalModel(instance, task.earliest, pooled=bool(options["pooled"])))
        return made[0]

    variables = _paper_copies(task)
    effort = _effort(options, interval_limit(options["limit"], variables), factor=2, calls=5, settle=True)
    stage = solve_one(task, criteria.SLOWDOWN, hint, make, effort)
    return _finish(task, criteria.SLOWDOWN, stage, first, hint, variables, made)


def hcp19(task: Task) -> Answer:
    """HCP'19: when, with all nodes as one; then best-fit allocation of the jobs that start now."""
    from slurmsim_policies.cp.models.pooled import PooledModel

    _admit(task)
    instance, options = task.instance, task.options
    task.earliest = {i: PooledBoard(instance).slot(instance.jobs[i], instance.now).start for i in instance.waiting}
    order = by_slowdown(instance)
    first = earliest_first(instance, PooledBoard(instance), order)
    hint = task.best(
        criteria.SLOWDOWN, [first, *list_plans(instance, lambda: PooledBoard(instance), "slowdown", "duration")]
    )
    made: list[PooledModel] = []

    def make() -> PooledModel:
        made.append(PooledModel(instance, task.earliest))
        return made[0]

    effort = _effort(options, options["limit"], factor=2, calls=5, settle=True)
    stage = solve_one(task, criteria.SLOWDOWN, hint, make, effort)
    answer = _finish(task, criteria.SLOWDOWN, stage, first, hint, len(instance.waiting), made)
    pooled = stage.plan.starts
    answer.plan = place_now(instance, {i: pooled[instance.jobs[i].id] for i in order})
    return _queues(task, answer)


def pcp20(task: Task) -> Answer:
    """PCP'20: boxes in time and positions."""
    from slurmsim_policies.cp.models.boxes import BoxModel

    _admit(task)
    instance, options = task.instance, task.options
    task.earliest = earliest_starts(instance)
    boards: list[BoxBoard] = []

    def board() -> BoxBoard:
        boards.append(BoxBoard(instance, boards[0].loads if boards else None))
        return boards[-1]

    order = by_slowdown(instance)
    first = earliest_first(instance, board(), order)
    plans = [first, *list_plans(instance, board, "slowdown", "duration")]
    for plan in plans:
        _add_running(instance, plan, boards[0])
    hint = task.best(criteria.SLOWDOWN, plans)
    made: list[BoxModel] = []

    def make() -> BoxModel:
        cuts = options["cuts"].split("+")
        made.append(BoxModel(instance, task.earliest, boards[0].loads, cuts=cuts))
        return made[0]

    presolve = instance.n_nodes <= PRESOLVED_NODES
    effort = _effort(options, options["limit"], presolve, step=options["limit"] / 2, calls=5)
    stage = solve_one(task, criteria.SLOWDOWN, hint, make, effort)
    jobs = [instance.jobs[i] for i in instance.waiting]
    count = sum(1 + job.units * sum(amount > 0 for amount in job.demand) for job in jobs)
    return _finish(task, criteria.SLOWDOWN, stage, first, hint, count, made)


def _add_running(instance: Instance, plan: Plan, board: BoxBoard) -> None:
    """Where the running units lie belongs to a plan of boxes."""
    for load, offsets in zip(instance.loads, board.loads, strict=True):
        if load.job >= 0:
            plan.boxes.setdefault(instance.jobs[load.job].id, []).append((load.node, offsets))


def cp_classes(task: Task) -> Answer:
    """Ours: units per class of identical nodes, then nodes; plans that cannot be placed are forbidden, a few times."""
    from slurmsim_policies.cp.models.classes import ClassModel

    _admit(task)
    instance, name = task.instance, task.options["model"]
    task.earliest = earliest_starts(instance)
    order = by_slowdown if name == criteria.SLOWDOWN else by_wait
    first = serial(instance, CapacityBoard(instance), order(instance))
    others = list_plans(instance, lambda: CapacityBoard(instance), "arrival", "duration", "length")
    others.append(earliest_first(instance, CapacityBoard(instance), by_slowdown(instance)))
    hint = task.best(name, [first, *others])
    of = node_classes(instance)
    rooms = [{int(of[k]) for k in instance.places(instance.jobs[i]).nonzero()[0]} for i in instance.waiting]
    count = sum(1 + len(room) for room in rooms)
    lower = task.lower_bound(name)
    if task.value(name, hint) <= lower:
        return _finish(task, name, Stage(hint, Status.OPTIMAL, lower), first, hint, count, ())
    model = ClassModel(instance, task.earliest, of)
    model.objective.minimise(name)
    stage, cuts = _placed(task, name, hint, model, lower)
    answer = _finish(task, name, stage, first, hint, count, [model])
    answer.cuts = cuts
    return answer


def _placed(task: Task, name: str, hint: Plan, model: ClassModel, lower: int) -> tuple[Stage, int]:
    """Solve, place, and forbid what could not be placed as it was, at most so often; the best plan with nodes wins.

    The bound is that of the model without cuts, which are heuristic.
    """
    effort = _effort(task.options, task.options["limit"], factor=5, calls=4)
    best, bound, cuts, solved = hint, lower, 0, False
    while True:
        if task.options["hint"]:
            model.hint(best)
        found = task.search(model, effort)
        if not cuts and found.bound is not None:
            bound = max(bound, rescaled(model, name, found.bound))
        if found.solver is None:
            break
        starts = {i: found.solver.value(var) for i, var in model.starts.items()}
        plan, late = place(task.instance, starts, model.read_split(found.solver), model.of)
        solved = solved or not late
        again = serial(task.instance, CapacityBoard(task.instance), sorted(starts, key=lambda i: starts[i]))
        best = task.best(name, [plan, again, best])
        if not late or cuts == task.options["cuts"] or task.value(name, best) <= bound:
            break
        cuts += 1
        model.forbid(late[0], plan.starts[task.instance.jobs[late[0]].id], starts, model.read_split(found.solver))
    if task.value(name, best) <= bound:
        return Stage(best, Status.OPTIMAL, bound), cuts
    return Stage(best, Status.FEASIBLE if solved or best is not hint else Status.FALLBACK, bound), cuts


def _effort(options: Any, limit: float, presolve: bool = True, **rules: Any) -> Effort:
    from slurmsim_policies.cp.search import Effort, Limits

    return Effort(
        Limits(limit, **rules), options["seed"], options["linearization"], options["search"] == "paper",
        options["guard"], presolve,
    )  # fmt: skip


def _admit(task: Task, on_fitting_nodes: bool = False) -> None:
    """With ``admit=now``, leave out who could not start now, and who is beyond the length of the queue."""
    if task.options["admit"] == "now":
        before = task.instance
        order = by_slowdown(before)
        task.instance = admit(before, order, task.q_length, on_fitting_nodes=on_fitting_nodes)
        entered = {job.id for job in task.instance.jobs}
        task.left_out = [before.jobs[i].id for i in order if before.jobs[i].id not in entered]


def _finish(
    task: Task, name: str, stage: Stage, first: Plan, hint: Plan, variables: int, models: Sequence[ScheduleModel]
) -> Answer:
    """Return the answer of a solved stage, compared with the plans at hand."""
    instance = task.instance
    answer = task.answer(name, stage.plan, stage.status, stage.bound)
    answer.first_objective = criteria.in_units(instance, name, task.value(name, first))
    answer.hint_objective = criteria.in_units(instance, name, task.value(name, hint))
    answer.variables = variables
    for model in models:
        answer.solver_variables, answer.solver_constraints = model.solver_variables, model.solver_constraints
    if task.options.get("admit") == "now":
        solved = stage.status in (Status.OPTIMAL, Status.FEASIBLE)
        answer.q_length = next_q_length(task.q_length, len(instance.waiting), solved)
    return _queues(task, answer)


def _queues(task: Task, answer: Answer) -> Answer:
    """Return who starts now, and who has no start."""
    waiting = [task.instance.jobs[i] for i in task.instance.waiting]
    starts = answer.plan.starts
    answer.start_now = [job.id for job in waiting if starts.get(job.id) == task.instance.now]
    answer.queued = [*(job.id for job in waiting if job.id not in starts), *task.left_out]
    return answer


DISPATCHERS: dict[str, Callable[[Task], Answer]] = {
    "list": list_schedule, "cp_eurora": eurora, "pcp19": pcp19, "hcp19": hcp19, "pcp20": pcp20,
    "cp_classes": cp_classes,
}  # fmt: skip
