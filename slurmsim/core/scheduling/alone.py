"""Which pending jobs could start if nothing ran: the others start in no order of the queue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from slurmsim.core.placement.free_state import Supposed
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.scheduling.may_start import BAR, MAY, PARTITION, Asker

if TYPE_CHECKING:
    from slurmsim.core.scheduling.may_start import StartTest
    from slurmsim.core.state.controller_state import ControllerState

ALONE: Final = Asker((PARTITION, BAR), time_min=True)


def any_could_start_alone(jobs: Iterable[Job], test: StartTest) -> bool:
    """Return True if any of `jobs` waits, and could start on the nodes that are up now if nothing ran.

    Notes
    -----
    Reservations, licenses, power and time limits are left out: it may be True although no job could start, never the
    other way round. A policy that is the scheduler may choose other nodes than the selector, so its jobs are judged by
    what they ask for. O(jobs × nodes).
    """
    state, limits = test.state, test.accounting.limits
    free: Supposed | None = None
    for job in jobs:
        if not (job.queued or (limits is not None and job.id in limits.waiting)):
            continue
        free = free or _all_free(state)
        for partition, request in zip(job.partitions, job.requests, strict=True):
            record = Record(job, partition, request, job.priority, False)
            if _could_start(record, free, test):
                return True
    return False


def _all_free(state: ControllerState) -> Supposed:
    """Return the nodes with no job on them."""
    free = Supposed(state.table)
    for _, _, job in (*state.running, *state.suspended):
        held = state.holders.held(job)
        if held is not None:
            free.release(held)
    return free


def _could_start(record: Record, free: Supposed, test: StartTest) -> bool:
    """Return True if the record's job finds nodes in `free`, and no limit forbids it those."""
    if test.refusal(record, ALONE)[0] != MAY:
        return False
    alloc = test.state.selector.place(record.request, free, record.partition.mask)
    if alloc is None:
        return False
    limits = test.accounting.limits
    return limits is None or not limits.forbids_alone(record, None if test.state.event_driven else alloc)
