"""Pending jobs by the time they may begin."""

from __future__ import annotations

from heapq import heappop, heappush
from operator import itemgetter

from slurmsim.core.records.job import Job
from slurmsim.core.state.controller_state import ControllerState


class BeginTimes:
    """Jobs to consider again, each at its time."""

    def __init__(self, state: ControllerState) -> None:
        self.state = state
        self.heap: list[tuple[int, int]] = []  # (when, id); a job may have ended since

    def wait(self, job: Job, begin: int) -> None:
        """Consider `job` again at `begin`."""
        heappush(self.heap, (begin, job.id))

    def begun(self, now: int) -> list[Job]:
        """Return the jobs that may begin by `now`, as slurmctld comes to them; they wait no more."""
        heap = self.heap
        begun: list[tuple[int, int, int, Job]] = []
        while heap and heap[0][0] <= now:
            at, job_id = heappop(heap)
            if (job := self.state.jobs.get(job_id)) is not None:
                begun.append((at, job.array_key, job.rank, job))  # tasks by index, as one record in slurmctld
        if len(begun) > 1:
            begun.sort(key=itemgetter(0, 1, 2))
        return [job for *_, job in begun]
