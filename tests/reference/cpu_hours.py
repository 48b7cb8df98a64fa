"""Two-round backfill with CPU-hour limits of users, second by second.

The rule (docs/systems/lomonosov.md): a user holds CPUs x remaining limit of each running job. In round 1 the queue is
walked in order and a job is passed over if its user holds something and would hold more than the limit with it; who
starts or gets a planned start counts at once. Round 2 takes those passed over, in order, beside what round 1 planned.

A pass is made at *every* second, so a policy that is called less often must know when it has to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple


class Job(NamedTuple):
    """A rigid job of `user`: `size` units of `cpus` CPUs each; seconds."""

    job_id: int
    submit: int
    run: int
    size: int
    limit: int
    user: str
    cpus: int = 1

    @property
    def cost(self) -> int:
        """CPU-seconds it may take."""
        return self.size * self.cpus * self.limit


Allowance = Callable[[list[Job]], float]  # CPU-seconds a user may hold, from the queue


class Machine:
    """`n` units, who runs (start by job), and the queue in order."""

    def __init__(self, jobs: Iterable[Job], n: int, allowance: Allowance) -> None:
        self.n, self.allowance = n, allowance
        self.to_come = sorted(jobs, key=lambda job: (job.submit, job.job_id))
        self.queue: list[Job] = []
        self.running: dict[Job, int] = {}
        self.starts: dict[int, int] = {}
        self.now = self.to_come[0].submit if self.to_come else 0

    @property
    def free(self) -> int:
        return self.n - sum(job.size for job in self.running)

    def holds(self) -> dict[str, int]:
        """CPU-seconds each user holds."""
        found: dict[str, int] = {}
        for job, start in self.running.items():
            left = start + job.limit - self.now
            found[job.user] = found.get(job.user, 0) + job.size * job.cpus * left
        return found

    def start(self, job: Job) -> None:
        assert job.size <= self.free
        self.queue.remove(job)
        self.running[job] = self.now
        self.starts[job.job_id] = self.now

    def next_second(self) -> tuple[list[Job], list[Job]]:
        """Ends and arrivals of the present second; returns both."""
        ended = [job for job, start in self.running.items() if start + min(job.run, job.limit) <= self.now]
        for job in ended:
            del self.running[job]
        came = []
        while self.to_come and self.to_come[0].submit == self.now:
            came.append(self.to_come.pop(0))
        self.queue += came
        return ended, came


def easy_pass(m: Machine) -> list[Job]:
    """One pass with one planned start; returns who starts."""
    holds, limit = m.holds(), m.allowance(m.queue)
    shadow = extra = None
    started, passed_over = [], []

    def consider(job: Job) -> bool:
        """Start it, or plan it if it is the first that cannot; whether one of the two."""
        nonlocal shadow, extra
        if shadow is None:
            if job.size <= m.free:
                m.start(job)
                started.append(job)
                return True
            shadow, extra = shadow_of(m, job.size)
            return True
        if job.size > m.free or (m.now + job.limit > shadow and job.size > extra):
            return False
        if m.now + job.limit > shadow:
            extra -= job.size
        m.start(job)
        started.append(job)
        return True

    for job in list(m.queue):
        held = holds.get(job.user, 0)
        if held and held + job.cost > limit:
            passed_over.append(job)
        elif consider(job):
            holds[job.user] = held + job.cost
    for job in passed_over:
        consider(job)
    return started


def shadow_of(m: Machine, need: int) -> tuple[int, int]:
    """When `need` units will be free by the limits of the running jobs, and how many more then."""
    free = m.free
    ends = sorted((start + job.limit, job.size) for job, start in m.running.items())
    for at in sorted({end for end, _ in ends}):
        there = free + sum(size for end, size in ends if end <= at)
        if there >= need:
            return at, there - need
    raise AssertionError("larger than the machine")


def easy(jobs: Iterable[Job], n: int, allowance: Allowance) -> dict[int, int]:
    """Start of each job with EASY in both rounds."""
    m = Machine(jobs, n, allowance)
    while m.to_come or m.running or m.queue:
        m.next_second()
        easy_pass(m)
        m.now += 1
    return m.starts


def turn(m: Machine) -> list[Job]:
    """The queue, who is within the limit first, where everybody gets a planned start and so counts."""
    holds, limit = m.holds(), m.allowance(m.queue)
    within, passed_over = [], []
    for job in m.queue:
        held = holds.get(job.user, 0)
        if held and held + job.cost > limit:
            passed_over.append(job)
        else:
            within.append(job)
            holds[job.user] = held + job.cost
    return within + passed_over


def conservative(jobs: Iterable[Job], n: int, allowance: Allowance) -> dict[int, int]:
    """Start of each job with conservative backfilling in both rounds.

    Planned starts are kept, and compressed when a job ends early, while nobody's place among the others changes; when
    it does all are planned anew. With every unit taken nobody looks until something happens.
    """
    m = Machine(jobs, n, allowance)
    plans: dict[Job, int] = {}
    last: list[Job] = []
    while m.to_come or m.running or m.queue:
        ends = {job: start + job.limit for job, start in m.running.items()}
        full = not m.free
        ended, came = m.next_second()
        due = any(start == m.now for start in plans.values())
        if ended or came or due or not full:
            order = turn(m)
            before = [job for job in last if job in m.queue]
            if order[: len(before)] != before:
                plans.clear()
            elif any(ends[job] > m.now for job in ended):
                for job in [job for job in order if job in plans]:
                    del plans[job]
                    plans[job] = _earliest(m, job, plans)
            for job in order:
                if job not in plans:
                    plans[job] = _earliest(m, job, plans)
            for job in [job for job in order if plans[job] == m.now]:
                del plans[job]
                m.start(job)
            last = order
        m.now += 1
    return m.starts


def _earliest(m: Machine, job: Job, plans: dict[Job, int]) -> int:
    """First second from which `job` fits for its limit beside who runs and who is planned."""
    taken = [(start, start + other.limit, other.size) for other, start in [*m.running.items(), *plans.items()]]
    for start in sorted({m.now, *(end for _, end, _ in taken if end > m.now)}):
        stop = start + job.limit
        steps = {start, *(begin for begin, _, _ in taken if start < begin < stop)}
        if all(sum(size for b, e, size in taken if b <= t < e) + job.size <= m.n for t in steps):
            return start
    raise AssertionError("after everything has ended the job fits")
