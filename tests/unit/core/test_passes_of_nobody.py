"""Passes and cycles that find nobody waiting: they do nothing, but the next one counts from them."""

from __future__ import annotations

from unit.core.world import World, simple


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
