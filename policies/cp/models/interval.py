"""EURORA 2014 and PCP'19: an optional interval for each copy of a unit that a node could hold.

Source: EURORA 2014, section 3, equations 6-8; corrected as docs/systems/eurora.md says.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ortools.sat.python import cp_model

from slurmsim_policies.cp.models.base import Interval, ScheduleModel, Var
from slurmsim_policies.cp.plan import Plan
from slurmsim_policies.cp.problem import Instance

Copies = dict[int, list[tuple[Var, Interval]]]  # by node: presence and interval of each copy


class IntervalModel(ScheduleModel):
    """v_{i,j,k}: the j-th copy of a unit of job i on node k.

    Parameters
    ----------
    pooled
        Also post the cumulative over all nodes together: implied, not in the paper. Of 36 solves of tiny and of
        contested instances it proves 32 (without it 20) and improves on the list in 16 (9), in a tenth of the time.
    """

    def __init__(self, instance: Instance, earliest: Mapping[int, int], *, pooled: bool = False) -> None:
        super().__init__(instance, earliest)
        self._copies: dict[int, Copies] = {i: self._make_copies(i) for i in self.starts}
        self._map_units()
        self._order_copies()
        self._keep_capacity()
        self._share_power()
        if pooled:
            self._share_all_nodes()

    def _make_copies(self, i: int) -> Copies:
        """Equation 6 (corrected): p_{i,k} optional intervals on node k, with the start and length of tau_i."""
        job = self.instance.jobs[i]
        copies: Copies = {}
        for node, most in enumerate(self.instance.places(job).tolist()):
            for j in range(most):
                present = self.cp.new_bool_var(f"x{i}_{node}_{j}")
                span = self.cp.new_optional_fixed_size_interval_var(
                    self.starts[i], job.duration, present, f"v{i}_{node}_{j}"
                )
                copies.setdefault(node, []).append((present, span))
        return copies

    def _map_units(self) -> None:
        """Equation 7: exactly rn_i of the copies are present (they share start and end with tau_i as they are made)."""
        for i, copies in self._copies.items():
            presences = [present for there in copies.values() for present, _ in there]
            units = self.instance.jobs[i].units
            if units == 1:
                self.cp.add_exactly_one(presences)
            else:
                self.cp.add(cp_model.LinearExpr.sum(presences) == units)

    def _order_copies(self) -> None:
        """Copy j + 1 on a node only beside copy j: they are alike."""
        for copies in self._copies.values():
            for there in copies.values():
                for (first, _), (second, _) in pairwise(there):
                    self.cp.add_implication(second, first)

    def _keep_capacity(self) -> None:
        """Equation 8 (corrected): the present copies on node k never need more of r than cap_{k,r}."""
        instance = self.instance
        fixed: dict[int, list[tuple[Interval, tuple[int, ...]]]] = {}
        for n, load in enumerate(instance.loads):
            fixed.setdefault(load.node, []).append((self.fixed(load.start, load.end, f"load{n}"), load.amounts))
        here: dict[int, list[tuple[Interval, tuple[int, ...]]]] = {}
        for i, copies in self._copies.items():
            for node, there in copies.items():
                here.setdefault(node, []).extend((span, instance.jobs[i].demand) for _, span in there)
        for node, spans in here.items():
            for r in range(len(instance.resources)):
                uses = [(span, amounts[r]) for span, amounts in [*spans, *fixed.get(node, ())] if amounts[r]]
                self.limit(uses, int(instance.capacity[node, r]))

    def decide_in(self, order: Sequence[int]) -> None:
        """After the starts the copies: those of the last node first, present ("best fit" as in PCP'20's search)."""
        super().decide_in(order)
        there = [present for i in order for node in sorted(self._copies[i], reverse=True)
                 for present, _ in self._copies[i][node]]  # fmt: skip
        self.cp.add_decision_strategy(there, cp_model.CHOOSE_FIRST, cp_model.SELECT_MAX_VALUE)

    def _hint_places(self, plan: Plan) -> None:
        hint = self.cp.proto.solution_hint  # at once: there are thousands
        for i, job in self.waiting():
            units = plan.layout[job.id]
            copies = self._copies[i].items()
            hint.vars.extend([present.index for _, there in copies for present, _ in there])
            hint.values.extend([int(j < units.get(node, 0)) for node, there in copies for j in range(len(there))])

    def _read_places(self, solver: cp_model.CpSolver, plan: Plan) -> None:
        found = list(solver.response_proto.solution)
        for i, job in self.waiting():
            units = {node: sum(found[present.index] for present, _ in there) for node, there in self._copies[i].items()}
            plan.layout[job.id] = {node: n for node, n in units.items() if n}
