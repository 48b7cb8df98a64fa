"""Starts and ends: nodes are given to jobs and taken back."""

from __future__ import annotations

from bisect import bisect_left, insort
from copy import copy
from functools import partial

from slurmsim.bitmap import Bitmap
from slurmsim.core.job import Job
from slurmsim.core.job_queue import Record
from slurmsim.core.messages import Cancel, Finished, JobEnded, Kill, Launch, Requeued
from slurmsim.core.nodes import Allocation
from slurmsim.core.power import launch
from slurmsim.core.waiting import Waiting
from slurmsim.states import REQUEUED, JobState, Reason, is_held

REQUEUE_DELAY_S = 121  # credential lifetime 120 s + 1


class Lifecycle(Waiting):
    """The part of the controller that starts, ends and requeues jobs."""

    def start(self, record: Record, alloc: Allocation, scheduler: str, limit: int | None = None) -> None:
        """Give `record`'s job its allocation and launch it; with `limit` that becomes its time limit, seconds."""
        job, now = record.job, self.now
        if len(job.partitions) == 1:
            job.depth = self.dequeue(job)
        elif job.queued:
            job.depth = self.queue.pools[record.partition.pool].position(record)
            self._leave_other_pools(record)
            self.dequeue(job)
        if job.claims or self.limited:
            self._forget(job)
        self.usage.pending(job, -1)
        if record.reservation is not None:
            job.reservation = record.reservation
            job.reservation_name = job.sub.reservation or record.reservation.name
        if job.claims:
            self.licenses.take(job)
        job.partition, job.shape, job.priority = record.partition, record.shape, record.priority
        job.alloc, job.nodes, job.n_nodes, job.n_cpus = alloc, alloc.mask, alloc.n_nodes, alloc.n_cpus
        job.time_limit_s = self.time_limit(job, record.partition) if limit is None else limit
        job.start_time = job.held_since = now
        job.end_limit = now + job.time_limit_s
        job.state = JobState.RUNNING
        if self.queue.unasked and job.sub.array_task_id is not None:
            self.eligibility.arrays.hand_on_reason(job)
        job.reason = Reason.NONE
        job.planned_start = None
        job.scheduler = scheduler
        if self.book is not None:
            self.book.started(job, now)
        if self.accrual is not None:
            self.accrual.left(job)
        newly = self.table.allocate(alloc)
        if self.suspension.jobs:
            newly = self.suspension.alone(job)
        self.selector.forget_future()
        self.usage.change(job, +1, newly)
        if self.owners is not None:
            self.owners.add(job)
        if self.limits is not None:
            self.limits.began(job)
        insort(self.running, (job.end_limit, job.id, job))
        if job.depth and scheduler != "Main":
            self.backfilled += 1
        self.events.append(
            (now, "START", job.id, job.state, job.reason, job.partition.name, self.state.node_list(alloc), job.depth,
             scheduler)
        )  # fmt: skip
        launch(self, job)
        if self.gang is not None:
            self.gang.started(job)
        if not self.event_driven:
            self.host.changed = True
        if self.eligibility.dependents or job.array_limit:
            self.eligibility.started(job)

    def ready(self, job: Job) -> None:
        """The nodes of `job` have booted: its processes start, and its limit counts from now."""
        assert job.end_limit is not None
        del self.running[bisect_left(self.running, (job.end_limit, job.id, job))]
        job.start_time, job.end_limit, job.suspended_s = self.now, self.now + job.time_limit_s, 0
        insort(self.running, (job.end_limit, job.id, job))
        self.record("READY", job)
        self.actions.append(Launch(job))
        self.changed()

    def _leave_other_pools(self, record: Record) -> None:
        """`record`'s job starts: where else it waited, others may move up in this very instant."""
        for pool in sorted({other.partition.pool for other in self.queue.jobs[record.job.id]}):
            if pool != record.partition.pool:
                self.queue.pools[pool].leave(record.job, None)
                if self.event_driven:
                    self.host.changed = True

    def _job_ended(self, fact: JobEnded) -> None:
        job = self.jobs.get(fact.job_id)
        if job is None or job.restarts != fact.restarts or job.state not in (JobState.RUNNING, JobState.SUSPENDED):
            return  # news of an instance that is gone already
        state = fact.state
        if state == JobState.FAILED and self.requeues.after_exit(job, fact.exit_code):
            return
        job.exit_code = fact.exit_code
        kept = job.reason if is_held(job.reason) else Reason.NONE  # held while it ran: nothing takes that back
        self.finish(job, state, Reason.NON_ZERO_EXIT if state == JobState.FAILED else kept)

    def finish(self, job: Job, state: str, reason: str) -> None:
        """`job` reaches a final state now; its nodes are free as soon as they are clean."""
        was_running = job.alloc is not None and job.state in (JobState.RUNNING, JobState.SUSPENDED)
        seconds = 0
        if was_running:
            seconds = self._give_back(job, state, over=True)
        else:
            self.withdraw(job)
            self.usage.pending(job, -1)
        job.move(state)
        job.reason = reason
        job.end_time = self.now
        self.events.append((self.now, "END", job.id, state, reason, job.partition.name, "", None, ""))
        del self.jobs[job.id]
        if self.accrual is not None:
            self.accrual.left(job)
        if job.claims or self.limited:
            self._forget(job)
        if self.limits is not None:
            self.limits.gone(job)
        self.actions.append(Finished(job))
        if self.gang is not None:
            self.gang.ended(job)
        if not seconds:
            self.eligibility.ended(job, was_running)

    def _give_back(self, job: Job, state: str, *, over: bool) -> int:
        """`job` leaves its nodes, its run ending in `state`, `over` with it. How many seconds they take to be clean."""
        assert job.alloc is not None
        if self.book is not None:
            self.book.ended(job, self.now)
        self.selector.forget_future()
        if job.state == JobState.SUSPENDED:
            freed = self.suspension.leave(job)
        else:
            freed = self.table.release(job.alloc)
            self.usage.change(job, -1, self.suspension.alone(job) if self.suspension.jobs else freed)
            entry = (job.end_limit, job.id, job)
            del self.running[bisect_left(self.running, entry)]
            self.suspension.ended(job)
        if self.owners is not None:
            self.owners.remove(job)
        if self.limits is not None:
            self.limits.released(job)
        if job.claims:
            self.licenses.give_back(job)
        self.generation += 1
        self.queue.pools[job.partition.pool].leave(job, job.end_limit)
        seconds = 0 if self.completing is None else self.completing.seconds(state)
        if self.completing is None or not seconds:
            self._vacated(job, freed, by_itself=state in (JobState.COMPLETED, JobState.FAILED))
            return 0
        if self.power is not None:
            self.power.freed(job, 0)
        self.completing.leave(job.nodes, seconds, partial(self._cleaned, job, freed, over))
        return seconds

    def _vacated(self, job: Job, freed: Bitmap, *, by_itself: bool) -> None:
        """Nobody and nothing of `job` is left on its nodes, of which `freed` are idle."""
        if self.node_states.to_reboot:
            self.node_states.freed(freed)
        if self.power is not None:
            self.power.freed(job, freed)
        if not self.event_driven:
            self.main.job_ended(by_itself=by_itself)
        self.host.changed = True

    def _cleaned(self, job: Job, freed: Bitmap, over: bool) -> None:
        self._vacated(job, freed & self.table.idle, by_itself=False)
        if over:
            self.eligibility.ended(job, True)

    def _cancel(self, fact: Cancel) -> None:
        job = self.jobs.get(fact.job_id)
        if job is None:
            return
        if job.state == JobState.PENDING:
            job.start_time = None
        else:
            job.exit_code = "0:15"
            self.actions.append(Kill(job))
        held = job.state != JobState.PENDING and is_held(job.reason)
        self.finish(job, JobState.CANCELLED, job.reason if held else Reason.NONE)

    def requeue(self, job: Job, state: str = REQUEUED, reason: str = Reason.NONE) -> None:
        """Put a running job back: PENDING, eligible 121 s later, Restarts + 1.

        `state` and `reason` are those of the record of the run that ends: REQUEUED, NODE_FAIL or PREEMPTED.
        """
        assert job.alloc is not None
        run = copy(job)
        run.state, run.reason, run.end_time = state, reason, self.now
        run.suspended_s = self.suspension.seconds(job)
        self.actions += [Kill(job), Requeued(run)]
        nodes = self.state.node_list(job.alloc)
        held = job.reason if is_held(job.reason) else ""
        self._give_back(job, state, over=False)
        self.eligibility.requeued(job)
        job.move(JobState.PENDING)
        job.split()
        job.restarts += 1
        job.alloc, job.nodes = None, 0
        job.partition, job.shape = job.partitions[0], job.shapes[0]
        job.n_nodes, job.n_cpus, job.tried_cpus = job.shape.min_nodes, job.shape.min_cpus, 0
        job.start_time = job.end_limit = job.eligible_time = job.accrue_time = None
        job.submit_time = self.now
        job.begin = self.now + REQUEUE_DELAY_S
        job.reservation, job.reservation_name = None, ",".join(r.name for r in job.reservations)
        self.deadlines.register(job)
        if self.access.edited:
            self.access.look_again(job)
        job.reason = Reason.BEGIN_TIME
        self.set_time_limit(job)
        self.usage.pending(job, +1)
        job.suspended_s, job.preempt_time = 0, None
        self.record("REQUEUE", job, nodes=nodes)
        if self.gang is not None:
            self.gang.ended(job)
        if held:
            self.requeues.hold(job, held)
        else:
            self.eligibility.consider(job)

    def move_end(self, job: Job, end: int) -> None:
        """The end of `job`, running or suspended, by its limit is `end` from now on."""
        jobs = self.running if job.state == JobState.RUNNING else self.suspension.jobs
        assert job.end_limit is not None
        del jobs[bisect_left(jobs, (job.end_limit, job.id, job))]
        job.end_limit = end
        insort(jobs, (end, job.id, job))
        self.selector.forget_future()
