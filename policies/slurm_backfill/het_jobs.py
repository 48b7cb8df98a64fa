"""Heterogeneous jobs within one cycle: their components are planned one by one, and start together at its end.

A component is tried from the latest first estimate of the others of its job on that have been looked at (their plans
may lie later still). Nothing of this outlives the cycle: the next one begins anew. All that can start now start when
every component of the job can, each on the nodes it was planned on, at the cycle's end, or as soon as the last of them
has been found (bf_hetjob_immediate).
Source: the _het_job_* functions of Slurm's backfill.c, 22.05.8, and what a recorded one did.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from slurmsim.bitmap import Bitmap
from slurmsim.policy import SlurmRecord


class Component(NamedTuple):
    """One that has been planned: its first estimate, seconds, and the nodes of its plan."""

    record: SlurmRecord
    first: int
    nodes: Bitmap


class HetJobs:
    """Those of one cycle, which takes place at `now`."""

    def __init__(self, now: int) -> None:
        self._now = now
        self._found: dict[int, dict[int, Component]] = {}

    def __bool__(self) -> bool:
        """Return True if a component has been planned."""
        return bool(self._found)

    def not_before(self, record: SlurmRecord) -> int:
        """Return when the other components of its job could start at the earliest; 0: not known yet."""
        job = record.job
        if job.het is None:
            return 0
        others = self._found.get(job.het[0], {})
        return max((one.first for job_id, one in others.items() if job_id != job.id), default=0)

    def note(self, record: SlurmRecord, first: int, nodes: Bitmap) -> None:
        """Note the plan of a component; of one with several partitions the earliest counts."""
        assert record.job.het is not None
        of_job = self._found.setdefault(record.job.het[0], {})
        before = of_job.get(record.job.id)
        if before is None or first < before.first:
            of_job[record.job.id] = Component(record, first, nodes)

    def ready(self, leader: int | None = None) -> Iterator[list[Component]]:
        """Yield the components of each job (or that of `leader`) that can start now, in the order they were tried."""
        for number in list(self._found) if leader is None else [leader]:
            found = list(self._found.get(number, {}).values())
            het = found[0].record.job.het if found else None
            if het is not None and len(found) == het[1] and all(one.first <= self._now for one in found):
                del self._found[number]
                yield found
