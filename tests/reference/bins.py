"""Scheduling bins, naively: buffers before the queue, boosts in it, strict order or conservative backfill.

Written from the description of the queue simulator in "Modeling Allocation Utilization Strategies on Supercomputers"
and of OLCF's policy: a user has `limit` jobs in the queue and the others in a buffer, whose oldest enters when one of
the user's jobs leaves the queue; sort by (time of entering - boost), ties by entry order. Without backfill the head
blocks. With it: go through the queue, give each job the earliest start at which enough nodes are free for its whole
wall time given everything placed before; start those whose start is now. The whole plan is made anew at every event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class BinJob(NamedTuple):
    """A job; seconds and nodes. `run` is at most `limit`."""

    job_id: int
    submit: int
    run: int
    nodes: int
    limit: int
    user: str


def _place(steps: list[list[int]], job: BinJob) -> int:
    """Earliest time from which `steps`, [time, free nodes from then on] each, hold `job` for its limit; taken there."""
    k = 0
    while True:
        begin = steps[k][0]
        end = begin + job.limit
        inside = [i for i in range(k, len(steps)) if steps[i][0] < end]
        short = [i for i in inside if steps[i][1] < job.nodes]
        if not short:
            break
        k = short[-1] + 1
    last = inside[-1]
    if last + 1 == len(steps) or steps[last + 1][0] != end:
        steps.insert(last + 1, [end, steps[last][1]])
    for i in inside:
        steps[i][1] -= job.nodes
    return begin


def bins(
    jobs: Sequence[BinJob], n: int, *, boost: Callable[[int], int], limit: int | None, backfill: bool
) -> dict[int, int]:
    """Start of each job, by id, on `n` nodes; `boost` gives seconds by number of nodes."""
    arrivals = sorted(jobs, key=lambda job: (job.submit, job.job_id))
    buffer: list[BinJob] = []
    queue: list[tuple[int, int, BinJob]] = []  # turn, number of entry
    running: list[tuple[int, int, BinJob]] = []  # real end, end by the limit
    starts: dict[int, int] = {}
    entries = 0

    def enter(job: BinJob, now: int) -> None:
        nonlocal entries
        queue.append((now - boost(job.nodes), entries, job))
        entries += 1
        queue.sort(key=lambda item: item[:2])

    def queued(user: str) -> int:
        return sum(job.user == user for _, _, job in queue)

    def start(item: tuple[int, int, BinJob], now: int) -> None:
        job = item[2]
        queue.remove(item)
        running.append((now + job.run, now + job.limit, job))
        starts[job.job_id] = now
        following = next((other for other in buffer if other.user == job.user), None)
        if following is not None:
            buffer.remove(following)
            enter(following, now)

    def plan(now: int) -> list[tuple[int, tuple[int, int, BinJob]]]:
        free = n - sum(job.nodes for _, _, job in running)
        steps = [[now, free]]
        for _, end, job in sorted(running, key=lambda item: item[1]):
            free += job.nodes
            steps.append([end, free])
        steps = [step for i, step in enumerate(steps) if i + 1 == len(steps) or steps[i + 1][0] > step[0]]
        return [(_place(steps, item[2]), item) for item in queue]

    due: list[int] = []  # planned starts
    k = 0
    while k < len(arrivals) or running or queue:
        now = min([job.submit for job in arrivals[k : k + 1]] + [end for end, _, _ in running] + due)
        running = [item for item in running if item[0] > now]
        while k < len(arrivals) and arrivals[k].submit == now:
            job = arrivals[k]
            k += 1
            if limit is not None and queued(job.user) >= limit:
                buffer.append(job)
            else:
                enter(job, now)
        if not backfill:
            while queue and queue[0][2].nodes + sum(job.nodes for _, _, job in running) <= n:
                start(queue[0], now)
            continue
        planned = plan(now)
        while any(at == now for at, _ in planned):
            for at, item in planned:
                if at == now:
                    start(item, now)
            planned = plan(now)
        due = [at for at, _ in planned]
    return starts
