"""Starts and ends: nodes are given to jobs and taken back."""

from __future__ import annotations

from bisect import bisect_left, insort
from copy import copy
from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job import NO_PRIORITY, Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.messages import Cancel, Finished, JobEnded, Kill, Launch, Requeued
from slurmsim.core.state.interfaces import RunWay
from slurmsim.cron import MINUTE_S, of
from slurmsim.states import REQUEUED, JobState, Reason, is_held

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmsim.core.accounting.partition_access import PartitionAccess
    from slurmsim.core.controller.requeues import Requeues
    from slurmsim.core.controller.waiting import Waiting
    from slurmsim.core.occupancy.completing import Completing
    from slurmsim.core.occupancy.node_states import NodeStates
    from slurmsim.core.occupancy.power import PowerSaving
    from slurmsim.core.occupancy.resize import Resizes
    from slurmsim.core.occupancy.suspension import Suspension
    from slurmsim.core.queue.deadlines import Deadlines
    from slurmsim.core.queue.eligibility import Eligibility
    from slurmsim.core.queue.partition_limits import PartitionLimits
    from slurmsim.core.reservations.licenses import Licenses
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.model.cluster import ClusterSpec

REQUEUE_DELAY_S: Final = 120  # the lifetime of a credential
_RECURS: Final = frozenset({
    JobState.COMPLETED, JobState.FAILED, JobState.TIMEOUT, JobState.OUT_OF_MEMORY, JobState.NODE_FAIL,
})  # fmt: skip
"""Ends of a run behind which a cron job waits for its next time."""


def again_s(cluster: ClusterSpec) -> int:
    """Return the seconds until a requeued job may start again (_requeue_delay, 26.05)."""
    delay = cluster.scheduler_parameters.get("requeue_delay")
    return (REQUEUE_DELAY_S if delay is None else int(delay)) + 1


class LifeCycle(RunWay):
    """Starts, ends and requeues jobs."""

    # eligibility, licenses, deadlines, access, partition_limits: what a job that starts, ends or waits again concerns
    # beside the observers
    eligibility: Eligibility
    licenses: Licenses
    deadlines: Deadlines
    access: PartitionAccess
    partition_limits: PartitionLimits
    # suspension, completing, node_states, power, resizes, requeues: what becomes of its nodes; set, as the others, once
    # all parts are there
    suspension: Suspension
    completing: Completing
    node_states: NodeStates
    power: PowerSaving | None
    resizes: Resizes
    requeues: Requeues

    def __init__(self, state: ControllerState, waiting: Waiting) -> None:
        self.state, self._waiting = state, waiting
        self.again_s = again_s(state.spec)
        self.backfilled = 0  # jobs so far that started before others of their pool

    def start(self, record: Record, alloc: Allocation, scheduler: str, limit: int | None = None) -> None:
        """Give `record`'s job its allocation and launch it; with `limit` that becomes its time limit, seconds."""
        state, job, now = self.state, record.job, self.state.now
        if len(job.partitions) == 1:
            job.depth = self._waiting.dequeue(job)
        elif job.queued:
            job.depth = state.queue.pools[record.partition.pool].position(record)
            self._leave_other_pools(record)
            self._waiting.dequeue(job)
        if job.claims or self._waiting.limited:
            self._waiting.forget(job)
        state.usage.pending(job, -1)
        if record.reservation is not None:
            job.reservation = record.reservation
            job.reservation_name = job.sub.reservation or record.reservation.name
        if job.claims:
            self.licenses.take(job, alloc.mask)
        job.partition, job.request, job.priority = record.partition, record.request, record.priority
        job.alloc, job.nodes, job.n_nodes, job.n_cpus = alloc, alloc.mask, alloc.n_nodes, alloc.n_cpus
        job.time_limit_s = self.partition_limits.time_limit(job, record.partition) if limit is None else limit
        job.start_time = job.held_since = now
        job.end_limit = now + job.time_limit_s
        job.move(JobState.RUNNING)
        if state.queue.unasked and job.sub.array_task_id is not None:
            self.eligibility.arrays.hand_on_reason(job)
        job.reason = Reason.NONE
        job.planned_start = None
        job.scheduler, job.forced = scheduler, record.partition.spec.all_share
        newly = state.table.allocate(alloc)
        if state.suspended:
            newly = state.holders.alone(job)
        state.selector.forget_future()
        state.usage.change(job, +1, newly)
        entry = job.end_limit, job.id, job
        insort(state.running, entry)
        state.selector.shares.started(entry, state.selector)
        if job.depth and scheduler != "Main" and job.sub.het is None:
            self.backfilled += 1
        state.events.append(
            (now, "START", job.id, job.state, job.reason, job.partition.name, state.cluster.node_list(alloc), job.depth,
             scheduler)
        )  # fmt: skip
        for observer in state.observers:
            observer.started(job, now)
        if not state.event_driven:
            state.triggers.changed = True
        if self.eligibility.dependents or job.array_limit:
            self.eligibility.started(job)

    def ready(self, job: Job) -> None:
        """Start the processes of `job`, as its nodes have booted; its limit counts from now."""
        assert job.end_limit is not None
        del self.state.running[bisect_left(self.state.running, (job.end_limit, job.id, job))]
        job.start_time, job.end_limit, job.suspended_s = self.state.now, self.state.now + job.time_limit_s, 0
        insort(self.state.running, (job.end_limit, job.id, job))
        for observer in self.state.observers:
            observer.ready(job)
        self.state.record("READY", job)
        self.state.actions.append(Launch(job))
        self.state.changed()

    def _leave_other_pools(self, record: Record) -> None:
        """Take the starting job out of the other pools it waited in; jobs behind it may start in this instant."""
        for pool in sorted({other.partition.pool for other in self.state.queue.jobs[record.job.id]}):
            if pool != record.partition.pool:
                self.state.queue.pools[pool].leave(record.job, None)
                if self.state.event_driven:
                    self.state.triggers.changed = True

    def on_ended(self, fact: JobEnded) -> None:
        job = self.state.jobs.get(fact.job_id)
        if job is None or job.restarts != fact.restarts or job.state not in (JobState.RUNNING, JobState.SUSPENDED):
            return  # news of an instance that is gone already
        state = fact.state
        if state == JobState.FAILED and self.requeues.after_exit(job, fact.exit_code):
            return
        reason = Reason.NON_ZERO_EXIT if state == JobState.FAILED else Reason.NONE
        self.end_components(job, state, fact.exit_code, reason)
        job.exit_code = fact.exit_code
        held = job.reason != Reason.NONE and is_held(job.reason)  # while it ran: nothing takes that back
        kept = job.reason if held else Reason.NONE
        self.finish(job, state, Reason.NON_ZERO_EXIT if state == JobState.FAILED else kept)

    def end_components(self, leader: Job, state: str, exit_code: str, reason: str) -> None:
        """End the running components of a heterogeneous job after its script is over."""
        for job in self.state.components(leader):
            if job.alloc is not None:
                job.exit_code = exit_code
                self.state.actions.append(Kill(job))
                self.finish(job, state, reason)

    def time_out(self, jobs: Sequence[Job]) -> None:
        """End running `jobs`, which one scan found over a limit: their own, an association's or a reservation's.

        The script of a heterogeneous job ends with its first component. Its other components that are over no limit
        end after the scan, as if their launch had failed (recorded with 22.05).
        """
        for job in jobs:
            self.state.actions.append(Kill(job))
            self.finish(job, JobState.TIMEOUT, Reason.TIME_LIMIT)
        for job in jobs:
            self.end_components(job, JobState.FAILED, "0:15", Reason.LAUNCH_FAILURE)

    def finish(self, job: Job, state: str, reason: str) -> None:
        """Bring `job` to a final state; its nodes are free once they are clean. A cron job recurs instead."""
        was_running = job.alloc is not None and job.state in (JobState.RUNNING, JobState.SUSPENDED)
        if was_running and job.sub.cron and state in _RECURS:
            if state == JobState.TIMEOUT:
                job.exit_code = "0:15"  # of its script, which it keeps while it waits
            self.requeue(job, state, reason)
            return
        seconds = 0
        if was_running:
            seconds = self._give_back(job, state, over=True)
        else:
            if job.priority not in (0, NO_PRIORITY) and not job.queued:
                job.priority = min(self._waiting.priorities(job))
            self._waiting.withdraw(job)
            self.state.usage.pending(job, -1)
        job.move(state)
        job.reason = reason
        job.end_time = self.state.now
        self.state.record("END", job)
        del self.state.jobs[job.id]
        if job.claims or self._waiting.limited:
            self._waiting.forget(job)
        self.state.actions.append(Finished(job))
        for observer in self.state.observers:
            observer.gone(job)
        if not seconds:
            self.eligibility.ended(job, was_running)

    def _give_back(self, job: Job, state: str, *, over: bool) -> int:
        """`job` leaves its nodes, its run ending in `state`, `over` with it. How many seconds they take to be clean."""
        assert job.alloc is not None
        self.state.selector.forget_future()
        if job.state == JobState.SUSPENDED:
            freed = self.suspension.leave(job)
        else:
            freed = self.state.table.release(job.alloc)
            self.state.usage.change(job, -1, self.state.holders.alone(job) if self.state.suspended else freed)
            entry = (job.end_limit, job.id, job)
            del self.state.running[bisect_left(self.state.running, entry)]
            self.suspension.ended(job)
        for observer in self.state.observers:
            observer.released(job, self.state.now)
        self.state.generation += 1
        self.state.queue.pools[job.partition.pool].leave(job, job.expected_end)
        seconds = self.completing.seconds(job, state)
        if not seconds:
            self._vacated(job, freed, by_itself=state in (JobState.COMPLETED, JobState.FAILED))
            return 0
        if self.power is not None:
            self.power.freed(job, 0)
        self.completing.leave(job, seconds, freed, over=over)
        return seconds

    def _vacated(self, job: Job, freed: Bitmap, *, by_itself: bool, last: bool = True) -> None:
        """Take note that nothing of `job` is left on its `last` nodes, or some of them; those in `freed` are idle."""
        if self.node_states.to_reboot:
            self.node_states.freed(freed)
        if self.power is not None:
            self.power.freed(job, freed)
        if not last:
            self.state.triggers.dirty |= not self.state.event_driven  # a pass that comes anyway has something to see
        elif not self.state.event_driven:
            self.state.triggers.job_ended(by_itself=by_itself)
        self.state.triggers.changed = True

    def cleaned(self, job: Job, freed: Bitmap, over: bool, last: bool) -> None:
        """Take note that nodes `job` has left are clean; only its `last` ones cause a pass, at once.

        The others do not: job_epilog_complete says that the scheduler is to run when no node is completing any more.
        """
        self._vacated(job, freed & self.state.table.idle, by_itself=False, last=last)
        if over:
            self.eligibility.ended(job, True)
        elif job.state == JobState.PENDING and not job.queued and not self.completing.of(job.id, job.restarts - 1):
            self._waiting.rank_requeued(job)  # slurmctld puts it back now (batch_requeue_fini)

    def on_cancel(self, fact: Cancel) -> None:
        job = self.state.jobs.get(fact.job_id)
        if job is None:
            return
        if job.state == JobState.PENDING:
            job.start_time = None
        else:
            if self.power is None or not self.power.waits(job):  # else nothing of it runs yet
                job.exit_code = "0:15"
            self.state.actions.append(Kill(job))
        held = job.state != JobState.PENDING and is_held(job.reason)
        self.finish(job, JobState.CANCELLED, job.reason if held else Reason.NONE)

    def requeue(self, job: Job, state: str = REQUEUED, reason: str = Reason.NONE) -> None:
        """Put a running job back: PENDING, eligible after `requeue_delay` (a cron job: at its next time), Restarts + 1.

        `state` and `reason` are those of the record of the run that ends: REQUEUED, NODE_FAIL or PREEMPTED.
        """
        assert job.alloc is not None
        run = copy(job)
        run.state, run.reason, run.end_time = state, reason, self.state.now
        run.suspended_s = job.stood_still_s(self.state.now)
        for action in self.state.actions:
            if isinstance(action, Launch) and action.job is job:
                action.job = run  # started in this very turn: the job is pending when it is launched, without nodes
        self.state.actions += [Kill(job), Requeued(run)]
        nodes = self.state.cluster.node_list(job.alloc)
        held = job.reason if is_held(job.reason) else ""
        seconds = self._give_back(job, state, over=False)
        self.eligibility.requeued(job)
        job.move(JobState.PENDING)
        job.split()
        job.restarts += 1
        job.alloc, job.nodes = None, 0
        job.foremost = job.partition.index if len(job.partitions) > 1 else None
        job.partition, job.request = job.partitions[0], job.requests[0]
        job.likely_nodes = job.n_nodes  # node_cnt_wag: what its last try found
        job.n_nodes, job.n_cpus, job.tried_cpus = job.request.min_nodes, job.request.told_cpus, 0
        job.start_time = job.end_limit = job.eligible_time = job.accrue_time = None
        job.submit_time = self.state.now
        job.begin = self._begins_again(job, state)
        job.reservation, job.reservation_name = None, ",".join(r.name for r in job.reservations)
        self.deadlines.register(job)
        if self.access.edited:
            self.access.look_again(job)
        job.reason = Reason.BEGIN_TIME
        self._waiting.set_time_limit(job)
        if not seconds:
            self._waiting.rank_requeued(job)
        self.state.usage.pending(job, +1)
        job.suspended_s, job.preempt_time, job.corrections = 0, None, 0
        self.state.record("REQUEUE", job, nodes=nodes)
        for observer in self.state.observers:
            observer.requeued(job)
        if held:
            self.requeues.hold(job, held)
        else:
            self._waiting.consider(job)

    def _begins_again(self, job: Job, state: str) -> int:
        """Return the earliest next start of a job that ends in `state` now. A cancelled cron job lets a minute pass."""
        now = self.state.now
        after = now + MINUTE_S if state == REQUEUED else now
        following = of(job.sub.cron).next_after(after) if job.sub.cron else None
        return now + self.again_s if following is None else following

    def move_end(self, job: Job, end: int) -> None:
        """Set the end by limit of `job`, running or suspended, to `end`."""
        jobs = self.state.running if job.state == JobState.RUNNING else self.state.suspended
        assert job.end_limit is not None
        del jobs[bisect_left(jobs, (job.end_limit, job.id, job))]
        job.end_limit = end
        insort(jobs, (end, job.id, job))
        self.state.selector.forget_future()

    def may_requeue(self, job: Job) -> bool:
        """Return True if `job` goes back into the queue when it loses its nodes."""
        return self.requeues.wanted(job)

    def keep(self, job: Job, nodes: Bitmap) -> None:
        """Let the running `job` go on on `nodes` alone."""
        self.resizes.keep(job, nodes)
