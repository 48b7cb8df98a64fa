"""``--deadline``: jobs that can no longer end in time end at once, in state DEADLINE.

slurmctld looks when a main pass or a backfill cycle comes to the job (deadline_ok, 22.05), and when it looks for old
jobs (23.11); so does this. A job with a minimum time (``--time-min``) counts as that long, and gets what is left as its
limit.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay


PURGE_S = 60  # seconds between two looks for old jobs


class Deadlines:
    """The pending jobs that have one, by the instant from which they cannot keep it."""

    def __init__(self, state: ControllerState, runs: RunWay) -> None:
        self.state, self._runs = state, runs
        self._lost: list[tuple[int, int]] = []  # heap of (from when on it cannot be kept, job id)
        self.jobs: dict[int, Job] = {}

    def register(self, job: Job) -> None:
        """Take in a new job with a deadline. A job without a limit of its own needs at least a minute."""
        if job.deadline is not None:
            self.jobs[job.id] = job
            lost = job.deadline - self.needs(job) + 1  # already past: noticed in the next second
            heappush(self._lost, (max(lost, self.state.now + 1), job.id))

    @staticmethod
    def needs(job: Job) -> int:
        """Seconds it must be given."""
        if job.time_min_s:
            return job.time_min_s
        return job.time_limit_s if job.limit_fixed else 60

    def limit(self, job: Job, limit: int) -> int:
        """Return `limit` cut to the whole minutes left before the deadline, but no shorter than it must be."""
        if job.deadline is None:
            return limit
        return min(limit, max((job.deadline - self.state.now) // 60 * 60, self.needs(job)))

    def next_time(self) -> int | None:
        """Return when the next job cannot keep its deadline any more."""
        while self._lost and self._lost[0][1] not in self.jobs:
            heappop(self._lost)
        return self._lost[0][0] if self._lost else None

    def turn(self, now: int) -> None:
        """Note that jobs can no longer meet their deadlines; the next scheduler that tries them ends them.

        Since 23.11 what no scheduler tries ends as well, when slurmctld looks for old jobs.
        """
        purges = self.state.rules.purges_deadlines
        while self._lost and self._lost[0][0] <= now:
            at, job_id = heappop(self._lost)
            job = self.jobs.get(job_id)
            if job is None or (purges and at == self._purge_after(at - 1) and self.missed(job)):
                continue
            self.state.triggers.changed = True
            self.state.triggers.dirty = True
            if purges:
                heappush(self._lost, (self._purge_after(now), job_id))

    def _purge_after(self, now: int) -> int:
        """Return when slurmctld looks for old jobs next."""
        start = self.state.start_time
        return start + ((now - start) // PURGE_S + 1) * PURGE_S

    def missed(self, job: Job) -> bool:
        """Return True if `job` cannot keep its deadline; if so it ends now."""
        if job.deadline is None or self.state.now + self.needs(job) <= job.deadline:
            return False
        if job.state != JobState.PENDING:
            return False
        job.exit_code = "0:1"
        self._runs.finish(job, JobState.DEADLINE, Reason.DEADLINE)
        return True

    def sweep(self) -> None:
        """End the jobs that a pass over the whole queue would find, and those that enter the queue by that."""
        missed = True
        while missed:
            missed = False
            for job in [job for job in self.jobs.values() if job.queued]:
                missed = self.missed(job) or missed

    def forget(self, job: Job) -> None:
        """Take note that `job` started or ended."""
        self.jobs.pop(job.id, None)
