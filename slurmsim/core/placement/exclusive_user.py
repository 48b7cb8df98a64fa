"""Nodes others may not enter: ExclusiveUser partitions, ``--exclusive=user``, and jobs that are updated not to share.

Mirrors filter_by_node_owner (node_scheduler.c, 22.05), which both schedulers ask about the present only: a job that
wants its nodes for its user alone may not enter a node with another user's job, and no job may enter a node that some
other user has to himself. Likewise share_node_bitmap: where a job runs that an update told not to share
(``OverSubscribe=NO``, share_res of 0), nobody follows; itself it starts on empty nodes, unless it names some. Where a
partition forces jobs to share, they do.
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
        self._unshared: dict[int, Bitmap] = {}  # nodes of those nobody may follow
        for job in running:
            self.add(job)

    @staticmethod
    def alone(request: ResourceRequest, partition: Partition) -> bool:
        """Whether a job wants its nodes for its user alone."""
        return request.exclusive_user or partition.spec.exclusive_user

    @staticmethod
    def unshared(request: ResourceRequest, partition: Partition) -> bool:
        """Whether a job shares its nodes with nobody who comes later."""
        forced = partition.spec.all_share
        return request.unshared and not forced

    def owner(self, node: int) -> str:
        """The user who has the node to himself; empty where nobody has."""
        return next((user for user, nodes, alone in self._jobs.values() if alone and nodes >> node & 1), "")

    def started(self, job: Job, now: int) -> None:
        self.add(job)

    def add(self, job: Job) -> None:
        """`job` runs from now on, or on other nodes."""
        self._jobs[job.id] = (job.user, job.nodes, self.alone(job.sub.request, job.partition))
        if self.unshared(job.sub.request, job.partition):
            self._unshared[job.id] = job.nodes

    def resized(self, job: Job, now: int) -> None:
        self.add(job)

    def released(self, job: Job, now: int) -> None:
        self._jobs.pop(job.id, None)
        self._unshared.pop(job.id, None)

    def open_to(self, record: Record, nodes: Bitmap, *, planning: bool = False) -> Bitmap:
        """Of `nodes`, those the record's job may enter; backfill's plans know nothing of jobs that do not share."""
        closed = self._owned(record.job, record.partition) if planning else self.closed_to(record.job, record.partition)
        return nodes & ~closed

    def closed_to(self, job: Job, partition: Partition) -> Bitmap:
        """The nodes that others' jobs close to `job` in `partition`."""
        closed = self._owned(job, partition)
        for where in self._unshared.values():
            closed |= where
        if self.unshared(job.sub.request, partition) and not job.sub.request.node_list:
            for _, where, _ in self._jobs.values():
                closed |= where
        return closed

    def _owned(self, job: Job, partition: Partition) -> Bitmap:
        """The nodes with jobs of other users, of which one side wants its nodes for its user alone."""
        user, alone = job.user, self.alone(job.sub.request, partition)
        closed = 0
        for owner, where, owned in self._jobs.values():
            if owner != user and (alone or owned):
                closed |= where
        return closed
