"""When there are fewer watts than jobs draw: caps down, then sizes, then jobs are suspended, the least weighty first.

A budget falls, a suspended job is resumed, or nodes boot. Or a job starts beside others that the gang scheduler may
stop: which of them run is known only after the start. It is the last resort of the core, whatever the policy is; a
policy that watches its budget meets it only when that falls. Weight is priority, then how long a job has run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import lowest
from slurmsim.core.records.messages import Reshaped

if TYPE_CHECKING:
    from slurmsim.core.occupancy.gang import Gang
    from slurmsim.core.occupancy.resize import Resizes
    from slurmsim.core.occupancy.suspension import Suspension
    from slurmsim.core.occupancy.watts import Watts
    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState

BUDGET: Final = "Budget"


class Shortage:
    """Keeps what is charged within the budget, and gives back what it took.

    Parameters
    ----------
    gives_back
        Caps are raised again when there is room; else that is the policy's to do.
    """

    def __init__(
        self, state: ControllerState, watts: Watts, resizes: Resizes, suspension: Suspension, gives_back: bool
    ) -> None:
        self.state, self.watts, self._resizes, self._suspension = state, watts, resizes, suspension
        self._gives_back = gives_back
        # lets jobs take turns: a job that was suspended for want of watts goes on in its turn only. None: no turns.
        self.gang: Gang | None = None
        self._took = False  # something is still to be given back

    def settle(self) -> None:
        """Take what is too much, or give back what there is room for."""
        if not (self.watts.limited or self._took) or self.take():
            return
        if self._took:
            self._give_back()
            self._took = any(shape.by_budget or shape.lowered for shape in self.watts.shapes.values())

    def take(self) -> bool:
        """Take what is too much; return True if anything is."""
        budget = self.watts.budget_mw
        if budget is None or self.watts.total_mw <= budget:
            return False
        self._took = True
        self._lower_caps(budget)
        self._shrink(budget)
        self._suspend(budget)
        return True

    def _running(self) -> list[Job]:
        """Least weight first."""
        return sorted((entry[2] for entry in self.state.running), key=_weight)

    def _lower_caps(self, budget: int) -> None:
        for job in self._running():
            shape = self.watts.shapes[job.id]
            over = self.watts.total_mw - budget
            if over <= 0:
                return
            if shape.profile is None or self.state.now < shape.moving_until:
                continue
            cap = max(shape.profile.lowest_mw, shape.cap_mw - -(-over // shape.nodes))
            if cap < shape.cap_mw:
                shape.lowered = True
                self.watts.set_cap(job, cap)
                self.state.actions.append(Reshaped(job))

    def _shrink(self, budget: int) -> None:
        """Take nodes away at once: their data move while the job stands still on the others."""
        for job in self._running():
            shape = self.watts.shapes[job.id]
            over, profile = self.watts.total_mw - budget, shape.profile
            if over <= 0:
                return
            if profile is None or not profile.malleable or self.state.now < shape.moving_until:
                continue
            if shape.point(self.state.now) > self.state.now:
                continue
            each = shape.cap_mw + self.watts.spec.base_mw - self.watts.spec.idle_mw
            nodes = max(profile.min_nodes, shape.nodes - -(-over // each)) if each > 0 else shape.nodes
            if nodes < shape.nodes:
                self.watts.at_once = True
                self._resizes.keep(job, lowest(job.nodes, nodes))
                self.watts.at_once = False
                self.state.actions.append(Reshaped(job))

    def _suspend(self, budget: int) -> None:
        for job in self._running():
            if self.watts.total_mw <= budget:
                return
            self._suspension.stop(job, BUDGET)
            self.watts.shapes[job.id].by_budget = True

    def _give_back(self) -> None:
        watts = self.watts
        waiting = [job for _, _, job in self.state.suspended if watts.shapes[job.id].by_budget]
        for job in sorted(waiting, key=_weight, reverse=True):
            shape = watts.shapes[job.id]
            turn = self.gang is None or self.gang.has_turn(job)
            if turn and watts.room(shape.own_mw, self.state.holders.alone(job).bit_count()):
                self._suspension.go_on(job, BUDGET)
        if not self._gives_back:
            return
        for job in reversed(self._running()):
            shape, budget = watts.shapes[job.id], watts.budget_mw
            if not shape.lowered or self.state.now < shape.moving_until or shape.profile is None:
                continue
            wanted = watts.spec.default_cap(shape.profile.lowest_mw)
            if budget is not None:
                wanted = min(wanted, shape.cap_mw + (budget - watts.total_mw) // shape.nodes)
            shape.lowered = wanted < watts.spec.default_cap(shape.profile.lowest_mw)
            if wanted > shape.cap_mw:
                watts.set_cap(job, wanted)
                self.state.actions.append(Reshaped(job))


def _weight(job: Job) -> tuple[int, int, int]:
    start = job.start_time
    assert start is not None
    return job.priority, -start, -job.id
