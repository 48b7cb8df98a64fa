"""Which pending jobs accrue age where limits are enforced: GrpJobsAccrue, MaxJobsAccrue and those of a QOS.

Mirrors acct_policy_handle_accrue_time, _get_accrue_limits and acct_policy_remove_accrue_time (acct_policy.c, 22.05).
Without enforced limits a job accrues from the moment it is eligible, whatever happens later (`Job.eligible_time`).
With them a hold ends it, and a release begins anew. Of the limits that apply to a job only the *first* that is set
counts. The order is: those of the QOS for all, an account, a user; the association's GrpJobsAccrue and MaxJobsAccrue;
GrpJobsAccrue of the accounts above. Every pass tests a job that may not accrue yet again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.core.records.observer import Observer

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job

Key = tuple[Any, ...]


class Accrual(Observer):
    """Counts the jobs that accrue age.

    Parameters
    ----------
    granted
        Called with a queued job that began to accrue.
    room
        Called when one that waits may begin at the next pass.
    """

    def __init__(self, granted: Callable[[Job], None], room: Callable[[], None]) -> None:
        self._granted, self._room = granted, room
        self._counts: dict[Key, int] = defaultdict(int)
        self._counted: set[int] = set()
        self._waiting: dict[int, Job] = {}

    def take_over(self, before: Accrual, jobs: Mapping[int, Job]) -> None:
        """Go on from the counts of other associations."""
        self._waiting.update(before._waiting)
        for job_id in before._counted:
            self._counted.add(job_id)
            for key in _keys(jobs[job_id]):
                self._counts[key] += 1

    def eligible(self, job: Job, now: int) -> None:
        """Take note that `job` may start from now on. A task accrues since its array's first that could."""
        if job.id in self._counted or self._begin(job, now if job.accrue_time is None else job.accrue_time):
            return
        job.accrue_time = None
        self._waiting[job.id] = job

    def held(self, job: Job) -> None:
        """Take note that `job` may not start any more: its age is gone."""
        self.left(job)
        job.accrue_time = None

    def left(self, job: Job) -> None:
        """Take note that `job` has started or ended: it makes room for others."""
        self._waiting.pop(job.id, None)
        if job.id in self._counted:
            self._counted.remove(job.id)
            for key in _keys(job):
                self._counts[key] -= 1
            if self._waiting:
                self._room()

    def started(self, job: Job, now: int) -> None:
        self.left(job)

    def gone(self, job: Job) -> None:
        self.left(job)

    @property
    def waits(self) -> bool:
        """True if a job is to accrue age as soon as it may."""
        return bool(self._waiting)

    def look(self, now: int) -> None:
        """Let pending jobs accrue, in order of creation, if limits have room now: a pass or a recalculation begins."""
        for job in sorted(self._waiting.values(), key=lambda job: job.order):
            if self._begin(job, now):
                del self._waiting[job.id]
                self._granted(job)

    def _begin(self, job: Job, since: int) -> bool:
        for limit, key in _limits(job):
            if limit is not None:
                if self._counts[key] >= limit:
                    return False
                break  # the first that is set hides the others
        job.accrue_time = since
        self._counted.add(job.id)
        for key in _keys(job):
            self._counts[key] += 1
        return True

    def recount(self, jobs: Iterator[Job]) -> bool:
        """Return True if the counts agree with a recount over `jobs`, for checks."""
        found: dict[Key, int] = defaultdict(int)
        for job in jobs:
            if job.id in self._counted:
                for key in _keys(job):
                    found[key] += 1
        return dict(found) == {key: n for key, n in self._counts.items() if n}


def _keys(job: Job) -> Iterator[Key]:
    """Yield what `job` counts in while it accrues."""
    if job.qos_spec is not None:
        yield ("qos", job.qos_spec.name)
        if job.branch is not None:
            yield ("account", job.qos_spec.name, job.branch.spec.account)
        yield ("user", job.qos_spec.name, job.user)
    if job.branch is not None:
        for branch in job.branch.path:
            yield ("branch", branch.row)


def _limits(job: Job) -> Iterator[tuple[int | None, Key]]:
    """Accrue limits on `job` in the order they are looked at, with what they count."""
    qos = job.qos_spec
    if qos is not None:
        yield qos.limits.grp_jobs_accrue, ("qos", qos.name)
        if job.branch is not None:
            yield qos.max_jobs_accrue_pa, ("account", qos.name, job.branch.spec.account)
        yield qos.max_jobs_accrue_pu, ("user", qos.name, job.user)
    if job.branch is not None:
        own = job.branch
        yield own.spec.limits.grp_jobs_accrue, ("branch", own.row)
        # max limits that are not set are those of the nearest account above that has one
        inherited = (b.spec.limits.max_jobs_accrue for b in own.path if b.spec.limits.max_jobs_accrue is not None)
        yield next(inherited, None), ("branch", own.row)
        for branch in own.path[1:]:
            yield branch.spec.limits.grp_jobs_accrue, ("branch", branch.row)
