"""The queue as the kernel walks it: columns that live from cycle to cycle, and are told of what is new in it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
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
    slot
        Where the columns have it.
    """

    __slots__ = ("array", "limit", "limited", "refused", "seen", "shape", "shown", "slot", "unseen")

    def __init__(
        self, shape: int, limit: int, unseen: int, seen: int, array: Array | None, *, limited: int, shown: int
    ) -> None:
        self.shape, self.limit, self.unseen, self.seen, self.array = shape, limit, unseen, seen, array
        self.limited, self.shown = limited, shown
        self.refused, self.slot = 0, -1


class WalkedQueue:
    """The records of one queue, of which a cycle finds nearly all where the one before left them.

    In the first 6,000 jobs of a year like Titan's a cycle has 85 records, of which 74 begin the queue as before:
    telling the kernel of all of them took a tenth of the first 20,000 jobs, of those that are new 3 %. Where priorities
    are worked out anew thousands of records change places, and only their places are told.

    Parameters
    ----------
    columns
        `slurmsim.kernel.cycle.Queue`.

    Attributes
    ----------
    records, known
        Those of the columns, in order, and what is known of each.
    tasks
        How many of them are tasks of arrays.
    """

    def __init__(self, columns: Any) -> None:
        self.columns = columns
        self.records: list[SlurmRecord] = []
        self.known: dict[SlurmRecord, Watched] = {}
        self.tasks = 0
        self._free: list[int] = []  # slots of records that are gone
        self._looked_at: list[SlurmRecord] = []
        self._restated: dict[SlurmRecord, None] = {}

    def looked_at(self, at: int) -> None:
        """Somebody decides about record `at`, whose plan may be seen from then on, or no more."""
        self._looked_at.append(self.records[at])

    def refused(self, at: int, flags: int) -> None:
        """A start of record `at` was tried, and a limit forbade it: `flags` say so from now on."""
        self.known[self.records[at]].refused = flags

    def restated(self, records: Iterable[SlurmRecord]) -> None:
        """What is known of these, if they are of this queue, holds no more."""
        for record in records:
            self._restated[record] = None

    def renew(self, look_at: Callable[[SlurmRecord], Watched]) -> None:
        """`look_at` tells anew of those of which nothing known holds any more; they stay where they are."""
        for record in self._restated:
            before = self.known.get(record)
            if before is not None:
                self._drop(record, before)
                self._take(record, look_at(record), before.slot)
        self._restated.clear()

    def follow(self, records: Sequence[SlurmRecord], look_at: Callable[[SlurmRecord], Watched]) -> None:
        """The queue is `records` now; `look_at` tells of those that are new in it."""
        known = self.known
        for record in self._looked_at:
            self._tell(record, known[record])
        self._looked_at.clear()
        self.renew(look_at)
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
        there = now[first : n - rest]
        new = [record for record in there if record not in known]
        if n_before - n + len(new):  # so many are gone
            staying = set(there)
            for record in before[first : n_before - rest]:
                if record not in staying:
                    self._free.append(known[record].slot)
                    self._drop(record, known[record])
        for record in new:
            self._take(record, look_at(record), self._free.pop() if self._free else len(known))
        self.columns.replace(first, n_before - rest, array("q", [known[record].slot for record in there]))
        self.records = now

    def _take(self, record: SlurmRecord, one: Watched, slot: int) -> None:
        one.slot = slot
        self.known[record] = one
        self.tasks += one.array is not None
        self._tell(record, one)

    def _drop(self, record: SlurmRecord, one: Watched) -> None:
        del self.known[record]
        self.tasks -= one.array is not None

    def _tell(self, record: SlurmRecord, one: Watched) -> None:
        flags = one.unseen if record.job.planned_start is None else one.seen
        self.columns.tell(one.slot, one.shape, one.limit, flags | one.refused, one.limited, one.shown)
