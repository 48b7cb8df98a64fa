"""EASY backfilling: the textbook's rule, and the variant behind published pyss schedules.

Source of the rule: D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995; A. Mu'alem and D. Feitelson,
"Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling",
IEEE TPDS 12(6), 2001, section 2.2.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from .queueing import Job, rigid


class _Machine:
    """`n` units, the running jobs and the queue; `one_pass` is the whole of EASY."""

    def __init__(self, n: int) -> None:
        self.free = n
        self.running: dict[int, tuple[int, int]] = {}  # job id -> (end by its limit, size)
        self.queue: list[Job] = []  # in submit order, ties by job id
        self.ends: list[tuple[int, int, int]] = []  # heap of (actual end, start, job id)
        self.starts: dict[int, int] = {}

    def start(self, job: Job, now: int) -> None:
        self.free -= job.size
        self.running[job.job_id] = (now + job.limit, job.size)
        self.starts[job.job_id] = now
        heapq.heappush(self.ends, (now + job.run, now, job.job_id))

    def finish(self, job_id: int) -> None:
        """Give back the job's units, unless `release_expired` did so already."""
        if job_id in self.running:
            self.free += self.running.pop(job_id)[1]

    def release_expired(self, now: int) -> None:
        """Give back the units of running jobs whose limit ends now, although their end was not processed yet."""
        for job_id in [job_id for job_id, (limit_end, _) in self.running.items() if limit_end <= now]:
            self.finish(job_id)

    def shadow(self, need: int) -> tuple[int, int]:
        """When `need` units will be free by the limits of the running jobs, and how many more will be free then.

        Everything that ends at the shadow time itself counts, not only as many jobs as it takes to reach `need`.
        """
        free, limits = self.free, sorted(self.running.values())
        for i, (end, size) in enumerate(limits):
            free += size
            last_of_its_second = i + 1 == len(limits) or limits[i + 1][0] > end
            if last_of_its_second and free >= need:
                return end, free - need
        raise AssertionError("the head of the queue is larger than the machine")

    def one_pass(self, now: int) -> None:
        """Start from the head while it fits; then whatever does not delay the first job that does not."""
        while self.queue and self.queue[0].size <= self.free:
            self.start(self.queue.pop(0), now)
        if not self.queue or self.free == 0:
            return
        head, *candidates = self.queue
        shadow, extra = self.shadow(head.size)
        self.queue = [head]
        for job in candidates:
            in_time = now + job.limit <= shadow
            if job.size <= self.free and (in_time or job.size <= extra):
                self.start(job, now)
                if not in_time:
                    extra -= job.size
            else:
                self.queue.append(job)


def easy(jobs: Iterable[tuple[int, int, int, int, int]], n: int) -> dict[int, int]:
    """Start time of each job under textbook EASY on `n` units.

    `jobs` are (job_id, submit, run, size, limit). All facts of one instant come first (ends, then submissions),
    then one pass. The shadow time is computed anew in every pass.
    """
    arrivals, machine, i = rigid(jobs, n), _Machine(n), 0
    while i < len(arrivals) or machine.ends:
        instants = [job.submit for job in arrivals[i : i + 1]] + [end for end, _, _ in machine.ends[:1]]
        now = min(instants)
        while machine.ends and machine.ends[0][0] == now:
            machine.finish(heapq.heappop(machine.ends)[2])
        while i < len(arrivals) and arrivals[i].submit == now:
            machine.queue.append(arrivals[i])
            i += 1
        machine.one_pass(now)
    return machine.starts


def easy_pyss(jobs: Iterable[tuple[int, int, int, int, int]], n: int) -> dict[int, int]:
    """Start time of each job under EASY as pyss computes it (the ``…-pyss-easy`` logs, SC15).

    It differs from the textbook only inside one instant: arrivals come before completions; arrivals in order of
    job id, completions in order of their start (then job id); a pass follows *each* of them; and a running job
    whose limit ends at this very second counts as gone, for the shadow time and for what is free now alike.
    """
    arrivals, machine, i = rigid(jobs, n), _Machine(n), 0
    while i < len(arrivals) or machine.ends:
        if i < len(arrivals) and (not machine.ends or arrivals[i].submit <= machine.ends[0][0]):
            now = arrivals[i].submit
            machine.queue.append(arrivals[i])
            i += 1
        else:
            now, _, job_id = heapq.heappop(machine.ends)
            machine.finish(job_id)
        machine.release_expired(now)
        machine.one_pass(now)
    return machine.starts
