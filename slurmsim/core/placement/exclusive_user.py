"""Nodes of one user: ExclusiveUser partitions and ``--exclusive=user``.

Mirrors filter_by_node_owner (node_scheduler.c, 22.05), which both schedulers ask about the present only: a job that
wants its nodes for its user alone may not enter a node with another user's job, and no job may enter a node that some
other user has to himself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap
from slurmsim.core.records.observer import Observer

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.job_queue import Record
    from slurmsim.core.records.partition import Partition
    from slurmsim.model.request import ResourceRequest


class ExclusiveUsers(Observer):
    """Whose jobs run where."""

    def __init__(self, running: Iterable[Job] = ()) -> None:
        self._jobs: dict[int, tuple[str, Bitmap, bool]] = {}
        for job in running:
            self.add(job)

    @staticmethod
    def alone(request: ResourceRequest, partition: Partition) -> bool:
        """Whether a job wants its nodes for its user alone."""
        return request.exclusive_user or partition.spec.exclusive_user

    def started(self, job: Job, now: int) -> None:
        self.add(job)

    def add(self, job: Job) -> None:
        """`job` runs from now on, or on other nodes."""
        self._jobs[job.id] = (job.user, job.nodes, self.alone(job.sub.request, job.partition))

    def resized(self, job: Job, now: int) -> None:
        self.add(job)

    def released(self, job: Job, now: int) -> None:
        self._jobs.pop(job.id, None)

    def open_to(self, record: Record, nodes: Bitmap) -> Bitmap:
        """Of `nodes`, those the record's job may enter."""
        return nodes & ~self.closed_to(record.job, record.partition)

    def closed_to(self, job: Job, partition: Partition) -> Bitmap:
        """The nodes that other users' jobs close to `job` in `partition`."""
        user, alone = job.user, self.alone(job.sub.request, partition)
        closed = 0
        for owner, where, owned in self._jobs.values():
            if owner != user and (alone or owned):
                closed |= where
        return closed
