"""Things to do at given times, for rules that have a clock of their own."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush


class Alarms:
    """Calls to make, by time; calls of one time are made in the order in which they were set."""

    __slots__ = ("_count", "heap")

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def set(self, time: int, call: Callable[[], None]) -> None:
        """Make `call` at `time`; it has to find out for itself whether it still matters."""
        self._count += 1
        heappush(self.heap, (time, self._count, call))

    def ring(self, now: int) -> None:
        """Make the calls that are due."""
        while self.heap and self.heap[0][0] <= now:
            heappop(self.heap)[2]()
