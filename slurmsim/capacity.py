"""The free-capacity profile: how much, and which nodes, will be free when.

Two levels of one idea. `CapacityProfile` counts interchangeable units over time and answers *when*; `NodeSpace` keeps
the set of free nodes over time and answers *where* (Slurm's backfill calls it the node space map). Both are step
functions over half-open segments ``[times[i], times[i+1])``; the last segment never ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from slurmsim.bitmap import Bitmap


class CapacityProfile:
    """Free units over time.

    Parameters
    ----------
    now
        First instant described, seconds.
    free
        Units free from `now` on, before anything is added.

    Notes
    -----
    All operations are linear in the segments they touch, after a binary search. Levels may not go below zero:
    `add` checks nothing, `check` does.
    """

    __slots__ = ("free", "times")

    def __init__(self, now: int, free: int) -> None:
        self.times = [now]
        self.free = [free]

    @classmethod
    def of_steps(cls, times: list[int], free: list[int]) -> CapacityProfile:
        """Return the profile with these segments; both lists are taken over, not copied."""
        profile = cls(0, 0)
        profile.times, profile.free = times, free
        return profile

    def copy(self) -> CapacityProfile:
        """Return the same profile, to be changed on its own."""
        return self.of_steps(self.times.copy(), self.free.copy())

    def _cut(self, at: int) -> int:
        """Make `at` a boundary; the index of the segment that begins there."""
        i = bisect_left(self.times, at)
        if i == len(self.times) or self.times[i] != at:
            self.times.insert(i, at)
            self.free.insert(i, self.free[i - 1])
        return i

    def add(self, begin: int, end: int | None, units: int) -> None:
        """Add `units` (negative takes them) over ``[begin, end)``; `end` None means for ever.

        `begin` earlier than the profile's first instant is moved to it.
        """
        first = self.times[0]
        if begin < first:
            begin = first
        if end is not None and end <= begin:
            return
        i = self._cut(begin)
        j = len(self.times) if end is None else self._cut(end)
        free = self.free
        for k in range(i, j):
            free[k] += units
        if j < len(free) and free[j] == free[j - 1]:
            del self.times[j], free[j]
        if i > 0 and free[i] == free[i - 1]:
            del self.times[i], free[i]

    def earliest(self, units: int, duration: int, after: int) -> int | None:
        """First instant >= `after` from which `units` stay free for `duration` seconds; None when never."""
        times, free = self.times, self.free
        n = len(times)
        i = max(bisect_right(times, after) - 1, 0)
        start = after if after > times[0] else times[0]
        stop = start + duration
        while True:
            while i < n and (times[i] < stop or times[i] <= start):
                if free[i] < units:
                    break
                i += 1
            else:
                return start
            while i < n and free[i] < units:
                i += 1
            if i == n:
                return None
            start = times[i]
            stop = start + duration

    def least(self, begin: int, end: int) -> int:
        """Fewest units free at any instant of ``[begin, end)``."""
        i = max(bisect_right(self.times, begin) - 1, 0)
        j = max(bisect_left(self.times, end), i + 1)
        return min(self.free[i:j])

    def most(self, begin: int, end: int) -> int:
        """Most units free at any instant of ``[begin, end)``."""
        i = max(bisect_right(self.times, begin) - 1, 0)
        j = max(bisect_left(self.times, end), i + 1)
        return max(self.free[i:j])

    def advance(self, now: int) -> None:
        """Forget what lies before `now`."""
        i = bisect_right(self.times, now) - 1
        if i > 0:
            del self.times[:i], self.free[:i]
        self.times[0] = max(self.times[0], now)

    def check(self) -> None:
        """Raise AssertionError unless times ascend, neighbours differ and no level is negative."""
        assert len(self.times) == len(self.free) > 0
        assert all(a < b for a, b in pairwise(self.times)), self.times
        assert all(a != b for a, b in pairwise(self.free)), self.free
        assert min(self.free) >= 0, self.free


class NodeSpace:
    """Sets of free nodes over time, the map of Slurm's backfill (sched/backfill, 22.05: node space).

    Parameters
    ----------
    begin, end
        What the map covers, seconds.
    nodes
        Free nodes over all of it.
    max_segments
        `full` turns true when the map holds that many (bf_node_space_size).

    Notes
    -----
    Beside each segment's set stand its size and whether it has nodes its predecessor lacks (a *gain*): most questions
    are answered by these without touching the sets, which on a large machine take longer.
    """

    __slots__ = ("_counts", "_gains", "end", "max_segments", "nodes", "ragged", "times")

    def __init__(self, begin: int, end: int, nodes: Bitmap, max_segments: int = 1 << 60) -> None:
        self.times = [begin]
        self.nodes = [nodes]
        self._counts = [nodes.bit_count()]
        self._gains = [False]
        self.end = end
        self.max_segments = max_segments
        self.ragged = False  # equal neighbours were left unmerged: boundaries tell more than the sets do

    def copy(self) -> NodeSpace:
        """Return the same map, to be changed on its own."""
        new = NodeSpace(0, self.end, 0, self.max_segments)
        new.times, new.nodes = self.times.copy(), self.nodes.copy()
        new._counts, new._gains = self._counts.copy(), self._gains.copy()
        new.ragged = self.ragged
        return new

    @property
    def full(self) -> bool:
        return len(self.times) >= self.max_segments

    def _cut(self, at: int) -> int:
        """Make `at` a boundary; the index of the segment that begins there."""
        i = bisect_left(self.times, at)
        if i == len(self.times) or self.times[i] != at:
            self.times.insert(i, at)
            self.nodes.insert(i, self.nodes[i - 1])
            self._counts.insert(i, self._counts[i - 1])
            self._gains.insert(i, False)
        return i

    def take(self, begin: int, end: int, nodes: Bitmap) -> None:
        """Remove `nodes` over ``[begin, end)``, then merge at most one pair of equal neighbours, as Slurm does."""
        times, sets, counts, gains = self.times, self.nodes, self._counts, self._gains
        if begin >= self.end:
            return
        i = self._cut(max(begin, times[0]))
        j = len(times) if end >= self.end else self._cut(end)
        size = nodes.bit_count()
        for k in range(i, j):
            here = sets[k]
            gone = here & nodes
            sets[k] = here ^ gone
            counts[k] -= size if gone == nodes else gone.bit_count()
            if gains[k]:
                gains[k] = sets[k - 1] & sets[k] != sets[k]
        if j < len(times) and not gains[j]:
            gains[j] = sets[j - 1] & sets[j] != sets[j]
        merged = -1
        # where no pair was left before, only what was touched can have become equal
        touched = range(len(sets) - 1) if self.ragged else range(max(i - 1, 0), min(j, len(sets) - 1))
        for k in touched:
            if counts[k] == counts[k + 1] and sets[k] == sets[k + 1]:
                if merged >= 0:
                    self.ragged = True
                    break
                merged = k + 1
        if merged >= 0:
            del times[merged], sets[merged], counts[merged], gains[merged]

    def segments(self, begin: int, end: int) -> tuple[int, int]:
        """Return the indices [i, j) of the segments that end after `begin` and begin no later than `end`."""
        i = max(bisect_right(self.times, begin) - 1, 0)
        return i, max(bisect_right(self.times, end), i + 1)

    def free_over(self, begin: int, end: int) -> Bitmap:
        """Return nodes free in every segment that ends after `begin` and begins no later than `end`.

        Beyond the end of the map nothing is known to be taken: every node of its last segment's superset is free.
        """
        if begin >= self.end:
            return -1
        i, j = self.segments(begin, end)
        mask = self.nodes[i]
        for k in range(i + 1, j):
            mask &= self.nodes[k]
        return mask

    def windows(self, begin: int, length: int) -> Iterator[tuple[int, Bitmap]]:
        """Yield (start, nodes free from then on for `length` seconds) for `begin` and each later boundary.

        Boundaries from which no node stays free are left out: most of them where many jobs are planned.
        """
        yield begin, self.free_over(begin, begin + length - 1)
        times, sets = self.times, self.nodes
        i = bisect_right(times, begin)
        j, n = i, len(times)
        while i < n:
            last = times[i] + length - 1
            j = max(j, i + 1)
            while j < n and times[j] <= last:
                j += 1
            mask = sets[i]
            for k in range(i + 1, j):
                mask &= sets[k]
                if not mask:
                    if not sets[k]:
                        i = k  # nor does any node stay free from the boundaries up to there
                    break
            if mask:
                yield times[i], mask
            i += 1

    def openings(
        self, base: Bitmap, begin: int, length: int, need: int, not_before: int, *, goes_on: bool = False
    ) -> Iterator[tuple[int, int, Bitmap]]:
        """Yield where something of `length` seconds on `need` nodes of `base` might go, as Slurm's backfill tries them.

        Tried are `begin` and from there each boundary where nodes of `base` come free, as long as the next one is at
        most one segment beyond the first to begin after start + `length`. Where it is not, or none come free, nothing
        else is tried (22.05), or, when the map `goes_on`, the end of the segment beyond that first one (24.11).

        Parameters
        ----------
        need
            Starts with fewer nodes than that free in some segment are passed over.
        not_before
            So are starts followed by another that is before this instant.

        Yields
        ------
        The start, the next start (0: none), and the nodes of `base` free from the start for `length` seconds.
        """
        if begin >= self.end:
            yield begin, 0, base
            return
        times, sets, counts, gains = self.times, self.nodes, self._counts, self._gains
        n = len(times)
        at, k = begin, max(bisect_right(times, begin) - 1, 0)
        while True:
            while True:  # pass over what is followed too early
                g = k + 1
                while g < n and not (gains[g] and (gain := base & sets[g]) and gain & sets[g - 1] != gain):
                    g += 1
                if g == n or times[g] >= not_before or (g > k + 2 and times[g - 2] > at + length):
                    break
                at, k = times[g], g
            stop = max(bisect_right(times, at + length), k + 1)
            beyond = stop + 2
            if g < n and g < beyond:
                following = times[g]
            else:
                g, following = (beyond, times[beyond]) if goes_on and beyond < n else (n, 0)
            if min(counts[k:stop]) >= need:
                free = base
                for here in sets[k:stop]:
                    free &= here
                yield at, following, free
            if not following:
                return
            at, k = following, g
