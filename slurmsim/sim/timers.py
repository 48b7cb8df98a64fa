"""What happens at a time of its own, told to SimPy as little as it asks of an event.

Timers are most of what happens in a run. A `simpy.Timeout` costs a microsecond more: it is made, filled and put into
the queue in Python, and asked for its value there. `time_of` and `nothing_else` are asked at every event, too, and so
do not ask SimPy, whose answers are Python functions.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from typing import Any

NORMAL, TURN = 1, 2
"""SimPy's priorities: of most events; of the controller's turn, after everything else of an instant (URGENT is 0)."""


class Timer:
    """Stands for a SimPy event that has succeeded: its time is set when it is made.

    Attributes
    ----------
    callbacks
        Whom it calls, with itself; None once it has.
    value
        What it tells them.
    """

    def __init__(self, callbacks: list[Callable[[Any], None]], value: Any) -> None:
        self.callbacks: list[Callable[[Any], None]] | None = callbacks
        self.value = value
        self._ok = True

    @property
    def _value(self) -> Any:
        """As SimPy's own events have it."""
        return self.value


def after(env: Any, delay: int, call: Callable[[Any], None], value: Any = None, priority: int = NORMAL) -> None:
    """Have `call` called in `delay` seconds of `env`, with a timer of that value. Raises ValueError for the past."""
    if delay < 0:
        raise ValueError(f"a timer for {-delay} seconds ago")
    heappush(env._queue, (env._now + delay, priority, next(env._eid), Timer([call], value)))


def time_of(env: Any) -> int:
    """What time it is in `env`, whole seconds."""
    return int(env._now)


def nothing_else(env: Any) -> bool:
    """Whether nothing else is to happen at this instant."""
    queue: list[Any] = env._queue
    return not queue or bool(queue[0][0] > env._now)
