"""What every model has: a start for each waiting job, the horizon, and an objective."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ortools.sat.python import cp_model

from slurmsim_policies.cp.instance_data import Job
from slurmsim_policies.cp.models.objectives import Objective
from slurmsim_policies.cp.plan import Plan
from slurmsim_policies.cp.problem import Instance

Var = cp_model.IntVar
Interval = cp_model.IntervalVar


class ScheduleModel:
    """Starts and objectives; a subclass adds what keeps jobs apart.

    Parameters
    ----------
    earliest
        Of each waiting job, by index, when it could start were it alone (`listing.earliest_starts`).
    """

    def __init__(self, instance: Instance, earliest: Mapping[int, int]) -> None:
        self.instance = instance
        self.cp = cp_model.CpModel()
        self.starts: dict[int, Var] = {}  # variable s_i of each waiting job, by index: in [earliest, eoh - D_i]
        self.spans: dict[int, Interval] = {}
        self._make_starts(earliest)
        self.objective = Objective(instance, self.cp, self.starts, earliest)

    @property
    def solver_variables(self) -> int:
        """How many variables the solver was given, before it simplifies."""
        return len(self.cp.proto.variables)

    @property
    def solver_constraints(self) -> int:
        """How many constraints the solver was given; an interval counts as one."""
        return len(self.cp.proto.constraints)

    def decide_in(self, order: Sequence[int]) -> None:
        """PCP'20's search: the job that can start earliest, of those the first in `order`, at its earliest start."""
        starts = [self.starts[i] for i in order]
        self.cp.add_decision_strategy(starts, cp_model.CHOOSE_LOWEST_MIN, cp_model.SELECT_MIN_VALUE)

    def waiting(self) -> Iterator[tuple[int, Job]]:
        """Index and record of each waiting job."""
        for i in self.instance.waiting:
            yield i, self.instance.jobs[i]

    def hint(self, plan: Plan) -> None:
        """Hand the solver `plan` as a complete first solution, in place of any before."""
        self.cp.clear_hints()
        starts = {i: plan.starts[job.id] for i, job in self.waiting()}
        for i, var in self.starts.items():
            self.cp.add_hint(var, starts[i])
        self._hint_places(plan)
        self.objective.hint(starts)

    def read(self, solver: cp_model.CpSolver) -> Plan:
        """Return the plan of the solver's best solution."""
        plan = Plan({}, {})
        for i, job in enumerate(self.instance.jobs):
            if job.start is not None:
                plan.starts[job.id] = job.start
                plan.layout[job.id] = {node: job.nodes.count(node) for node in sorted(set(job.nodes))}
            else:
                plan.starts[job.id] = solver.value(self.starts[i])
        self._read_places(solver, plan)
        return plan

    def _hint_places(self, plan: Plan) -> None:
        """Give the hint for everything but starts and objective."""

    def _read_places(self, solver: cp_model.CpSolver, plan: Plan) -> None:
        """Put the layout into `plan`."""

    def _make_starts(self, earliest: Mapping[int, int]) -> None:
        """s_i in [t, eoh], interval tau_i of length D_i (EURORA section 3); it never starts before it could alone."""
        for i, job in self.waiting():
            start = self.cp.new_int_var(earliest[i], self.instance.horizon - job.duration, f"s{i}")
            self.starts[i] = start
            self.spans[i] = self.cp.new_fixed_size_interval_var(start, job.duration, f"tau{i}")

    def fixed(self, start: int, end: int, name: str) -> Interval:
        """Return the interval of something that is not decided."""
        return self.cp.new_fixed_size_interval_var(start, end - start, name)

    def _share_all_nodes(self) -> None:
        """cumulative(s, d, req_r, sum_n cap_{n,r}) for each resource (PCP'20 section 3): all nodes as one."""
        whole = self.instance.capacity.sum(axis=0)
        for r, most in enumerate(whole):
            uses = [(self.spans[i], job.total[r]) for i, job in self.waiting() if job.total[r]]
            uses += [
                (self.fixed(load.start, load.end, f"load{n}_{r}"), load.amounts[r])
                for n, load in enumerate(self.instance.loads) if load.amounts[r]
            ]  # fmt: skip
            self.limit(uses, int(most))

    def _share_power(self) -> None:
        """Watts are one more cumulative, where there is a budget."""
        instance = self.instance
        if instance.power is None:
            return
        uses = [(self.spans[i], job.power_w) for i, job in self.waiting() if job.power_w]
        for i in instance.running:
            job = instance.jobs[i]
            if job.power_w:
                uses.append((self.fixed(instance.now, instance.end(job), f"watts{i}"), job.power_w))
        self.limit(uses, instance.power)

    def limit(self, uses: list[tuple[Interval, int]], capacity: int) -> None:
        """At no time more than `capacity` is in use; posted only where it could be."""
        if sum(amount for _, amount in uses) > capacity:
            self.cp.add_cumulative([span for span, _ in uses], [amount for _, amount in uses], capacity)
