"""The jobs that name reservations, or that magnetic ones draw in.

Under Slurm's own scheduler such a job waits outside the queue until its reservation may be used, then has a record for
each of its reservations. Under event-driven policies `serve` starts it, in order of priority and apart from the policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmsim.core.records.job import Job
from slurmsim.core.records.reservation import Reservation
from slurmsim.core.reservations.nodes import INVALID
from slurmsim.errors import SubmitError
from slurmsim.states import JobState, Reason, deleted_reservation, shown_state

if TYPE_CHECKING:
    from collections.abc import Container

    from slurmsim.core.accounting.controller_accounting import AccountingParts
    from slurmsim.core.accounting.partition_access import PartitionAccess
    from slurmsim.core.queue.priority import Basic, Multifactor
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import QueueWay

ACCESS_DENIED: Final = "Access denied to requested reservation"
NO_RESERVATION: Final[tuple[Reservation | None, ...]] = (None,)


def uses(job: Job, r: Reservation) -> bool:
    """Return True if `job` runs in `r` or names it."""
    return job.reservation is r or r in job.reservations


def usable_at(r: Reservation, now: int) -> bool:
    """Return True if its jobs may start at `now`."""
    return "FLEX" in r.flags or (r.start <= now < r.end and not r.over)


class ReservationJobs:
    """Jobs of one book of reservations."""

    def __init__(
        self, state: ControllerState, queue_way: QueueWay, accounting: AccountingParts, plugin: Basic | Multifactor,
        access: PartitionAccess,
    ) -> None:  # fmt: skip
        self.state, self._queue_way, self._accounting, self._plugin = state, queue_way, accounting, plugin
        self._access = access
        self.waiting: dict[int, Job] = {}  # pending jobs of reservations that may not be used yet, by id
        # under event-driven policies: pending jobs of reservations that may be used now, by id
        self.inside: dict[int, Job] = {}
        self.serve_due = False  # a job came `inside` since those were served

    @property
    def privileged(self) -> Container[str]:
        """Users that any reservation takes: root and SlurmUser."""
        return self._access.privileged

    def claim(self, job: Job, text: str) -> None:
        """``--reservation=text`` at submission. Raises SubmitError: unknown, denied, or never large enough."""
        found = []
        for name in text.split(","):
            r = self.state.reserved.find(name)
            if r is None:
                raise SubmitError(INVALID)
            if not self._admits(job, r):
                raise SubmitError(ACCESS_DENIED)
            found.append(r)
        job.reservations = tuple(found)
        job.reservation_name = text

    def _admits(self, job: Job, r: Reservation) -> bool:
        if self.state.rules.reservations_open_to_root and job.user in self._access.privileged:
            return True
        return r.admits(job.user, self._accounts(job))

    def loser(self, r: Reservation) -> Job | None:
        """Return the first job of `r` that may not use it, where updates mind that; a running one uses one alone."""
        if not self.state.rules.reservations_keep_users:
            return None
        for job in self.state.jobs.values():
            in_it = job.reservation is r if job.state == JobState.RUNNING else r in job.reservations
            if in_it and job.state in (JobState.RUNNING, JobState.PENDING) and not self._admits(job, r):
                return job
        return None

    def of(self, job: Job) -> tuple[Reservation | None, ...]:
        """Through which reservations `job` waits, one record each; None stands for none."""
        if job.reservations:
            return job.reservations
        if not self.state.reserved.magnetic or self.state.event_driven or self.state.queue.fifo:
            return NO_RESERVATION
        accounts = self._accounts(job)
        return (None, *[r for r in self.state.reserved.magnetic if r.admits(job.user, accounts)])

    def _accounts(self, job: Job) -> list[str]:
        """Return the job's account, and where associations are enforced those above it (_valid_job_access_resv)."""
        accounts = self._accounting.accounts
        if job.branch is None or accounts is None or not accounts.enforce.associations:
            return [job.account]
        return [branch.spec.account for branch in job.branch.path]

    def shut_out(self, job: Job) -> bool:
        """Return True if sbatch's own test of `job` ends at its reservation, which is unusable now (job_test_resv)."""
        if self.state.event_driven or len(job.reservations) != 1:
            return False
        return not usable_at(job.reservations[0], self.state.now)

    def keep_out(self, job: Job) -> bool:
        """Return True if `job` stays out of the queue: its only reservation is not usable now, or `serve` starts it."""
        now = self.state.now
        usable = [r for r in job.reservations if usable_at(r, now)]
        if self.state.event_driven and usable:
            if job.eligible_time is None:
                job.eligible_time = max(now, job.begin or 0)
            job.priority = job.priority or min(self._plugin.submit(job, now))
            if job.reason == Reason.RESERVATION:
                self.state.set_reason(job, Reason.NONE)
            self.inside[job.id] = job
            self.serve_due = True
            return True
        if usable or (len(job.reservations) > 1 and not self.state.event_driven):
            return False  # several: each record finds out for itself
        self.waiting[job.id] = job
        self.state.set_reason(job, Reason.RESERVATION)
        return True

    def forget(self, job: Job) -> None:
        """Take note that `job` was held, cancelled or started: it waits for no reservation."""
        self.waiting.pop(job.id, None)
        self.inside.pop(job.id, None)

    def rebuild(self) -> None:
        """Magnetic reservations came or went: new records for what is queued."""
        queue = self.state.queue
        for job in [records[0].job for records in list(queue.jobs.values())]:
            if not job.reservations:
                known = {record.partition.index: record.priority for record in queue.jobs[job.id]}
                wanted = tuple(p.index in known for p in job.partitions)
                values = tuple(known.get(p.index, 0) for p in job.partitions)
                queue.remove(job)
                queue.add_through(self.of(job), job, values, wanted)

    def let_in(self, r: Reservation) -> None:
        for job in [job for job in self.waiting.values() if r in job.reservations]:
            del self.waiting[job.id]
            self._queue_way.enqueue(job)

    def orphan(self, job: Job, r: Reservation) -> None:
        waited = job.id in self.waiting or job.id in self.inside or job.queued
        self._queue_way.withdraw(job)
        self.forget(job)
        job.reservation_name = ""
        if "NO_HOLD_JOBS_AFTER" in r.flags or job.reason == Reason.HELD_ADMIN:
            if waited:
                self._queue_way.enqueue(job)
            return
        self._queue_way.put_off(job)
        job.priority, job.planned_start, job.planned_nodes = 0, None, 0
        job.reason = deleted_reservation(r.name)
        for event in ("REASON", "HOLD"):
            shown = shown_state(job.state, job.reason)
            row = (self.state.now, event, job.id, shown, job.reason, job.partition.name, "", None, "")
            self.state.events.append(row)

    def turn_out(self, r: Reservation) -> None:
        """Let the jobs of `r` wait for its next period, as the present one is over."""
        now, state = self.state.now, self.state
        queued = [records[0].job for records in state.queue.jobs.values()]
        for job in [job for job in [*queued, *self.inside.values()] if r in job.reservations]:
            if not any(usable_at(x, now) for x in job.reservations):
                self._queue_way.withdraw(job)
                self.inside.pop(job.id, None)
                self.waiting[job.id] = job
                state.set_reason(job, Reason.RESERVATION)
