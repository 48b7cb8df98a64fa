"""Flags of a QOS that say something of partitions, reservations and fair share.

PartitionMinNodes, PartitionMaxNodes and PartitionTimeLimit lift a limit of the partition; RequiresReservation refuses
jobs outside of reservations; with EnforceUsageThreshold a job waits while the fair-share factor of its association is
below UsageThreshold. Mirrors _part_access_check, job_limits_check and _determine_and_validate_qos (job_mgr.c, 22.05).
What limits make of a QOS is in `limits`, of its NoReserve in sched/backfill, of its Preempt list in `preemption`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.accounting.accounts import INVALID_QOS
from slurmsim.core.placement.compiled_request import PARTITION_FLAGS
from slurmsim.core.queue.priority import Multifactor
from slurmsim.errors import SubmitError
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.queue.recalculation import Recalculation
    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import QueueWay


class QosFlags:
    """Heeds them at submission, and wakes who waits for fair share."""

    def __init__(self, state: ControllerState, recalculation: Recalculation, queue_way: QueueWay) -> None:
        self.state, self._recalculation, self._queue_way = state, recalculation, queue_way

    def heed(self, job: Job) -> None:
        """Apply the flags to the new `job`. Raises SubmitError with Slurm's text."""
        qos = job.qos_spec
        if qos is None or not qos.flags:
            return
        if "RequiresReservation" in qos.flags and not job.sub.reservation:
            raise SubmitError(INVALID_QOS)
        if lifted := qos.flags & PARTITION_FLAGS:
            self.state.cluster.lift(job, lifted)
        if "EnforceUsageThreshold" in qos.flags and qos.usage_threshold is not None and job.branch is not None:
            job.threshold = qos.usage_threshold
            recalculation = self._recalculation
            if not recalculation.on_shares:
                recalculation.on_shares.append(self._look)

    def too_low(self, job: Job) -> bool:
        """Return True if the fair share of `job`'s association is below the threshold of its QOS."""
        priority = self._recalculation.plugin
        return isinstance(priority, Multifactor) and priority.fairshare_factor(job) < job.threshold

    def _look(self) -> None:
        """Test the jobs with a usage threshold again after fair shares have changed."""
        pending = [job for job in self.state.jobs.values() if job.threshold and job.state == JobState.PENDING]
        if any(self.too_low(job) != (job.reason == Reason.QOS_USAGE_THRESHOLD) for job in pending):
            self.state.queue.fresh.update((job.id, job) for job in pending if job.queued)
            self._queue_way.edited()
