"""Passes and cycles that find nobody waiting: they do nothing, but the next one counts from them."""

from __future__ import annotations

import pytest
from unit.core.world import World, simple

from slurmsim.core.records.messages import NodesDown, NodesResume


def test_a_pass_over_an_empty_queue_counts() -> None:
    """Asked for by the end at 12, made at 13 (batch_sched_delay after 10): the next is at 16."""
    w = World(simple(), "builtin")
    w.sbatch("-J a -N1 -t 10", 2, at=10)
    w.sbatch("-J b -N1 -t 10", 2, at=14)
    w.until(20)
    assert w.starts("a b") == {"a": 10, "b": 16}


def test_a_full_pass_where_nothing_changed_counts() -> None:
    """It was at 60, so the loop's next is at 63."""
    w = World(simple(), "builtin")
    w.sbatch("-J late -N1 -t 10", 5, at=61)
    w.until(70)
    assert w.start("late") == 63


def test_a_cycle_of_backfill_over_an_empty_queue_counts() -> None:
    """What happened in the second of a cycle is news to the next, at 22, which finds nobody; then comes 32."""
    w = World(simple(more="SchedulerParameters=bf_interval=10,sched_interval=-1"), "backfill")
    w.sbatch("-J a -N1 -t 10", 3, at=12)
    w.sbatch("-J b -N1 -t 10", 3, at=23)
    w.until(60)
    assert w.starts("a b") == {"a": 12, "b": 32}


@pytest.mark.parametrize("parameters", ["partition_job_depth=1", "partition_job_depth=1,bf_max_job_test=1"])
def test_a_full_pass_that_is_cut_short_is_not_repeated_for_ever(parameters: str) -> None:
    """Each minute it looked at the first job again, which waits for a node that is down."""
    w = World(simple(2, more=f"SchedulerParameters={parameters}"), "backfill")
    w.tell(NodesDown(("n2",), "x"), 0)
    w.sbatch("-J first -N2 -t 10", at=10)
    w.sbatch("-J second -N2 -t 10", at=11)
    w.until(200)
    turns = len(w.told)
    w.until(100_000)
    assert len(w.told) <= turns + 1
    w.tell(NodesResume(("n2",)), 100_001)
    w.until(100_100)
    assert w.start("first") <= 100_060
