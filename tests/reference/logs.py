"""Archive logs in the normal form on which simulators were compared."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

from .queueing import Job

TAU_S = 10


def normal_form(file: Path, n: int) -> tuple[list[Job], list[int]]:
    """Jobs of a gzip-compressed SWF log for a machine of `n` processors, and the log's own waits, in the same order.

    Processors = requested, else allocated; limit = requested time, else the run time; jobs without run time or
    processors, or larger than the machine, are dropped; run time is capped at the limit; sorted by (submit, original
    job number), the first submit is time 0, ids are 1, 2, ….
    """
    rows: list[tuple[int, int, int, int, int, int]] = []
    with gzip.open(file, "rt", encoding="latin-1") as lines:
        for line in lines:
            if line.startswith(";") or not line.strip():
                continue
            fields = [int(float(x)) for x in line.split()]
            job_id, submit, wait, run, allocated = fields[:5]
            processors = fields[7] if fields[7] > 0 else allocated
            limit = fields[8] if fields[8] > 0 else run
            if run > 0 and 0 < processors <= n:
                rows.append((submit, job_id, min(run, limit), processors, limit, wait))
    rows.sort()
    jobs = [Job(i + 1, row[0] - rows[0][0], *row[2:5]) for i, row in enumerate(rows)]
    return jobs, [row[5] for row in rows]


def means(jobs: Sequence[Job], starts: dict[int, int]) -> tuple[float, float]:
    """Mean wait in seconds and mean bounded slowdown (τ = 10 s)."""
    waits = [starts[job.job_id] - job.submit for job in jobs]
    slowdowns = [max(1.0, (wait + job.run) / max(job.run, TAU_S)) for job, wait in zip(jobs, waits, strict=True)]
    return sum(waits) / len(jobs), sum(slowdowns) / len(jobs)
