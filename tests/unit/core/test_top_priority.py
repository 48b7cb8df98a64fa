"""What a submission shows at once: Priority behind another job, None in front; arrays are not asked before a pass."""

from __future__ import annotations

import pytest
from unit.core.world import World, simple

TWO = "PartitionName=far Nodes=n4 MaxTime=UNLIMITED\n"


def waiting(partition: str, priority: int) -> World:
    """A job that waits in `partition` with a priority, and one of priority 50 that comes into main at 20."""
    w = World(simple() + TWO, "backfill")
    w.controller.state.triggers.ticks = True  # its submission is seen before the pass that follows
    w.sbatch("-J full -N4 --exclusive -t 60 --priority 70", 900, at=3)
    w.sbatch(f"-J other -p {partition} -N1 --exclusive -t 60 --priority {priority}", 60, at=8)
    w.until(19)
    w.sbatch("-J mine -N1 --exclusive -t 60 --priority 50", 60, at=20)
    w.until(20)
    return w


@pytest.mark.parametrize(("partition", "priority", "reason"), [
    ("main", 60, "Priority"), ("main", 50, "None"), ("main", 40, "None"),
    ("far", 60, "Priority"),  # wherever it waits
])  # fmt: skip
def test_who_is_before_a_new_job(partition: str, priority: int, reason: str) -> None:
    w = waiting(partition, priority)
    assert w.state("other") == "PENDING" and w.reason("mine") == reason


def test_in_order_of_creation_a_later_job_may_be_before() -> None:
    w = World(simple(), "builtin")
    assert w.controller.state.queue.fifo
    w.controller.state.triggers.ticks = True
    w.sbatch("-J full -N4 --exclusive -t 60", 900, at=3)
    w.sbatch("-J low -N1 --exclusive -t 60 --priority 5", 60, at=8)
    w.sbatch("-J high -N1 --exclusive -t 60 --priority 60", 60, at=9)
    w.until(19)
    w.sbatch("-J mine -N1 --exclusive -t 60 --priority 50", 60, at=20)
    w.until(20)
    assert w.reason("mine") == "Priority"


def test_who_is_kept_by_a_limit_is_before_nobody() -> None:
    w = World(simple(partition="MaxNodes=2") + TWO, "backfill")
    w.controller.state.triggers.ticks = True
    w.sbatch("-J wide -N3 --exclusive -t 60 --priority 60", 60, at=3)
    w.until(19)
    assert w.reason("wide") == "PartitionNodeLimit"
    w.sbatch("-J mine -N1 --exclusive -t 60 --priority 50", 60, at=20)
    w.until(20)
    assert w.reason("mine") == "None"


def test_an_array_is_eligible_when_the_first_pass_has_asked() -> None:
    w = World(simple(), "backfill")
    w.controller.state.triggers.ticks = True
    w.sbatch("-J full -N4 --exclusive -t 60", 900, at=3)
    w.sbatch("-J arr -a 1-2 -N1 -t 5", 5, at=10)
    w.sbatch("-J one -N1 -t 5", 5, at=10)
    w.until(10)
    asked = w.controller.state.queue.unasked
    assert [w[name].id in asked for name in ("arr_1", "arr_2", "one")] == [True, True, False]
    assert w.reason("arr_1") == "None"
    w.until(12)
    assert not w.controller.state.queue.unasked
    assert [w[name].eligible_time for name in ("arr_1", "arr_2", "one")] == [11, 11, 10]


def test_the_columns_of_the_queue_know_when_an_array_was_asked() -> None:
    w = World(simple(more="PriorityType=priority/multifactor\nPriorityWeightAge=1000"), "backfill")
    w.controller.state.triggers.ticks = True
    w.sbatch("-J full -N4 --exclusive -t 60", 900, at=3)
    w.sbatch("-J arr -a 1-2 -N1 -t 5", 5, at=10)
    w.until(100)
    assert w.state("arr_1") == "PENDING"
    w.controller.recalculation.check()


TIERS = "PartitionName=high Nodes=n[1-2] PriorityTier=9\nPartitionName=low Nodes=ALL PriorityTier=0\n"
TIERS += "PartitionName=apart Nodes=n4\nPartitionName=here Nodes=n[1-3]\n"


@pytest.mark.parametrize(("waits", "comes", "says"), [
    ("main", "high", ["Priority", "None", "None"]),  # its tier is the higher one
    ("low", "main", ["Priority", "None", "None"]),
    ("high", "main", ["Priority", "Priority", "Priority"]),
    ("apart", "here", ["Priority", "None", "None"]),  # no node is in both
    ("main,low", "main", ["Priority", "Priority", "Priority"]),  # the highest of its tiers
    ("main", "high,main", ["Priority", "Priority", "Priority"]),  # the lowest
])  # fmt: skip
def test_tiers_of_partitions_since_24_11(waits: str, comes: str, says: list[str]) -> None:
    found = []
    for release in ("22.05", "24.11", "26.05"):
        w = World(simple() + TIERS, "backfill", release=release)
        w.controller.state.triggers.ticks = True
        w.sbatch("-J full -N4 --exclusive -t 60 --priority 90", 900, at=3)
        w.sbatch(f"-J other -p {waits} -N1 --exclusive -t 60 --priority 60", 60, at=8)
        w.until(19)
        w.sbatch(f"-J mine -p {comes} -N1 --exclusive -t 60 --priority 50", 60, at=20)
        w.until(20)
        found.append(w.reason("mine"))
    assert found == says


def test_of_equal_priority_the_earlier_is_before_since_24_11() -> None:
    for release, reason in (("22.05", "None"), ("24.11", "Priority")):
        w = World(simple(), "backfill", release=release)
        w.controller.state.triggers.ticks = True
        w.sbatch("-J full -N4 --exclusive -t 60 --priority 70", 900, at=3)
        w.sbatch("-J other -N1 -t 60 --priority 50", 60, at=8)
        w.until(19)
        w.sbatch("-J mine -N1 -t 60 --priority 50", 60, at=20)
        w.until(20)
        assert w.reason("mine") == reason


def test_a_higher_tier_is_before_whatever_its_priority_since_24_11() -> None:
    for release, reason in (("22.05", "None"), ("26.05", "Priority")):
        w = World(simple() + TIERS, "backfill", release=release)
        w.controller.state.triggers.ticks = True
        w.sbatch("-J full -N4 --exclusive -t 60 --priority 70", 900, at=3)
        w.sbatch("-J other -p high -N1 -t 60 --priority 5", 60, at=8)
        w.until(19)
        w.sbatch("-J mine -N1 -t 60 --priority 50", 60, at=20)
        w.until(20)
        assert w.reason("mine") == reason
