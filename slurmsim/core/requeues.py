"""Requeues that hold: by an administrator, by exit code, after too many failed launches.

Mirrors _job_requeue_op, _set_job_requeue_exit_value and the retry limit of job_complete (22.05).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.messages import LaunchFailed, Requeue, RequeueHold
from slurmsim.states import SPECIAL_EXIT, JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.job import Job


class Requeues:
    """RequeueExit, RequeueExitHold, requeuehold, SPECIAL_EXIT and MaxBatchRequeue."""

    def __init__(self, controller: Controller) -> None:
        self.c = controller
        option = controller.cluster.option
        self.by_exit: frozenset[int] = option("RequeueExit")
        self.by_exit_hold: frozenset[int] = option("RequeueExitHold")
        self.max_launches = int(option("MaxBatchRequeue"))
        self._failed_launches: dict[int, int] = {}

    def on_requeue_hold(self, fact: RequeueHold) -> None:
        """scontrol requeuehold: it waits held, with State=SpecialExit shown as SPECIAL_EXIT.

        One that had ended waits already: it was submitted once more.
        """
        job = self.c.jobs.get(fact.job_id)
        if job is None or not (self._may(job) or job.state == JobState.PENDING):
            return
        if job.state != JobState.PENDING:
            self.c.requeue(job)
        self.hold(job, Reason.REQUEUED_HELD, special=fact.special)

    def on_requeue(self, fact: Requeue) -> None:
        """scontrol requeue: refused for what is not running, and for jobs submitted with --no-requeue."""
        job = self.c.jobs.get(fact.job_id)
        if job is not None and self._may(job):
            self.c.requeue(job)

    def _may(self, job: Job) -> bool:
        return job.state in (JobState.RUNNING, JobState.SUSPENDED) and self.wanted(job)

    def wanted(self, job: Job) -> bool:
        """Whether `job` may be requeued, as far as its owner and the configuration say."""
        return job.sub.requeue and bool(self.c.cluster.option("JobRequeue"))

    def on_launch_failed(self, fact: LaunchFailed) -> None:
        """slurmd could not start it: it goes back into the queue, and after MaxBatchRequeue times is held."""
        job = self.c.jobs.get(fact.job_id)
        if job is None or job.restarts != fact.restarts or job.state not in (JobState.RUNNING, JobState.SUSPENDED):
            return
        count = self._failed_launches[job.id] = self._failed_launches.get(job.id, 0) + 1
        self.c.requeue(job)
        if count >= self.max_launches:
            self._failed_launches[job.id] = 0
            self.hold(job, Reason.HOLD_MAX_REQUEUE)

    def after_exit(self, job: Job, code: str) -> bool:
        """`job` ended by itself with exit `code`: whether it was requeued instead of finishing."""
        status = int(code.partition(":")[0])
        special = status in self.by_exit_hold
        if not status or (status not in self.by_exit and not special):
            return False
        job.exit_code = code  # kept while it waits
        self.c.requeue(job, JobState.FAILED, Reason.NON_ZERO_EXIT)
        if special:
            self.hold(job, Reason.HELD_USER, special=True)
        return True

    def hold(self, job: Job, reason: str, *, special: bool = False) -> None:
        """`job`, pending, waits for its release with `reason`."""
        c = self.c
        c.withdraw(job)
        c.eligibility.forget(job)
        job.priority, job.special = 0, special
        c.set_reason(job, reason)
        if special:
            c.eligibility.special_exit(job)
        shown = SPECIAL_EXIT if special else job.state
        c.events.append((c.now, "HOLD", job.id, shown, reason, job.partition.name, "", None, ""))
