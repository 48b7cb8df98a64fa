"""Nodes others may not enter: ExclusiveUser partitions, ``--exclusive=user``, and jobs that are updated not to share.

Mirrors filter_by_node_owner (node_scheduler.c, 22.05), which both schedulers apply to the present only. A job that
wants its nodes for its user alone may not enter a node with another user's job. No job may enter a node that another
user has to himself. Since 24.11 backfill applies this to the instant it tries (`open_from`).

share_node_bitmap is similar: no job enters a node with a job that an update told not to share (``OverSubscribe=NO``,
share_res of 0). Such a job itself starts on empty nodes, unless it names some. Where a partition forces jobs to share,
they do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap, to_indices
from slurmsim.core.records.observer import Observer

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.job_queue import Record
    from slurmsim.core.records.partition import Partition
    from slurmsim.model.request import ResourceRequest


class ExclusiveUsers(Observer):
    """The users of the jobs that run on each node."""

    def __init__(self, running: Iterable[Job] = ()) -> None:
        self._jobs: dict[int, tuple[str, Bitmap, bool]] = {}
        self._unshared: dict[int, Bitmap] = {}  # nodes of jobs that no later job may join
        for job in running:
            self.add(job)

    @staticmethod
    def alone(request: ResourceRequest, partition: Partition) -> bool:
        """Return True if a job wants its nodes for its user alone."""
        return request.exclusive_user or partition.spec.exclusive_user

    @staticmethod
    def unshared(request: ResourceRequest, partition: Partition) -> bool:
        """Return True if the job shares its nodes with no later job."""
        forced = partition.spec.all_share
        return request.unshared and not forced

    def owner(self, node: int) -> str:
        """Return the user who has the node to himself, or an empty string."""
        return next((user for user, nodes, alone in self._jobs.values() if alone and nodes >> node & 1), "")

    def started(self, job: Job, now: int) -> None:
        self.add(job)

    def add(self, job: Job) -> None:
        """Take note that `job` runs from now on, or on other nodes."""
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

    def open_from(
        self, record: Record, nodes: Bitmap, when: int, entries: Iterable[tuple[int, int, Job]]
    ) -> tuple[Bitmap, int]:
        """Return those of `nodes` that are open to the record's job from `when` on, and when one more is, 0 for never.

        A node opens with the last end among `entries`, what runs by its end. Closed nodes are left out, those closed
        longest first, as long as the job keeps as many as it needs; then none are open, and it has to try again when
        the next one is (_filter_exclusive_user_nodes, backfill.c, 24.11).
        """
        owned = self._owned(record.job, record.partition) & nodes
        if not owned:
            return nodes, 0
        ends: dict[int, int] = {}
        for end, _, job in entries:
            for node in to_indices(job.nodes & owned).tolist():
                ends[node] = max(end, ends.get(node, 0))
        request, later = record.request, 0
        spare = nodes.bit_count() - request.min_nodes
        for node, end in sorted(ends.items(), key=lambda one: (-one[1], one[0])):
            if end <= when:
                break
            later = end
            if spare <= 0 or request.required >> node & 1:
                return 0, later
            nodes ^= 1 << node
            spare -= 1
        return nodes, later

    def closed_to(self, job: Job, partition: Partition) -> Bitmap:
        """Return the nodes that others' jobs close to `job` in `partition`."""
        closed = self._owned(job, partition)
        for where in self._unshared.values():
            closed |= where
        if self.unshared(job.sub.request, partition) and not job.sub.request.node_list:
            for _, where, _ in self._jobs.values():
                closed |= where
        return closed

    def _owned(self, job: Job, partition: Partition) -> Bitmap:
        """Return the nodes with jobs of other users, if those or `job` want their nodes for one user alone."""
        user, alone = job.user, self.alone(job.sub.request, partition)
        closed = 0
        for owner, where, owned in self._jobs.values():
            if owner != user and (alone or owned):
                closed |= where
        return closed
