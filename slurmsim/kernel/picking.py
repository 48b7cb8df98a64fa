"""Which equal nodes a job gets of a set, which comes as bytes of eight nodes each, the lowest first.

Plain Python as its siblings. As such it is slower than big integers, so `slurmsim.core.placement.best_fit` asks it only
where it is an extension.
"""

from __future__ import annotations

from slurmsim.kernel.arrays import wider, zeros

FULL = 255
MANY = 256  # from more runs on they are better sorted than looked through for each that is taken


class Picker:
    """Runs of consecutive nodes of one set after another."""

    def __init__(self) -> None:
        self.room = 64
        self.begins, self.sizes = zeros(self.room), zeros(self.room)
        self.n = 0

    def _make_room(self) -> None:
        self.room *= 2
        self.begins, self.sizes = wider(self.begins, self.room), wider(self.sizes, self.room)

    def _add(self, begin: int, size: int) -> None:
        if self.n == self.room:
            self._make_room()
        self.begins[self.n], self.sizes[self.n] = begin, size
        self.n += 1

    def find(self, members: bytes) -> None:
        """Find the maximal runs of the set: `n`, their begins and their lengths."""
        raw, n = members, len(members)
        self.n = 0
        begin = -1
        for i in range(n):
            byte = raw[i]
            if byte == (0 if begin < 0 else FULL):
                continue
            for k in range(8):
                if (byte >> k & 1 != 0) == (begin >= 0):
                    continue
                if begin < 0:
                    begin = 8 * i + k
                else:
                    self._add(begin, 8 * i + k - begin)
                    begin = -1
        if begin >= 0:
            self._add(begin, 8 * n - begin)

    def runs(self, members: bytes) -> list[tuple[int, int]]:
        """Return the maximal runs of the set as (first, length)."""
        self.find(members)
        return [(self.begins[i], self.sizes[i]) for i in range(self.n)]

    def pick(self, members: bytes, need: int, least: int) -> list[tuple[int, int]] | None:
        """Return `need` nodes as runs (first, length), in the order taken; the set has as many (`best_fit.pick_equal`).

        The tightest run that holds all that is missing of `least`, the first of such; while none does, the longest
        whole. None where all are needed, no run holds them, and there are many: who can sort them is quicker.
        """
        self.find(members)
        taken: list[tuple[int, int]] = []
        while need > 0:
            best = longest = -1
            for i in range(self.n):
                size = self.sizes[i]
                if size > 0:
                    if size >= least and (best < 0 or size < self.sizes[best]):
                        best = i
                    if longest < 0 or size > self.sizes[longest]:
                        longest = i
            if best < 0 and self.n > MANY and least == need:
                return None
            if best < 0:
                best = longest
            if best < 0:
                break
            size = need if self.sizes[best] > need else self.sizes[best]
            taken.append((self.begins[best], size))
            self.sizes[best] = 0
            need -= size
            least -= size
        return taken
