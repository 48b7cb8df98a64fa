"""Whether anybody is before a job that comes (_top_priority in src/slurmctld/job_mgr.c, 22.05).

A job behind another shows Priority from the start, and an allocation behind another does not start within its request.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from slurmsim.states import Reason

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.job_queue import JobQueue

_PARTITION = frozenset(
    {Reason.PARTITION_DOWN, Reason.PARTITION_INACTIVE, Reason.PARTITION_NODE_LIMIT, Reason.PARTITION_TIME_LIMIT}
)


def is_top(queue: JobQueue, job: Job) -> bool:
    """Whether no job in `queue` that nothing else keeps waiting has a higher priority than `job`.

    In slurmctld the partition matters only between jobs of two reservations: others stand before a job wherever
    they wait.
    """
    for pool in queue.pools:
        records, keys = pool.records, pool.keys
        at = 0
        while at < len(records):
            other = records[at].job
            if other.priority <= job.priority:
                # and so have all behind it in its tier, unless the order is that of creation
                at = at + 1 if queue.fifo else bisect_left(keys, (keys[at][0] + 1,))
            elif other is not job and _stands_before(other, job):
                return False
            else:
                at += 1
    return True


def _stands_before(other: Job, job: Job) -> bool:
    """Whether `other`, of higher priority, could start for all slurmctld knows, where `job` could."""
    reason = other.reason
    if reason in _PARTITION or reason.startswith(("Assoc", "QOS", Reason.REQ_NODE_NOT_AVAIL)):
        return False
    if other.sub.reservation == job.sub.reservation:
        return True
    if not other.sub.reservation or not job.sub.reservation:
        return False
    mine, theirs = job.partition, other.partition
    return theirs is mine or (theirs.pool == mine.pool and theirs.tier >= mine.tier)
