"""Whether anybody is before a job that comes (_top_priority in src/slurmctld/job_mgr.c, 22.05 and 24.11).

A job behind another shows Priority from the start, and an allocation behind another does not start within its request.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap
from slurmsim.states import Reason

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.job_queue import JobQueue

_PARTITION: Final = frozenset(
    {Reason.PARTITION_DOWN, Reason.PARTITION_INACTIVE, Reason.PARTITION_NODE_LIMIT, Reason.PARTITION_TIME_LIMIT}
)


def is_top(queue: JobQueue, job: Job, *, by_tier: bool = False) -> bool:
    """Return True if no job in `queue` that could start otherwise is before `job`.

    With `by_tier` (since 24.11) a job is before it if its partition has a higher tier, or an equal tier and the job
    precedes it; their partitions must share nodes. Otherwise jobs of higher priority are before it, and the partition
    matters only between jobs of two reservations.
    """
    return _is_top_by_tier(queue, job) if by_tier else _is_top_by_priority(queue, job)


def _is_top_by_priority(queue: JobQueue, job: Job) -> bool:
    for pool in queue.pools:
        records = pool.records
        at = 0
        while at < len(records):
            other = records[at].job
            if other.priority <= job.priority:
                # and so have all behind it in its tier, unless the order is that of creation
                at = at + 1 if queue.fifo else pool.behind_tier(records[at].tier)
            elif other is not job and _stands_before(other, job):
                return False
            else:
                at += 1
    return True


def _is_top_by_tier(queue: JobQueue, job: Job) -> bool:
    """Return the same by tier: a new job counts with its lowest tier, a pending one with its highest."""
    mine = _place(job, min(p.tier for p in job.partitions))
    nodes = _nodes(job)
    for pool in queue.pools:
        for record in pool.records:
            other = record.job
            if other is job:
                continue
            before = _place(other, max(p.tier for p in other.partitions)) < mine
            if not before and not (queue.fifo or other.turn or record.reservation or len(other.partitions) > 1):
                break  # and so are all behind it
            if before and _may_start(other) and other.sub.reservation == job.sub.reservation and nodes & _nodes(other):
                return False
    return True


def _place(job: Job, tier: int) -> tuple[int, int, int, int, int]:
    return -tier, -job.priority, job.submit_time, job.array_key, job.rank


def _nodes(job: Job) -> Bitmap:
    return reduce(or_, (p.mask for p in job.partitions))


def _may_start(job: Job) -> bool:
    """Return True if nothing is known that keeps `job` from starting."""
    return not (job.reason in _PARTITION or job.reason.startswith(("Assoc", "QOS", Reason.REQ_NODE_NOT_AVAIL)))


def _stands_before(other: Job, job: Job) -> bool:
    """Return True if `other`, of higher priority, could start for all slurmctld knows, where `job` could."""
    if not _may_start(other):
        return False
    if other.sub.reservation == job.sub.reservation:
        return True
    if not other.sub.reservation or not job.sub.reservation:
        return False
    mine, theirs = job.partition, other.partition
    return theirs is mine or (theirs.pool == mine.pool and theirs.tier >= mine.tier)
