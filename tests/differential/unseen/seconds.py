"""Where slurmctld's seconds begin in a recorded session, as its log says."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import Any

ON_ITS_WAY_S = 0.008
"""From when a command was begun to slurmctld's line about it: the median of 680 submissions."""
FIRST_CYCLE_S = 0.02
"""After slurmctld was up, in its second, where nothing tells of cycles: 0.004 to 0.03 in three logs of 26.05.5."""


def sooner(recording: dict[str, Any], up_s: int) -> Callable[[float], float]:
    """How much sooner than a command was begun our cluster, up for `up_s` by then, is to be asked it.

    slurmctld's loops sleep for whole seconds from when they began, and take a while: a second begins here with the last
    cycle of backfill before the command, of which the log tells, or else with the first it tells a start of.
    """
    events = recording.get("events", [])
    up = next((at for at, what, _ in events if what == "up"), None)
    if up is None:
        return lambda at: 0.0
    starts = [at for at, what, _ in events if what == "backfill"][:1]
    cycles = [at for at, what, _ in events if what == "cycle"] or starts or [up + FIRST_CYCLE_S]
    late = [(cycles[0] - up) % 1]
    for before, after in pairwise(cycles):  # what each takes adds up, over a whole second as well
        late.append(late[-1] + (after - before + 0.5) % 1 - 0.5)

    def found(at: float) -> float:
        last = max(bisect_right(cycles, at + ON_ITS_WAY_S) - 1, 0)
        return float(up + up_s + late[last] - ON_ITS_WAY_S)

    return found
