"""Nodes and caps of several running jobs changed together: all of a decision, or nothing.

What is lowered goes first, so that no instant has more than before and after. All that are resized in a decision stand
still for twice the longest change of size (PARM, section on costs).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap, lowest
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Reshaped
from slurmsim.errors import InvariantError
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.occupancy.completing import Completing
    from slurmsim.core.occupancy.power import PowerSaving
    from slurmsim.core.occupancy.resize import Resizes
    from slurmsim.core.occupancy.watts import Watts
    from slurmsim.core.reservations.access import ReservationAccess
    from slurmsim.core.state.controller_state import ControllerState

Wish = tuple[Job, int, int]  # a job, its nodes and its cap in milliwatts from now on


class Reshaping:
    """Carries such decisions out."""

    def __init__(
        self, state: ControllerState, watts: Watts, resizes: Resizes, completing: Completing, power: PowerSaving | None,
        access: ReservationAccess,
    ) -> None:  # fmt: skip
        self.state, self.watts, self._resizes = state, watts, resizes
        self._completing, self._power, self._access = completing, power, access

    def apply(self, wishes: Sequence[Wish], among: Bitmap | None = None) -> bool:
        """Give every job what is wished for it; False, and nothing has changed, if that cannot be.

        Further nodes are taken out of `among`, None for all.
        """
        wishes = sorted((one for one in wishes if self._differs(one)), key=lambda wish: wish[0].id)
        if not all(self._may_change(job, nodes) for job, nodes, _ in wishes):
            return False
        shapes, spec = self.watts.shapes, self.watts.spec
        still_s = 2 * max((spec.resize_s(shapes[job.id].nodes, n) for job, n, _ in wishes), default=0.0)
        places = self._places(wishes, among, still_s)
        if places is None or not self._affordable(wishes):
            return False
        self.watts.joint_s = still_s
        try:
            for job, _, cap_mw in wishes:
                if cap_mw < shapes[job.id].cap_mw:
                    self.watts.set_cap(job, cap_mw)
            for job, nodes, _ in sorted(wishes, key=_grows):  # who shrinks may leave nodes to who grows
                if nodes != job.n_nodes and not self._resizes.onto(job, places[job.id]):
                    raise InvariantError(f"job {job.id} does not get the {nodes} nodes that were found for it")
            for job, _, cap_mw in wishes:
                self.watts.set_cap(job, cap_mw)
                self.state.actions.append(Reshaped(job))
        finally:
            self.watts.joint_s = None
        if wishes:
            self.state.changed()
        return True

    def _differs(self, wish: Wish) -> bool:
        job, nodes, cap_mw = wish
        shape = self.watts.shapes.get(job.id)
        return shape is None or (shape.nodes, shape.cap_mw) != (nodes, cap_mw)

    def _may_change(self, job: Job, nodes: int) -> bool:
        if job.state != JobState.RUNNING or (self._power is not None and self._power.waits(job)):
            return False
        now, shape = self.state.now, self.watts.shapes[job.id]
        return nodes == job.n_nodes or (now >= shape.moving_until and shape.point(now) == now)

    def _places(self, wishes: Sequence[Wish], among: Bitmap | None, still_s: float) -> dict[int, Bitmap] | None:
        """Return the nodes of each job that changes its size; None if one finds none to grow on.

        What reservations need before the job's new limit is given back first, and taken by no job.
        """
        table, found = self.state.table, dict[int, Bitmap]()
        free = table.idle & ~self._completing.nodes
        left = {
            job.id: self._access.left_to(job, self.watts.end_after(job, nodes, cap_mw, still_s))
            for job, nodes, cap_mw in wishes if nodes != job.n_nodes
        }  # fmt: skip
        for job, nodes, _ in wishes:
            if nodes < job.n_nodes:
                found[job.id] = _first(job.nodes, nodes, left[job.id])
                free |= job.nodes & ~found[job.id]
        free &= table.up if among is None else table.up & among
        for job, nodes, _ in wishes:
            more = nodes - job.n_nodes
            if more <= 0:
                continue
            assert job.alloc is not None
            mine = free & job.request.candidates & left[job.id]
            if not job.alloc.whole or not job.request.by_count or mine.bit_count() < more:
                return None
            new = lowest(mine, more)
            found[job.id] = job.nodes | new
            free &= ~new
        return found

    def _affordable(self, wishes: Sequence[Wish]) -> bool:
        """Return True if the budget bears what all will be charged at once; while data move the larger watts count."""
        watts, idle_mw = self.watts, self.watts.spec.idle_mw
        more_mw = more_nodes = 0
        for job, nodes, cap_mw in wishes:
            shape = watts.shapes[job.id]
            own, more = nodes * (cap_mw + watts.spec.base_mw), nodes - shape.nodes
            moves = more != 0 and shape.profile is not None
            moving = moves or self.state.now < shape.moving_until
            more_mw += (max(own, shape.charged_mw + more * idle_mw) if moving else own) - shape.charged_mw
            more_nodes += more
        return more_mw - more_nodes * idle_mw <= 0 or watts.room(more_mw, more_nodes)


def _first(nodes: Bitmap, n: int, preferred: Bitmap) -> Bitmap:
    """Return the first `n` of `nodes`, those of `preferred` before others."""
    good = nodes & preferred
    if good.bit_count() >= n:
        return lowest(good, n)
    return good | lowest(nodes & ~good, n - good.bit_count())


def _grows(wish: Wish) -> bool:
    job, nodes, _ = wish
    return nodes > job.n_nodes
