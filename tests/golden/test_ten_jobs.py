"""Ten jobs on ten one-CPU nodes through every policy; each start reasoned by hand."""

from __future__ import annotations

import pytest
from unit.core.world import World, simple

# name, submit s, nodes, limit min, run s (a and f end before their limits)
JOBS = (
    ("a", 10, 6, 10, 540),
    ("b", 20, 7, 10, 600),
    ("c", 30, 4, 5, 300),
    ("d", 40, 2, 20, 1200),
    ("e", 50, 10, 5, 300),
    ("f", 60, 2, 4, 120),
    ("g", 70, 4, 5, 300),
    ("h", 80, 1, 60, 3600),
    ("i", 90, 3, 2, 120),
    ("k", 100, 5, 10, 600),
)

STRICT = {
    "a": 10,
    "b": 550,  # a ends
    "c": 1150,  # b ends: 3 nodes were free, c needs 4 and all behind it wait
    "d": 1150,
    "e": 2350,  # needs all: d ends
    "f": 2650,  # e ends: f, g, h, i fill the ten nodes
    "g": 2650,
    "h": 2650,
    "i": 2650,
    "k": 2770,  # f and i end: five nodes
}
EASY = {
    "a": 10,
    "b": 550,  # shadow 610 (a's limit), extra 3
    "c": 30,  # gone by 330
    "d": 330,  # c ends; too long, but two of the three extra nodes
    "e": 4050,  # h, started on an extra node of b's shadow, holds one of the ten
    "f": 330,  # gone by 570
    "g": 1150,  # b ends; e's shadow is 4050
    "h": 450,  # f ends early; the last extra node
    "i": 1150,
    "k": 1450,  # g ends
}
PLANNED = {
    "a": 10,
    "b": 550,  # planned 610, moved when a ends early
    "c": 30,
    "d": 330,  # beside b, planned 610 to 1210 on seven nodes
    "e": 1530,  # planned when d's limit ends; nobody may delay it
    "f": 330,
    "g": 1150,  # b ends; gone by 1450
    "h": 1830,  # an hour on one node would delay e
    "i": 1150,
    "k": 1830,  # 1450 + 600 s would delay e
}


@pytest.mark.parametrize(
    ("policy", "starts"),
    [("fcfs", STRICT), ("builtin", STRICT), ("easy", EASY), ("conservative", PLANNED), ("backfill", PLANNED)],
)
def test_ten_jobs(policy: str, starts: dict[str, int]) -> None:
    # Slurm's backfill at its finest: a cycle a second, plans to the second
    w = World(simple(10, more="SchedulerParameters=bf_interval=1,bf_resolution=1"), policy)
    for name, submit, nodes, limit, run in JOBS:
        w.sbatch(f"-J {name} -N{nodes} -t {limit}", run, at=submit)
    w.until(20_000)
    assert w.starts(" ".join(starts)) == starts
    assert {w.state(name) for name in starts} == {"COMPLETED"}


def test_backfill_says_who_started_whom() -> None:
    w = World(simple(10, more="SchedulerParameters=bf_interval=1,bf_resolution=1"), "backfill")
    for name, submit, nodes, limit, run in JOBS:
        w.sbatch(f"-J {name} -N{nodes} -t {limit}", run, at=submit)
    w.until(20_000)
    assert {name: w[name].scheduler for name, *_ in JOBS} == {
        "a": "Main", "b": "Main", "c": "Backfill", "d": "Backfill", "e": "Main", "f": "Backfill", "g": "Backfill",
        "h": "Main", "i": "Backfill", "k": "Main",
    }  # fmt: skip
    assert w.controller.life_cycle.backfilled == 5
