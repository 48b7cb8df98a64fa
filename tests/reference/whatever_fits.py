"""List scheduling in order of arrival: at every event whatever fits starts, and nothing is kept free for anybody."""

from __future__ import annotations

from collections.abc import Iterable

from .queueing import rigid


def whatever_fits(jobs: Iterable[tuple[int, int, int, int, int]], n: int) -> dict[int, int]:
    """Start time of each job on `n` units; `jobs` are (job_id, submit, run, size, limit).

    Second by second through all times at which somebody comes or ends.
    """
    starts: dict[int, int] = {}
    left = list(rigid(jobs, n))
    running: list[tuple[int, int]] = []  # (end, size)
    now = 0
    while left:
        running = [(end, size) for end, size in running if end > now]
        for job in list(left):
            if job.submit <= now and job.size <= n - sum(size for _, size in running):
                starts[job.job_id] = now
                running.append((now + job.run, job.size))
                left.remove(job)
        now = min([end for end, _ in running] + [job.submit for job in left if job.submit > now], default=now)
    return starts
