"""One pass of slurmctld's main scheduler: a walk over the queue in order of priority.

Mirrors the loop of _schedule in src/slurmctld/job_scheduler.c (22.05).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap
from slurmsim.core.accounting.limit_reasons import LIMIT_REASONS
from slurmsim.core.queue.likely_nodes import FORGOTTEN, expected
from slurmsim.core.records.job_queue import Record, put_in_order
from slurmsim.core.reservations.access import MAINTENANCE_TEXT
from slurmsim.core.scheduling.may_start import (
    AHEAD,
    BAR,
    DEADLINE,
    ENOUGH,
    LICENSES,
    LIMITS,
    MAIN,
    MAY,
    NAMED,
    PARTITION,
    mute,
)
from slurmsim.core.state.triggers import number
from slurmsim.states import PARTITION_REASONS, RESOURCES_TEXTS, JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.queue.job_array import JobArrays
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.reservation import Reservation
    from slurmsim.core.scheduling.may_start import StartTest
    from slurmsim.core.scheduling.pending_reason import PendingReasons
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay

SCHEDULER: Final = "Main"
MAX_BLOCKED_RESERVATIONS: Final = 10
_MAY_BECOME_PRIORITY: Final = (Reason.NONE, Reason.RESOURCES, *RESOURCES_TEXTS)


# what follows a candidate: the next one, all others settled, the end of the pass
_GOES_ON: Final = 0
_SETTLED: Final = 1
_ENDS: Final = 2


class WalkParts:
    """The parts that all walks over the queue use, and SchedulerParameters.

    Parameters
    ----------
    dequeue
        Takes a job out of the queue that can never start.
    in_order
        The order in which the policy wants the queue walked.
    """

    def __init__(
        self, state: ControllerState, test: StartTest, runs: RunWay, pending_reasons: PendingReasons,
        dequeue: Callable[[Job], int], in_order: Callable[[list[Record]], list[Record]],
        arrays: JobArrays,
    ) -> None:  # fmt: skip
        parameters = state.spec.scheduler_parameters
        self.state, self.test, self.runs, self.pending_reasons = state, test, runs, pending_reasons
        self.dequeue, self.in_order, self.arrays = dequeue, in_order, arrays
        self.depth = number(parameters, "default_queue_depth", 100)
        self.part_depth = number(parameters, "partition_job_depth", 0)
        self.max_start = number(parameters, "sched_max_job_start", 0)
        self.min_age_reserve = number(parameters, "bf_min_age_reserve", 0)
        self.min_prio_reserve = number(parameters, "bf_min_prio_reserve", 0)
        self.bf_licenses = "bf_licenses" in parameters


class MainPass:
    """One walk over the queue: the nodes no job ahead waits for, and the blocked partitions.

    Parameters
    ----------
    full
        To the end of the queue; else default_queue_depth + 1 candidates.
    """

    def __init__(self, parts: WalkParts, full: bool) -> None:
        self.s, self.state, self.test = parts, parts.state, parts.test
        state = self.state
        queue = state.queue.snapshot()
        self.records: list[Record] = parts.in_order(queue)
        self.reordered = self.records is not queue
        self.one_each = len(self.records) == len(state.queue.jobs)  # no job has records in several places
        self.limit = None if full else parts.depth
        self.usable: Bitmap = state.table.up
        self.blocked: set[int] = set()  # partitions in which a job waits for nodes
        self.blocked_reservations: list[Reservation] = []
        self.waiting = {
            p.index for p in state.partitions if any(q.per_partition.get(p.index) for q in state.queue.pools)
        }
        self.per_partition: dict[int, int] = {}
        self.examined = self.started = 0
        self.cut = False  # the pass ended before the end of the queue
        # (array, partition, reservation, what it prefers) of the record before, when its task was rejected
        self.array: tuple[int, int, Reservation | None, bool] | None = None

    def walk(self) -> bool:
        """Start what can start, and say of the others why not. True when the whole queue has been looked at."""
        self._begin()
        blocked, fresh = self.blocked, self.state.queue.fresh
        plain = not (self.s.part_depth or self.reordered or self.test.preemption is not None)
        for at, record in enumerate(self.records):
            job = record.job
            if job.sub.het is not None and job.queued and job.state == JobState.PENDING:
                self._block(record, exempt=True)  # only backfill starts it; it says nothing of it
                self.array = None
                continue
            if plain and record.partition.index in blocked and job.id not in fresh and self._stays_behind(record):
                if self.limit is not None and self.examined > self.limit:
                    return False
                self.examined += 1
                if len(blocked) >= len(self.waiting) and self._settle_rest(at):
                    break
                continue
            if job.state != JobState.PENDING or not job.queued or self._passed_over(at, record):
                continue
            if self.limit is not None and self.examined > self.limit:
                return False
            self.examined += 1
            follows = self._judge(at, record)
            if follows == _ENDS:
                return False
            if follows == _SETTLED:
                break
        return not self.cut and (self.limit is None or self.examined <= self.limit)

    def _begin(self) -> None:
        """Forget what earlier passes made room for, and set the reasons of jobs with several partitions."""
        if self.test.preemption is not None:
            self.test.preemption.in_progress.clear()
        if not self.one_each and self.state.spec.watched:
            self._list_those_of_several_partitions()

    def _judge(self, at: int, record: Record) -> int:
        """Start the job of a candidate, or say why not; return what follows for the pass."""
        own = record.reservation
        ahead = record.partition.index in self.blocked if own is None else own in self.blocked_reservations
        rule, text = self.test.refusal(record, MAIN, self.usable, ahead)
        if rule == AHEAD and own is None:
            self._behind(record)
            if len(self.blocked) >= len(self.waiting) and self._settle_rest(at):
                return _SETTLED
        elif rule != MAY:
            self._refused(record, rule, text)
            if rule == LICENSES and self.s.bf_licenses:
                return _ENDS
        elif not self._try(at, record):
            self._must_wait(record)
        elif self.s.max_start and self.started >= self.s.max_start:
            return _ENDS
        return _GOES_ON

    def _list_those_of_several_partitions(self) -> None:
        """Set the reasons of jobs with several partitions as the queue is built: that of the first one that bars it."""
        for record in self.records:
            job = record.job
            if len(job.partitions) == 1 or job.state != JobState.PENDING:
                continue
            said = self.test.partition_limits.listed(job)
            if said is not None and (said != Reason.NONE or job.reason in PARTITION_REASONS):
                self.state.set_reason(job, said)

    # -- who is not looked at ---------------------------------------------------------------------------------------

    def _passed_over(self, at: int, record: Record) -> bool:
        """Return True if the record is no candidate of this pass."""
        state, job = self.state, record.job
        if self.test.being_made_room_for(job):
            return True  # others make room for it in another partition
        index, own = record.partition.index, record.reservation
        if own is not None and self.test.reservations.access.too_small(record):
            return True
        if job.sub.array_task_id is None:
            self.array = None
        else:
            array = (job.array_key, index, own, record.preferred)
            if self.array == array:
                state.set_reason(job, self.records[at - 1].job.reason)
                return True
            self.array = array
        if self.s.part_depth:
            count = self.per_partition[index] = self.per_partition.get(index, 0) + 1
            if count > self.s.part_depth:
                self.cut = True
                if job.reason == Reason.NONE:
                    state.set_reason(job, Reason.PRIORITY)
                return True
        return False

    def _stays_behind(self, record: Record) -> bool:
        """Return True if the record keeps waiting as before: its partition is blocked and its job has not changed.

        As in `_settle_rest`, only the reasons of `fresh` jobs can change. Tasks of one array are alike.
        """
        job = record.job
        if record.reservation is not None or job.sub.array_task_id is not None or job.state != JobState.PENDING:
            return False
        self.array = None
        return job.queued

    def _behind(self, record: Record) -> None:
        job, queue = record.job, self.state.queue
        if job.sub.het is not None:
            return  # backfill alone tries it
        single = len(job.partitions) == 1
        kept_it = job.reason in PARTITION_REASONS and single and not mute(record)
        if job.reason in _MAY_BECOME_PRIORITY or kept_it:
            self.state.set_reason(job, Reason.PRIORITY)
            if single or self._is_last(record):  # others may yet refuse it
                queue.fresh.pop(job.id, None)
        elif single and (job.reason == Reason.PRIORITY or job.reason in LIMIT_REASONS):  # it goes on saying so
            queue.fresh.pop(job.id, None)

    def _settle_rest(self, at: int) -> bool:
        """Every partition with records is blocked: what is left can only get its reason set.

        Equal to walking on, and proved so by a test: nothing starts, partition limits were seen when the job came or
        changed, and of reasons only those of `fresh` jobs can change. False when that does not hold.
        """
        state = self.state
        if self.s.part_depth or self.reordered or state.queue.arrange is not None:
            return False
        if state.reserved.all and any(record.reservation is not None for record in self.records[at + 1 :]):
            return False  # jobs ahead do not block the jobs of a reservation
        ends_early = self.limit is not None and self.examined + len(self.records) - at - 1 > self.limit
        arrays = bool(self.s.arrays.by_id)
        several = ends_early or arrays or len(state.queue.pools) > 1
        if several and self.test.preemption is not None:
            return False
        if arrays or (several and not self.one_each):  # some of those left are no candidates any more
            self._count_on(at)
            return True
        end = len(self.records) - 1
        if ends_early:
            assert self.limit is not None
            end = at + self.limit + 1 - self.examined
            self.examined = self.limit + 1
        if state.queue.fresh and end > at:
            here, last = self.records[at], self.records[end]
            left = [record for job_id in state.queue.fresh for record in state.queue.jobs[job_id]]
            left = [record for record in left if here.is_before(record) and not last.is_before(record)]
            put_in_order(left)
            for record in left:
                self._say_behind(record)
        return True

    def _count_on(self, at: int) -> None:
        """Settle those after record `at` one by one, as far as default_queue_depth reaches."""
        limit, fresh, array = self.limit, self.state.queue.fresh, self.array
        before = self.records[at].job
        for record in islice(self.records, at + 1, None):
            job = record.job
            if job.queued and job.state == JobState.PENDING:
                following = None
                if job.sub.array_task_id is not None:
                    following = (job.array_key, record.partition.index, record.reservation, record.preferred)
                if following is not None and following == array:  # of a rejected array only one task is a candidate
                    self.state.set_reason(job, before.reason)
                else:
                    array = following
                    if limit is not None and self.examined > limit:
                        break
                    self.examined += 1
                    if job.id in fresh:
                        self._say_behind(record)
            before = job

    def _say_behind(self, record: Record) -> None:
        """Set the reason of one that waits behind others."""
        rule, text = self.test.refusal(record, MAIN, self.usable, ahead=True)
        if rule == AHEAD:
            self._behind(record)
        else:
            self._refused(record, rule, text)

    # -- one candidate ----------------------------------------------------------------------------------------------

    def _refused(self, record: Record, rule: int, text: str) -> None:
        """Show the rule that forbids the start, and hold up those behind where it does."""
        if rule == LIMITS:
            if record.request.switches:
                self.test.switch_wait.look(record.job)
            self._held(record, text)
        elif rule == PARTITION and len(record.job.partitions) > 1 and self.state.spec.watched:
            return  # there is no record of it: what its list of partitions says has been said
        elif rule not in (DEADLINE, NAMED) and not (rule == BAR and mute(record)):  # it has ended; it says so already
            self.state.set_reason(record.job, text)
            if rule == ENOUGH:
                self._block(record, exempt=False)

    def _try(self, at: int, record: Record) -> bool:
        """Look for nodes and start the job. True when that is all there is to say, also if a limit holds it."""
        state, test = self.state, self.test
        if record.request.switches:
            test.switch_wait.look(record.job)
        time_limit = test.granted(record, MAIN)
        alloc, held = test.find(record, self.usable, time_limit, MAIN)
        if held is not None:
            self._held(record, held)
            return True
        if alloc is None:
            return False
        waited = len(state.queue)
        self.s.runs.start(record, alloc, SCHEDULER, time_limit)
        if state.queue.fifo and len(state.queue) >= waited:
            # no queue was built before the walk: who may start since this start (after:ID) has its turn too
            self.records[at + 1 :] = [r for r in state.queue.snapshot() if r.key > record.key]
            self.waiting |= {r.partition.index for r in self.records[at + 1 :]}
        self.array = None
        self.started += 1
        return True

    def _held(self, record: Record, reason: str) -> None:
        """Note that a limit holds a job. It blocks other jobs only with assoc_limit_stop, or if it names its nodes."""
        request, limits = record.request, self.test.accounting.limits
        self.state.set_reason(record.job, reason)
        named = request.required and request.required.bit_count() >= request.min_nodes
        if named or (limits is not None and limits.stop):
            self._block(record, exempt=True)

    def _must_wait(self, record: Record) -> None:
        """No nodes were found: say why, and keep those behind off the nodes it waits for."""
        state, job, own, request = self.state, record.job, record.reservation, record.request
        classify = functools.partial(self.s.pending_reasons.classify, left=self.usable)
        usable = self.test.shared_with(record, self.usable)
        if state.reserved.all:
            outcome = self.test.reservations.access.classify(record, usable, classify)
        else:
            outcome = classify(record, usable)
        if outcome == Reason.RESOURCES:
            state.set_reason(job, self.s.pending_reasons.lacking(request, usable))
            if job.likely_nodes == FORGOTTEN:
                open_to = self.test.reach(record, state.table.everything, job.time_limit_s)
                job.likely_nodes = expected(state, job, open_to, preempts=self.test.preemption is not None)
            if record.preferred and not state.rules.preferred_blocks:
                return
            if own is None or request.required.bit_count() >= request.min_nodes:
                self._block(record, exempt=True)
            elif len(self.blocked_reservations) < MAX_BLOCKED_RESERVATIONS:
                self.blocked_reservations.append(own)
        elif outcome == Reason.BAD_CONSTRAINTS:
            if len(job.partitions) == 1 and self._is_last(record):  # the next one gives it its priority back
                self.s.dequeue(job)
                job.priority = 0
                state.set_reason(job, Reason.BAD_CONSTRAINTS)
        else:
            state.set_reason(job, outcome)
            if own is not None and outcome in (Reason.RESERVATION, MAINTENANCE_TEXT):
                self.usable &= ~own.nodes

    def _is_last(self, record: Record) -> bool:
        """Return True if the pass comes to no other record of the job after `record`."""
        return bool(record.key == max(each.key for each in self.state.queue.jobs[record.job.id]))

    def _block(self, record: Record, *, exempt: bool) -> None:
        """Rule B: a job that must wait keeps those behind it off its partition's nodes."""
        state, job, request = self.state, record.job, record.request
        limits = self.test.accounting.limits
        if request.required and request.required.bit_count() >= request.min_nodes:
            self.usable &= ~request.required
            return
        if exempt:
            since = job.eligible_time
            if self.s.min_age_reserve and (since is None or state.now - since < self.s.min_age_reserve):
                return
            least = (0 if limits is None else limits.min_prio(record)) or self.s.min_prio_reserve
            if record.priority < least:
                return
        self.blocked.add(record.partition.index)
        self.usable &= ~record.partition.mask
