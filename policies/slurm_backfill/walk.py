"""The walk of a cycle through the queue: which record it decides next. The plain walk decides every record.

The kernel's walk (`kernel_walk`) passes over most of them; `kernel_part` says which of the two a cycle has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from slurmsim.policy import Decisions, LimitsView, Reject, SlurmJob, SlurmRecord, SlurmView

Array = tuple[int, int, Any, bool]


def array_of(view: SlurmView, record: SlurmRecord) -> Array | None:
    """Return the array of the record's job, of which one task stands for all; None for a job of none.

    It is apart in each partition and reservation, and, where the release does so, with and without what it prefers.
    """
    job = record.job
    if job.array_task_id is None:
        return None
    return job.array_key, record.partition.index, record.reservation, record.preferred and view.tries_arrays_twice


def limit_of(view: SlurmView, record: SlurmRecord) -> int:
    """Seconds to plan with: the limit, or the minimum where one is given (and no deadline)."""
    job: SlurmJob = record.job
    if record.unreserved and view.preempts:
        return 60  # NoReserve: a minute will do, as others may preempt it
    limit = int(view.time_limit(record))
    return job.time_min_s if job.time_min_s and job.deadline is None and job.time_min_s < limit else limit


def show_limits(view: SlurmView, limits: LimitsView, records: Sequence[SlurmRecord]) -> Decisions:
    """Return the limits that slurmctld's walk finds for `records`: those that hold them now, or none.

    It does not look at those their partition keeps out.
    """
    for record in records:
        kept_out = view.limit_reason(record) is not None or view.qos_bar(record) is not None
        if record.job.queued and not kept_out:
            held = limits.verdict(record)
            if held is None and record.alone and not record.request.elastic:
                held = limits.after_plan(record)
            if held is not None or (limits.shown(record.job) and not limits.stop):
                yield Reject(record, held or "None")


class Plans(Protocol):
    """What is planned, as a walk asks for it: `NodePlans` or `AtomPlans`."""

    def could_start(self, record: SlurmRecord, limit: int) -> bool: ...


class Walk:
    """The plain walk, as Slurm's own is, and what `_Cycle` may ask of either walk.

    Parameters
    ----------
    parts
        The records of the queue, walked part by part.
    max_array
        bf_max_job_array_resv.
    """

    def __init__(self, view: SlurmView, plans: Plans, parts: Sequence[Sequence[SlurmRecord]], max_array: int) -> None:
        self.view, self.plans, self.parts, self.max_array = view, plans, parts, max_array
        self.per_array: dict[int, int] = {}  # how many tasks of each array have a plan
        # the array of which a task was left without a plan last: tasks stand for each other
        self.rejected: Array | None = None

    def begin(self, number: int, last: int) -> None:
        """Walk that part from its first record to record `last`."""
        self.rejected = None

    def next(self, at: int, last: int, tests: int) -> tuple[int, int, int]:
        """Return the record to decide, `at` or a later one, the last one to walk to, and how many tests were made.

        If it is beyond the last one nothing more is to be decided.
        """
        return at, last, tests

    def refused(self, at: int) -> None:
        """Take note that a start of record `at` was tried, and a limit forbade it."""

    def task_done(self, at: int) -> None:
        """Take note that the task at `at` is decided: `per_array` and `rejected` say how."""

    def show(self, number: int, reached: int, limits: LimitsView) -> Decisions:
        """Show the limits that hold the records of that part from `reached` on, which were not walked."""
        return show_limits(self.view, limits, self.parts[number][reached:])

    def spent(self, array: Array | None) -> bool:
        """Return True if no more tasks of this array are tried."""
        return array is not None and (array == self.rejected or self.per_array.get(array[0], 0) >= self.max_array)

    def last_startable(self, records: Sequence[SlurmRecord], at: int, last: int) -> int:
        """Return the last record after `at` that could still start now beside what is planned so far.

        Plans only take nodes away, so what cannot start now cannot later in this cycle: the walk may end there.
        """
        limits = self.view.limits
        while last > at:
            record = records[last]
            barred = limits is not None and limits.bars(record) is not None
            if record.job.queued and not barred and self.plans.could_start(record, limit_of(self.view, record)):
                return last
            last -= 1
        return last
