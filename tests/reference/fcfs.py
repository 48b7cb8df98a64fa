"""First come, first served: nobody starts before everybody ahead of them has started."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from .queueing import rigid


def fcfs(jobs: Iterable[tuple[int, int, int, int, int]], n: int) -> dict[int, int]:
    """Start time of each job on `n` units, in submit order (ties by job id).

    `jobs` are (job_id, submit, run, size, limit). Because nobody overtakes, the jobs can be placed one after the
    other: each starts at the first moment that is not before its submit time, not before the start of the job
    ahead, and at which enough units are free.
    """
    starts: dict[int, int] = {}
    free, now = n, 0
    ends: list[tuple[int, int]] = []  # (end, size) of running jobs
    for job in rigid(jobs, n):
        now = max(now, job.submit)
        while ends and ends[0][0] <= now:
            free += heapq.heappop(ends)[1]
        while free < job.size:
            now, size = heapq.heappop(ends)
            free += size
            while ends and ends[0][0] <= now:
                free += heapq.heappop(ends)[1]
        starts[job.job_id] = now
        free -= job.size
        heapq.heappush(ends, (now + job.run, job.size))
    return starts
