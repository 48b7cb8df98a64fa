"""The walk of a cycle that the kernel makes: it stops at the records that the cycle has to decide itself."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

from slurmsim.kernel import constants as c
from slurmsim.policy import Decisions, LimitsView, Reject, SlurmRecord, SlurmView
from slurmsim_policies.slurm_backfill.atom_plans import AtomPlans, Known
from slurmsim_policies.slurm_backfill.walk import Array, Walk, array_of, limit_of, show_limits
from slurmsim_policies.slurm_backfill.walked_queue import WalkedQueue, Watched

NO_COLUMN: Final = array("q")


class KernelWalk(Walk):
    """The walk over columns that the kernel knows (`WalkedQueue`), beside plans on atoms.

    Parameters
    ----------
    everything
        True if every record is to be planned, and each plan seen.
    """

    def __init__(
        self, view: SlurmView, plans: AtomPlans, parts: Sequence[Sequence[SlurmRecord]], max_array: int,
        known: Known, everything: bool,
    ) -> None:  # fmt: skip
        super().__init__(view, plans, parts, max_array)
        self.atoms, self.cycle, self.known, self.everything = plans, plans.cycle, known, everything
        self._groups, self._planned = NO_COLUMN, NO_COLUMN
        self._arrays: dict[Array, int] = {}
        for number, records in enumerate(parts):
            known.queue(number, len(parts)).follow(records, self.look_at)
        self._queue: WalkedQueue = known.queues[0]

    def begin(self, number: int, last: int) -> None:
        """Walk that part from its first record to record `last`."""
        for (key, *_), group in self._arrays.items():
            self.per_array[key] = self._planned[group]
        self._arrays.clear()
        self.rejected = None
        self._queue = queue = self.known.queues[number]
        self._groups, more_flags = NO_COLUMN, NO_COLUMN
        if queue.tasks:
            more_flags = self._group(queue, last + 1)
        self._planned = NO_COLUMN
        if self._arrays:
            self._planned = array("q", [self.per_array.get(key, 0) for key, *_ in self._arrays])
        expected = queue.records[0].job.planned_start
        self.cycle.watch(queue.columns, self._groups, more_flags, self._planned, -1 if expected is None else expected)

    def _group(self, queue: WalkedQueue, n: int) -> array[int]:
        """Give numbers to the arrays of the first `n` records; return the further flags of each record."""
        known, arrays = queue.ones[:n], self._arrays
        groups = [-1 if one.array is None else arrays.setdefault(one.array, len(arrays)) for one in known]
        more = [0] * n
        if len({key for key, *_ in arrays}) < len(arrays):  # one is in several partitions
            more = [c.ASKS if group >= 0 else 0 for group in groups]
            groups = [-1] * n
            arrays.clear()
        for at, group in enumerate(groups if arrays else ()):
            last = group >= 0 and (at + 1 == n or groups[at + 1] != group)
            if last and self.view.throttled(queue.records[at]):
                more[at] = c.ASKS  # with it those are planned that ``%N`` keeps out of the queue
        self._groups = array("q", groups)
        return array("q", more)

    def next(self, at: int, last: int, tests: int) -> tuple[int, int, int]:
        """Plan on from record `at`; return where the kernel stops, the last one to walk to, and the tests made."""
        cycle, queue, limits = self.cycle, self._queue, self.view.limits
        if limits is not None:
            self.known.renew(queue, self.view, self.look_at)
            cycle.rules = self.known.read(limits)
        cycle.tests = tests
        at = self.atoms.walk(at, last)
        while cycle.unsure:
            last = self.last_startable(queue.records, at - 1, int(cycle.end_of_walk))
            cycle.end_of_walk = last
            at = self.atoms.walk(at, last)
        last = int(cycle.end_of_walk)
        if at <= last:
            queue.looked_at(at)
            if cycle.searched:
                self.atoms.searched(queue.records[at])
            if queue.records[at].job.array_task_id is not None:
                self._count_plans(self._group_of(at))
        return at, last, int(cycle.tests)

    def _count_plans(self, group: int) -> None:
        """Hear from the kernel how many tasks of that array have a plan, and which array was rejected last."""
        for key, number in self._arrays.items():
            if number == group:
                self.per_array[key[0]] = self._planned[group]
            if number == self.cycle.rejected:
                self.rejected = key

    def _group_of(self, at: int) -> int:
        return self._groups[at] if self._groups else -1

    def refused(self, at: int) -> None:
        """Take note that a start of record `at` was tried, and a limit forbade it."""
        if self._queue.records[at].job.deadline is None:
            self._queue.refused(at, c.REFUSED)

    def task_done(self, at: int) -> None:
        """Tell the kernel how many plans the array of the task at `at` has now, and the array rejected last."""
        group = self._group_of(at)
        if group >= 0:
            self._planned[group] = self.per_array.get(self._queue.records[at].job.array_key, 0)
        self.cycle.rejected = -1 if self.rejected is None else self._arrays.get(self.rejected, -1)

    def show(self, number: int, reached: int, limits: LimitsView) -> Decisions:
        """Show the limits that hold the records of that part from `reached` on, which were not walked."""
        queue, records, at = self.known.queues[number], self.parts[number], reached
        columns, rules = queue.columns, self.known.read(limits)
        while True:
            self.known.renew(queue, self.view, self.look_at)
            at = int(columns.next_news(at, rules))
            if at >= len(records):
                return
            record, held = records[at], int(columns.held)
            if held == c.UNKNOWN:
                yield from show_limits(self.view, limits, (record,))
            elif record.job.queued and (held or limits.shown(record.job)):
                yield Reject(record, limits.named(held) if held else "None")
            at += 1

    def look_at(self, record: SlurmRecord) -> Watched:
        """Return what the kernel's walk must know of a record: whether to stop there, and for which news.

        It stops at all that shares its fate with others or asks for more than nodes, and where a plan is seen: with
        `everything` each one, else that of the first in line, and the first of each job.
        """
        view, unseen, seen = self.view, c.UNSEEN, c.SEEN
        knows = self.atoms.knows(record)
        limited_there, barred = view.limit_reason(record) is not None, view.qos_bar(record) is not None
        if not (knows and record.single):  # nor whether it is in the queue any more
            unseen = seen = c.ASKS | c.FOREIGN
        elif self.everything:
            unseen = seen = c.ASKS
        elif limited_there:
            unseen, seen = c.BARRED, c.ASKS
        elif barred:
            unseen = seen = c.ASKS
        if limited_there or barred:
            unseen, seen = unseen | c.BARRED, seen | c.BARRED
        limits, limited, shown = view.limits, c.UNLIMITED, 0
        if limits is not None:
            request, shown = record.request, limits.number_shown(record.job)
            limited = self.known.limited(record, limits) if knows else c.UNKNOWN
            if not request.known_amount or limits.min_prio(record):
                unseen = seen = unseen | c.ASKS
            if record.alone and not request.elastic:
                unseen, seen = unseen | c.ALONE, seen | c.ALONE
        shape, limit = self.known.shape(record), limit_of(view, record)
        return Watched(shape, limit, unseen, seen, array_of(view, record), limited=limited, shown=shown)
