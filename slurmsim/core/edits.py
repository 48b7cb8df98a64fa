"""Changes of a job's request while it waits or runs: scontrol update.

Mirrors _update_job (job_mgr.c, 22.05): every update of a waiting job works out its priority anew, except under
priority/basic, and asks the background loop for a pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.core.messages import (
    EditRefused,
    Hold,
    RankAnew,
    SetArrayLimit,
    SetDependency,
    SetNice,
    SetPriority,
    SetTimeLimit,
)
from slurmsim.core.priority import Basic
from slurmsim.errors import SubmitError
from slurmsim.states import JobState, Reason, is_held

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller
    from slurmsim.core.job import Job

LEAST_BASIC_PRIORITY = 2


class Edits:
    """Carries updates of jobs out, or refuses them."""

    def __init__(self, controller: Controller) -> None:
        self.c = controller

    def handlers(self) -> dict[type, Callable[[Any], None]]:
        """What to do about which fact."""
        return {
            SetTimeLimit: self.time_limit, SetArrayLimit: self.array_limit, SetDependency: self.dependency,
            SetPriority: self.priority, SetNice: self.nice, RankAnew: self.rank_anew,
        }  # fmt: skip

    def time_limit(self, fact: SetTimeLimit) -> None:
        """scontrol update TimeLimit of a waiting or running job."""
        c, job = self.c, self.c.jobs.get(fact.job_id)
        if job is None:
            return
        if job.state != JobState.PENDING and job.preempt_time is None:
            assert job.end_limit is not None
            c.move_end(job, job.end_limit + fact.time_limit_s - job.time_limit_s)  # seconds suspended stay added
        job.time_limit_s, job.limit_fixed = fact.time_limit_s, True
        if c.limits is not None:
            c.limits.time_limit_changed(job)
        c.record("LIMIT", job, value=fact.time_limit_s)
        self.done(job)

    def array_limit(self, fact: SetArrayLimit) -> None:
        """scontrol update ArrayTaskThrottle, also once some of the tasks have ended."""
        self.c.eligibility.arrays.throttle(fact.array_job_id, fact.limit or None)
        self.c.edited()

    def dependency(self, fact: SetDependency) -> None:
        """scontrol update Dependency: the job waits for something else from now on."""
        job = self._pending(fact.job_id)
        if job is None:
            return
        try:
            self.c.eligibility.redefine(job, fact.dependency)
        except SubmitError as error:
            self._refuse(job, error.text)
            return
        self.done(job)

    def priority(self, fact: SetPriority) -> None:
        """scontrol update Priority by an administrator: it stays until a release."""
        job = self.c.jobs.get(fact.job_id)
        if job is None:
            return
        if fact.priority == 0:
            self.c.hold(Hold(job.id, admin=True))
        elif job.state != JobState.PENDING:
            job.sub.priority, job.sub.nice, job.priority = fact.priority, 0, fact.priority
        elif is_held(job.reason):
            self._refuse(job, "Job is currently held")
        else:
            job.sub.priority, job.sub.nice = fact.priority, 0
            self.done(job)

    def nice(self, fact: SetNice) -> None:
        """scontrol update Nice; a job whose priority an administrator set has none."""
        job = self.c.jobs.get(fact.job_id)
        if job is None or job.sub.priority is not None:
            return
        before, job.sub.nice = job.sub.nice, fact.nice
        if isinstance(self.c.priority, Basic) and job.priority:
            job.priority = max(job.priority + before - fact.nice, LEAST_BASIC_PRIORITY)
        self.done(job)

    def rank_anew(self, fact: RankAnew) -> None:
        """What every update ends with, also one that was refused half way (set_job_prio)."""
        job = self.c.jobs.get(fact.job_id)
        if job is None or job.end_time is not None or not job.priority:
            return
        self._rank(job)
        if not fact.refused:
            self.c.edited()

    def _pending(self, job_id: int) -> Job | None:
        job = self.c.jobs.get(job_id)
        if job is not None and job.state != JobState.PENDING:
            self._refuse(job, "Job is no longer pending execution")
            return None
        return job

    def _refuse(self, job: Job, text: str) -> None:
        self.c.actions.append(EditRefused(job.id, f"{text} for job {job.id}"))

    def done(self, job: Job) -> None:
        """`job` has changed: its priority follows, and everything is looked at again."""
        if job.state == JobState.PENDING:
            self.c.eligibility.arrays.split(job)
        self._rank(job)
        self.c.edited()

    def _rank(self, job: Job) -> None:
        c = self.c
        if job.state != JobState.PENDING:
            if job.priority and job.sub.priority is None and not isinstance(c.priority, Basic):
                job.priority = min(c.priority.submit(job, c.now))
        elif job.reason not in (Reason.BAD_CONSTRAINTS,) and not is_held(job.reason):
            self._reprioritise(job)

    def _reprioritise(self, job: Job) -> None:
        c, before = self.c, job.priority
        c.tried.news.pop(job.id, None)
        if job.sub.priority is not None:
            values = (job.sub.priority,) * len(job.partitions)
        else:
            values = c.priority.recalculate(job, c.now)
        job.priority = min(values)
        records = c.queue.jobs.get(job.id, ())
        c.queue.reprioritise([(record, values[job.partitions.index(record.partition)]) for record in records])
        if c.recalculation.columns is not None:
            c.recalculation.columns.edited(job)
        if job.priority != before:
            c.record("PRIORITY", job, value=job.priority)
