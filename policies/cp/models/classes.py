"""Ours: one integer per job and class of identical nodes; concrete nodes are found afterwards (`placing`).

Nodes of one class are equal in capacity and usable by the same jobs. A class is one pool of each resource, and a job
takes from it in proportion to its units there: a cumulative with variable heights. Every plan on nodes is one of this
model, so its optimum bounds theirs, and a plan that can be placed at its value is optimal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from slurmsim_policies.cp.boards import CapacityBoard, Timeline
from slurmsim_policies.cp.crowding import crowds
from slurmsim_policies.cp.instance_data import Job
from slurmsim_policies.cp.models.base import Interval, ScheduleModel, Var
from slurmsim_policies.cp.plan import Plan
from slurmsim_policies.cp.problem import Instance

Split = dict[int, dict[int, int]]  # units of each job, by index, in each class


class ClassModel(ScheduleModel):
    """u_{i,c}: how many units of job i run in class c.

    Parameters
    ----------
    of
        Class of each node, (n_nodes,) from 0 (`placing.node_classes`).
    """

    def __init__(self, instance: Instance, earliest: Mapping[int, int], of: NDArray[np.int64]) -> None:
        super().__init__(instance, earliest)
        self.of = of
        self.n_classes = int(self.of.max()) + 1
        self._units: dict[int, dict[int, Var | int]] = {}
        self._most: dict[int, dict[int, int]] = {}
        self._early: list[tuple[Var, int, int]] = []  # whether job i starts before that time
        line = CapacityBoard(instance).timeline
        for i, job in self.waiting():
            self._make_units(i, job)
            if len(self._units[i]) > 1:
                self._enter(i, line.times, line.fits(job))
        self._share_classes()
        for c in range(self.n_classes):
            self._crowd(c, line)
        self._share_power()

    def _make_units(self, i: int, job: Job) -> None:
        """sum_c u_{i,c} = rn_i, each at most what the class holds when empty."""
        places = np.bincount(self.of, self.instance.places(job), self.n_classes).astype(int).tolist()
        most = self._most[i] = {c: min(job.units, room) for c, room in enumerate(places) if room}
        if len(most) == 1:
            self._units[i] = dict.fromkeys(most, job.units)
            return
        units = {c: self.cp.new_int_var(0, n, f"u{i}_{c}") for c, n in most.items()}
        self.cp.add(cp_model.LinearExpr.sum(list(units.values())) == job.units)
        self._units[i] = dict(units)

    def _enter(self, i: int, times: Sequence[int], fits: NDArray[np.int64]) -> None:
        """While what runs leaves room for n units in a class, node by node, no more than n of them start there.

        What is free in a class as a whole may be crumbs of single nodes. Of what runs now the crumbs are known.
        """
        for c, units in self._units[i].items():
            room = np.maximum.accumulate(fits[:, self.of == c].sum(axis=1)).tolist()
            for (before, after), time in zip(pairwise(room), times[1:], strict=True):
                if before < after and before < self._most[i][c]:
                    early = self.cp.new_bool_var(f"early{i}_{c}_{time}")
                    self._early.append((early, i, time))
                    self.cp.add(units <= before).only_enforce_if(early)
                    self.cp.add(self.starts[i] >= time).only_enforce_if(~early)

    def _share_classes(self) -> None:
        """cumulative(s, d, u_{i,c} rq_{i,r}, what class c has of r) for each class and resource."""
        instance = self.instance
        whole = np.zeros((self.n_classes, len(instance.resources)), np.int64)
        np.add.at(whole, self.of, instance.capacity)
        for c in range(self.n_classes):
            for r in range(len(instance.resources)):
                self._share(c, r, int(whole[c, r]))

    def _share(self, c: int, r: int, most: int) -> None:
        spans: list[Interval] = []
        amounts: list[cp_model.LinearExprT] = []
        full = 0
        for i, job in self.waiting():
            if job.demand[r] and c in self._units[i]:
                spans.append(self.spans[i])
                amounts.append(self._units[i][c] * job.demand[r])
                full += self._most[i][c] * job.demand[r]
        if not spans:
            return
        for n, load in enumerate(self.instance.loads):
            if self.of[load.node] == c and load.amounts[r]:
                spans.append(self.fixed(load.start, load.end, f"load{n}_{r}"))
                amounts.append(load.amounts[r])
                full += load.amounts[r]
        if full > most:
            self.cp.add_cumulative(spans, amounts, most)

    def _crowd(self, c: int, line: Timeline) -> None:
        """Units that cannot share a node take nodes of class c from each other (`crowding`): implied, not in pools."""
        jobs = [i for i, units in self._units.items() if c in units]
        if not jobs:
            return
        for crowd in crowds(self.instance, jobs, np.flatnonzero(self.of == c), line):
            if sum(self._most[i][c] * parts for i, parts in crowd.parts.items()) <= crowd.capacity and not crowd.taken:
                continue
            spans = [self.spans[i] for i in crowd.parts]
            amounts: list[cp_model.LinearExprT] = [self._units[i][c] * parts for i, parts in crowd.parts.items()]
            for start, end, taken in crowd.taken:
                spans.append(self.fixed(start, end, f"crowd{c}_{start}"))
                amounts.append(taken)
            self.cp.add_cumulative(spans, amounts, crowd.capacity)

    def forbid(self, i: int, later: int, starts: Mapping[int, int], split: Split) -> None:
        """Add a cut: job i could not be placed as in this solution, among those that overlap its start.

        It starts no earlier than `later`, where it was placed, or one of the others no longer overlaps it, or it has
        fewer units in a class. What could not be placed by our allocator might be by another: a heuristic cut.
        """
        job = self.instance.jobs[i]
        start = starts[i]
        ways = [self._way(self.starts[i] >= later)]
        for j, other in self.waiting():
            begin = starts[j]
            if j != i and begin < start + job.duration and start < begin + other.duration:
                ways.append(self._way(self.starts[i] >= self.starts[j] + other.duration))
                ways.append(self._way(self.starts[j] >= self.starts[i] + job.duration))
        for c, units in split[i].items():
            var = self._units[i][c]
            if not isinstance(var, int) and units:
                ways.append(self._way(var < units))
        self.cp.add_bool_or(ways)

    def _way(self, what: cp_model.BoundedLinearExpression | bool) -> Var:
        chosen = self.cp.new_bool_var("")
        self.cp.add(what).only_enforce_if(chosen)
        return chosen

    def split_of(self, plan: Plan) -> Split:
        """Units in each class, of a plan with layouts."""
        split: Split = {}
        for i, job in self.waiting():
            split[i] = dict.fromkeys(self._units[i], 0)
            for node, units in plan.layout[job.id].items():
                split[i][int(self.of[node])] += units
        return split

    def _hint_places(self, plan: Plan) -> None:
        for i, units in self.split_of(plan).items():
            for c, n in units.items():
                var = self._units[i][c]
                if not isinstance(var, int):
                    self.cp.add_hint(var, n)
        for early, i, time in self._early:
            self.cp.add_hint(early, plan.starts[self.instance.jobs[i].id] < time)

    def read_split(self, solver: cp_model.CpSolver) -> Split:
        """Units in each class, of the solver's best solution."""
        return {i: {c: solver.value(var) for c, var in units.items()} for i, units in self._units.items()}
