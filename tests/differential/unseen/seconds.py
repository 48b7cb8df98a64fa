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


NEW_PROCESS_S = 1.0
"""How long `scontrol reconfigure` takes at most until a new slurmctld is up, since 24.11."""


LOOP_S = 1.2  # the longest that the loop of slurmctld lets a submission wait, with what it does itself


def late(recording: dict[str, Any]) -> Callable[[float], bool]:
    """Return whether a command came when slurmctld's loop had gone round since the last whole second of backfill.

    Seconds begin with backfill's cycles (`sooner`), and once in each the loop starts jobs. What comes behind it waits
    for the next round: a cycle of backfill that is due sees it first. The loop goes round at whole seconds since 24.11.
    """
    events = recording.get("events", [])
    cycles = [at for at, what, _ in events if what in ("cycle", "backfill")]
    rounds = _rounds(events) if str(recording["slurm"]).startswith("22.05") else [0.0]
    if not cycles or not rounds:
        return lambda at: False

    def found(at: float) -> bool:
        came = at + ON_ITS_WAY_S
        cycle = cycles[max(bisect_right(cycles, came) - 1, 0)]
        loop = min(rounds, key=lambda one: abs(one - came))
        return (came - cycle) % 1 > (loop - cycle) % 1

    return found


def _rounds(events: list[list[Any]]) -> list[float]:
    """Return when the loop started a job that had just been submitted."""
    submitted = {job: at for at, what, job in events if what == "submit"}
    return [at for at, what, job in events if what == "main" and 0 <= at - submitted.get(job, -LOOP_S) < LOOP_S]


def sooner(recording: dict[str, Any], up_s: int) -> Callable[[float], float]:
    """How much sooner than a command was begun our cluster, up for `up_s` by then, is to be asked it.

    slurmctld's loops sleep for whole seconds from when they began, and take a while: a second begins here with the last
    cycle of backfill before the command, of which the log tells, or else with the first it tells a start of. Where a
    new slurmctld is up soon after a command (reconfigure), seconds begin with that one's cycles already.
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

    told = [step["t"] for step in recording.get("steps", ()) if step.get("cmd", "").startswith("scontrol reconf")]
    anew = [when for when, what, _ in events if what == "up"][1:]

    def found(at: float) -> float:
        new = next((when for when in anew if at in told and at < when < at + NEW_PROCESS_S), None)
        after = bisect_right(cycles, new) if new is not None else len(cycles)
        if new is not None and after < len(cycles):
            return float(up + up_s + late[after] - 2 * FIRST_CYCLE_S - (new - at))
        last = max(bisect_right(cycles, at + ON_ITS_WAY_S) - 1, 0)
        return float(up + up_s + late[last] - ON_ITS_WAY_S)

    return found
