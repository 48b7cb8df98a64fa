"""Limits of accounts and QOS, asked of jobs one after the other: sums of integers, and which is too much first.

What jobs put against their limits stands in rows (`slurmsim.core.accounting.limit_columns`): column, amount, most, and
the number of the reason, negative where other nodes may do. A row is broken if what its column reads and the amount are
more than most. Plain Python, as the other kernels are; `limits.pxd` gives it types.
"""

from __future__ import annotations

from array import array

from slurmsim.kernel.arrays import wider, zeros

CELLS = 4  # of a row


class Limits:
    """The rows of equal jobs, by number, and what their columns read.

    Attributes
    ----------
    n
        Numbers there are.
    values
        What each column reads now.
    first, before, early, asked
        Rows of a number begin at `first`. Rows tested before nodes are looked for end before `before`, the row of the
        least number of nodes before `early`, and the rows of what the jobs ask for before `asked`. The rows of a plan
        follow, up to the first row of the next number.
    """

    def __init__(self) -> None:
        self.room = self.cells = 64
        self.first, self.before_, self.early_, self.asked_ = zeros(65), zeros(64), zeros(64), zeros(64)
        self.rows = zeros(64)
        self.values = zeros(1)
        self.n = 0

    def forget(self) -> None:
        """No number is known."""
        self.n = 0

    def know(self, values: array[int]) -> None:
        """Set what the columns read from now on."""
        self.values = values

    def learn(self, rows: array[int], n_before: int, n_early: int, n_asked: int) -> None:
        """Add the rows of one more number: the next from 0."""
        k, size = self.n, len(rows)
        begin = self.first[k]
        if k + 1 == self.room:
            self._more_numbers()
        if begin * CELLS + size > self.cells:
            self._more_rows(begin * CELLS + size)
        for i in range(size):
            self.rows[begin * CELLS + i] = rows[i]
        self.before_[k] = begin + n_before
        self.early_[k] = begin + n_before + n_early
        self.asked_[k] = begin + n_before + n_early + n_asked
        self.first[k + 1] = begin + size // CELLS
        self.n = k + 1

    def _more_numbers(self) -> None:
        self.room *= 2
        n = self.room
        self.first, self.before_ = wider(self.first, n + 1), wider(self.before_, n)
        self.early_, self.asked_ = wider(self.early_, n), wider(self.asked_, n)

    def _more_rows(self, least: int) -> None:
        while self.cells < least:
            self.cells *= 2
        self.rows = wider(self.rows, self.cells)

    def _broken(self, begin: int, end: int) -> int:
        """Return the reason of the first row from `begin` to before `end` that is broken, 0 if none is."""
        for k in range(begin, end):
            at = k * CELLS
            if self.values[self.rows[at]] + self.rows[at + 1] > self.rows[at + 2]:
                return self.rows[at + 3]
        return 0

    def before(self, number: int) -> int:
        """Return the limit that forbids to look for nodes, 0 for none."""
        return abs(self._broken(self.first[number], self.before_[number]))

    def too_many_nodes(self, number: int) -> int:
        """Return the node limit below the least number of nodes, 0 for none."""
        return abs(self._broken(self.before_[number], self.early_[number]))

    def planned(self, number: int) -> int:
        """Return the limit that forbids a plan, 0 for none."""
        return abs(self._broken(self.asked_[number], self.first[number + 1]))

    def verdict(self, number: int, planned: bool) -> int:
        """Return the first limit that what the jobs ask for breaks, or a plan where that is `planned`; 0 for none."""
        held = self._broken(self.first[number], self.asked_[number])
        if not held and planned:
            held = self._broken(self.asked_[number], self.first[number + 1])
        return abs(held)

    def bars(self, number: int) -> bool:
        """Return True if a limit forbids a start whatever nodes are free."""
        if self._broken(self.first[number], self.early_[number]):
            return True
        for k in range(self.early_[number], self.asked_[number]):
            if self._broken(k, k + 1) > 0:
                return True
        return False
