"""The queue as the kernel walks it: columns that live from cycle to cycle, and are told of what is new in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from slurmsim.policy import SlurmRecord

Array = tuple[int, int, Any]


class Watched:
    """What a walk knows of a record until something is edited, or its job says or asks for something else.

    Slots, not a named tuple: mypyc reads those of its own classes without asking for a name.

    Attributes
    ----------
    shape
        Of its request, by number.
    limit
        Seconds it is planned with.
    unseen, seen
        The flags of the kernel while no plan of its job has been seen, and once one has.
    array
        The array whose task its job is, in the partition and the reservation of the record; None: of none.
    limited, shown
        The number of the limits that hold it, and that of the one it shows (`slurmsim.kernel.cycle.Queue`).
    refused
        Flags to add once a start of it has been tried, which a limit forbade.
    """

    __slots__ = ("array", "limit", "limited", "refused", "seen", "shape", "shown", "unseen")

    def __init__(
        self, shape: int, limit: int, unseen: int, seen: int, array: Array | None, limited: int = -1, shown: int = 0
    ) -> None:
        self.shape, self.limit, self.unseen, self.seen, self.array = shape, limit, unseen, seen, array
        self.limited, self.shown, self.refused = limited, shown, 0


class WalkedQueue:
    """The records of one queue, of which a cycle finds nearly all where the one before left them.

    In the first 6,000 jobs of a year like Titan's a cycle has 85 records, of which 74 begin the queue as before:
    telling the kernel of all of them took a tenth of the first 20,000 jobs, of those that are new 3 %.

    Parameters
    ----------
    columns
        `slurmsim.kernel.cycle.Queue`.

    Attributes
    ----------
    records, known
        Those of the columns, in order, and what is known of each.
    tasks
        Whether one of them may be a task of an array.
    """

    def __init__(self, columns: Any) -> None:
        self.columns = columns
        self.records: list[SlurmRecord] = []
        self.known: list[Watched] = []
        self.tasks = False
        self._looked_at: list[int] = []
        self._restated: set[SlurmRecord] = set()

    def looked_at(self, at: int) -> None:
        """Somebody decides about record `at`, whose plan may be seen from then on, or no more."""
        self._looked_at.append(at)

    def refused(self, at: int, flags: int) -> None:
        """A start of record `at` was tried, and a limit forbade it: `flags` say so from now on."""
        self.known[at].refused = flags

    def restated(self, records: Sequence[SlurmRecord]) -> None:
        """What is known of these, if they are of this queue, holds no more."""
        self._restated.update(records)

    def follow(self, records: Sequence[SlurmRecord], look_at: Callable[[SlurmRecord], Watched]) -> None:
        """The queue is `records` now; `look_at` tells of those that are new in it."""
        for at in self._looked_at:
            self._tell(at, self.records[at], self.known[at])
        self._looked_at.clear()
        if self._restated:
            for at, record in enumerate(self.records):
                if record in self._restated:
                    self.known[at] = one = look_at(record)
                    self._tell(at, record, one)
            self._restated.clear()
        before, now = self.records, list(records)
        n, n_before = len(now), len(before)
        least = min(n, n_before)
        first = 0
        while first < least and before[first] is now[first]:
            first += 1
        least -= first
        rest = 0  # alike at the end
        while rest < least and before[n_before - 1 - rest] is now[n - 1 - rest]:
            rest += 1
        moved = {before[at]: self.known[at] for at in range(first, n_before - rest)}
        new = [moved.get(record) or look_at(record) for record in now[first : n - rest]]
        self.columns.move(n_before - rest, n_before, n - rest)
        tasks = self.tasks
        for at, one in enumerate(new, first):
            self._tell(at, now[at], one)
            tasks = tasks or one.array is not None
        self.records, self.known = now, self.known[:first] + new + self.known[n_before - rest :]
        self.tasks = tasks and any(one.array is not None for one in self.known)

    def _tell(self, at: int, record: SlurmRecord, one: Watched) -> None:
        flags = one.unseen if record.job.planned_start is None else one.seen
        self.columns.tell(at, one.shape, one.limit, flags | one.refused)
        self.columns.tell_limits(at, one.limited, one.shown)
