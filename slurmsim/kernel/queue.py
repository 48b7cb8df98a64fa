"""The queue of a backfill cycle as columns, of which the walk of the kernel (`cycle`) reads what a record asks for."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from slurmsim.kernel.arrays import wider, zeros
from slurmsim.kernel.constants import ALONE, BARRED, UNKNOWN

if TYPE_CHECKING:
    from slurmsim.kernel import limits


class Queue:
    """The records of a queue as columns, which live from cycle to cycle."""

    def __init__(self) -> None:
        self.room = self.places = 64
        # n, order: records there are, and the slot of each in the order of the queue
        # held: the number of the limit the record of `next_news` is held to, 0 for none; `UNKNOWN` where others must
        # tell
        self.n = self.held = 0
        self.order = zeros(self.places)
        # shapes, lasting, flags: by slot: the shape of a request, the seconds it is planned with, and `ASKS`, `UNSEEN`,
        # `SEEN`, `BARRED`, `ALONE`, `REFUSED`, `FOREIGN`
        self.shapes, self.lasting, self.flags = zeros(self.room), zeros(self.room), zeros(self.room)
        # limited, shown: by slot, where limits are enforced: the number of its limits, `UNLIMITED` or `UNKNOWN`; that
        # of the one it shows, or 0
        self.limited, self.shown = zeros(self.room), zeros(self.room)

    def tell(self, slot: int, shape: int, limit: int, flags: int, limited: int, shown: int) -> None:
        """Set the record in `slot`."""
        if slot >= self.room:
            self._grow(slot)
        self.shapes[slot], self.lasting[slot], self.flags[slot] = shape, limit, flags
        self.limited[slot], self.shown[slot] = limited, shown

    def replace(self, first: int, last: int, slots: array[int]) -> None:
        """In place of the records from `first` to before `last` there are those of `slots`."""
        size, old = len(slots), self.n
        shift = first + size - last
        self.n = old + shift
        if self.n > self.places:
            self._more_places()
        if shift < 0:
            for k in range(last, old):
                self.order[k + shift] = self.order[k]
        elif shift > 0:
            for k in range(old - last):
                self.order[self.n - 1 - k] = self.order[old - 1 - k]
        for k in range(size):
            self.order[first + k] = slots[k]

    def insert(self, at: int, slot: int) -> None:
        """Put the record in `slot` at that place, before those that are there or behind it."""
        self.n += 1
        if self.n > self.places:
            self._more_places()
        for k in range(self.n - 1, at, -1):
            self.order[k] = self.order[k - 1]
        self.order[at] = slot

    def drop(self, at: int) -> None:
        """Take out the record at that place."""
        self.n -= 1
        for k in range(at, self.n):
            self.order[k] = self.order[k + 1]

    def _more_places(self) -> None:
        while self.places < self.n:
            self.places *= 2
        self.order = wider(self.order, self.places)

    def _grow(self, slot: int) -> None:
        """Room for `slot` and more."""
        while self.room <= slot:
            self.room *= 2
        n = self.room
        self.shapes, self.lasting, self.flags = wider(self.shapes, n), wider(self.lasting, n), wider(self.flags, n)
        self.limited, self.shown = wider(self.limited, n), wider(self.shown, n)

    def next_news(self, at: int, rules: limits.Limits) -> int:
        """Return the first record from `at` on that shows another limit than holds it by `rules` now, else `n`.

        Which they hold it to is in `held` then. Records that are `BARRED` are not looked at.
        """
        while at < self.n:
            slot, held = self.order[at], 0
            number, flags = self.limited[slot], self.flags[slot]
            if number == UNKNOWN:
                held = UNKNOWN
            elif number >= 0:
                held = rules.verdict(number, flags & ALONE != 0)
            if held != self.shown[slot] and not flags & BARRED:
                self.held = held
                break
            at += 1
        return at
