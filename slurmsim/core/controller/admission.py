"""Submissions: taken in, or refused with Slurm's text."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slurmsim.core.accounting.partition_access import NOT_IN_GROUP, PartitionAccess
from slurmsim.core.placement.compiled_request import NO_SUCH_TOPOLOGY, NOT_AVAILABLE, CompiledRequest
from slurmsim.core.queue.top_priority import is_top
from slurmsim.core.records.job import AS_ASKED, NO_PRIORITY, Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.messages import Refused, Submit
from slurmsim.core.records.partition import Partition
from slurmsim.errors import SubmitError
from slurmsim.model.submission import Submission
from slurmsim.states import REFUSED, Reason

if TYPE_CHECKING:
    from slurmsim.core.accounting.controller_accounting import AccountingParts
    from slurmsim.core.accounting.limits import Limits
    from slurmsim.core.controller.waiting import Waiting
    from slurmsim.core.queue.eligibility import Eligibility
    from slurmsim.core.queue.priority import Basic, Multifactor
    from slurmsim.core.queue.qos_flags import QosFlags
    from slurmsim.core.scheduling.pending_reason import PendingReasons
    from slurmsim.core.state.controller_state import ControllerState

CLOSED: Final = ("DRAIN", "INACTIVE")  # states in which a partition takes no submissions


class Admission:
    """Takes submissions in, or refuses them."""

    def __init__(
        self, state: ControllerState, waiting: Waiting, accounting: AccountingParts, plugin: Basic | Multifactor,
        access: PartitionAccess, qos_flags: QosFlags, eligibility: Eligibility, pending_reasons: PendingReasons,
    ) -> None:  # fmt: skip
        self.state, self._waiting, self._accounting, self._plugin = state, waiting, accounting, plugin
        # access, licenses, partition_limits: also read by the checks made before a submission
        self.access, self._qos_flags = access, qos_flags
        self._eligibility, self._pending_reasons = eligibility, pending_reasons
        self.licenses, self.deadlines = waiting.licenses, waiting.deadlines
        self.reserved_jobs, self.partition_limits = waiting.reserved_jobs, waiting.partition_limits

    def on_submit(self, fact: Submit) -> None:
        sub = fact.sub
        try:
            self.admit(sub, again=fact.again, had=fact.had)
        except SubmitError as error:
            where = ",".join(sub.partitions)
            self.state.events.append((self.state.now, "REFUSE", sub.job_id, REFUSED, error.text, where, "", None, ""))
            self.state.actions.append(Refused(sub, error.text))

    def admit(self, sub: Submission, *, again: bool = False, had: int = 0) -> Job:
        """Take a submission in, or a job `again` that no limit refuses. Raises SubmitError, changing nothing.

        `had` is the priority a job brings along; 0: it is to get one.
        """
        if sub.job_id in self.state.jobs:
            raise SubmitError(f"Job id {sub.job_id} is in use")
        sub, partitions, requests = self._compiled(sub, again)
        job = Job(sub, partitions, requests, self.state.now)
        self.let_in(job)
        self._waiting.set_time_limit(job)
        self._check(job, again)
        if job.claims:
            self.deadlines.register(job)
        self._keep(job)
        if sub.hold:
            self.state.set_reason(job, Reason.HELD_USER)
            job.foremost = AS_ASKED  # no pass looks for nodes
        else:
            if not had and self._eligibility.ends_at_once(job):
                had = NO_PRIORITY  # it ends before it would get one
            job.priority = had or min(self._plugin.submit(job, self.state.now))
            self._queue(job)
        if not self.state.event_driven:
            if not sub.hold:
                self._pending_reasons.show_limit(job)
            self._show_bar(job)
            self.state.triggers.request()
        self.state.triggers.changed = True
        return job

    def _compiled(
        self, sub: Submission, again: bool
    ) -> tuple[Submission, tuple[Partition, ...], tuple[CompiledRequest, ...]]:
        """Return the submission, its partitions, and its request compiled for each."""
        if sub.reservation and not sub.partitions:
            own = self.state.reserved.partition_of(sub.reservation)
            if own is not None:
                sub = replace(sub, partitions=(own.name,))
        if sub.licenses and self.state.cluster.layers is not None:
            sub = self._layered(sub)
        partitions, requests = self.state.cluster.compiled(sub)
        if len(partitions) > 1 and not again:
            left = tuple(p.name for p in partitions if p.state not in CLOSED)  # _get_job_parts
            if 0 < len(left) < len(partitions):
                sub = replace(sub, partitions=left)
                partitions, requests = self.state.cluster.compiled(sub)
        return sub, partitions, requests

    def _layered(self, sub: Submission) -> Submission:
        """Return the submission with what each of its nodes takes of a hierarchical resource in its request."""
        cluster = self.state.cluster
        assert cluster.layers is not None
        each = cluster.layers.per_node(self.licenses.wanted(sub.licenses))
        if each == sub.request.layered:
            return sub
        return replace(sub, request=cluster.known_request(replace(sub.request, layered=each)))

    def _check(self, job: Job, again: bool) -> None:
        """Raise SubmitError for what no such job may ask; nothing is changed then."""
        sub, limits = job.sub, self._accounting.limits
        alike = self._is_plain(job)  # its like has been admitted before
        if not alike and not again:
            self._check_partitions(job)
        if job.claims:
            job.licenses = self.licenses.wanted(sub.licenses)
        if limits is not None:
            limits.admit(job, again=again)
        if job.claims and sub.reservation:
            self.reserved_jobs.claim(job, sub.reservation)
        if alike and self._is_plain(job):
            job.within_limits = self.state.edits
        elif not again:
            self._check_nodes(job)
        if not _is_independent(sub):
            self._eligibility.register(job)

    def test_wishes(self, job: Job) -> None:
        """Raise SubmitError for licenses, reservations or other jobs that `job` may not ask for; nothing is changed."""
        job.licenses = self.licenses.wanted(job.sub.licenses)
        if job.sub.reservation:
            self.reserved_jobs.claim(job, job.sub.reservation)
        self._eligibility.check(job)

    def _keep(self, job: Job) -> None:
        """Put an admitted job among the jobs, and tell who observes them."""
        state, request = self.state, job.sub.request
        job.order = state.created
        state.created += 1
        state.jobs[job.id] = job
        if request.exclusive_user or request.exclusive_topo or request.unshared:
            state.own_nodes()
        state.usage.pending(job, +1)
        for observer in state.observers:
            observer.submitted(job)
        state.record("SUBMIT", job)

    def _queue(self, job: Job) -> None:
        """Put a new job in the queue, or with those that wait for something, and say what it waits for."""
        state, sub, limits = self.state, job.sub, self._accounting.limits
        if _is_independent(sub) and sub.begin is None:
            self._waiting.enqueue(job)
        else:
            self._waiting.consider(job)
        plain = sub.array_task_id is None and sub.het is None  # sbatch looks for nodes for no others
        asked = job.queued and plain and not state.event_driven and job.reason == Reason.NONE
        if asked and not is_top(state.queue, job, by_tier=state.rules.tops_by_tier):
            state.set_reason(job, Reason.PRIORITY)
        if limits is not None:
            self._show_limits(limits, job)
        if plain and job.reason in (Reason.BEGIN_TIME, Reason.DEPENDENCY) and self.reserved_jobs.shut_out(job):
            self._pending_reasons.show_until_a_pass(job, Reason.RESERVATION)
        if state.event_driven:
            return
        if sub.het is None:
            if state.unusable or state.reserved.all:
                self._pending_reasons.show_unavailable(job)
            self._pending_reasons.show_busy(job)
        if self._goes_to_a_partition_that_is_down(job):
            self._pending_reasons.show_down(job)

    def _show_limits(self, limits: Limits, job: Job) -> None:
        """Show a limit that bars `job` at once; a dependency or begin time is shown again from the next pass on."""
        waits_for = None if job.queued else job.reason
        tested = job.sub.array_task_id is None and job.sub.het is None and not self.state.event_driven
        if waits_for is None:
            limits.show(job)
        elif tested and waits_for in (Reason.DEPENDENCY, Reason.BEGIN_TIME):
            limits.show(job)
            if job.reason != waits_for:
                self._pending_reasons.again_in_a_pass(job, waits_for)

    def watch(self, watched: bool) -> None:
        """Show from now on, or do not show, what the tests of submissions find."""
        self._pending_reasons.watch(watched)

    def let_in(self, job: Job) -> None:
        """Raise SubmitError unless its account, QOS and partitions let `job` in."""
        if self._accounting.accounts is not None:
            self._accounting.accounts.admit(job, self.state.rules)
            self._qos_flags.heed(job)
        if self.access.closed:
            self.access.heed(job)

    def _goes_to_a_partition_that_is_down(self, job: Job) -> bool:
        """Return True if sbatch's own test of `job` ends there: at the first of its partitions that has nodes for it.

        With EnforcePartLimits it goes on to the others (_select_nodes_parts).
        """
        if "DOWN" not in [p.state for p in job.partitions]:
            return False  # as nearly always
        if self.state.spec.option("EnforcePartLimits") != "NO":
            return all(p.state == "DOWN" for p in job.partitions)
        pairs = sorted(zip(job.partitions, job.requests, strict=True), key=lambda pair: -pair[0].tier)
        return next((p.state for p, request in pairs if self.state.selector.possible(request)), "") == "DOWN"

    def check_access(self, sub: Submission) -> None:
        """Raise SubmitError if none of its partitions lets the user in.

        slurmctld tests this before most of the request, such as limits, features, or a layout that no node has.
        """
        if not self.access.closed:
            return
        partitions = self.state.cluster.resolve(sub.partitions)
        if any(p.state in CLOSED for p in partitions):
            return  # which is said first, where none is left
        accounts = self._accounting.accounts
        bars = accounts.standing(sub, partitions, self.state.rules).bars if accounts is not None else None
        self.access.refuse(partitions, self.access.bars_of(sub, partitions, bars))

    def _is_plain(self, job: Job) -> bool:
        """Return True if nothing of a job for one partition has to be checked."""
        request, partition = job.request, job.partition
        plain = (
            len(job.requests) == 1 and request.possible and job.sub.array_task_id is None and partition.state == "UP"
        )
        plain = plain and request.preferred is None
        plain = plain and job.bars is None and not job.threshold and not job.sub.reservation
        return bool(plain and job.time_limit_s in request.limits_met)

    def _show_bar(self, job: Job) -> None:
        """Show what is wrong with its account or QOS at once, even of a held job (select_nodes).

        Of several partitions those are asked that come before the first with nodes for it, which only a job for idle
        nodes has to look for any further.
        """
        if not (job.queued or job.sub.hold) or job.bars is None:
            return  # the pass will say what else it waits for
        bars, order = job.bars, sorted(job.partitions, key=lambda p: -p.tier)
        found = [bar for p in order if (bar := bars.get(p.index)) is not None and bar.text]
        asked = order if job.request.exclusive else itertools.takewhile(lambda p: p.index in bars, order)
        shut_out = [bar for p in asked if (bar := bars.get(p.index)) and bar.text.startswith(NOT_IN_GROUP)]
        if len(found) == len(job.partitions) or shut_out:
            self.state.set_reason(job, (shut_out or found)[0].text)

    def _check_partitions(self, job: Job) -> None:
        """Raise SubmitError for what its partitions refuse, before any limit of an association does."""
        if job.sub.array_task_id is not None and job.sub.array_task_id >= self.state.spec.option("MaxArraySize"):
            raise SubmitError("Invalid job array specification")
        if any(p.state in CLOSED for p in job.partitions):
            raise SubmitError("Required partition not available (inactive or drain)")
        self.access.refuse(job.partitions, job.bars)
        if self.state.rules.tasks_reach_nodes:
            _check_tasks(job)
        self.partition_limits.check_partition_limits(job)

    def _check_nodes(self, job: Job) -> None:
        """Raise SubmitError unless some nodes could serve it."""
        partitions, requests = job.partitions, job.requests
        broken = [self.partition_limits.limit_reason(job, p, r) for p, r in zip(partitions, requests, strict=True)]
        first = [request.preferred or request for request in requests]  # a submission does not do without
        possible = [self._possible(job, p, r) for p, r in zip(partitions, first, strict=True)]
        waits = [self._waits_without_nodes(job, *one) for one in zip(partitions, requests, broken, strict=True)]
        if not all(waits):  # being too large for some of its partitions helps no job that others have no nodes for
            too_large = self.state.rules.but_limits
            waits = [wait and limit not in too_large for wait, limit in zip(waits, broken, strict=True)]
        tried = not job.sub.hold and not self._over_limits(job)
        if tried and not any(waits) and not any(possible):
            raise SubmitError(NO_SUCH_TOPOLOGY if all(one.segments_refused for one in requests) else NOT_AVAILABLE)
        if not any(broken) and all(possible) and job.bars is None and not job.threshold:
            job.within_limits = self.state.edits

    def _possible(self, job: Job, partition: Partition, request: CompiledRequest) -> bool:
        """Return True if some nodes of a partition could serve it, in one of the reservations it names."""
        records = [Record(job, partition, request, 0, False, own) for own in job.reservations]
        serve = self._pending_reasons.reserved.could_serve
        return self.state.selector.possible(request) and (not records or any(map(serve, records)))

    def _over_limits(self, job: Job) -> bool:
        """Return True if limits of its association or QOS keep anybody from looking for nodes (select_nodes)."""
        limits = self._accounting.limits
        if limits is None:
            return False
        pairs = zip(job.partitions, job.requests, strict=True)
        return all(limits.before(Record(job, p, r, 0, False)) is not None for p, r in pairs)

    def _waits_without_nodes(
        self, job: Job, partition: Partition, request: CompiledRequest, broken: str | None
    ) -> bool:
        """Return True if a partition's limit lets a job wait that no nodes could serve.

        Of several partitions the nodes are looked at even where a limit is broken (_select_nodes_parts_resvs).
        """
        bar = None if job.bars is None else job.bars.get(partition.index)
        if bar is not None and bar.text and not (bar.reason or bar.text.startswith(NOT_IN_GROUP)):
            return True  # its account or QOS is asked before nodes are (select_nodes)
        if partition.state == "DOWN" and job.bars is None:
            return self.state.rules.waits_where_down
        if broken is None or not (self.state.rules.tries_over_limits or len(job.partitions) > 1):
            return broken is not None
        barred = job.bars is not None and partition.index in job.bars
        return barred or broken in self.state.rules.but_limits or request.max_nodes < request.min_nodes


def _check_tasks(job: Job) -> None:
    """Raise SubmitError for fewer tasks than nodes, also those of a partition's MinNodes (_job_create)."""
    asked, least = job.sub.request, min(request.part_min_nodes for request in job.requests)
    raised = least if not asked.max_nodes or asked.max_nodes >= least else 1
    if 0 < asked.n_tasks < max(asked.min_nodes, raised):
        raise SubmitError("Task count specification invalid")


def _is_independent(sub: Submission) -> bool:
    """Return True if `sub` waits for no other job and is no task of an array."""
    return not sub.dependency and sub.array_task_id is None
