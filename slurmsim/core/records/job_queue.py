"""The queue of jobs that may start: one record per job, partition and reservation, always in Slurm's order.

Order (job_scheduler.c sort_job_queue, without preemption): records with a reservation first, higher partition tier,
higher priority, earlier submit, lower job id (array tasks by array id, split ones first, then index), then earlier
reservation.
Under sched/builtin with priority/basic and equal tiers slurmctld sorts nothing and walks its job table: order of
creation, whatever the priorities say. Where a discipline gives places (`queue.buffers`), these stand for priority,
submit time and id. Jobs that are held, dependent, throttled or not yet begun are not in here.
"""

from __future__ import annotations

import warnings
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import product
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from slurmsim.core.records.job import Job
from slurmsim.core.records.partition import Partition
from slurmsim.kernel import load
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import Policy
from slurmsim.states import PARTITION_REASONS, RESOURCES_TEXTS, Reason

if TYPE_CHECKING:
    from slurmsim.core.placement.compiled_request import CompiledRequest
    from slurmsim.core.records.reservation import Reservation

RESERVED_FIRST: Final = 1 << 40  # beyond any partition tier
PARTITIONS: Final = 100_000  # more places than a job has partitions, with and without what it prefers
_tier: Final = attrgetter("tier")
_rest: Final = attrgetter("rest")
kernel = load("priorities")


class Record:
    """One job in one partition, as the scheduler walks it.

    `single`: its job has no other record and asks for nothing but nodes and what is on them; it may be a task of an
    array. `alone`: it is `single`, is of no array, and counting nodes decides whether it fits. `unreserved`: its QOS
    lets backfill keep no place for it (NoReserve). `tier`, `place` and, if these are equal, `rest` are its place in the
    queue: less comes first.
    """

    __slots__ = (
        "alone", "job", "need", "partition", "place", "priority", "rank", "request", "reservation", "rest", "single",
        "slot", "standing", "tier", "unreserved",
    )  # fmt: skip

    rest: Any  # a tuple of integers; declared so, compiled code would copy it for each comparison

    def __init__(
        self, job: Job, partition: Partition, request: CompiledRequest, priority: int, fifo: bool,
        reservation: Reservation | None = None,
    ) -> None:  # fmt: skip
        self.job, self.partition, self.request, self.reservation = job, partition, request, reservation
        self.need = request.unit_need  # asked for at every pass
        several = len(job.partitions) > 1 or request.preferred is not None or request.lead
        plain = not (several or job.claims or job.time_min_s)
        qos = job.qos_spec
        self.unreserved = qos is not None and "NoReserve" in qos.flags
        self.single = plain and not self.unreserved
        self.alone = self.single and request.by_count and job.sub.array_task_id is None
        self.standing: Any = None  # what limits know of it
        self.slot = -1  # place in the columns that watch the queue
        self.set_priority(priority, fifo)

    @property
    def shape(self) -> CompiledRequest:
        """What the port called `request` up to release 0.5; goes with the release after this one."""
        warnings.warn("shape of a record is called request", DeprecationWarning, stacklevel=2)
        return self.request

    @property
    def preferred(self) -> bool:
        """True if it tries the features that its job prefers (--prefer), before others."""
        return self.request.lead > 0

    @property
    def n_cpus(self) -> int:
        """CPUs the job will hold here: all of nodes it has to itself, where they are alike, else those asked for."""
        request = self.request
        return request.node_need * request.cpus_each if request.whole and request.uniform else request.min_cpus

    def set_priority(self, priority: int, fifo: bool) -> None:
        """Adopt `priority` (of this job in this partition) and the place that follows from it."""
        job = self.job
        self.priority, self.rank = priority, job.rank
        self.tier, last = -self.partition.tier, 2 * job.partitions.index(self.partition)  # as the job names them
        last -= self.request.lead
        r = self.reservation
        if r is not None:
            self.tier -= RESERVED_FIRST
            last += (r.start * 1_000_000 + r.order) * PARTITIONS
        if job.turn is not None:
            self.place, self.rest = job.turn[0], (job.turn[1], 0, 0, last)
        elif fifo:
            self.tier, self.place, self.rest = 0, job.order, (0, 0, 0, last)
        else:
            self.place, self.rest = -priority, (job.submit_time, job.array_key, job.rank, last)

    def reprioritise(self, priority: int) -> None:
        """Adopt `priority`, on which its place depends, in the tier it is in."""
        self.priority, self.place = priority, -priority
        rank = self.job.rank
        if rank != self.rank:
            self.rank, self.rest = rank, (*self.rest[:2], rank, self.rest[3])

    @property
    def key(self) -> Any:
        """All that tells where it stands: six integers."""
        return self.tier, self.place, *self.rest

    def is_before(self, other: Record) -> bool:
        """Return True if it stands before `other`; as `key` compares, without making any."""
        if self.tier != other.tier:
            return self.tier < other.tier
        if self.place != other.place:
            return self.place < other.place
        return bool(self.rest < other.rest)


class PoolQueue:
    """The records of one pool in order."""

    __slots__ = ("gone", "new", "per_partition", "records", "watched")

    def __init__(self) -> None:
        self.watched = False  # `new` and `gone` are read, and cleared by the reader
        self.records: list[Record] = []
        # records that came since the list was last cleared, in order of arrival
        self.new: list[Record] = []
        # since the list was last cleared: jobs that gave nodes back, with their planned end, and jobs that left
        # the queue unstarted, with None
        self.gone: list[tuple[Job, int | None]] = []
        self.per_partition: defaultdict[int, int] = defaultdict(int)

    def insert(self, record: Record) -> None:
        records = self.records
        at = len(records) if not records or records[-1].is_before(record) else self.position(record)
        records.insert(at, record)
        if self.watched:
            self.new.append(record)
        self.per_partition[record.partition.index] += 1

    def leave(self, job: Job, end: int | None) -> None:
        """Note that `job` gave its nodes back (`end`: until when it was planned to keep them) or left unstarted."""
        if self.watched:
            self.gone.append((job, end))

    def delete(self, record: Record) -> int:
        """Take `record` out; returns how many were ahead of it."""
        at = self.position(record)
        del self.records[at]
        self.per_partition[record.partition.index] -= 1
        return at

    def position(self, record: Record) -> int:
        """Return how many stand before `record`, be it in the queue or not."""
        records = self.records
        low, high = 0, len(records)
        while low < high:
            middle = (low + high) >> 1
            if records[middle].is_before(record):
                low = middle + 1
            else:
                high = middle
        return low

    def behind_tier(self, tier: int) -> int:
        """Return how many stand in `tier` or before it."""
        return bisect_right(self.records, tier, key=_tier)

    def resort(self) -> None:
        """Places have changed: put the records in order, in which most still are."""
        put_in_order(self.records)


def put_in_order(records: list[Record]) -> None:
    """Sort `records`: one integer, or two, tell most of them apart, which a kernel does."""
    n = len(records)
    before = None
    for record in records:
        if before is not None and not before.is_before(record):
            break
        before = record
    else:
        return
    kernel.arrange(records, array("d", [record.place for record in records]))
    tier = records[0].tier
    for record in records:
        if record.tier != tier:
            records.sort(key=_tier)  # those of one tier stay in order
            break
    begin = 0
    while begin < n:
        end, first, ascend = begin + 1, records[begin], True
        while end < n and records[end].place == first.place and records[end].tier == first.tier:
            ascend = ascend and bool(records[end - 1].rest < records[end].rest)
            end += 1
        if not ascend:
            records[begin:end] = sorted(records[begin:end], key=_rest)
        begin = end


class Watcher:
    """Told of every record that comes and goes, and of jobs with new priority factors."""

    def added(self, record: Record, at: int) -> None:
        """Take note that `record` is in the queue, for the job's partition number `at`."""
        raise NotImplementedError

    def removed(self, record: Record) -> None:
        """Take note that `record` is in it no more."""
        raise NotImplementedError

    def edited(self, job: Job) -> None:
        """Take note that the priority factors of `job` have changed."""
        raise NotImplementedError


_MAY_CHANGE: Final = PARTITION_REASONS | {Reason.NONE, Reason.RESOURCES, *RESOURCES_TEXTS}


class JobQueue:
    """All pools' queues.

    `generation` counts every change except arrivals. `fresh` holds the queued jobs that may need the reason Priority in
    the next main pass. `fifo` keeps everything in order of creation.
    """

    def __init__(self, n_pools: int, *, fifo: bool = False) -> None:
        self.fifo = fifo
        self.pools = [PoolQueue() for _ in range(n_pools)]
        self.jobs: dict[int, tuple[Record, ...]] = {}
        self.fresh: dict[int, Job] = {}
        # jobs with a changed request (True) or only a changed reason, since last read; None: without a reader
        self.restated: dict[int, bool] | None = None
        self.unasked: dict[int, Job] = {}  # may start, and still show what kept them out
        # puts a list in order by rules a key cannot tell (preempt/qos); None for none
        self.arrange: Callable[[list[Record]], list[Record]] | None = None
        self.watcher: Watcher | None = None  # told of every record that comes and goes

    def __len__(self) -> int:
        return len(self.jobs)

    def __contains__(self, job_id: int) -> bool:
        return job_id in self.jobs

    def add(self, job: Job, priorities: tuple[int, ...], wanted: tuple[bool, ...] | None = None) -> None:
        """Put `job` in, for its `wanted` partitions."""
        fifo = self.fifo
        if job.requests[0].preferred is not None:
            self.add_through((None,), job, priorities, wanted)
            return
        if len(job.partitions) == 1 and wanted is None and self.watcher is None:  # as nearly all
            record = Record(job, job.partitions[0], job.requests[0], priorities[0], fifo)
            self.pools[record.partition.pool].insert(record)
            self.jobs[job.id] = (record,)
            self.fresh[job.id] = job
            return
        fields = zip(job.partitions, job.requests, priorities, strict=True)
        records = [Record(job, partition, request, priority, fifo) for partition, request, priority in fields]
        kept = tuple(records if wanted is None else [r for r, ok in zip(records, wanted, strict=True) if ok])
        for record in kept:
            self.pools[record.partition.pool].insert(record)
        self.jobs[job.id] = kept
        if self.watcher is not None:
            for at, record in enumerate(records):
                if wanted is None or wanted[at]:
                    self.watcher.added(record, at)
        self.fresh[job.id] = job

    def add_through(
        self, reservations: Sequence[Reservation | None], job: Job, priorities: tuple[int, ...],
        wanted: tuple[bool, ...] | None,
    ) -> None:  # fmt: skip
        """Add the job with a record for each of `reservations` (None: outside of any); two if it prefers features."""
        records = []
        for at, (partition, request, priority) in enumerate(zip(job.partitions, job.requests, priorities, strict=True)):
            tries = (request,) if request.preferred is None else (request.preferred, request)
            for reservation, tried in product(reservations if wanted is None or wanted[at] else (), tries):
                record = Record(job, partition, tried, priority, self.fifo, reservation)
                record.single &= len(reservations) == 1
                self.pools[partition.pool].insert(record)
                records.append(record)
                if self.watcher is not None:
                    self.watcher.added(record, at)
        self.jobs[job.id] = tuple(records)
        self.fresh[job.id] = job

    def priorities(self, job: Job) -> tuple[int, ...]:
        """Return the priority `job` has in each of its partitions, in their order; none if one has no record of it."""
        found = {record.partition.index: record.priority for record in self.jobs.get(job.id, ())}
        values = [found.get(partition.index) for partition in job.partitions]
        return tuple(value for value in values if value is not None) if None not in values else ()

    def leave_only(self, job: Job, partition: Partition) -> bool:
        """Take out the record `job` has in `partition`, if it has others; whether it has."""
        kept = tuple(r for r in self.jobs.get(job.id, ()) if r.partition is not partition)
        if kept:
            for record in self.jobs[job.id]:
                if record.partition is partition:
                    self.pools[partition.pool].leave(job, None)
                    self.pools[partition.pool].delete(record)
                    if self.watcher is not None:
                        self.watcher.removed(record)
            self.jobs[job.id] = kept
        return bool(kept)

    def edited(self, job: Job) -> None:
        """Take note that the priority factors of `job` have changed."""
        if self.watcher is not None:
            self.watcher.edited(job)
        if self.restated is not None:
            self.restated[job.id] = True

    def has_reason(self, job: Job) -> None:
        """Take note that `job`, if it is in the queue, shows another reason."""
        if job.id not in self.jobs:
            return
        if len(job.partitions) > 1 or job.reason in _MAY_CHANGE:
            self.fresh[job.id] = job
        if self.restated is not None:
            self.restated.setdefault(job.id, False)

    def remove(self, job: Job) -> int:
        """Take `job` out if it is in; returns how many were ahead of it in the last of its pools."""
        ahead = 0
        for record in self.jobs.pop(job.id, ()):
            ahead = self.pools[record.partition.pool].delete(record)
            if self.watcher is not None:
                self.watcher.removed(record)
        self.fresh.pop(job.id, None)
        if self.restated is not None:
            self.restated.pop(job.id, None)
        if self.unasked:
            self.unasked.pop(job.id, None)
        return ahead

    def records(self) -> Iterator[Record]:
        """Return all records in order over all pools.

        The queue may lose records while this runs only if one pool exists and the caller holds a copy. Callers that
        start jobs iterate `snapshot` instead.
        """
        if len(self.pools) == 1:
            return iter(self.pools[0].records)
        return merge(*(p.records for p in self.pools), key=lambda r: r.key)

    def snapshot(self) -> list[Record]:
        """Return all records in order, as a list of its own."""
        found = self.pools[0].records.copy()
        if len(self.pools) > 1:
            for pool in self.pools[1:]:
                found += pool.records
            put_in_order(found)
        return found if self.arrange is None else self.arrange(found)

    def reprioritise(self, records: list[Record], priorities: list[int]) -> None:
        """Give `records` new `priorities` and restore the order. A job shows the lowest of its records' priorities."""
        fifo = self.fifo
        pools = [False] * len(self.pools)
        for at in range(len(records)):  # mypyc makes pairs for a strict `zip`
            record, value = records[at], priorities[at]
            job = record.job
            if fifo or job.turn is not None:
                record.priority = value
            else:
                record.reprioritise(value)
            job.priority = value if len(job.partitions) == 1 else min(r.priority for r in self.jobs[job.id])
            pools[record.partition.pool] = True
        for pool, changed in zip(self.pools, pools, strict=True):
            if changed:
                pool.resort()


def walks_job_table(spec: ClusterSpec, policy: Policy) -> bool:
    """Return True if slurmctld sorts no queue: sched/builtin, priority/basic and one tier (job_scheduler.c)."""
    basic = spec.option("PriorityType") != "priority/multifactor"
    return policy.name == "builtin" and basic and len({p.priority_tier for p in spec.partitions}) == 1
