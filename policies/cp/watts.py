"""Watts of a run as one more amount of an instance: ``power``, and ``power_w`` of each job, in whole watts.

Idle nodes take their part of the budget: it is less by what all nodes draw without a job, and a job draws what its
nodes draw more than that. A waiting job is taken to be on as few nodes as can hold it, since only its layout says on
how many it is; the core counts those.
"""

from __future__ import annotations

from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from slurmsim.policy import JobView, LayoutsView, PowerFacts

NOISE_W = 1e-6  # of watts that were milliwatts


class Budget:
    """The watts that jobs may draw. `facts` must have a budget."""

    def __init__(self, view: LayoutsView, facts: PowerFacts) -> None:
        assert facts.budget_w is not None
        self._view, self._facts = view, facts
        self.power = floor(facts.budget_w - facts.idle_w * facts.n_nodes + NOISE_W)

    def running(self, job: JobView) -> int:
        """Of a job that runs, as it is charged."""
        shape = self._view.shape(job)
        return max(0, ceil(shape.charged_w - shape.nodes * self._facts.idle_w - NOISE_W))

    def waiting(self, job: JobView, units: int, room: NDArray[np.int64]) -> int:
        """Of a job that waits; `room` has the units that each of its nodes could hold."""
        facts, profile = self._facts, self._view.profile(job)
        cap_w = facts.cap_w if profile is None else max(facts.cap_w, profile.lowest_mw / 1000)
        return max(0, ceil(_fewest(units, room) * (facts.base_w + cap_w - facts.idle_w) - NOISE_W))


def budget_of(view: LayoutsView) -> Budget | None:
    """Return the budget now in force, or None."""
    facts = view.power
    return None if facts is None or facts.budget_w is None else Budget(view, facts)


def _fewest(units: int, room: NDArray[np.int64]) -> int:
    """On how few nodes `units` can be."""
    most = -room
    most.sort()
    return int((-most).cumsum().searchsorted(units)) + 1
