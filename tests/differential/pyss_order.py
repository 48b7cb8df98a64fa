"""The order of one instant behind the published ``…-pyss-easy`` schedules, for comparison only.

Those schedules were made under another rule for what happens within one second: arrivals (by job id) come before
completions (in the order the jobs were started in), a pass follows each of them, and a job whose *request* ends at
this very second counts as finished for all passes of the second, for what is free now and for the shadow time alike.
"""

from __future__ import annotations

from typing import Any

from slurmsim.core.records.messages import Fact, Submit
from slurmsim.sim.simulation import Simulation


class EventByEvent(Simulation):
    """Tells the facts of an instant one by one, each followed by a pass of its own.

    The controller's own limit timer does the rest: the first step of a second ends every job whose limit ends in it.
    """

    def _turn(self, event: Any) -> None:
        facts = sorted(self._facts, key=self._order)
        for fact in facts or [None]:
            self._facts = [] if fact is None else [fact]
            super()._turn(event)

    def _order(self, fact: Fact) -> tuple[int, int, int]:
        if isinstance(fact, Submit):
            return 0, 0, fact.sub.job_id
        job = self.controller.state.jobs.get(fact.job_id)  # type: ignore[union-attr]
        started = job.start_time if job is not None else None
        return 1, started or 0, fact.job_id  # type: ignore[union-attr]
