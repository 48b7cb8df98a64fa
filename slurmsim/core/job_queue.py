"""The queue of jobs that may start: one record per job and partition, always in Slurm's order.

Order (job_scheduler.c sort_job_queue, without preemption and reservations): higher partition tier, higher priority,
earlier submit, lower job id (array tasks by array id, then index). Under sched/builtin with priority/basic and equal
tiers slurmctld sorts nothing and walks its job table: order of creation, whatever the priorities say. Jobs that are
held, dependent, throttled or not yet begun are not in here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from heapq import merge

from slurmsim.core.job import Job
from slurmsim.core.partitions import Partition
from slurmsim.core.shape import Shape

Key = tuple[int, int, int, int, int, int]


class Record:
    """One job in one partition, as the scheduler walks it."""

    __slots__ = ("job", "key", "partition", "priority", "shape")

    def __init__(self, job: Job, partition: Partition, shape: Shape) -> None:
        self.job, self.partition, self.shape = job, partition, shape
        self.priority = job.priority
        self.key: Key = (0, 0, 0, 0, 0, 0)

    def set_priority(self, priority: int, *, fifo: bool = False) -> None:
        """Adopt `priority` (of this job in this partition) and the order key that follows from it."""
        job = self.job
        self.priority = priority
        if fifo:
            self.key = (0, job.order, 0, 0, 0, self.partition.index)
            return
        task = job.sub.array_task_id
        self.key = (
            -self.partition.tier, -priority, job.submit_time, job.array_key, -1 if task is None else task,
            self.partition.index,
        )  # fmt: skip


class PoolQueue:
    """The records of one pool in order; two parallel lists, so that a place is found by bisection."""

    __slots__ = ("gone", "keys", "new", "per_partition", "records", "watched")

    def __init__(self) -> None:
        self.watched = False  # somebody reads `new` and `gone`, and clears them
        self.keys: list[Key] = []
        self.records: list[Record] = []
        # records that came since somebody last cleared it, in order of arrival
        self.new: list[Record] = []
        # since somebody last cleared it: jobs that gave nodes back, with the end of their limit, and jobs that left
        # the queue unstarted, with None
        self.gone: list[tuple[Job, int | None]] = []
        self.per_partition: dict[int, int] = {}

    def insert(self, record: Record) -> int:
        keys, key = self.keys, record.key
        at = len(keys) if not keys or keys[-1] < key else bisect_left(keys, key)
        keys.insert(at, key)
        self.records.insert(at, record)
        if self.watched:
            self.new.append(record)
        index = record.partition.index
        self.per_partition[index] = self.per_partition.get(index, 0) + 1
        return at

    def leave(self, job: Job, end_limit: int | None) -> None:
        """Note that `job` gave its nodes back (`end_limit`: until when it could have kept them) or left unstarted."""
        if self.watched:
            self.gone.append((job, end_limit))

    def delete(self, record: Record) -> None:
        at = bisect_left(self.keys, record.key)
        del self.keys[at], self.records[at]
        self.per_partition[record.partition.index] -= 1

    def position(self, record: Record) -> int:
        return bisect_left(self.keys, record.key)

    def resort(self) -> None:
        self.records.sort(key=lambda r: r.key)
        self.keys = [r.key for r in self.records]


class JobQueue:
    """All pools' queues.

    `generation` counts every change except arrivals; `fresh` holds the queued jobs whose shown reason the next main
    pass may have to turn into Priority. `fifo` keeps everything in order of creation.
    """

    def __init__(self, n_pools: int, *, fifo: bool = False) -> None:
        self.fifo = fifo
        self.pools = [PoolQueue() for _ in range(n_pools)]
        self.jobs: dict[int, tuple[Record, ...]] = {}
        self.fresh: dict[int, Job] = {}
        # puts a list in order by rules a key cannot tell (preempt/qos); None for none
        self.arrange: Callable[[list[Record]], list[Record]] | None = None

    def __len__(self) -> int:
        return len(self.jobs)

    def __contains__(self, job_id: int) -> bool:
        return job_id in self.jobs

    def add(self, job: Job, priorities: tuple[int, ...], wanted: tuple[bool, ...] | None = None) -> bool:
        """Put `job` in, for its `wanted` partitions; returns whether some job of one of its pools is ahead of it."""
        behind = False
        records = []
        for at, (partition, shape, priority) in enumerate(zip(job.partitions, job.shapes, priorities, strict=True)):
            if wanted is not None and not wanted[at]:
                continue
            record = Record(job, partition, shape)
            record.set_priority(priority, fifo=self.fifo)
            behind = self.pools[partition.pool].insert(record) > 0 or behind
            records.append(record)
        self.jobs[job.id] = tuple(records)
        self.fresh[job.id] = job
        return behind

    def remove(self, job: Job) -> None:
        """Take `job` out if it is in."""
        for record in self.jobs.pop(job.id, ()):
            self.pools[record.partition.pool].delete(record)
        self.fresh.pop(job.id, None)

    def records(self) -> Iterator[Record]:
        """All records in order over all pools. The queue may lose records while this runs only if one pool exists
        and the caller holds a copy; callers that start jobs iterate `snapshot` instead."""
        if len(self.pools) == 1:
            return iter(self.pools[0].records)
        return merge(*(p.records for p in self.pools), key=lambda r: r.key)

    def snapshot(self) -> list[Record]:
        """All records in order, as a list of its own."""
        found = self.pools[0].records.copy() if len(self.pools) == 1 else list(self.records())
        return found if self.arrange is None else self.arrange(found)

    def reprioritise(self, priorities: dict[int, tuple[int, ...]]) -> None:
        """Give jobs new priorities (one per partition) and restore the order."""
        for job_id, values in priorities.items():
            for record, value in zip(self.jobs[job_id], values, strict=True):
                record.set_priority(value, fifo=self.fifo)
        for pool in self.pools:
            pool.resort()
