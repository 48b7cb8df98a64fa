"""``scontrol suspend`` and ``scontrol resume``: the facts Suspend and Resume."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Resume, Suspend
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.occupancy.gang import Gang
    from slurmsim.core.occupancy.suspension import Suspension
    from slurmsim.core.queue.priority import Basic, Multifactor
    from slurmsim.core.state.controller_state import ControllerState


class SuspendFacts:
    """Carries them out.

    Parameters
    ----------
    count_no_more
        Told of every job that is suspended: counting does not tell any more what its pool can do.
    """

    def __init__(
        self, state: ControllerState, suspension: Suspension, gang: Gang | None, plugin: Basic | Multifactor,
        count_no_more: Callable[[Job], None],
    ) -> None:  # fmt: skip
        self.state, self._suspension, self._gang = state, suspension, gang
        self._plugin, self._count_no_more = plugin, count_no_more

    def on_suspend(self, fact: Suspend) -> None:
        """Apply ``scontrol suspend``. A job the gang scheduler stopped stays stopped: its priority becomes 0."""
        state, gang = self.state, self._gang
        job = state.jobs.get(fact.job_id)
        if job is None or job.state not in (JobState.RUNNING, JobState.SUSPENDED):
            return
        job.priority = 0
        if job.state == JobState.RUNNING:
            self._count_no_more(job)
            self._suspension.park(job)
            if gang is not None:
                gang.ended(job)
        state.look_again()

    def on_resume(self, fact: Resume) -> None:
        """Apply ``scontrol resume``. A job the gang scheduler stopped is left to it, and gets its priority back."""
        state, gang = self.state, self._gang
        job = state.jobs.get(fact.job_id)
        if job is None or job.state != JobState.SUSPENDED:
            return
        if job.priority == 0:
            job.priority = min(self._plugin.submit(job, state.now))
        if job.id in state.holders.parked:
            self._suspension.unpark(job)
            if gang is not None:
                gang.started(job, state.now)
        elif gang is not None:
            gang.look_again()
        state.look_again()
