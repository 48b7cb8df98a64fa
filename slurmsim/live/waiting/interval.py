"""When a waiting job starts in truth: an 80 % interval, from copies of the cluster that live on as its past has been.

In each copy every job runs for a part of its limit. The part is drawn from those of jobs that have ended, of its own
user where there are enough. All of them are longer or shorter by the error of such draws in some stretch of the past
(`slurmsim.live.waiting.misjudged`). The jobs that come meanwhile are those of a stretch of the past, drawn too. The
policy and all rules decide in the copies as they do here. Parametric forms are not needed: the site's own past is the
distribution.

The levels that are read off the copies are wider than 10 and 90 %, because the past is not the future: they were set
on one log and judged on others (docs/why.md, `benchmarks/why_interval_many.py`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from random import Random
from typing import Any

from slurmsim.live.waiting.misjudged import factors
from slurmsim.live.waiting.onlooker import Onlooker
from slurmsim.live.waiting.past import Known
from slurmsim.protocol import Refusal
from slurmsim.sim.network import Behaviour
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.states import JobState

COPIES, LEAST_COPIES, MOST_S = 20, 8, 15.0
"""Copies that are made, and how many there are at least where they take longer than so many seconds."""
ENOUGH = 20  # ended jobs, of a user or of all, that make a distribution
STRETCH = 8  # ended jobs of a user, one after the other, of which a copy draws
LOW, HIGH = 0.0625, 0.9375  # levels among the copies between which the start lies in 80 % of cases
LONGEST_S = 14 * 86_400
_LOOK_S = 600  # between two looks whether the job has started
_MOST_ARRIVALS = 5_000
_DAY_S = 86_400
_NO_LIMIT_S = 360 * 86_400


def interval(onlooker: Onlooker, live: LiveJob, past: Sequence[Known]) -> dict[str, Any] | None:
    """Return the interval for the start of `live`, which waits; None where too few jobs have ended to tell.

    Returns
    -------
    dict
        ``low``, ``high`` (seconds since the epoch; None: not within two weeks), ``copies``, ``ended`` (how many jobs
        the run times come from).
    """
    ended = sum(job.used is not None for job in past)
    if ended < ENOUGH:
        return None
    found = starts(onlooker, live, past)
    low, high = (_told(at_level(found, level)) for level in (LOW, HIGH))
    return {"low": low, "high": high, "copies": len(found), "ended": ended}


def starts(onlooker: Onlooker, live: LiveJob, past: Sequence[Known]) -> list[float]:
    """When the job starts in each copy, ascending; infinity for not within `LONGEST_S`."""
    rng = Random(live.core.id)
    found: list[float] = []
    wrong = factors(past)
    began = time.monotonic()
    while len(found) < COPIES and (len(found) < LEAST_COPIES or time.monotonic() - began < MOST_S):
        found.append(start_in_copy(onlooker.fork(), live.core.id, Draws(rng, past, wrong), past, rng))
    return sorted(found)


def at_level(starts: Sequence[float], level: float) -> float:
    """Return the start at a level among ascending ones, between two of them in proportion; infinity next to it."""
    place = level * (len(starts) - 1)
    low, high = starts[int(place)], starts[min(int(place) + 1, len(starts) - 1)]
    part = place - int(place)
    return low if part == 0 or low == high else low + part * (high - low)


def _told(start: float) -> int | None:
    return None if start == float("inf") else int(start)


class Draws:
    """Draws how long jobs run in one copy: each user's from a stretch of his past, because his jobs are alike.

    `wrong` are factors by which such draws were wrong; one of them holds for all jobs of the copy.
    """

    def __init__(self, rng: Random, past: Sequence[Known], wrong: Sequence[float]) -> None:
        self._rng = rng
        self._factor = rng.choice(wrong) if wrong else 1.0
        self._used = [job.used for job in past if job.used is not None]
        by_user: dict[str, list[float]] = {}
        for job in past:
            if job.used is not None:
                by_user.setdefault(job.user, []).append(job.used)
        self._by_user = {user: self._stretch(some) for user, some in by_user.items() if len(some) >= STRETCH}

    def _stretch(self, some: list[float]) -> list[float]:
        at = self._rng.randrange(len(some) - STRETCH + 1)
        return some[at : at + STRETCH]

    def seconds(self, user: str, limit_s: int, ran_s: int = 0) -> int:
        """Seconds a job of `user` runs from now on, which has run `ran_s` already."""
        some = self._by_user.get(user)
        if some is None:
            some = self._by_user[user] = self._stretch(self._used)
        some = [min(1.0, one * self._factor) for one in some]
        if ran_s:
            some = [one for one in some if one * limit_s > ran_s]
            if not some:
                return max(1, limit_s - ran_s)
        return max(1, round(self._rng.choice(some) * limit_s) - ran_s)


def start_in_copy(fork: Engine, core_id: int, draws: Draws, past: Sequence[Known], rng: Random) -> float:
    """When the job starts in a copy; infinity for not within `LONGEST_S`."""
    mine = fork.jobs[core_id]
    for live in list(fork.jobs.values()):
        let_run(fork, live, draws)
    began = fork.now
    for at, job in arrivals(past, began, rng):
        while fork.now + _LOOK_S < at:
            fork.network.advance(fork.now + _LOOK_S)
            if (start := _started(fork, mine)) is not None:
                return start
        fork.network.advance(at)
        if (start := _started(fork, mine)) is not None:
            return start
        submit_again(fork, job, draws)
    while fork.now < began + LONGEST_S:
        fork.network.advance(fork.now + _LOOK_S)
        if (start := _started(fork, mine)) is not None:
            return start
    return float("inf")


def _started(fork: Engine, live: LiveJob) -> float | None:
    """When it started; infinity for never, because it was cancelled meanwhile; None for not yet."""
    if live.core.start_time is not None:
        return float(live.core.start_time)
    return float("inf") if live.core.id not in fork.jobs else None


def let_run(fork: Engine, live: LiveJob, draws: Draws) -> None:
    """Let the job run as long as is drawn, from now on where it runs already."""
    core, network = live.core, fork.network
    if live.over or core.time_limit_s >= _NO_LIMIT_S:
        return
    ran = fork.now - core.start_time if core.state == JobState.RUNNING and core.start_time is not None else 0
    left = draws.seconds(live.person.name, int(core.time_limit_s), ran)
    network.behaviour[core.id] = Behaviour(ran + left, "COMPLETED", "0:0", -1)
    if core.state == JobState.RUNNING:
        network._void_timer(core)
        network._restart_timer(core, left)


def arrivals(past: Sequence[Known], now: int, rng: Random) -> list[tuple[int, Known]]:
    """Return the jobs that come: those of the past again, begun at any point and gone round.

    They come at the same time of day where the past is long enough.
    """
    known = [job for job in past if job.submit <= now][-_MOST_ARRIVALS:]
    if len(known) < ENOUGH:
        return []
    span = max(1, now - known[0].submit)
    days = span // _DAY_S
    offset = rng.randrange(days) * _DAY_S if days > 1 else rng.randrange(span)
    span = days * _DAY_S if days > 1 else span
    first = now - span
    known = [job for job in known if job.submit > first]
    return sorted(((now + (job.submit - first - offset) % span + 1, job) for job in known), key=lambda one: one[0])


def submit_again(fork: Engine, job: Known, draws: Draws) -> None:
    asked = {
        "name": "", "script": "#!/bin/sh\n", "work_dir": "/", "min_nodes": job.nodes, "num_tasks": job.cpus,
        "time_limit": job.limit_min, "partition": job.partition,
    }  # fmt: skip
    asked |= {name: value for name, value in (("account", job.account), ("qos", job.qos)) if value}
    try:
        number = int(fork.execute(fork.now, "submit", {"job": asked}, fork.people.by_name(job.user))["job_id"])
    except Refusal:
        return
    live = fork.job_table.shown(number)
    if live is not None:
        let_run(fork, live, draws)
