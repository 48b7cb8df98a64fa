"""A policy's discipline at work: who is in the queue since when, and who waits before it.

The queue's order is static: by the time of entering it less what the discipline gives, ties by order of entry (ageing
adds the same to everybody). A user's oldest job in the buffer enters in the moment in which another one leaves the
queue. A job that is set aside for an edit keeps its place.

Source: the queue simulator of "Modeling Allocation Utilization Strategies on Supercomputers" and OLCF's queue policy;
docs/systems/titan.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmsim.core.records.job import Job
from slurmsim.core.records.observer import Observer
from slurmsim.policy import Discipline, Sight
from slurmsim.states import JobState, is_held

if TYPE_CHECKING:
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import QueueWay

OVER_LIMIT: Final = "QOSMaxSubmitJobPerUserLimit"
"""What a job in the buffer shows: Slurm's own limit on a user's jobs that are in the queue."""


class Buffers(Observer):
    """Places in the queue, and a buffer for each user before it."""

    def __init__(self, state: ControllerState, discipline: Discipline, queue_way: QueueWay) -> None:
        self.state, self.discipline, self._queue_way = state, discipline, queue_way
        # of each job that is in the queue, or was set aside: its turn, the second it entered less what it was given,
        # and the number of its entry
        self.places: dict[int, tuple[int, int]] = {}
        # by user: ids of those in the buffer, oldest first (a dict, as a user may have 100,000 there)
        self.held: dict[str, dict[int, None]] = {}
        self.inside: dict[str, int] = {}  # by user: how many are in the queue
        self.entries = 0  # entries so far
        self._last = -1 << 62  # the latest turn anybody in the queue was given

    def enter(self, job: Job) -> bool:
        """Return True if `job`, which may start, is let in; it has its place then, else it shows why not."""
        if job.id in self.places:
            return True
        sight = Sight(min(request.node_need for request in job.requests), job.time_limit_s, job.user)
        refusal = self.discipline.refusal(sight)
        if refusal:
            self.state.set_reason(job, refusal)
            return False
        limit, user = self.discipline.limit, job.user
        if limit is not None and self.inside.get(user, 0) >= limit:
            self.held.setdefault(user, {}).setdefault(job.id, None)
            self.state.set_reason(job, OVER_LIMIT)
            return False
        self._out_of_buffer(job)
        self.inside[user] = self.inside.get(user, 0) + 1
        turn = self.state.now - self.discipline.ahead_s(sight)
        self.places[job.id] = (turn, self.entries)
        self.entries += 1
        if turn < self._last:
            self.state.edits += 1  # it goes before others: no plan of theirs holds
        else:
            self._last = turn
        return True

    def left(self, job: Job) -> None:
        """`job` left the queue, or the buffer, and does not come back by itself: the next of its user may enter."""
        if self.places.pop(job.id, None) is None:
            self._out_of_buffer(job)
            return
        user = job.user
        self.inside[user] -= 1
        if not self.inside[user]:
            del self.inside[user]
        if not self.places:
            self._last = -1 << 62
        buffer = self.held.get(user)
        if buffer:
            following = self.state.jobs[next(iter(buffer))]
            self._queue_way.enqueue(following)
            self.state.triggers.changed = True

    def started(self, job: Job, now: int) -> None:
        self.left(job)

    def _out_of_buffer(self, job: Job) -> None:
        buffer = self.held.get(job.user)
        if buffer is not None and job.id in buffer:
            del buffer[job.id]
            if not buffer:
                del self.held[job.user]

    def check(self) -> None:
        """Recount; raises AssertionError on any difference."""
        counted: dict[str, int] = {}
        for job_id in self.places:
            job = self.state.jobs[job_id]
            counted[job.user] = counted.get(job.user, 0) + 1
        assert counted == self.inside, "jobs inside the queue differ from a recount"
        for user, ids in self.held.items():
            for job_id in ids:
                job = self.state.jobs[job_id]
                assert job.user == user and job.state == JobState.PENDING and not job.queued and not is_held(job.reason)
            assert self.discipline.limit is not None and self.inside.get(user, 0) >= self.discipline.limit
