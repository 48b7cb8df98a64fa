"""Jobs that were measured: they draw what a log says of them, second by second of their run.

The meter is a simulation's. A policy sees none of it, and what counts against a budget is still a job's cap.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, Protocol

from slurmsim.core.records.shape import NOTHING_S, Shape

if TYPE_CHECKING:
    from slurmsim.core.state.controller_state import ControllerState

Meter = Callable[[int, int, float], tuple[int, float | None] | None]
"""Job, its nodes and the seconds it has run: milliwatts, and for how many seconds; None for a job not measured."""


class Drawn(Protocol):
    """What the watts of a cluster offer to a meter."""

    state: ControllerState
    shapes: dict[int, Shape]

    def draws(self, job_id: int, milliwatts: int) -> None:
        """Let a job that runs draw so much from now on."""


class Metering:
    """Sets what measured jobs draw whenever it changes."""

    def __init__(self, watts: Drawn, meter: Meter) -> None:
        self._watts, self._meter = watts, meter
        self._due: dict[int, int] = {}  # by job id: when its watts change next

    def read(self, job_id: int) -> None:
        """Let the job, which runs, draw what it drew at this point of its run."""
        state, shape = self._watts.state, self._watts.shapes[job_id]
        found = self._meter(job_id, shape.nodes, shape.done_by(state.now))
        if found is None:
            return
        milliwatts, lasts_s = found
        self._watts.draws(job_id, milliwatts)
        self._due.pop(job_id, None)
        if lasts_s is not None:
            due = self._due[job_id] = state.now + max(1, ceil(lasts_s + shape.lost_at(state.now) - NOTHING_S))
            state.timers.set(due, self._look, job_id)

    def stop(self, job_id: int) -> None:
        """Read no more of the job: it is suspended, or over."""
        self._due.pop(job_id, None)

    def _look(self, job_id: int) -> None:
        if self._due.get(job_id) == self._watts.state.now:
            self.read(job_id)
