"""The queue as columns, so that all priorities can be recalculated at once.

One slot a record: the weighted factors of its priority, and the priority it has. A kernel adds the factors up, in
slurmctld's order of summation. Only records with a changed priority are touched.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from slurmsim.core.queue.priority import MAX_PRIORITY
from slurmsim.core.records.job_queue import Watcher
from slurmsim.kernel import load

if TYPE_CHECKING:
    from slurmsim.core.queue.priority import Multifactor
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.job_queue import JobQueue, Record

NEVER: Final = 2**62  # when a job that accrues no age began to
FIRST_SLOTS: Final = 64
# priorities of runs to come that are worked out in one go, and of at least so many runs
AT_ONCE: Final = 4096
LEAST_RUNS: Final = 16
NO_FACTORS: Final = np.zeros(0)
kernel = load("priorities")


class QueueColumns(Watcher):
    """Columns of all records of a queue, which tells of every record that comes and goes.

    Parameters
    ----------
    n_branches
        Associations; the place after the last stands for none.
    """

    def __init__(self, plugin: Multifactor, queue: JobQueue, n_branches: int) -> None:
        self.plugin, self.queue = plugin, queue
        self._nobody = n_branches
        self._records: list[Record | None] = []
        self._free: list[int] = []
        self._weighted = np.zeros((0, 6))
        self._since, self._branch, self._priority = (np.zeros(0, np.int64) for _ in range(3))
        self._fixed, self._several = np.zeros(0, bool), np.zeros(0, bool)
        self._grow(FIRST_SLOTS)
        queue.watcher = self

    def _grow(self, n: int) -> None:
        """Room for `n` more slots."""
        old = len(self._records)
        self._records += [None] * n
        self._free += range(old + n - 1, old - 1, -1)
        self._weighted = np.concatenate([self._weighted, np.zeros((n, 6))])
        self._since = np.concatenate([self._since, np.full(n, NEVER)])
        self._branch = np.concatenate([self._branch, np.full(n, self._nobody)])
        self._priority = np.concatenate([self._priority, np.zeros(n, np.int64)])
        self._fixed = np.concatenate([self._fixed, np.ones(n, bool)])
        self._several = np.concatenate([self._several, np.zeros(n, bool)])

    # -- told by the queue ------------------------------------------------------------------------------------------

    def added(self, record: Record, at: int) -> None:
        """`record` of the partition in place `at` of its job's is in the queue."""
        if not self._free:
            self._grow(len(self._records))
        slot = record.slot = self._free.pop()
        self._records[slot] = record
        self._priority[slot] = record.priority
        self._fill(record, at)

    def removed(self, record: Record) -> None:
        """Take note that `record` has left the queue."""
        slot = record.slot
        self._records[slot] = None
        self._fixed[slot] = True
        self._branch[slot] = self._nobody
        self._free.append(slot)

    def edited(self, job: Job) -> None:
        """Note a change of a queued job: its request, its accrual of age, or its priority."""
        for record in self.queue.jobs.get(job.id, ()):
            self._priority[record.slot] = record.priority
            self._fill(record, job.partitions.index(record.partition))

    def _fill(self, record: Record, at: int) -> None:
        job, slot, plugin = record.job, record.slot, self.plugin
        self._weighted[slot] = plugin.weighted(job, at)
        since = plugin.accrued_since(job)
        self._since[slot] = NEVER if since is None else since
        self._branch[slot] = self._nobody if job.branch is None else job.branch.row
        self._fixed[slot] = job.sub.priority is not None
        self._several[slot] = len(job.partitions) > 1

    def agrees(self) -> bool:
        """Return True if slots and records belong together, for checks."""
        records = [record for records in self.queue.jobs.values() for record in records]
        mine = sum(record is not None for record in self._records)
        return mine == len(records) and all(
            self._records[r.slot] is r and self._priority[r.slot] == r.priority for r in records
        )

    # -- recalculation ----------------------------------------------------------------------------------------------

    def branches(self) -> list[int]:
        """Rows of the associations that have jobs in the queue, ascending."""
        rows: list[int] = np.unique(self._branch).tolist()
        return [row for row in rows if row != self._nobody]

    def changes(self, now: int, fairshare: npt.NDArray[np.float64] | None) -> tuple[list[Record], list[int]]:
        """Return the records with another priority at `now`, and their new priorities.

        `fairshare` holds the factors of all associations, shape (n_branches,).
        """
        plugin = self.plugin
        found: tuple[list[Record], list[int]] = kernel.changes(
            self._records, self._weighted, self._since, self._branch, self._priority,
            self._fixed.view(np.uint8), self._several.view(np.uint8), NO_FACTORS if fairshare is None else fairshare,
            now, plugin.w_age, plugin.max_age, plugin.w_fairshare, plugin.increase_only,
        )  # fmt: skip
        return found

    def order_changes_at(self, at: int, period_s: int) -> int | None:
        """Return the first of the runs at `at` and every `period_s` seconds that changes the order; None if none does.

        It may be a run that changes nothing: no more than `AT_ONCE` priorities are looked at. Fair shares and
        PriorityFlags=INCR_ONLY are left out.
        """
        records = self.queue.snapshot()
        if any(record.rank != record.job.rank for record in records):
            return at
        runs = np.arange(max(AT_ONCE // max(len(records), 1), LEAST_RUNS), dtype=np.int64)
        slots = np.array([record.slot for record in records], np.int64)
        found = self._priorities(slots, at + runs * period_s)
        pairs = list(pairwise(records))
        by_tier = np.array([a.tier < b.tier for a, b in pairs], bool)
        by_rest = np.array([a.rest < b.rest for a, b in pairs], bool)
        first, second = found[:, :-1], found[:, 1:]
        same = (by_tier | (first > second) | ((first == second) & by_rest)).all(axis=1)
        if not same.all():
            return at + int(same.argmin()) * period_s
        last, since = at + int(runs[-1]) * period_s, self._since[slots]
        aging = since[(since < NEVER) & ~self._fixed[slots]]
        over = int(aging.max()) + self.plugin.max_age if self.plugin.w_age and len(aging) else at
        return last if over > last else None

    def _priorities(self, slots: npt.NDArray[np.int64], times: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the priorities of `slots` at `times`, whole numbers, (times, slots); sums as the kernel makes them."""
        plugin = self.plugin
        total, size, part, qos, tres, nice = self._weighted[slots].T
        if plugin.w_age:
            waited = np.maximum(times[:, None] - self._since[slots], 0).astype(np.float64)
            total = plugin.w_age * np.minimum(waited / plugin.max_age, 1.0) + total
        of_several = part + (total + size + qos + tres - nice)
        values = np.where(self._several[slots], of_several, total + size + part + qos + tres - nice)
        whole = np.floor(np.clip(values, 1.0, float(MAX_PRIORITY)))
        found: npt.NDArray[np.float64] = np.where(self._fixed[slots], self._priority[slots], whole)
        return np.broadcast_to(found, (len(times), len(slots)))
