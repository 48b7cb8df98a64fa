"""Maintenance windows: long jobs wait for their end, short ones still fit before, nothing starts inside."""

from __future__ import annotations

import pytest
from world import World, simple

from slurmsim.core.records.messages import Maintain

# Four nodes; n[1-2] are in maintenance over [1000, 2000).
POLICIES = ("backfill", "builtin", "easy", "conservative", "fcfs")


def world(policy: str) -> World:
    w = World(simple(4), policy)
    w.tell(Maintain(("n1", "n2"), 1000, 2000))
    return w


@pytest.mark.parametrize("policy", POLICIES)
def test_a_long_job_waits_and_a_short_one_does_not(policy: str) -> None:
    w = world(policy)
    w.sbatch("-J short -N4 --exclusive -t 10", run=300, at=10)  # ends by 610 + scan at the latest: starts at once
    w.sbatch("-J long -N4 --exclusive -t 30", run=300, at=400)  # would reach into the window: after it
    w.until(10_000)
    assert w.start("short") < 100
    assert w.start("long") >= 2000


@pytest.mark.parametrize("policy", POLICIES)
def test_other_nodes_go_on(policy: str) -> None:
    w = world(policy)
    w.sbatch("-J other -N2 --exclusive -t 60", run=600, at=900)
    w.until(10_000)
    assert w.start("other") < 1000
    assert w.nodes("other") == "n[3-4]"


@pytest.mark.parametrize("policy", POLICIES)
def test_a_job_that_was_there_first_runs_on(policy: str) -> None:
    w = World(simple(2), policy)
    w.sbatch("-J first -N2 --exclusive -t 60", run=3000, at=0)
    w.tell(Maintain(("n1", "n2"), 1000, 2000), at=500)
    w.until(10_000)
    assert w["first"].end_time == w["first"].start_time + 3000


@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_starts_inside(policy: str) -> None:
    w = world(policy)
    for k in range(6):
        w.sbatch(f"-J j{k} -N1 --exclusive -t 5", run=250, at=950 + 100 * k)
    w.until(20_000)
    for k in range(6):
        if w.nodes(f"j{k}") in ("n1", "n2"):
            assert not 700 < w.start(f"j{k}") < 2000
