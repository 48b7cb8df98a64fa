"""Jobs that wait: into the queue and out of it, holds and releases, and nodes for the next of them."""

from __future__ import annotations

from typing import NamedTuple

from slurmsim.bitmap import Bitmap
from slurmsim.core.job import Job
from slurmsim.core.job_queue import Record
from slurmsim.core.messages import Hold, Release
from slurmsim.core.nodes import Allocation
from slurmsim.core.partition_limits import PartitionLimits
from slurmsim.states import JobState, Reason, is_held

# slurmctld finds out that these are over when it builds a queue or, of the last one, when it tries the job
_KEPT_UNTIL_LOOKED_AT = (Reason.BEGIN_TIME, Reason.DEPENDENCY, Reason.ARRAY_TASK_LIMIT)


class Standing(NamedTuple):
    """What a job in the queue has by its last priority: one a partition, and the CPUs found that count in it."""

    priorities: tuple[int, ...]
    counted: int


class Waiting(PartitionLimits):
    """The part of the controller that has the queue."""

    def free_to(self, record: Record, nodes: Bitmap) -> Bitmap:
        """Of `nodes`, those no other user's job closes to the record's job."""
        return nodes if self.owners is None else self.owners.open_to(record, nodes)

    def reach(self, record: Record, nodes: Bitmap, limit: int) -> Bitmap:
        """Of `nodes`, those the record's job may use from now for `limit` seconds, whoever has them."""
        nodes = self.free_to(record, nodes)
        if self.completing is not None:
            nodes &= ~self.completing.nodes
        if self.reservations.all:
            nodes &= self.reservations.access.examine(record, self.now, limit).nodes
        return nodes

    def place_now(self, record: Record, nodes: Bitmap, limit: int) -> Allocation | None:
        """Nodes of `nodes` and shares of them for the record's job, free now for `limit` seconds; None for none."""
        heavier = 0 if self.limits is None else self.limits.heavier(record)
        if self.completing is not None:
            nodes &= ~self.completing.nodes
        if self.reservations.all:
            alloc = self.reservations.access.place(record, nodes, limit, heavier)
        else:
            alloc = self.selector.place(record.shape, self.table, self.free_to(record, nodes), heavier=heavier)
        if alloc is None and self.suspension.jobs:
            alloc = self.suspension.beside(record.shape, self.reach(record, nodes, limit))
        return alloc

    def enqueue(self, job: Job, standing: Standing | None = None) -> None:
        """`job` is independent and not held: it may start from now on, with the `standing` it had or a new one.

        Under an event-driven policy it is queued only for the partitions it could start in, as limits and states are,
        or it would be first in line there for ever; Slurm's own scheduler keeps all records and passes over them.
        """
        if job.reservations and self.reservations.jobs.keep_out(job):
            return
        wanted: tuple[bool, ...] | None = None
        if self.event_driven and job.within_limits != self.edits:
            wanted = self._may_start(job)
            self.limited.pop(job.id, None)
            if not all(wanted):
                self.limited[job.id] = job
                if not any(wanted):
                    reasons = [self.keeps_out(job, p, s) for p, s in zip(job.partitions, job.shapes, strict=True)]
                    self.set_reason(job, next((r for r in reasons if r is not None), Reason.BAD_CONSTRAINTS))
                    return
        if job.eligible_time is None:
            job.eligible_time = max(self.now, job.begin or 0)
            if job.eligible_time > job.submit_time:
                self.record("ELIGIBLE", job)
        if self.accrual is not None:
            self.accrual.eligible(job, self.now)
        if standing is not None and len(standing.priorities) == len(job.partitions):
            values = standing.priorities
        elif job.priority == 0:
            values = self.priority.submit(job, self.now)
        else:
            values = self.priority.recalculate(job, self.now)
        job.priority = min(values)
        if self.event_driven and self.limits is not None and self.limits.withhold(job):
            return
        if job.claims and self.event_driven and not self.licenses.enter(job):
            return
        job.queued = True
        self.main.came()
        if self.reservations.all:
            self.queue.add_through(self.reservations.jobs.of(job), job, values, wanted)
        else:
            self.queue.add(job, values, wanted)
        if not self.event_driven:
            self.tried.came(job)
            if standing is not None:
                self.tried.still_counts(job, standing.counted)
        # a submission does not ask whether an array may start: the next pass does
        unasked = job.sub.array_task_id is not None and job.submit_time == self.now
        if (unasked or job.reason in _KEPT_UNTIL_LOOKED_AT) and not self.event_driven and self.main.enabled:
            self.queue.unasked[job.id] = job
        elif job.reason != Reason.NONE:
            self.set_reason(job, Reason.NONE)

    def _limits_changed(self) -> None:
        """An edit of limits or partition states: queue jobs for the partitions they may start in now."""
        if not self.event_driven:
            return
        queued = [records[0].job for records in self.queue.jobs.values()]
        for job in [*queued, *[job for job in self.limited.values() if not job.queued]]:
            partitions = [r.partition for r in self.queue.jobs.get(job.id, ())]
            if partitions != [p for p, ok in zip(job.partitions, self._may_start(job), strict=True) if ok]:
                self.withdraw(job)
                self.enqueue(job)

    def dequeue(self, job: Job) -> int:
        """`job` may not start any more (held, throttled, ended). How many were ahead of it in its (last) pool."""
        if not job.queued:
            return 0
        job.queued = False
        self.generation += 1
        if job.claims and self.event_driven:
            self.licenses.leave(job)
        self.tried.left(job)
        return self.queue.remove(job)

    def withdraw(self, job: Job) -> None:
        """`job` leaves the queue unstarted."""
        if job.queued:
            for record in self.queue.jobs[job.id]:
                self.queue.pools[record.partition.pool].leave(job, None)
            self.dequeue(job)
            if self.licenses.lacking:
                self.licenses.retry()
        self.host.changed = True

    def set_aside(self, job: Job) -> Standing:
        """`job` leaves the queue, to be put back once something else has changed.

        slurmctld keeps its jobs' priorities then: only a submission, an update, a release and the priority thread
        work them out.
        """
        standing = Standing(self.queue.priorities(job), self.tried.counted(job))
        self.withdraw(job)
        return standing

    def _forget(self, job: Job) -> None:
        """`job` waits no more outside the queue."""
        self.limited.pop(job.id, None)
        self.reservations.jobs.forget(job)
        self.licenses.lacking.pop(job.id, None)
        self.deadlines.forget(job)

    def _edited(self) -> None:
        """Something changed that plans do not survive: everything is looked at again."""
        self.changed()
        self.main.request()

    def edited(self) -> None:
        """The same of a job or a partition, which may then start where it could not, or not where it could."""
        self._edited()
        self._limits_changed()

    def hold(self, fact: Hold) -> None:
        job = self.jobs.get(fact.job_id)
        if job is None:
            return
        if job.state != JobState.PENDING:  # it runs on, and will be held when it is requeued
            job.priority, job.eligible_time = 0, None
            self.set_reason(job, Reason.HELD_ADMIN if fact.admin else Reason.HELD_USER)
            return
        self.withdraw(job)
        self._forget(job)
        self.deadlines.register(job)
        self.eligibility.forget(job)
        job.split()
        if self.accrual is not None:
            self.accrual.held(job)
        if self.limits is not None:
            self.limits.held_back(job)
        job.priority = 0
        self.set_reason(job, Reason.HELD_ADMIN if fact.admin else Reason.HELD_USER)
        self.record("HOLD", job)

    def _rank_anew(self, job: Job) -> None:
        self.tried.news.pop(job.id, None)
        values = self.priority.submit(job, self.now)
        job.priority = min(values)
        records = self.queue.jobs.get(job.id, ())
        self.queue.reprioritise([(record, values[job.partitions.index(record.partition)]) for record in records])
        if self.recalculation.columns is not None:
            self.recalculation.columns.edited(job)
        self.main.dirty = self.host.changed = True
        self.generation += 1

    def _release(self, fact: Release) -> None:
        """Its priority is what it would be if it came now, whether it was held or not (update to INFINITE, 22.05)."""
        job = self.jobs.get(fact.job_id)
        if job is None:
            return
        job.sub.priority = None
        if not is_held(job.reason):
            if job.end_time is None and job.priority:
                self._rank_anew(job)
            return
        job.special = False
        if job.state != JobState.PENDING:  # as its hold, this concerns only what it does when it is requeued
            self.set_reason(job, Reason.NONE)
            job.priority = min(self.priority.submit(job, self.now))
            return
        self.record("RELEASE", job)
        self.set_reason(job, Reason.NONE)
        if job.priority == 0:  # at once, also of one that has to wait for something else
            job.priority = min(self.priority.submit(job, self.now))
        self.eligibility.consider(job)
        self.main.request()
        self.host.changed = True
