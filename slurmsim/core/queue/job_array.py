"""Job arrays: which tasks of a throttled array may be in the queue, and how long ended tasks are remembered.

Mirrors job_array_start_test and _job_array_comp (job_mgr.c, 22.05): a task may start while fewer than ``%N`` others
run. Here the first tasks hold the places and only they are queued, which comes to the same. A task with a future begin
time holds no place. While the array is full it still shows JobArrayTaskLimit, as slurmctld tests that first.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from slurmsim.core.records.job import UNSPLIT, Job
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import QueueWay


class JobArray:
    """One job array: its throttle, what is active, and which tasks wait for it (by index)."""

    __slots__ = ("active", "ended", "later", "limit", "live", "tasks", "waiting")

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.active: set[int] = set()  # ids of queued or running tasks, no more than the limit
        self.tasks: dict[int, int] = {}  # index -> job id
        self.waiting: list[tuple[int, int]] = []  # (rank, job id) of those there is no room for
        self.later: dict[int, Job] = {}  # those there is room for and that have a future begin time
        self.live = 0  # tasks without a final state
        self.ended: list[tuple[int, int]] = []  # (end, job id) of the others until the last has ended

    @property
    def full(self) -> bool:
        """True if no further task may start."""
        return self.limit is not None and len(self.active) >= self.limit

    def place(self, job: Job) -> tuple[int, bool]:
        """Return where `job` is, or would be, among those that wait, and whether it is there."""
        entry = (job.rank, job.id)
        at = bisect_left(self.waiting, entry)
        return at, at < len(self.waiting) and self.waiting[at] == entry

    def wait_no_more(self, job: Job) -> bool:
        """Take `job` out of those that wait; whether it was there."""
        at, waits = self.place(job)
        if waits:
            del self.waiting[at]
        return waits


class JobArrays:
    """All job arrays, by the id they were submitted under."""

    def __init__(self, state: ControllerState, queue_way: QueueWay) -> None:
        self.state, self._queue_way = state, queue_way
        self.by_id: dict[int, JobArray] = {}

    def register(self, job: Job) -> None:
        """Take in a new task."""
        array = self.by_id.get(job.array_key)
        if array is None:
            array = self.by_id[job.array_key] = JobArray(job.array_limit)
        assert job.sub.array_task_id is not None
        job.array_limit = array.limit  # that of the first task: one array has one throttle
        array.tasks[job.sub.array_task_id] = job.id
        array.live += 1

    def record_of(self, job: Job) -> list[Job]:
        """Return `job` and the tasks that wait in one record of slurmctld with it: those not split off."""
        if job.rank < UNSPLIT:
            return [job]
        tasks = map(self.state.jobs.get, self.by_id[job.array_key].tasks.values())
        return [task for task in tasks if task is not None and task.rank >= UNSPLIT and task.state == JobState.PENDING]

    def accrues_since(self, job: Job) -> int | None:
        """Return since when the record of which `job` is a task accrues age: as those that wait, else as one that may.

        None if that is not known, or if `job` has a record of its own.
        """
        array, jobs = self.by_id[job.array_key], self.state.jobs
        if job.rank < UNSPLIT:
            return None
        others = [jobs[job_id] for _, job_id in array.waiting[:1] if job_id != job.id]
        others = [one for one in others if one.rank >= UNSPLIT] or [jobs[i] for i in array.active if i in jobs]
        return min((one.accrue_time for one in others if one.accrue_time is not None), default=None)

    def accrue_with(self, job: Job) -> None:
        """Let the tasks that wait for places accrue age since `job` does, the first of their record to be eligible."""
        for _, job_id in self.by_id[job.array_key].waiting:
            waits = self.state.jobs[job_id]
            if waits.accrue_time is not None and waits.rank >= UNSPLIT:
                waits.accrue_time = job.accrue_time

    # -- the throttle -----------------------------------------------------------------------------------------------

    def has_room(self, job: Job) -> bool:
        """Return True if the throttle lets `job` start; if not, it waits for a place."""
        array = self.by_id[job.array_key]
        if not array.full or job.id in array.active:
            return True
        if job.begin is not None and job.begin > self.state.now and not self._runs_full(array):
            return True  # slurmctld counts tasks that run: those that only wait take no place from it
        array.later.pop(job.id, None)
        self._wait(array, job)
        return False

    def wait_for_begin(self, job: Job) -> None:
        """Take note that `job` has room, and a begin time to come."""
        self.by_id[job.array_key].later[job.id] = job

    def take_place(self, job: Job) -> None:
        """Take note that `job` goes into the queue."""
        array = self.by_id[job.array_key]
        array.active.add(job.id)
        array.later.pop(job.id, None)

    def started(self, job: Job) -> None:
        """`job` runs: if it was the last that may, tasks with a begin time to come wait for a place as well."""
        array = self.by_id[job.array_key]
        if array.later and self._runs_full(array):
            others, array.later = list(array.later.values()), {}
            for other in others:
                self._wait(array, other)

    def _runs_full(self, array: JobArray) -> bool:
        """Return True if as many tasks run as may."""
        jobs = self.state.jobs
        running = sum(jobs[job_id].state != JobState.PENDING for job_id in array.active if job_id in jobs)
        return array.limit is not None and running >= array.limit

    def kept_out(self, job: Job) -> tuple[int, int]:
        """How many tasks of the array of `job` wait for places, and how many its own record could start with them.

        Tasks with a record of their own take no place from that one until they run.
        """
        array = self.by_id[job.array_key]
        queued = (self.state.jobs[job_id] for job_id in array.active if job_id in self.state.jobs)
        return len(array.waiting), sum(one.queued and one.rank < UNSPLIT for one in queued)

    def _wait(self, array: JobArray, job: Job) -> None:
        at, waits = array.place(job)
        if not waits:  # a release may find it waiting already
            array.waiting.insert(at, (job.rank, job.id))
        if job.accrue_time is None:
            job.accrue_time = self.accrues_since(job)
        self.state.set_reason(job, Reason.ARRAY_TASK_LIMIT)

    def leave(self, job: Job) -> None:
        """Take note that `job` has ended, was requeued or is held: another task may have its place."""
        self.step_aside(job)
        self.fill(job)

    def altered(self, job: Job) -> None:
        """`job` was changed while no more run than may: those of its array that have a place do not say they wait."""
        array = self.by_id[job.array_key]
        if not self._runs_full(array):
            for other in (self.state.jobs[job_id] for job_id in array.active if job_id in self.state.jobs):
                if other.queued and other.reason == Reason.ARRAY_TASK_LIMIT:
                    self.state.set_reason(other, Reason.NONE)

    def step_aside(self, job: Job) -> None:
        """Take its place from `job`, which does not wait for one either; the place stays free until `fill`."""
        array = self.by_id[job.array_key]
        array.later.pop(job.id, None)
        if job.id in array.active:
            array.active.remove(job.id)
        else:
            array.wait_no_more(job)

    def fill(self, job: Job) -> None:
        """Others of the array of `job` may have the places that are left."""
        self._move_up(self.by_id[job.array_key])

    def _move_up(self, array: JobArray) -> None:
        """Tasks that wait take the places there are: split ones, then the lowest index."""
        while array.waiting and not array.full:
            following = self.state.jobs.get(array.waiting.pop(0)[1])
            if following is not None:
                self._queue_way.consider(following)

    def hand_on_reason(self, job: Job) -> None:
        """`job` starts: those left in its array's record, which the throttle lets in by now, wait for what it did."""
        if job.reason in (Reason.NONE, Reason.ARRAY_TASK_LIMIT):
            return
        for other in self.state.queue.unasked.values():
            if other.array_key == job.array_key and other.reason == Reason.ARRAY_TASK_LIMIT:
                self.state.set_reason(other, job.reason)

    def split(self, job: Job) -> None:
        """Take note that `job` was changed: if it is a task, it has a record of its own from now on."""
        if job.sub.array_task_id is None:
            return
        array = self.by_id[job.array_key]
        waits = array.wait_no_more(job)
        job.split()
        self.state.triggers.changed = True
        records = list(self.state.queue.jobs.get(job.id, ()))
        self.state.queue.reprioritise(records, [record.priority for record in records])
        if waits:
            self._wait(array, job)
            self._overtake(array, job)

    def join(self, job: Job) -> None:
        """Take note that `job` shares the record of its array again: what was changed of it was so of all that do."""
        if job.sub.array_task_id is None or job.rank >= UNSPLIT:
            return
        array = self.by_id[job.array_key]
        waits = array.wait_no_more(job)
        job.rank += UNSPLIT
        records = list(self.state.queue.jobs.get(job.id, ()))
        self.state.queue.reprioritise(records, [record.priority for record in records])
        if waits:
            array.waiting.insert(array.place(job)[0], (job.rank, job.id))

    def _overtake(self, array: JobArray, job: Job) -> None:
        """`job` waits before the others of its array: it has the place of one that has not started either.

        slurmctld counts running tasks alone, so the first task in its queue starts next.
        """
        queued = [self.state.jobs[job_id] for job_id in array.active if self.state.jobs[job_id].queued]
        last = max(queued, key=lambda other: other.rank, default=job)
        if last.rank > job.rank:
            array.active.remove(last.id)
            self._queue_way.withdraw(last)
            self._wait(array, last)
            self._move_up(array)

    def throttle(self, array_id: int, limit: int | None) -> None:
        """Let `limit` tasks of the array run at a time from now on (None: any number). Those that run go on."""
        array = self.by_id.get(array_id)
        if array is None:
            return
        jobs = self.state.jobs
        live = [jobs[job_id] for _, job_id in sorted(array.tasks.items()) if job_id in jobs]
        array.limit = limit
        array.active = {job.id for job in live if job.queued or job.state != JobState.PENDING} if limit else set()
        for job in live:
            job.array_limit = limit
        for job in reversed(live):
            if limit is not None and len(array.active) > limit and job.queued:
                array.active.remove(job.id)
                self._queue_way.withdraw(job)
                self._wait(array, job)
        self._move_up(array)

    # -- memory -----------------------------------------------------------------------------------------------------

    def forgettable(self, job: Job, now: int) -> list[tuple[int, int]]:
        """`job`, a task, ended `now`: (end, job id) of the tasks that MinJobAge begins for, once all have ended."""
        array = self.by_id[job.array_key]
        array.live -= 1
        array.ended.append((now, job.id))
        if array.live:
            return []
        ended, array.ended = array.ended, []
        return ended
