"""Make a wild world small: leave out jobs, lines, words, events, options as long as the finding stays.

Delta debugging (Zeller and Hildebrandt, IEEE TSE 28(2), 2002): ever smaller parts of each list are left out, until none
can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from wild.world import World

T = TypeVar("T")
Holds = Callable[[World], bool]
LISTS = ("jobs", "conf", "events", "reservations", "accounts", "topology", "watts")
KEPT = ("job_id", "submit")  # columns that every job has


def shrink(world: World, holds: Holds, most: int = 1500) -> World:
    """The smallest world found in `most` trials for which `holds` is still true.

    `holds` is asked only of worlds with jobs. Worlds it is false for are forgotten.
    """
    trials = 0

    def still(other: World) -> bool:
        nonlocal trials
        trials += 1
        return trials <= most and bool(other.jobs) and holds(other)

    before = None
    while before != world and trials < most:
        before = world
        for name in LISTS:

            def less(rest: Sequence[Any], world: World = world, name: str = name) -> World:
                return replace(world, **{name: tuple(rest)})

            world = less(_fewest(list(getattr(world, name)), lambda rest, less=less: still(less(rest))))
        for other in _simpler(world):
            if still(other(world)):
                world = other(world)
    return world


def _fewest(items: list[T], holds: Callable[[Sequence[T]], bool]) -> list[T]:
    """Leave out runs of items, half of them first, then ever shorter ones."""
    size = len(items)
    while size:
        at = 0
        while at < len(items):
            rest = items[:at] + items[at + size :]
            if holds(rest):
                items = rest
            else:
                at += size
        size = size // 2 if size > 1 else 0
    return items


def _simpler(world: World) -> Iterator[Callable[[World], World]]:
    """Ways to make what is left say less: no option, no word of a line, no cell of a job, another release."""
    for key in world.options:
        yield lambda w, key=key: replace(w, options={k: v for k, v in w.options.items() if k != key})
    if world.release != "22.05":
        yield lambda w: replace(w, release="22.05")
    if world.policy.partition(":")[1]:
        yield lambda w: replace(w, options={**w.options, "policy": w.policy.partition(":")[0]})
    for at, line in enumerate(world.conf):
        for word in line.split()[1:]:
            yield lambda w, at=at, word=word: replace(w, conf=_without_word(w.conf, at, word))
        if line.startswith("SchedulerParameters="):
            for word in line.partition("=")[2].split(","):
                yield lambda w, at=at, word=word: replace(w, conf=_without_parameter(w.conf, at, word))
    for at, job in enumerate(world.jobs):
        for key in job:
            if key not in KEPT:
                yield lambda w, at=at, key=key: replace(w, jobs=_without_cell(w.jobs, at, key))


def _without_word(lines: tuple[str, ...], at: int, word: str) -> tuple[str, ...]:
    return (*lines[:at], " ".join(one for one in lines[at].split() if one != word), *lines[at + 1 :])


def _without_parameter(lines: tuple[str, ...], at: int, word: str) -> tuple[str, ...]:
    key, _, text = lines[at].partition("=")
    rest = ",".join(one for one in text.split(",") if one != word)
    return (*lines[:at], f"{key}={rest}", *lines[at + 1 :]) if rest else lines


def _without_cell(jobs: tuple[Any, ...], at: int, key: str) -> tuple[Any, ...]:
    return (*jobs[:at], {name: value for name, value in jobs[at].items() if name != key}, *jobs[at + 1 :])
