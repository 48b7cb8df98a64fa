"""One pass of slurmctld's main scheduler: a walk over the queue in order of priority.

Mirrors the loop of _schedule in src/slurmctld/job_scheduler.c (22.05).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from slurmsim.bitmap import Bitmap
from slurmsim.core.job_queue import Record
from slurmsim.core.limit_reasons import LIMIT_REASONS
from slurmsim.core.reservation_access import MAINTENANCE_TEXT
from slurmsim.states import NODES_REQUIRED_TEXT, JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.main_scheduler import MainScheduler
    from slurmsim.core.reservation import Reservation

SCHEDULER = "Main"
MAX_BLOCKED_RESERVATIONS = 10
_key = attrgetter("key")
_MAY_BECOME_PRIORITY = (Reason.NONE, Reason.RESOURCES, NODES_REQUIRED_TEXT)


class MainPass:
    """What one walk knows: the nodes nobody ahead waits for, and which partitions are blocked.

    Parameters
    ----------
    scheduler
        Whose pass it is.
    full
        To the end of the queue; else default_queue_depth + 1 candidates.
    """

    def __init__(self, scheduler: MainScheduler, full: bool) -> None:
        self.s, self.c = scheduler, scheduler.c
        c = self.c
        queue = c.queue.snapshot()
        self.records: list[Record] = c.host.in_order(queue)
        self.reordered = self.records is not queue
        self.limit = None if full else scheduler.depth
        self.usable: Bitmap = c.table.up
        self.blocked: set[int] = set()  # partitions in which somebody waits for nodes
        self.blocked_reservations: list[Reservation] = []
        self.waiting = {p.index for p in c.partitions if any(q.per_partition.get(p.index) for q in c.queue.pools)}
        self.per_partition: dict[int, int] = {}
        self.examined = self.started = 0
        self.cut = False  # somebody was not looked at
        # (array, partition, reservation) of the record before, when its task was rejected
        self.array: tuple[int, int, Reservation | None] | None = None

    def walk(self) -> bool:
        """Start what can start, and say of the others why not. True when the whole queue has been looked at."""
        c, blocked = self.c, self.blocked
        if c.preemption is not None:
            c.preemption.in_progress.clear()
        for at, record in enumerate(self.records):
            job = record.job
            if job.state != JobState.PENDING or not job.queued or self._passed_over(at, record):
                continue
            if self.limit is not None and self.examined > self.limit:
                return False
            self.examined += 1
            limited = c.limit_reason(job, record.partition, record.shape)
            if limited is not None:
                c.set_reason(job, limited)
            elif record.reservation is None and record.partition.index in blocked:
                if job.reason in _MAY_BECOME_PRIORITY:
                    self._behind(record)
                if len(blocked) >= len(self.waiting) and self._settle_rest(at):
                    break
            elif record.reservation is not None and record.reservation in self.blocked_reservations:
                c.set_reason(job, Reason.PRIORITY)
            elif self._turned_away(record):
                if job.reason == Reason.LICENSES and self.s.bf_licenses:
                    return False
            elif not self._try(at, record):
                self._must_wait(record)
            elif self.s.max_start and self.started >= self.s.max_start:
                return False
        return not self.cut and (self.limit is None or self.examined <= self.limit)

    # -- who is not looked at ---------------------------------------------------------------------------------------

    def _passed_over(self, at: int, record: Record) -> bool:
        """Whether the record is no candidate of this pass."""
        c, job = self.c, record.job
        if c.preemption is not None and job.id in c.preemption.in_progress:
            return True  # others make room for it in another partition
        index, own = record.partition.index, record.reservation
        if own is not None and c.reservations.access.too_small(record):
            return True
        if job.sub.array_task_id is None:
            self.array = None
        else:
            array = (job.array_key, index, own)
            if self.array == array:
                c.set_reason(job, self.records[at - 1].job.reason)
                return True
            self.array = array
        if self.s.part_depth:
            count = self.per_partition[index] = self.per_partition.get(index, 0) + 1
            if count > self.s.part_depth:
                self.cut = True
                if job.reason == Reason.NONE:
                    c.set_reason(job, Reason.PRIORITY)
                return True
        return False

    def _behind(self, record: Record) -> None:
        self.c.set_reason(record.job, Reason.PRIORITY)
        self.c.queue.fresh.pop(record.job.id, None)

    def _settle_rest(self, at: int) -> bool:
        """Every partition with records is blocked: what is left can only get its reason set.

        Equal to walking on, and proved so by a test: nothing starts, partition limits were seen when the job came or
        changed, and of reasons only those of `fresh` jobs can change. False when that does not hold.
        """
        c = self.c
        if self.limit is not None and self.examined + len(self.records) - at - 1 > self.limit:
            return False  # the pass ends before the queue does
        if self.s.part_depth or self.reordered or len(c.queue.pools) > 1 or c.queue.arrange is not None:
            return False
        key = self.records[at].key
        rest = [record for job_id in c.queue.fresh for record in c.queue.jobs[job_id] if record.key > key]
        for record in sorted(rest, key=_key):
            job = record.job
            limited = c.limit_reason(job, record.partition, record.shape)
            if limited is not None:
                c.set_reason(job, limited)
            elif job.reason in _MAY_BECOME_PRIORITY:
                self._behind(record)
        return True

    # -- one candidate ----------------------------------------------------------------------------------------------

    def _turned_away(self, record: Record) -> bool:
        """Whether something known without looking for nodes holds the job."""
        c, job, shape = self.c, record.job, record.shape
        if job.deadline is not None and c.deadlines.missed(job):
            return True
        if c.limits is not None and job.reason in LIMIT_REASONS and (held := c.limits.before(record)) is not None:
            c.set_reason(job, held)
            return True
        if shape.required & ~self.usable and job.reason.startswith(Reason.REQ_NODE_NOT_AVAIL):
            return True
        if (self.usable & record.partition.mask).bit_count() < shape.min_nodes:
            c.set_reason(job, NODES_REQUIRED_TEXT)
            self._block(record, exempt=False)
            return True
        if job.licenses and not c.licenses.free(job, record.reservation):
            c.set_reason(job, Reason.LICENSES)
            return True
        if (
            job.bars is not None and record.partition.index in job.bars
        ):  # asked after the limits of accounts; blocks nobody
            c.set_reason(job, job.bars[record.partition.index].text)
            return True
        return False

    def _try(self, at: int, record: Record) -> bool:
        """Look for nodes and start the job. True when that is all there is to say, also if a limit holds it."""
        c, job, limits = self.c, record.job, self.c.limits
        if record.shape.switches:
            c.patience.look(job)
        held = None if limits is None else limits.early(record)
        own = c.time_limit(job, record.partition)
        time_limit = None if job.deadline is None else c.deadlines.limit(job, own)
        seconds = time_limit or own
        alloc = c.place_now(record, self.usable, seconds) if held is None else None
        if limits is not None and (held := held or limits.after(record, alloc)) is not None:
            if alloc is not None:
                job.likely_nodes = alloc.n_nodes
                c.tried.found(job, alloc.n_cpus)
            self._held(record, held)
            return True
        if alloc is None and c.preemption is not None:
            alloc = c.preemption.make_room(record, c.reach(record, self.usable, seconds))
        if alloc is None:
            return False
        waited = len(c.queue)
        c.start(record, alloc, SCHEDULER, time_limit)
        if c.queue.fifo and len(c.queue) >= waited:
            # no queue was built before the walk: who may start since this start (after:ID) has its turn too
            self.records[at + 1 :] = [r for r in c.queue.snapshot() if r.key > record.key]
            self.waiting |= {r.partition.index for r in self.records[at + 1 :]}
        self.array = None
        self.started += 1
        return True

    def _held(self, record: Record, reason: str) -> None:
        """A limit holds a job: it blocks nobody, unless assoc_limit_stop says so or it requires its nodes by name."""
        shape, limits = record.shape, self.c.limits
        self.c.set_reason(record.job, reason)
        named = shape.required and shape.required.bit_count() >= shape.min_nodes
        if named or (limits is not None and limits.stop):
            self._block(record, exempt=True)

    def _must_wait(self, record: Record) -> None:
        """No nodes were found: say why, and keep those behind off the nodes it waits for."""
        c, job, own, shape = self.c, record.job, record.reservation, record.shape
        if c.reservations.all:
            outcome = c.reservations.access.classify(record, self.usable, self.s.obstacles.classify)
        else:
            outcome = self.s.obstacles.classify(record, self.usable)
        if outcome == Reason.RESOURCES:
            c.set_reason(job, Reason.RESOURCES)
            if own is None or shape.required.bit_count() >= shape.min_nodes:
                self._block(record, exempt=True)
            elif len(self.blocked_reservations) < MAX_BLOCKED_RESERVATIONS:
                self.blocked_reservations.append(own)
        elif outcome == Reason.BAD_CONSTRAINTS:
            if len(job.partitions) == 1:
                c.dequeue(job)
                job.priority = 0
                c.set_reason(job, Reason.BAD_CONSTRAINTS)
        else:
            c.set_reason(job, outcome)
            if own is not None and outcome in (Reason.RESERVATION, MAINTENANCE_TEXT):
                self.usable &= ~own.nodes

    def _block(self, record: Record, *, exempt: bool) -> None:
        """Rule B: a job that must wait keeps those behind it off its partition's nodes."""
        c, job, shape = self.c, record.job, record.shape
        if shape.required and shape.required.bit_count() >= shape.min_nodes:
            self.usable &= ~shape.required
            return
        if exempt:
            since = job.eligible_time
            if self.s.min_age_reserve and (since is None or c.now - since < self.s.min_age_reserve):
                return
            least = (0 if c.limits is None else c.limits.min_prio(record)) or self.s.min_prio_reserve
            if record.priority < least:
                return
        self.blocked.add(record.partition.index)
        self.usable &= ~record.partition.mask
