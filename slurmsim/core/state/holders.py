"""What holds nodes: running and suspended jobs, by the end they are planned with."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from copy import copy
from heapq import merge

from slurmsim.bitmap import Bitmap
from slurmsim.core.placement.selector import Selector
from slurmsim.core.records.allocation import Allocation
from slurmsim.core.records.job import Job
from slurmsim.core.state.expected_ends import ExpectedEnds

Entry = tuple[int, int, Job]


class Holders:
    """The jobs with nodes."""

    def __init__(self, selector: Selector, *, predicted: bool) -> None:
        # running, suspended: (end by limit, id, job), ascending; that of a running job is the same object as long as
        # its end and its nodes are
        self.running: list[Entry] = []
        self.suspended: list[Entry] = []
        # what jobs suspended by an administrator still hold in the node table, by id; None for nothing
        self.parked: dict[int, Allocation | None] = {}
        # the running jobs by expected end; None without a predictor
        self.expected = ExpectedEnds() if predicted else None
        self._selector = selector

    def held(self, job: Job) -> Allocation | None:
        """Return what `job`, running or suspended, holds in the node table."""
        return self.parked.get(job.id, job.alloc)

    def releases(self) -> Sequence[Entry]:
        """Return the running jobs by planned end: the end of the time limit, or an earlier predicted one."""
        return self.running if self.expected is None else self.expectations().entries

    def expectations(self) -> ExpectedEnds:
        """Return the running jobs by expected end, up to date; there must be a predictor."""
        assert self.expected is not None
        return self.expected.after(self._selector.forgotten, self.running)

    def occupants(self) -> Sequence[Entry]:
        """All that holds something by the end it is planned with: the running, and the suspended, by their limits."""
        if not self.suspended:
            return self.releases()
        return list(merge(self.releases(), [e for e in map(self._holding, self.suspended) if e is not None]))

    def _holding(self, entry: Entry) -> Entry | None:
        """Return the entry of a suspended job for the future test, with what it holds; None if it holds nothing."""
        end, job_id, job = entry
        if job_id not in self.parked:
            return entry
        rest = self.parked[job_id]
        if rest is None:
            return None
        rest_of_it = copy(job)
        rest_of_it.alloc = rest
        return end, job_id, rest_of_it

    def runs_otherwise(self, job: Job) -> None:
        """Replace the entry of the running `job`, which has other nodes: followers see a new object."""
        assert job.end_limit is not None
        entry = job.end_limit, job.id, job
        self.running[bisect_left(self.running, entry)] = entry

    def alone(self, job: Job) -> Bitmap:
        """Return the nodes on which no other job runs than `job`."""
        others = 0
        for _, _, other in self.running:
            if other is not job:
                others |= other.nodes
        return job.nodes & ~others

    def suspended_nodes(self) -> Bitmap:
        mask = 0
        for _, _, job in self.suspended:
            mask |= job.nodes
        return mask
