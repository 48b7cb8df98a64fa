"""When waiting jobs of a twin start and end, and what another request would change: from copies that live on.

In a copy jobs run as the site's own have run, and others come as they came (`slurmsim.live.waiting.interval`). Copy
number k draws the same with and without a change of the request, so that what differs is the change's doing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from slurmsim.duration import format_duration
from slurmsim.live.waiting.interval import COPIES, ENOUGH, HIGH, LEAST_COPIES, LOW, Draws, at_level, start_in_copy
from slurmsim.live.waiting.misjudged import factors
from slurmsim.live.waiting.onlooker import Onlooker
from slurmsim.live.waiting.past import Known
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.engine.engine import Engine

LEVELS = {"low80": LOW, "low50": 0.22, "median": 0.5, "high50": 0.78, "high80": HIGH}
"""Levels among the copies; wider than their shares, because the past is not the future (docs/why.md)."""
SURE = 0.8  # share of copies in which a change has to help before it is advised
LEAST_GAIN_S = 60
MOST_S, MOST_ADVICE_S = 30.0, 20.0
NEVER = float("inf")
Change = dict[str, Any]


class Forecaster:
    """Forecasts of one cluster as it is now, with a past to draw from."""

    def __init__(self, onlooker: Onlooker, past: Sequence[Known]) -> None:
        self._onlooker, self._past, self._wrong = onlooker, past, factors(past)

    @property
    def knows_enough(self) -> bool:
        """True if enough jobs have ended to draw from."""
        return sum(job.used is not None for job in self._past) >= ENOUGH

    def forecast(self, live: LiveJob, copies: int = COPIES) -> dict[str, Any]:
        """Return the levels of start and end of `live`, which waits; None where they lie beyond two weeks."""
        starts = list(self._lives(live, copies, {}))
        ends = [self._end(live, number, start) for number, start in enumerate(starts)]
        return {"copies": len(starts), "start": _levels(starts), "end": _levels(ends)}

    def advice(self, live: LiveJob, copies: int = LEAST_COPIES) -> Iterator[dict[str, Any]]:
        """Yield each change of the request with how much sooner it starts: ``option``, ``sooner_s``, ``share``, ``n``.

        `sooner_s` is the median over the copies, and `share` that of the copies in which it starts sooner.
        """
        before = list(self._lives(live, copies, {}))
        began = time.monotonic()
        for option, change in changes(self._onlooker.engine, live):
            if time.monotonic() - began > MOST_ADVICE_S:
                return
            after = list(self._lives(live, len(before), change))
            gained = [_gain(a, b) for a, b in zip(before, after, strict=False)]
            if gained:
                share = sum(one >= LEAST_GAIN_S for one in gained) / len(gained)
                yield {"option": option, "sooner_s": int(sorted(gained)[len(gained) // 2]), "share": share,
                       "n": len(gained)}  # fmt: skip

    def _lives(self, live: LiveJob, copies: int, change: Change) -> Iterator[float]:
        """Yield when the job starts in each copy; infinity for not within two weeks."""
        began = time.monotonic()
        for number in range(copies):
            if number >= LEAST_COPIES and time.monotonic() - began > MOST_S:
                return
            rng, fork = self._rng(live, number), self._onlooker.fork()
            if change and not _changed(fork, live, change):
                return
            yield start_in_copy(fork, live.core.id, Draws(rng, self._past, self._wrong), self._past, rng)

    def _rng(self, live: LiveJob, number: int) -> Random:
        return Random(f"{live.core.id}:{number}")

    def _end(self, live: LiveJob, number: int, start: float) -> float:
        rng = self._rng(live, number)
        draws = Draws(rng, self._past, self._wrong)
        return start + draws.seconds(live.person.name, int(live.core.time_limit_s)) if start < NEVER else NEVER


def changes(engine: Engine, live: LiveJob) -> Iterator[tuple[str, Change]]:
    """Yield what the owner of a waiting job may change of it by himself, as the option and the update."""
    core, state = live.core, engine.controller.state
    minutes = int(core.time_limit_s // 60)
    shorter = minutes * 4 // 5
    if 0 < shorter < minutes:
        yield f"--time={format_duration(shorter * 60)}", {"time_limit": shorter}
    nodes = int(core.requests[0].min_nodes)
    if nodes > 1:
        cpus = max(1, int(core.request.min_cpus) // 2)
        half = {"min_nodes": nodes // 2, "max_nodes": nodes // 2, "min_cpus": cpus, "num_tasks": cpus}
        yield f"--nodes={nodes // 2}", half
    for partition in state.partitions:
        fits = partition.spec.max_time_s is None or partition.spec.max_time_s >= core.time_limit_s
        if partition not in core.partitions and partition.state == "UP" and fits:
            yield f"--partition={partition.name}", {"partition": partition.name}


def _changed(fork: Engine, live: LiveJob, change: Change) -> bool:
    """Change the job in the copy as its owner would; return False if slurmctld refuses it."""
    name = str(live.id) if live.array is None else f"{live.array.id}_{live.task}"
    try:
        fork.execute(fork.now, "update_job", {"job_id": name, "job": change}, live.person)
    except Refusal:
        return False
    return live.core.id in fork.jobs


def _gain(before: float, after: float) -> float:
    if before == after:
        return 0.0
    longest = 14 * 86_400.0
    return min(max(min(before, 1e12) - min(after, 1e12), -longest), longest)


def _levels(found: Sequence[float]) -> dict[str, int | None]:
    ordered = sorted(found)
    values = {name: at_level(ordered, level) for name, level in LEVELS.items()}
    return {name: None if value == NEVER else int(value) for name, value in values.items()}
