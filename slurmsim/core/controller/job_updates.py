"""Changes of a job's request while it waits or runs: scontrol update.

Mirrors _update_job (job_mgr.c, 22.05): every update of a waiting job works out its priority anew, except under
priority/basic, and asks the background loop for a pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from slurmsim.core.queue.priority import Basic
from slurmsim.core.records.messages import (
    EditRefused,
    Hold,
    RankAnew,
    Release,
    SetArrayLimit,
    SetDependency,
    SetNice,
    SetPriority,
    SetSiteFactor,
    SetTimeLimit,
)
from slurmsim.errors import SubmitError
from slurmsim.states import JobState, Reason, is_held

if TYPE_CHECKING:
    from slurmsim.core.accounting.controller_accounting import AccountingParts
    from slurmsim.core.controller.waiting import Waiting
    from slurmsim.core.queue.eligibility import Eligibility
    from slurmsim.core.queue.found_cpus import FoundCpus
    from slurmsim.core.queue.priority import Multifactor
    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay

LEAST_BASIC_PRIORITY: Final = 2


class JobUpdates:
    """Carries updates of jobs out, or refuses them."""

    def __init__(
        self, state: ControllerState, waiting: Waiting, runs: RunWay, accounting: AccountingParts,
        plugin: Basic | Multifactor, eligibility: Eligibility, found_cpus: FoundCpus,
    ) -> None:  # fmt: skip
        self.state, self._waiting, self._runs, self._accounting = state, waiting, runs, accounting
        self._plugin, self._eligibility, self._found_cpus = plugin, eligibility, found_cpus

    def handlers(self) -> dict[type, Callable[[Any], None]]:
        """Return the handler of each kind of fact."""
        return {
            SetTimeLimit: self.time_limit, SetArrayLimit: self.array_limit, SetDependency: self.dependency,
            SetPriority: self.priority, SetNice: self.nice, SetSiteFactor: self.site_factor, RankAnew: self.rank_anew,
        }  # fmt: skip

    def time_limit(self, fact: SetTimeLimit) -> None:
        """Apply ``scontrol update TimeLimit`` to a waiting or running job."""
        job = self.state.jobs.get(fact.job_id)
        if job is None:
            return
        if job.state != JobState.PENDING and job.preempt_time is None:
            assert job.end_limit is not None
            self._runs.move_end(
                job, job.end_limit + fact.time_limit_s - job.time_limit_s
            )  # seconds suspended stay added
        job.time_limit_s, job.limit_fixed = fact.time_limit_s, True
        job.sub = replace(job.sub, time_limit_s=fact.time_limit_s)  # which it keeps when it is requeued
        if self.state.watts is not None:
            self.state.watts.limit_set(job)
        if self._accounting.limits is not None:
            self._accounting.limits.time_limit_changed(job)
        self.state.record("LIMIT", job, value=fact.time_limit_s)
        self.done(job)

    def array_limit(self, fact: SetArrayLimit) -> None:
        """Apply ``scontrol update ArrayTaskThrottle``, also once some of the tasks have ended."""
        self._eligibility.arrays.throttle(fact.array_job_id, fact.limit or None)
        self._waiting.edited()

    def dependency(self, fact: SetDependency) -> None:
        """Apply ``scontrol update Dependency``: the job waits for other jobs from now on."""
        job = self._pending(fact.job_id)
        if job is None:
            return
        try:
            self._eligibility.redefine(job, fact.dependency)
        except SubmitError as error:
            self._refuse(job, error.text)
            return
        self.done(job)

    def priority(self, fact: SetPriority) -> None:
        """Apply ``scontrol update Priority``.

        An administrator's priority stays until a release, a user's until it is computed anew.
        """
        job = self.state.jobs.get(fact.job_id)
        if job is None:
            return
        if not fact.lasts:
            self._lower(job, fact.priority)
            return
        if fact.priority == 0:
            self._waiting.hold(Hold(job.id, admin=True))
        elif job.state != JobState.PENDING:
            job.sub.priority, job.sub.nice, job.priority = fact.priority, 0, fact.priority
        elif is_held(job.reason):
            self._refuse(job, "Job is currently held")
        else:
            job.sub.priority, job.sub.nice = fact.priority, 0
            self.done(job)

    def _lower(self, job: Job, priority: int) -> None:
        """Lower the priority for the user; priority/basic never computes it again, other plugins at once."""
        job.sub.nice = 0
        if job.state == JobState.PENDING:
            self._eligibility.arrays.split(job)  # as the priority was before
        if isinstance(self._plugin, Basic):
            job.priority = priority
            self.state.record("PRIORITY", job, value=priority)
        self._rank(job)
        self._waiting.edited()

    def nice(self, fact: SetNice) -> None:
        """Apply ``scontrol update Nice``, which does nothing if an administrator has set the job's priority.

        Under priority/basic it gives a held job a priority; having none was its hold, so the hold ends.
        """
        job = self.state.jobs.get(fact.job_id)
        if job is None or job.sub.priority is not None:
            return
        before, job.sub.nice = job.sub.nice, fact.nice
        if isinstance(self._plugin, Basic):
            job.priority = max(job.priority + before - fact.nice, LEAST_BASIC_PRIORITY)
            if job.state == JobState.PENDING and is_held(job.reason):
                kept = job.reason
                self._waiting.release(Release(job.id))
                if job.queued:  # told until a scheduler has looked
                    self.state.set_reason(job, kept)
        self.done(job)

    def site_factor(self, fact: SetSiteFactor) -> None:
        """Apply ``scontrol update SiteFactor``: part of the priority, if priorities have factors."""
        job = self.state.jobs.get(fact.job_id)
        if job is not None:
            job.sub.site_factor = fact.factor
            self.done(job)

    def rank_anew(self, fact: RankAnew) -> None:
        """Compute the job's priority anew, as every update does at its end, even a refused one (set_job_prio)."""
        job = self.state.jobs.get(fact.job_id)
        if job is None or job.end_time is not None or not job.priority:
            return
        self._rank(job)
        if not fact.refused:
            self._waiting.edited()

    def _pending(self, job_id: int) -> Job | None:
        job = self.state.jobs.get(job_id)
        if job is not None and job.state != JobState.PENDING:
            self._refuse(job, "Job is no longer pending execution")
            return None
        return job

    def _refuse(self, job: Job, text: str) -> None:
        self.state.actions.append(EditRefused(job.id, f"{text} for job {job.id}"))

    def done(self, job: Job) -> None:
        """Take note that `job` has changed: its priority follows, and everything is looked at again."""
        if job.state == JobState.PENDING:
            self._eligibility.arrays.split(job)
        self._rank(job)
        self._waiting.edited()

    def _rank(self, job: Job) -> None:
        if job.state != JobState.PENDING:
            if job.priority and job.sub.priority is None and not isinstance(self._plugin, Basic):
                job.priority = min(self._plugin.submit(job, self.state.now))
        elif job.reason not in (Reason.BAD_CONSTRAINTS,) and not is_held(job.reason):
            self._reprioritise(job)

    def _reprioritise(self, job: Job) -> None:
        before = job.priority
        self._found_cpus.news.pop(job.id, None)
        if job.sub.priority is not None:
            values = (job.sub.priority,) * len(job.partitions)
        else:
            values = self._plugin.recalculate(job, self.state.now)
        job.priority = min(values)
        records = list(self.state.queue.jobs.get(job.id, ()))
        self.state.queue.reprioritise(records, [values[job.partitions.index(record.partition)] for record in records])
        self.state.queue.edited(job)
        if job.priority != before:
            self.state.record("PRIORITY", job, value=job.priority)
