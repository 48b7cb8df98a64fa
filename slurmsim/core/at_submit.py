"""Allocations start when they are asked for, if they can: who asks for one sits waiting (job_allocate in job_mgr.c).

Batch jobs wait for a pass even on an empty cluster; srun and salloc get their nodes within their own request when
nobody of higher priority waits (`top_priority`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.messages import StartAtOnce
from slurmsim.core.top_priority import is_top
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.job_queue import Record

SCHEDULER = "Main"


class AtSubmit:
    """The try to start a job within its submission."""

    def __init__(self, controller: Controller) -> None:
        self.c = controller

    def on_start_at_once(self, fact: StartAtOnce) -> None:
        """Start the job now, or say why it has to wait."""
        c = self.c
        job = c.jobs.get(fact.job_id)
        if job is None or job.state != JobState.PENDING or not job.queued or c.main.defer:
            return
        first = is_top(c.queue, job)
        for record in c.queue.jobs.get(job.id, ()):
            kept = c.keeps_out(job, record.partition, record.shape)  # asked first, whoever else waits
            if kept is not None or not first:
                c.set_reason(job, kept or Reason.PRIORITY)
            elif self._start(record):
                return

    def _start(self, record: Record) -> bool:
        c, job = self.c, record.job
        held = c.keeps_out(job, record.partition, record.shape)
        if held is None and c.limits is not None:
            held = c.limits.early(record)
        if held is None and job.licenses and not c.licenses.free(job, record.reservation):
            held = Reason.LICENSES
        if held is None:
            alloc = c.place_now(record, c.table.up, job.time_limit_s)
            if c.limits is not None:
                held = c.limits.after(record, alloc)
            if held is None and alloc is not None:
                c.start(record, alloc, SCHEDULER)
                return True
        c.set_reason(job, held or Reason.RESOURCES)
        return False
