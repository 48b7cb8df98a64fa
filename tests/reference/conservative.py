"""Conservative backfilling: every waiting job has a planned start that nobody behind it may delay.

Source: A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001, section 2.3 (with compression of the schedule when a
job ends early, in queue order).
"""

from __future__ import annotations

from collections.abc import Iterable

from .queueing import Job, rigid


def _earliest(job: Job, taken: list[tuple[int, int, int]], now: int, n: int) -> int:
    """First time from `now` on at which `job` fits for its whole limit beside `taken`, (begin, end, size) each.

    The free units only grow where something ends, so only `now` and those ends need be tried.
    """
    for start in sorted({now} | {end for _, end, _ in taken if end > now}):
        end = start + job.limit
        steps = {start} | {begin for begin, _, _ in taken if start < begin < end}
        if all(sum(z for b, e, z in taken if b <= t < e) + job.size <= n for t in steps):
            return start
    raise AssertionError("after everything has ended the job fits")


def conservative(jobs: Iterable[tuple[int, int, int, int, int]], n: int) -> dict[int, int]:
    """Start time of each job under conservative backfilling on `n` units.

    `jobs` are (job_id, submit, run, size, limit). At one instant: ends; when one of them came before its limit,
    one compression (each waiting job in queue order is lifted and put back at its earliest start, never later than
    before); submissions, each planned at its earliest start; then the jobs whose planned start is now start.
    A planned start that comes due is an event of its own.
    """
    arrivals, i = rigid(jobs, n), 0
    running: dict[int, tuple[int, int, int, int]] = {}  # job id -> (start, end by the limit, size, actual end)
    planned: dict[int, tuple[int, Job]] = {}  # in queue order: job id -> (planned start, job)
    starts: dict[int, int] = {}

    def taken(but: int) -> list[tuple[int, int, int]]:
        reserved = [(t, t + j.limit, j.size) for t, j in planned.values() if j.job_id != but]
        return [(start, end, size) for start, end, size, _ in running.values()] + reserved

    while i < len(arrivals) or running or planned:
        now = min(
            [job.submit for job in arrivals[i : i + 1]]
            + [end for _, _, _, end in running.values()]
            + [t for t, _ in planned.values()]
        )
        ended = {job_id: job for job_id, job in running.items() if job[3] == now}
        for job_id in ended:
            del running[job_id]
        if any(limit_end > end for _, limit_end, _, end in ended.values()):
            for job_id, (before, job) in list(planned.items()):
                again = _earliest(job, taken(but=job_id), now, n)
                assert again <= before, "compression delayed a job"
                planned[job_id] = (again, job)
        while i < len(arrivals) and arrivals[i].submit == now:
            job = arrivals[i]
            planned[job.job_id] = (_earliest(job, taken(but=job.job_id), now, n), job)
            i += 1
        for job_id, (start, job) in list(planned.items()):
            if start == now:
                del planned[job_id]
                running[job_id] = (now, now + job.limit, job.size, now + job.run)
                starts[job_id] = now
    return starts
