"""Nodes others may not enter: ExclusiveUser partitions, ``--exclusive=user``, and jobs that are updated not to share.

Mirrors filter_by_node_owner (node_scheduler.c, 22.05), which both schedulers apply to the present only. A job that
wants its nodes for its user alone may not enter a node with another user's job. No job may enter a node that another
user has to himself. Since 24.11 backfill applies this to the instant it tries (`open_from`).

_block_by_topology (job_test.c, 26.05) closes blocks and rings in the same way. No job enters those of a job with
``--exclusive=topo``, or in a partition with ExclusiveTopo. Such a job itself starts in those without any job. Other
networks have nothing to itself. The plans of backfill keep the nodes of such a job alone, not its whole block.

share_node_bitmap is similar: no job enters a node with a job that an update told not to share (``OverSubscribe=NO``,
share_res of 0). Such a job itself starts on empty nodes, unless it names some. Where a partition forces jobs to share,
they do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap, to_indices
from slurmsim.core.records.observer import Observer

if TYPE_CHECKING:
    from slurmsim.core.placement.best_fit import Evaluator
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.job_queue import Record
    from slurmsim.core.records.partition import Partition
    from slurmsim.model.request import ResourceRequest


class ExclusiveUsers(Observer):
    """The users of the jobs that run on each node, and the units of a network that jobs have to themselves.

    Parameters
    ----------
    network_of
        The network of a partition, None for a flat one.
    running
        Jobs that run already.
    """

    def __init__(self, network_of: Callable[[Partition], Evaluator | None], running: Iterable[Job] = ()) -> None:
        self._network_of = network_of
        self._units: dict[int, Bitmap] = {}  # nodes that jobs with --exclusive=topo close
        self._jobs: dict[int, tuple[str, Bitmap, bool]] = {}
        self._unshared: dict[int, Bitmap] = {}  # nodes of jobs that no later job may join
        for job in running:
            self.add(job)

    @staticmethod
    def alone(request: ResourceRequest, partition: Partition) -> bool:
        """Return True if a job wants its nodes for its user alone."""
        return request.exclusive_user or partition.spec.exclusive_user

    @staticmethod
    def whole(request: ResourceRequest, partition: Partition) -> bool:
        """Return True if a job wants the units of its nodes for itself."""
        return request.exclusive_topo or partition.spec.exclusive_topo

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
        if self.whole(job.sub.request, job.partition):
            network = self._network_of(job.partition)
            self._units[job.id] = job.nodes if network is None else network.whole(job.nodes)

    def resized(self, job: Job, now: int) -> None:
        self.add(job)

    def released(self, job: Job, now: int) -> None:
        self._jobs.pop(job.id, None)
        self._unshared.pop(job.id, None)
        self._units.pop(job.id, None)

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
        closing = self._closing(record.job, record.partition)
        if not nodes & _all(closing.values()):
            return nodes, 0
        ends: dict[int, int] = {}
        for end, _, job in entries:
            for node in to_indices(closing.get(job.id, 0) & nodes).tolist():
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
        """Return the nodes that other jobs close to `job` for as long as they run."""
        return _all(self._closing(job, partition).values())

    def _closing(self, job: Job, partition: Partition) -> dict[int, Bitmap]:
        """Return the nodes that each job closes: of other users, if it or `job` is for one user, and of units."""
        user, alone = job.user, self.alone(job.sub.request, partition)
        network = self._network_of(partition) if self.whole(job.sub.request, partition) else None
        closing: dict[int, Bitmap] = {}
        for number, (owner, where, owned) in self._jobs.items():
            closed = where if owner != user and (alone or owned) else 0
            if number != job.id:
                closed |= self._units.get(number, 0)
                if network is not None and network.had_whole:
                    closed = network.whole(closed | where)
            if closed:
                closing[number] = closed
        return closing

    def blocked(self) -> Bitmap:
        """Return the nodes of units that a job has to itself without being on them."""
        return _all(units & ~self._jobs[job][1] for job, units in self._units.items())


def _all(masks: Iterable[Bitmap]) -> Bitmap:
    found = 0
    for mask in masks:
        found |= mask
    return found
