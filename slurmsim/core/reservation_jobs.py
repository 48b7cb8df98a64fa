"""The jobs that name reservations, or that magnetic ones draw in.

Under Slurm's own scheduler such a job waits outside the queue until its reservation may be used, then has a record for
each of its reservations. Under event-driven policies `serve` starts it, in order of priority and apart from the policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.job import Job
from slurmsim.core.job_queue import Record
from slurmsim.core.reservation import Reservation
from slurmsim.core.reservation_nodes import INVALID
from slurmsim.errors import SubmitError
from slurmsim.states import Reason, deleted_reservation, shown_state

if TYPE_CHECKING:
    from slurmsim.core.reservations import Reservations

ACCESS_DENIED = "Access denied to requested reservation"
NO_RESERVATION: tuple[Reservation | None, ...] = (None,)


def uses(job: Job, r: Reservation) -> bool:
    """Whether `job` runs in `r` or names it."""
    return job.reservation is r or r in job.reservations


def usable_at(r: Reservation, now: int) -> bool:
    """Whether its jobs may start at `now`."""
    return "FLEX" in r.flags or (r.start <= now < r.end and not r.over)


class ReservationJobs:
    """Jobs of one book of reservations.

    Attributes
    ----------
    waiting
        Pending jobs whose reservation may not be used yet, by id.
    inside
        Under event-driven policies: pending jobs whose reservation may be used now, by id.
    """

    def __init__(self, book: Reservations) -> None:
        self.book, self.c = book, book.c
        self.waiting: dict[int, Job] = {}
        self.inside: dict[int, Job] = {}
        self._serve_due = False

    def claim(self, job: Job, text: str) -> None:
        """``--reservation=text`` at submission. Raises SubmitError: unknown, denied, or never large enough."""
        found = []
        for name in text.split(","):
            r = self.book.find(name)
            if r is None:
                raise SubmitError(INVALID)
            if not r.admits(job.user, self._accounts(job)):
                raise SubmitError(ACCESS_DENIED)
            found.append(r)
        job.reservations = tuple(found)
        job.reservation_name = text

    def of(self, job: Job) -> tuple[Reservation | None, ...]:
        """Through which reservations `job` waits, one record each; None stands for none."""
        if job.reservations:
            return job.reservations
        if not self.book.magnetic or self.c.event_driven or self.c.queue.fifo:
            return NO_RESERVATION
        accounts = self._accounts(job)
        return (None, *[r for r in self.book.magnetic if r.admits(job.user, accounts)])

    def _accounts(self, job: Job) -> list[str]:
        """The job's account, and where associations are enforced those above it (_valid_job_access_resv)."""
        accounts = self.c.accounts
        if job.branch is None or accounts is None or not accounts.enforce.associations:
            return [job.account]
        return [branch.spec.account for branch in job.branch.path]

    def keep_out(self, job: Job) -> bool:
        """Whether `job` stays out of the queue: its only reservation is not usable now, or `serve` starts it."""
        now = self.c.now
        usable = [r for r in job.reservations if usable_at(r, now)]
        if self.c.event_driven and usable:
            if job.eligible_time is None:
                job.eligible_time = max(now, job.begin or 0)
            job.priority = job.priority or min(self.c.priority.submit(job, now))
            if job.reason == Reason.RESERVATION:
                self.c.set_reason(job, Reason.NONE)
            self.inside[job.id] = job
            self._serve_due = True
            return True
        if usable or (len(job.reservations) > 1 and not self.c.event_driven):
            return False  # several: each record finds out for itself
        self.waiting[job.id] = job
        self.c.set_reason(job, Reason.RESERVATION)
        return True

    def forget(self, job: Job) -> None:
        """`job` was held, cancelled or started: it waits for no reservation."""
        self.waiting.pop(job.id, None)
        self.inside.pop(job.id, None)

    def rebuild(self) -> None:
        """Magnetic reservations came or went: new records for what is queued."""
        queue = self.c.queue
        for job in [records[0].job for records in list(queue.jobs.values())]:
            if not job.reservations:
                known = {record.partition.index: record.priority for record in queue.jobs[job.id]}
                wanted = tuple(p.index in known for p in job.partitions)
                values = tuple(known.get(p.index, 0) for p in job.partitions)
                queue.remove(job)
                queue.add_through(self.of(job), job, values, wanted)

    def serve(self) -> None:
        """Start what fits into its reservation, in order of priority; a job that does not fit holds up nobody."""
        if not (self._serve_due or self.c.host.changed) or not self.inside:
            return
        self._serve_due = False
        for job in sorted(self.inside.values(), key=lambda job: (-job.priority, job.submit_time, job.id)):
            self._serve_one(job)

    def _serve_one(self, job: Job) -> None:
        c = self.c
        reason: str = Reason.RESOURCES
        for r in job.reservations:
            if job.licenses and not c.licenses.free(job, r):
                reason = Reason.LICENSES
                continue
            for partition, shape in zip(job.partitions, job.shapes, strict=True):
                if c.keeps_out(job, partition, shape) is not None or not usable_at(r, c.now):
                    continue
                record = Record(job, partition, shape, job.priority, False, r)
                reach = r.nodes & partition.mask if r.nodes else partition.mask
                limits = c.limits
                if limits is not None and (held := limits.early(record)):
                    reason = held
                    continue
                if shape.switches:
                    c.patience.look(job)
                alloc = self.book.access.place(record, reach, job.time_limit_s)
                if alloc is not None and limits is not None and (held := limits.after(record, alloc)):
                    reason = held
                    continue
                if alloc is not None:
                    c.start(record, alloc, "Reservation")
                    c._edited()
                    return
        c.set_reason(job, reason)

    def let_in(self, r: Reservation) -> None:
        for job in [job for job in self.waiting.values() if r in job.reservations]:
            del self.waiting[job.id]
            self.c.enqueue(job)

    def orphan(self, job: Job, r: Reservation) -> None:
        c = self.c
        waited = job.id in self.waiting or job.id in self.inside or job.queued
        c.withdraw(job)
        self.forget(job)
        job.reservation_name = ""
        if "NO_HOLD_JOBS_AFTER" in r.flags or job.reason == Reason.HELD_ADMIN:
            if waited:
                c.enqueue(job)
            return
        c.eligibility.forget(job)
        job.priority = 0
        job.reason = deleted_reservation(r.name)
        for event in ("REASON", "HOLD"):
            shown = shown_state(job.state, job.reason)
            c.events.append((c.now, event, job.id, shown, job.reason, job.partition.name, "", None, ""))

    def turn_out(self, r: Reservation) -> None:
        """The period of `r` is over: its jobs wait for another."""
        now, c = self.c.now, self.c
        queued = [records[0].job for records in c.queue.jobs.values()]
        for job in [job for job in [*queued, *self.inside.values()] if r in job.reservations]:
            if not any(usable_at(x, now) for x in job.reservations):
                c.withdraw(job)
                self.inside.pop(job.id, None)
                self.waiting[job.id] = job
                c.set_reason(job, Reason.RESERVATION)
