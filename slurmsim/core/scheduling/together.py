"""Several starts at once, all or none: the components of a heterogeneous job.

Nodes and limits are tried for all components before the first one starts. Each component counts in the limits of the
next one (_het_job_limit_check and _het_job_start_now of backfill.c, 22.05). No job is preempted for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from slurmsim.bitmap import Bitmap
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job_queue import Record
from slurmsim.core.scheduling.may_start import BACKFILL, LIMITS, MAY

if TYPE_CHECKING:
    from slurmsim.core.scheduling.may_start import StartTest

TOGETHER: Final = replace(BACKFILL, makes_room=False)


class Wanted(NamedTuple):
    """One of the starts: of which record, inside which nodes, for how many seconds (None: its own limit)."""

    record: Record
    within: Bitmap
    limit: int | None


class Refusal(NamedTuple):
    """Who keeps all from starting, and the limit that does; None: it finds no nodes, or is not to start."""

    record: Record
    reason: str | None


def find_all(test: StartTest, wanted: Sequence[Wanted]) -> list[Allocation] | Refusal:
    """Return what each of `wanted` gets if they all start now, each on nodes of its own."""
    limits, now = test.accounting.limits, test.state.now
    found: list[Allocation] = []
    kept: list[tuple[Record, Allocation | None, int | None]] = []
    used: Bitmap = 0
    try:
        for record, within, limit in wanted:
            job = record.job
            rule, text = test.refusal(record, TOGETHER)
            if rule != MAY:
                return Refusal(record, text if rule == LIMITS else None)
            seconds = test.granted(record, TOGETHER) if limit is None else limit
            alloc, held = test.find(record, within & ~used, seconds, TOGETHER)
            if alloc is None:
                return Refusal(record, held)
            used |= alloc.mask
            found.append(alloc)
            if limits is not None:
                kept.append((record, job.alloc, job.end_limit))
                job.alloc, job.end_limit = alloc, now + (test.time_limit(record) if seconds is None else seconds)
                limits.counters.began(job, now)
        return found
    finally:
        if limits is not None:
            for record, before, end in reversed(kept):
                limits.counters.released(record.job)
                record.job.alloc, record.job.end_limit = before, end
