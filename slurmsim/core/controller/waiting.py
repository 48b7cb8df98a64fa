"""Jobs that wait: into the queue and out of it, holds and releases, and nodes for the next of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Hold, Release
from slurmsim.core.state.interfaces import QueueWay, Standing
from slurmsim.states import JobState, Reason, is_held

if TYPE_CHECKING:
    from slurmsim.core.accounting.controller_accounting import AccountingParts
    from slurmsim.core.queue.buffers import Buffers
    from slurmsim.core.queue.deadlines import Deadlines
    from slurmsim.core.queue.eligibility import Eligibility
    from slurmsim.core.queue.found_cpus import FoundCpus
    from slurmsim.core.queue.partition_limits import PartitionLimits
    from slurmsim.core.queue.predictions import Predictions
    from slurmsim.core.queue.priority import Basic, Multifactor
    from slurmsim.core.queue.recalculation import Recalculation
    from slurmsim.core.reservations.jobs import ReservationJobs
    from slurmsim.core.reservations.licenses import Licenses
    from slurmsim.core.state.controller_state import ControllerState

# slurmctld finds out that these are over when it builds a queue or, of the last one, when it tries the job
_KEPT_UNTIL_LOOKED_AT: Final = (Reason.BEGIN_TIME, Reason.DEPENDENCY, Reason.ARRAY_TASK_LIMIT)


class Waiting(QueueWay):
    """The way into the queue and out of it."""

    # eligibility, reserved_jobs, licenses, deadlines, recalculation: what jobs wait for outside the queue; set once all
    # parts are there, as those take jobs in and out themselves
    eligibility: Eligibility
    reserved_jobs: ReservationJobs
    licenses: Licenses
    deadlines: Deadlines
    recalculation: Recalculation
    partition_limits: PartitionLimits
    predictions: Predictions | None  # the predictor of run times, or None
    buffers: Buffers | None  # the limits on jobs in the queue; None lets every job in at once

    def __init__(
        self, state: ControllerState, plugin: Basic | Multifactor, accounting: AccountingParts, found_cpus: FoundCpus
    ) -> None:
        self.state, self._plugin, self._accounting, self._found_cpus = state, plugin, accounting, found_cpus
        # jobs an event-driven policy may not see in all their partitions, because of limits or states
        self.limited: dict[int, Job] = {}

    def enqueue(self, job: Job, standing: Standing | None = None) -> None:
        """`job` is independent and not held: it may start from now on, with the `standing` it had or a new one.

        Under an event-driven policy it is queued only for the partitions it could start in, as limits and states are,
        or it would be first in line there for ever; Slurm's own scheduler keeps all records and passes over them.
        """
        state = self.state
        if job.reservations and self.reserved_jobs.keep_out(job):
            return
        wanted: tuple[bool, ...] | None = None
        if state.event_driven and job.within_limits != state.edits:
            wanted = self._wanted(job)
            if not any(wanted):
                return
        if job.eligible_time is None:
            job.eligible_time = max(state.now, job.begin or 0)
            if job.eligible_time > job.submit_time:
                state.record("ELIGIBLE", job)
        if self._accounting.accrual is not None:
            self._accounting.accrual.eligible(job, state.now)
        values = self._values(job, standing)
        job.priority = min(values)
        if state.event_driven and not self._enters(job):
            return
        if self.buffers is not None:
            if not self.buffers.enter(job):
                return
            job.turn = self.buffers.places[job.id]
        job.queued = True
        if self.predictions is not None:
            self.predictions.consider(job)
        state.triggers.came()
        if state.reserved.all:
            state.queue.add_through(self.reserved_jobs.of(job), job, values, wanted)
        else:
            state.queue.add(job, values, wanted)
        if not state.event_driven:
            self._found_cpus.came(job)
            if standing is not None:
                self._found_cpus.still_counts(job, standing.counted)
        # a submission does not ask whether an array may start: the next pass does
        unasked = job.sub.array_task_id is not None and job.submit_time == state.now
        if (unasked or job.reason in _KEPT_UNTIL_LOOKED_AT) and not state.event_driven and state.triggers.enabled:
            state.queue.unasked[job.id] = job
        elif job.reason != Reason.NONE:
            state.set_reason(job, Reason.NONE)

    def _wanted(self, job: Job) -> tuple[bool, ...]:
        """Return for each partition of `job` if it could start there; if it could in none, show why."""
        state, limits = self.state, self.partition_limits
        wanted = limits.may_start(job)
        self.limited.pop(job.id, None)
        if not all(wanted):
            self.limited[job.id] = job
        if not any(wanted):
            reasons = [limits.keeps_out(job, p, r) for p, r in zip(job.partitions, job.requests, strict=True)]
            state.set_reason(job, next((r for r in reasons if r is not None), Reason.BAD_CONSTRAINTS))
        return wanted

    def _values(self, job: Job, standing: Standing | None) -> tuple[int, ...]:
        """Return the priorities of `job` in its partitions: those of its `standing`, or new ones."""
        if standing is not None and len(standing.priorities) == len(job.partitions):
            return standing.priorities
        return self._plugin.submit(job, self.state.now) if job.priority == 0 else self.priorities(job)

    def _enters(self, job: Job) -> bool:
        """Return True if no limit and no license keeps `job` out of the queue of an event-driven policy."""
        limits = self._accounting.limits
        if limits is not None and limits.withhold(job):
            return False
        return not job.claims or self.licenses.enter(job)

    def _limits_changed(self) -> None:
        """Queue jobs for the partitions they may start in after an edit of limits or partition states."""
        if not self.state.event_driven:
            return
        queued = [records[0].job for records in self.state.queue.jobs.values()]
        for job in [*queued, *[job for job in self.limited.values() if not job.queued]]:
            partitions = [r.partition for r in self.state.queue.jobs.get(job.id, ())]
            if partitions != [
                p for p, ok in zip(job.partitions, self.partition_limits.may_start(job), strict=True) if ok
            ]:
                self.step_out(job)
                self.enqueue(job)
                if self.buffers is not None and not job.queued:
                    self.buffers.left(job)

    def dequeue(self, job: Job) -> int:
        """`job` may not start any more (held, throttled, ended). How many were ahead of it in its (last) pool."""
        if not job.queued:
            return 0
        job.queued = False
        self.state.generation += 1
        if job.claims and self.state.event_driven:
            self.licenses.leave(job)
        self._found_cpus.left(job)
        return self.state.queue.remove(job)

    def withdraw(self, job: Job) -> None:
        """Take `job` out of the queue unstarted."""
        self.step_out(job)
        if self.buffers is not None:
            self.buffers.left(job)

    def step_out(self, job: Job) -> None:
        """Take `job` out of the queue for a while; it keeps its place if a discipline gives places."""
        if job.queued:
            for record in self.state.queue.jobs[job.id]:
                self.state.queue.pools[record.partition.pool].leave(job, None)
            self.dequeue(job)
            if self.licenses.lacking:
                self.licenses.retry()
        self.state.triggers.changed = True

    def set_aside(self, job: Job) -> Standing:
        """`job` leaves the queue, to be put back once something else has changed.

        slurmctld keeps its jobs' priorities then: only a submission, an update, a release and the priority thread
        work them out.
        """
        standing = Standing(self.state.queue.priorities(job), self._found_cpus.counted(job))
        self.step_out(job)
        return standing

    def priorities(self, job: Job) -> tuple[int, ...]:
        """Return the priorities in each partition of `job`, which waits outside the queue and is not held.

        As of the priority thread's last run since it came, or came back; before the next one what it had then.
        """
        now, last = self.state.now, self.recalculation.last_run(self.state.now)
        if last > job.submit_time and self._plugin.period_s is not None:
            return self._plugin.recalculate(job, last)
        if len(job.partitions) == 1:
            return (job.priority,)
        return self._plugin.recalculate(job, now)

    def rank_requeued(self, job: Job) -> None:
        """`job`, which ran, waits again: since 24.11 with a new priority, behind all where they come in order."""
        if self.state.rules.ranks_requeued_anew and job.priority:
            job.priority = min(self._plugin.submit(job, self.state.now))

    def forget(self, job: Job) -> None:
        """Take note that `job` waits no more outside the queue."""
        self.limited.pop(job.id, None)
        self.reserved_jobs.forget(job)
        self.licenses.lacking.pop(job.id, None)
        self.deadlines.forget(job)

    def consider(self, job: Job) -> None:
        """Put the pending `job` into the queue, if nothing keeps it out."""
        self.eligibility.consider(job)

    def put_off(self, job: Job) -> None:
        """Take note that `job` was held: it waits for nothing but its release."""
        self.eligibility.forget(job)

    def edited(self) -> None:
        """Note that a job or partition was edited: starts that were possible may not be now, and others may."""
        self.state.look_again()
        self._limits_changed()

    def hold(self, fact: Hold) -> None:
        job = self.state.jobs.get(fact.job_id)
        if job is None:
            return
        if job.state != JobState.PENDING:  # it runs on, and will be held when it is requeued
            if self._accounting.accrual is None and job.accrue_time is None:
                job.accrue_time = job.eligible_time
            job.priority, job.eligible_time = 0, None
            self.state.set_reason(job, Reason.HELD_ADMIN if fact.admin else Reason.HELD_USER)
            return
        self.withdraw(job)
        self.forget(job)
        self.deadlines.register(job)
        self.eligibility.forget(job)
        job.split()
        if self._accounting.accrual is not None:
            self._accounting.accrual.held(job)
        elif job.accrue_time is None:  # where nothing limits it, its age goes on
            job.accrue_time = job.eligible_time
        if self._accounting.limits is not None:
            self._accounting.limits.held_back(job)
        job.priority, job.eligible_time = 0, None  # it is eligible anew once it is released
        self.state.set_reason(job, Reason.HELD_ADMIN if fact.admin else Reason.HELD_USER)
        self.state.record("HOLD", job)

    def _rank_anew(self, job: Job) -> None:
        self._found_cpus.news.pop(job.id, None)
        values = self._plugin.submit(job, self.state.now)
        job.priority = min(values)
        records = list(self.state.queue.jobs.get(job.id, ()))
        self.state.queue.reprioritise(records, [values[job.partitions.index(record.partition)] for record in records])
        self.state.queue.edited(job)
        self.state.triggers.dirty = self.state.triggers.changed = True
        self.state.generation += 1

    def release(self, fact: Release) -> None:
        """Its priority is what it would be if it came now, whether it was held or not (update to INFINITE, 22.05)."""
        job = self.state.jobs.get(fact.job_id)
        if job is None:
            return
        job.sub.priority = None
        if not is_held(job.reason):
            if job.end_time is None and job.priority:
                self._rank_anew(job)
            return
        job.special = False
        if job.state != JobState.PENDING:  # as its hold, this concerns only what it does when it is requeued
            self.state.set_reason(job, Reason.NONE)
            job.priority = min(self._plugin.submit(job, self.state.now))
            return
        self.state.record("RELEASE", job)
        self.state.set_reason(job, Reason.NONE)
        if job.priority == 0:  # at once, also of one that has to wait for something else
            job.priority = min(self._plugin.submit(job, self.state.now))
        self.consider(job)
        self.state.triggers.request()
        self.state.triggers.changed = True

    def set_time_limit(self, job: Job) -> None:
        """Set the time limit asked for, or the default one, or the shortest of its limits."""
        if not self.partition_limits.set_time_limit(job) and self._accounting.limits is not None:
            self._accounting.limits.give_limit(job)
