"""What the naive reference schedulers share: the job tuple and nothing clever.

The schedulers in this folder are deliberately slow and obvious. They know one resource, `n` identical units, and
share no code with slurmsim. Tests compare the real policies with them start for start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Job(NamedTuple):
    """One rigid job. `submit`, `run` and `limit` in seconds, `size` in units; `run` is capped at `limit` by `rigid`."""

    job_id: int
    submit: int
    run: int
    size: int
    limit: int


def rigid(jobs: Iterable[tuple[int, int, int, int, int]], n: int) -> list[Job]:
    """Jobs in queue order (submit time, then job id), each run time capped at its limit.

    Raises
    ------
    ValueError
        For a job that cannot run on `n` units or has no positive size, run time and limit.
    """
    queue = sorted((Job(*job) for job in jobs), key=lambda job: (job.submit, job.job_id))
    for job in queue:
        if not (0 < job.size <= n and job.run > 0 and job.limit > 0):
            raise ValueError(f"{job} cannot run on {n} units")
    return [job._replace(run=min(job.run, job.limit)) for job in queue]
