"""Allocations start when they are asked for, if they can: who asks for one sits waiting (job_allocate in job_mgr.c).

Batch jobs wait for a pass even on an empty cluster. srun and salloc get their nodes within their own request if no job
of higher priority waits (`top_priority`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmsim.core.queue.top_priority import is_top
from slurmsim.core.records.messages import StartAtOnce
from slurmsim.core.scheduling.may_start import MAY, SUBMISSION, StartTest
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.records.job_queue import Record
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay

SCHEDULER: Final = "Main"


class AtSubmit:
    """The try to start a job within its submission."""

    def __init__(self, state: ControllerState, test: StartTest, runs: RunWay) -> None:
        self.state, self._test, self._runs = state, test, runs

    def on_start_at_once(self, fact: StartAtOnce) -> None:
        """Start the job now, or say why it has to wait."""
        state = self.state
        job = state.jobs.get(fact.job_id)
        if job is None or job.state != JobState.PENDING or not job.queued or state.triggers.defer:
            return
        if job.sub.het is not None:
            return  # components start together, by backfill
        ahead = not is_top(state.queue, job, by_tier=state.rules.tops_by_tier)
        records = state.queue.jobs.get(job.id, ())
        # what it prefers, a submission does not do without
        for record in [one for one in records if one.preferred] or records:
            rule, text = self._test.refusal(record, SUBMISSION, ahead=ahead)
            if rule != MAY:
                state.set_reason(job, text)
            elif self._start(record):
                return

    def _start(self, record: Record) -> bool:
        alloc, held = self._test.find(record, self.state.table.up, None, SUBMISSION)
        if alloc is not None:
            self._runs.start(record, alloc, SCHEDULER)
            return True
        self.state.set_reason(record.job, held or Reason.RESOURCES)
        return False
