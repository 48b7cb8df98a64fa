"""Requeues that hold: by an administrator, by exit code, after too many failed launches.

Mirrors _job_requeue_op, _set_job_requeue_exit_value and the retry limit of job_complete (22.05).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.records.messages import LaunchFailed, Requeue, RequeueHold
from slurmsim.states import SPECIAL_EXIT, JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.queue.eligibility import Eligibility
    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import QueueWay, RunWay


class Requeues:
    """RequeueExit, RequeueExitHold, requeuehold, SPECIAL_EXIT and MaxBatchRequeue."""

    def __init__(self, state: ControllerState, queue_way: QueueWay, runs: RunWay, eligibility: Eligibility) -> None:
        self.state, self._queue_way, self._runs, self._eligibility = state, queue_way, runs, eligibility
        option = state.spec.option
        self.by_exit: frozenset[int] = option("RequeueExit")
        self.by_exit_hold: frozenset[int] = option("RequeueExitHold")
        self.max_launches = int(option("MaxBatchRequeue"))
        self._failed_launches: dict[int, int] = {}

    def on_requeue_hold(self, fact: RequeueHold) -> None:
        """Apply ``scontrol requeuehold``: the job waits held, with State=SpecialExit shown as SPECIAL_EXIT.

        One that had ended waits already: it was submitted once more.
        """
        job = self.state.jobs.get(fact.job_id)
        if job is None or not (self._may(job) or job.state == JobState.PENDING):
            return
        if job.state != JobState.PENDING:
            self._runs.requeue(job)
        self.hold(job, Reason.REQUEUED_HELD, special=fact.special)

    def on_requeue(self, fact: Requeue) -> None:
        """Apply ``scontrol requeue``; it is refused if the job does not run or was submitted with --no-requeue."""
        job = self.state.jobs.get(fact.job_id)
        if job is not None and self._may(job):
            self._runs.requeue(job)

    def _may(self, job: Job) -> bool:
        return job.state in (JobState.RUNNING, JobState.SUSPENDED) and self.wanted(job)

    def wanted(self, job: Job) -> bool:
        """Return True if `job` may be requeued, as far as its owner and the configuration say."""
        return job.sub.requeue and bool(self.state.spec.option("JobRequeue"))

    def on_launch_failed(self, fact: LaunchFailed) -> None:
        """Requeue a job that slurmd could not start; after MaxBatchRequeue times hold it."""
        job = self.state.jobs.get(fact.job_id)
        if job is None or job.restarts != fact.restarts or job.state not in (JobState.RUNNING, JobState.SUSPENDED):
            return
        count = self._failed_launches[job.id] = self._failed_launches.get(job.id, 0) + 1
        self._runs.requeue(job)
        if count >= self.max_launches:
            self._failed_launches[job.id] = 0
            self.hold(job, Reason.HOLD_MAX_REQUEUE)

    def launch_failed(self, job: Job) -> None:
        """Its prolog or launch failed for good: `job`, which runs, goes back into the queue and waits held."""
        self._runs.requeue(job)
        self.hold(job, Reason.LAUNCH_FAILED)

    def after_exit(self, job: Job, code: str) -> bool:
        """`job` ended by itself with exit `code`: whether it was requeued instead of finishing."""
        status = int(code.partition(":")[0])
        special = status in self.by_exit_hold
        if not status or (status not in self.by_exit and not special):
            return False
        job.exit_code = code  # kept while it waits
        self._runs.requeue(job, JobState.FAILED, Reason.NON_ZERO_EXIT)
        if special:
            self.hold(job, Reason.HELD_USER, special=True)
        return True

    def hold(self, job: Job, reason: str, *, special: bool = False) -> None:
        """`job`, pending, waits for its release with `reason`."""
        self._queue_way.withdraw(job)
        self._eligibility.forget(job)
        job.priority, job.special = 0, special
        self.state.set_reason(job, reason)
        if special:
            self._eligibility.special_exit(job)
        shown = SPECIAL_EXIT if special else job.state
        self.state.events.append((self.state.now, "HOLD", job.id, shown, reason, job.partition.name, "", None, ""))
