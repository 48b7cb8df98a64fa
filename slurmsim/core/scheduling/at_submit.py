"""Allocations start when they are asked for, if they can: who asks for one sits waiting (job_allocate in job_mgr.c).

Batch jobs wait for a pass even on an empty cluster; srun and salloc get their nodes within their own request when
nobody of higher priority waits (`top_priority`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.queue.top_priority import is_top
from slurmsim.core.records.messages import StartAtOnce
from slurmsim.core.scheduling.may_start import SUBMISSION, StartTest
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.records.job_queue import Record
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay

SCHEDULER = "Main"


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
        first = is_top(state.queue, job)
        for record in state.queue.jobs.get(job.id, ()):
            kept = self._test.keeps_out(record)  # asked first, whoever else waits
            if kept is not None or not first:
                state.set_reason(job, kept or Reason.PRIORITY)
            elif self._start(record):
                return

    def _start(self, record: Record) -> bool:
        test, job = self._test, record.job
        held = test.keeps_out(record)
        if held is None:
            held = test.early(record)
        if held is None and not test.licensed(record):
            held = Reason.LICENSES
        if held is None:
            alloc, held = test.find(record, self.state.table.up, job.time_limit_s, SUBMISSION)
            if alloc is not None:
                self._runs.start(record, alloc, SCHEDULER)
                return True
        self.state.set_reason(job, held or Reason.RESOURCES)
        return False
