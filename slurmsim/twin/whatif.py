"""The time to come with and without a change: who waits longer, by account.

Copies of the twin live on in pairs, one with the change. Both of a pair draw the same run times and arrivals
(`slurmsim.live.waiting.interval`), so that what differs between them is the change's doing. A job that does not start
counts with the time it has waited by the end.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from random import Random
from statistics import mean, median
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.live.waiting.interval import Draws, arrivals, let_run, submit_again
from slurmsim.live.waiting.misjudged import factors
from slurmsim.live.waiting.onlooker import Onlooker
from slurmsim.live.waiting.past import Known
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.states import JobState
from slurmsim.twin.changes import Changes, carry_out

PAIRS, LEAST_PAIRS, MOST_S = 8, 3, 120.0
ALL = "all"
LEAST_S = 1.0  # by which a mean wait has to differ to count as longer
Waits = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Answer:
    """Of each account and of all: jobs a copy, mean wait now and then in the median copy, copies in which it grows."""

    pairs: int
    rows: tuple[tuple[str, float, float, float, int], ...]

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the rows with names."""
        names = ("account", "jobs", "wait_s", "changed_wait_s", "longer_in")
        return [dict(zip(names, row, strict=True)) for row in self.rows]


def compare(
    before: Onlooker, after: Onlooker, changes: Changes, past: Sequence[Known], seconds: int, seed: int = 0
) -> Answer:
    """Return what `changes` do within `seconds`; `after` has their settings already. Raises ConfigError."""
    wrong = factors(past)
    began = time.monotonic()
    found: list[tuple[Waits, Waits]] = []
    for number in range(PAIRS):
        if number >= LEAST_PAIRS and time.monotonic() - began > MOST_S:
            break
        pair = []
        for onlooker, change in ((before, Changes()), (after, changes)):
            fork, rng = onlooker.fork(), Random(f"{seed}:{number}")
            carry_out(fork, change)
            pair.append(_waits(fork, past, wrong, rng, seconds))
        found.append((pair[0], pair[1]))
    accounts = sorted({account for pair in found for waits in pair for account in waits})
    rows = [_row(account, found) for account in (ALL, *accounts)]
    return Answer(len(found), tuple(sorted(rows, key=lambda row: (row[0] != ALL, row[2] - row[3]))))


def _row(account: str, found: Sequence[tuple[Waits, Waits]]) -> tuple[str, float, float, float, int]:
    pairs = [(_of(account, before), _of(account, after)) for before, after in found]
    now, then = ([mean(one) if one else 0.0 for one in side] for side in zip(*pairs, strict=True))
    longer = sum(b - a >= LEAST_S for a, b in zip(now, then, strict=True))
    jobs = mean(len(before) for before, _ in pairs)
    return account, round(jobs, 1), round(median(now), 1), round(median(then), 1), longer


def _of(account: str, waits: Waits) -> list[int]:
    return [one for some in waits.values() for one in some] if account == ALL else waits.get(account, [])


def _waits(fork: Engine, past: Sequence[Known], wrong: Sequence[float], rng: Random, seconds: int) -> Waits:
    """Let the copy live on; return the waits of the jobs that were there or came, by account."""
    draws, began = Draws(rng, past, wrong), fork.now
    for live in list(fork.jobs.values()):
        let_run(fork, live, draws)
    mine = {core_id: (live.core.account or "", began, int(live.core.submit_time)) for core_id, live in fork.jobs.items()
            if live.core.state == JobState.PENDING}  # fmt: skip
    fork.network.decided.clear()
    for at, job in arrivals(past, began, rng):
        if at > began + seconds:
            break
        fork.network.advance(at)
        there = set(fork.jobs)
        submit_again(fork, job, draws)
        mine |= dict.fromkeys(fork.jobs.keys() - there, (job.account, at, at))
    fork.network.advance(began + seconds)
    started = {decision[2]: int(decision[0]) for decision in reversed(fork.network.decided) if decision[1] == "start"}
    found: Waits = {}
    for core_id, (account, since, _) in mine.items():
        found.setdefault(account, []).append(started.get(core_id, began + seconds) - since)
    return found
