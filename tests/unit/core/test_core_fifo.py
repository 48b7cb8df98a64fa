"""sched/builtin with priority/basic and one tier: slurmctld walks its job table, whatever the priorities say."""

from __future__ import annotations

from world import World, simple

BASIC = "SchedulerType=sched/builtin\nPriorityType=priority/basic\n"


def test_nice_does_not_change_the_order() -> None:
    w = World(simple(1, more=BASIC), "builtin")
    w.sbatch("-J running -N1 -t 10", run=100)
    w.sbatch("-J nice -N1 -t 10 --nice 1000", run=100, at=5)
    w.sbatch("-J later -N1 -t 10", run=100, at=6)
    w.until(1000)
    assert w.start("nice") < w.start("later")  # type: ignore[operator]


def test_nice_counts_where_the_queue_is_sorted() -> None:
    tiers = simple(1, more=BASIC) + "PartitionName=other Nodes=ALL PriorityTier=2 MaxTime=UNLIMITED\n"
    w = World(tiers, "builtin")
    w.sbatch("-J running -N1 -t 10", run=100)
    w.sbatch("-J nice -N1 -t 10 --nice 1000", run=100, at=5)
    w.sbatch("-J later -N1 -t 10", run=100, at=6)
    w.until(1000)
    assert w.start("later") < w.start("nice")  # type: ignore[operator]


def test_who_may_start_since_a_start_of_this_pass_has_its_turn_in_it() -> None:
    """``after:ID`` is met by the start of ID; the walk comes to the dependent job only then."""
    w = World(simple(2, more=BASIC), "builtin")
    w.sbatch("-J running -N2 -t 10", run=100)
    first = w.sbatch("-J first -N1 -t 10", run=50, at=5)
    w.sbatch(f"-J second -N1 -t 10 -d after:{first}", run=50, at=6)
    w.until(1000)
    assert w.start("first") == w.start("second") == 103
