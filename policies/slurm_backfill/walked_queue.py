"""The queue as the kernel walks it: columns that live from cycle to cycle, and are told of what is new in it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from slurmsim.kernel import load
from slurmsim.policy import SlurmRecord
from slurmsim_policies.slurm_backfill.walk import Array

alike = load("arrays").alike


class Watched:
    """What a walk knows of a record until something is edited, or its job says or asks for something else.

    Slots, not a named tuple: mypyc reads those of its own classes without asking for a name.
    """

    __slots__ = ("array", "limit", "limited", "refused", "seen", "seen_in", "shape", "shown", "slot", "unseen")

    def __init__(
        self, shape: int, limit: int, unseen: int, seen: int, array: Array | None, *, limited: int, shown: int
    ) -> None:
        # shape: of its request, by number
        # limit: seconds it is planned with
        # unseen, seen: the flags of the kernel while no plan of its job has been seen, and once one has
        # array: the array of its job, in the partition and the reservation of the record; None for a job of none
        self.shape, self.limit, self.unseen, self.seen, self.array = shape, limit, unseen, seen, array
        # limited, shown: the number of the limits that hold it, and that of the one it shows
        # (`slurmsim.kernel.queue.Queue`)
        self.limited, self.shown = limited, shown
        # refused: flags to add once a start of it has been tried, which a limit forbade
        # slot: where the columns have it
        # seen_in: the number of the last time the queue was followed and had it among what is not as before
        self.refused, self.slot, self.seen_in = 0, -1, 0

    def become(self, other: Watched) -> None:
        """Say what `other` says, where it is."""
        self.shape, self.limit, self.unseen, self.seen = other.shape, other.limit, other.unseen, other.seen
        self.array, self.limited, self.shown, self.refused = other.array, other.limited, other.shown, other.refused


EDITED: Final = -1  # in place of the number of a limit: nothing known holds
NOT_KNOWN: Final = Watched(-1, 0, 0, 0, None, limited=-1, shown=0)  # in the place of one that is not known yet


class WalkedQueue:
    """The records of one queue. A cycle finds nearly all of them where the one before left them.

    In the first 6,000 jobs of a year like Titan's a cycle has 85 records, and 74 of them begin the queue as before.
    Telling the kernel of all records took a tenth of the time of the first 20,000 jobs; telling of new ones takes 3 %.
    When priorities are worked out anew thousands of records change places, and only their places are told.

    Parameters
    ----------
    columns
        `slurmsim.kernel.queue.Queue`.
    """

    def __init__(self, columns: Any) -> None:
        self.columns = columns
        # records, ones, known: those of the columns, in order, what is known of each, in order, and by record
        self.records: list[SlurmRecord] = []
        self.ones: list[Watched] = []
        self._times = 0
        self.known: dict[SlurmRecord, Watched] = {}
        self.tasks = 0  # how many of them are tasks of arrays
        self._free: list[int] = []  # slots of records that are gone
        self._looked_at: list[SlurmRecord] = []
        self._restated: dict[SlurmRecord, int] = {}  # the limit it shows now, or EDITED

    def looked_at(self, at: int) -> None:
        """Note that the cycle itself decides record `at`; its plan may be shown from then on, or no longer."""
        self._looked_at.append(self.records[at])

    def refused(self, at: int, flags: int) -> None:
        """Take note that a limit forbade a start of record `at`: `flags` say so from now on."""
        self.ones[at].refused = flags

    def restated(self, edited: Iterable[SlurmRecord], said: Iterable[tuple[SlurmRecord, int]]) -> None:
        """Of these, if they are of this queue, nothing known holds any more; or they only show another limit now."""
        for record, number in said:
            if self._restated.get(record) != EDITED:
                self._restated[record] = number
        for record in edited:
            self._restated[record] = EDITED

    def renew(self, look_at: Callable[[SlurmRecord], Watched]) -> None:
        """`look_at` tells anew of those of which nothing known holds any more; they stay where they are."""
        for record, number in self._restated.items():
            one = self.known.get(record)
            if one is None:
                continue
            if number == EDITED:
                self.tasks -= one.array is not None
                one.become(look_at(record))
                self.tasks += one.array is not None
            else:
                one.shown, one.refused = number, 0
            self._tell(record, one)
        self._restated.clear()

    def follow(self, records: Sequence[SlurmRecord], look_at: Callable[[SlurmRecord], Watched]) -> None:
        """Replace the queue by `records`; `look_at` tells of those that are new in it."""
        known = self.known
        for record in self._looked_at:
            self._tell(record, known[record])
        self._looked_at.clear()
        self.renew(look_at)
        before, now = self.records, list(records)
        first: int
        rest: int
        first, rest = alike(before, now)
        n, n_before = len(now) - rest, len(before) - rest
        there, new = self._find(now, first, n, n_before)
        if n_before - n + len(new):  # so many are gone
            self._forget(first, n_before)
        for at in new:
            record = now[first + at]
            there[at] = one = look_at(record)
            one.slot = self._free.pop() if self._free else len(known)
            known[record] = one
            self.tasks += one.array is not None
            self._tell(record, one)
        self.columns.replace(first, n_before, array("q", [one.slot for one in there]))
        self.ones[first:n_before] = there
        self.records = now

    def _find(self, now: list[SlurmRecord], first: int, last: int, last_before: int) -> tuple[list[Watched], list[int]]:
        """Return what is known of the records from `first` to before `last`, and the new ones, counted from `first`.

        Most records stand one behind the other as before, and need no look-up.
        """
        known, before, ones, self._times = self.known, self.records, self.ones, self._times + 1
        there: list[Watched] = []
        new: list[int] = []
        p = first
        for at in range(first, last):
            record = now[at]
            one: Watched | None
            if p < last_before and before[p] is record:
                one = ones[p]
                p += 1
            elif p + 1 < last_before and before[p + 1] is record:
                one = ones[p + 1]
                p += 2
            else:
                one = known.get(record)
                if one is None:
                    new.append(at - first)
                    there.append(NOT_KNOWN)
                    continue
            one.seen_in = self._times
            there.append(one)
        return there, new

    def _forget(self, first: int, last: int) -> None:
        """Of the records there were from `first` to before `last`, those that are gone."""
        for at in range(first, last):
            one = self.ones[at]
            if one.seen_in != self._times:
                self._free.append(one.slot)
                self.tasks -= one.array is not None
                del self.known[self.records[at]]

    def _tell(self, record: SlurmRecord, one: Watched) -> None:
        flags = one.unseen if record.job.planned_start is None else one.seen
        self.columns.tell(one.slot, one.shape, one.limit, flags | one.refused, one.limited, one.shown)
