"""Things to do at given times, for rules that have a clock of their own."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any


class Timers:
    """Calls to make, by time; calls of one time are made in the order in which they were set.

    A call is a method and its arguments, never a closure, so that what waits can be written down.
    """

    __slots__ = ("_count", "heap")

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0

    def set(self, time: int, call: Callable[..., None], *arguments: Any) -> None:
        """Make `call` with `arguments` at `time`; it has to find out for itself whether it still matters."""
        self._count += 1
        heappush(self.heap, (time, self._count, call, arguments))

    def ring(self, now: int) -> None:
        """Make the calls that are due."""
        while self.heap and self.heap[0][0] <= now:
            _, _, call, arguments = heappop(self.heap)
            call(*arguments)
