"""A job asks for something else from now on: what it would be as a new submission is worked out, then taken over."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slurmsim.core.placement.compiled_request import SETTLED
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import AlterJob, EditRefused
from slurmsim.errors import SubmitError
from slurmsim.states import JobState, Reason, is_held

if TYPE_CHECKING:
    from slurmsim.core.accounting.controller_accounting import AccountingParts
    from slurmsim.core.controller.admission import Admission
    from slurmsim.core.controller.job_updates import JobUpdates
    from slurmsim.core.controller.waiting import Waiting
    from slurmsim.core.queue.found_cpus import FoundCpus
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.model.submission import Submission

# what a job keeps of its new submission
_OF_A_REQUEST: Final = (
    "sub", "partitions", "requests", "partition", "request", "account", "branch", "qos", "qos_spec", "bars",
    "threshold", "name", "claims", "licenses", "reservations", "reservation_name", "time_min_s", "deadline", "begin",
    "n_nodes", "n_cpus", "accrue_time",
)  # fmt: skip


class JobAlterations:
    """Carries them out."""

    def __init__(
        self, state: ControllerState, admission: Admission, waiting: Waiting, accounting: AccountingParts,
        updates: JobUpdates, found_cpus: FoundCpus,
    ) -> None:  # fmt: skip
        self.state, self._admission, self._waiting, self._accounting = state, admission, waiting, accounting
        self._updates, self._found_cpus = updates, found_cpus

    def job(self, fact: AlterJob) -> None:
        """Change the request of a pending job, or refuse the change as a submission would be refused."""
        state, parts, job = self.state, self._accounting, self.state.jobs.get(fact.job_id)
        if job is None:
            return
        if job.state != JobState.PENDING:
            self._licenses(job, fact.sub.licenses)
            return
        try:
            probe = self.probe(job, fact.sub)
        except SubmitError as error:
            state.actions.append(EditRefused(job.id, error.text))
            return
        self._leave(job)
        state.usage.pending(job, -1)
        if parts.limits is not None:
            parts.limits.gone(job)
        settled = SETTLED in job.request.lifted
        without_limit = job.sub.time_limit_s is None and job.partition.spec.default_time_s is None
        limited_anew = without_limit and probe.qos != job.qos and state.rules.limits_of_another_qos
        for name in _OF_A_REQUEST:
            setattr(job, name, getattr(probe, name))
        if job.sub.request.unshared:
            state.own_nodes()
        if settled:
            state.cluster.lift(job, job.request.lifted | {SETTLED})
        if limited_anew:
            self._waiting.set_time_limit(job)
        job.within_limits = -1
        state.usage.pending(job, +1)
        if parts.limits is not None:
            parts.limits.submitted(job)
        self._waiting.deadlines.register(job)
        if job.begin is not None and job.begin > state.now:
            if parts.accrual is not None:
                parts.accrual.held(job)
            elif job.accrue_time is None:  # where nothing limits it, its age goes on
                job.accrue_time = job.eligible_time
            job.eligible_time = None
        if job.reason == Reason.BAD_CONSTRAINTS:
            state.set_reason(job, Reason.NONE)
        reason = job.reason
        self._come_back(job)
        limits = self._waiting.partition_limits
        if job.queued and reason == limits.limit_reason(job, job.partition, job.request):  # which holds on
            state.set_reason(job, reason)
        self._found_cpus.altered(job)
        self._updates.done(job)

    def _licenses(self, job: Job, text: str) -> None:
        """Give a running job other licenses, even if there are not as many."""
        licenses = self._waiting.licenses
        try:
            wanted = licenses.wanted(text)
        except SubmitError as error:
            self.state.actions.append(EditRefused(job.id, error.text))
            return
        licenses.give_back(job)
        job.licenses, job.claims, job.sub.licenses = wanted, job.claims or bool(wanted), text
        licenses.take(job, job.nodes)
        self._waiting.edited()

    def probe(self, job: Job, sub: Submission) -> Job:
        """Return what `job` would be with that submission. Raises SubmitError with Slurm's text, changing nothing."""
        admission, limits = self._admission, self._accounting.limits
        if job.sub.request.layered != sub.request.layered:  # slurmctld goes on with what it was when the job came
            sub = replace(sub, request=replace(sub.request, layered=job.sub.request.layered))
        partitions, requests = self.state.cluster.compiled(sub)
        found = copy(job)
        found.sub, found.partitions, found.requests = sub, partitions, requests
        found.account, found.qos, found.name = sub.account, sub.qos, sub.name
        found.claims = bool(sub.reservation or sub.licenses) or sub.deadline is not None
        found.time_min_s, found.deadline = sub.time_min_s, sub.deadline
        if sub.begin != job.sub.begin:  # else it may have a begin time of its own, as after a requeue
            found.begin = sub.begin
        found.reservations, found.reservation_name, found.licenses = (), "", ()
        found.partition, found.request = partitions[0], requests[0]
        if self._accounting.accounts is None:
            found.bars = None
        admission.let_in(found)
        if sub.reservation:
            admission.reserved_jobs.claim(found, sub.reservation)
        found.licenses = admission.licenses.wanted(sub.licenses)
        moved = found.branch is not job.branch or found.qos_spec is not job.qos_spec or partitions != job.partitions
        if limits is not None and found.branch is not None:
            if moved:
                limits.announce(())
                limits.admit(found)
            else:
                pairs = zip(found.partitions, found.requests, strict=True)
                found.requests = tuple([limits.cap(found, p, r) for p, r in pairs])
        found.request = found.requests[0]
        found.n_nodes, found.n_cpus = found.request.min_nodes, found.request.told_cpus
        return found

    def _leave(self, job: Job) -> None:
        """Take note that `job` is nowhere: neither queued nor waiting for anything."""
        self._waiting.withdraw(job)
        self._waiting.forget(job)
        if job.sub.array_task_id is not None:
            self._waiting.eligibility.arrays.step_aside(job)

    def _come_back(self, job: Job) -> None:
        if not is_held(job.reason):
            self._waiting.consider(job)
        if job.sub.array_task_id is not None:
            self._waiting.eligibility.arrays.fill(job)
            self._waiting.eligibility.arrays.altered(job)
