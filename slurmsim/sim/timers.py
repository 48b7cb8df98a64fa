"""What happens at a time of its own, told to SimPy as little as it asks of an event.

Timers are most of the events in a run. A `simpy.Timeout` costs a microsecond more: it is made, filled and put into the
queue in Python, and its value is read there. The time and the next event are read at every event, too. SimPy's ways to
read them are Python functions, so they are not used here.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from itertools import count
from typing import Any, Final

NORMAL: Final = 1
TURN: Final = 2
"""SimPy's priorities: of most events; of the controller's turn, after everything else of an instant (URGENT is 0)."""


class Timer:
    """Stands for a SimPy event that has succeeded: its time is set when it is made."""

    def __init__(self, callbacks: list[Callable[[Any], None]], value: Any) -> None:
        # the functions it calls, with itself; None once it has
        self.callbacks: list[Callable[[Any], None]] | None = callbacks
        self.value = value  # the value that they read
        self._ok = True

    @property
    def _value(self) -> Any:
        """As SimPy's own events have it."""
        return self.value


class Timers:
    """The timers of one SimPy environment, and its clock."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self._queue: list[Any] = env._queue
        self._numbers: Any = env._eid

    def after(self, delay: int, call: Callable[[Any], None], value: Any = None, priority: int = NORMAL) -> None:
        """Have `call` called in `delay` seconds, with a timer of that value. Raises ValueError for the past."""
        self.tell(delay, [call], value, priority)

    def tell(self, delay: int, calls: list[Callable[[Any], None]], value: Any, priority: int = NORMAL) -> None:
        """Set a timer as `after` does; a caller with many timers may use the list `calls` again for the next one."""
        if delay < 0:
            raise ValueError(f"a timer for {-delay} seconds ago")
        heappush(self._queue, (self.env._now + delay, priority, next(self._numbers), Timer(calls, value)))

    def count_from(self, following: int) -> None:
        """Give the next event the number `following`."""
        self._numbers = self.env._eid = count(following)

    @property
    def now(self) -> int:
        """What time it is, whole seconds."""
        return int(self.env._now)

    @property
    def nothing_else(self) -> bool:
        """True if nothing else is to happen at this instant."""
        queue = self._queue
        return not queue or bool(queue[0][0] > self.env._now)
