"""First come, first served: nobody overtakes."""

from __future__ import annotations

from policy_cases import LATE, Row, check, compare, world_of
from world import HEAD, World


def two_partitions(left: str, right: str) -> str:
    """slurm.conf of four nodes in two partitions."""
    return f"{HEAD}NodeName=n[1-4]\nPartitionName=left Nodes={left} Default=YES\nPartitionName=right Nodes={right}\n"


def test_the_first_that_does_not_fit_blocks_all_behind_it() -> None:
    check("fcfs", [
        Row("a", 0, 3, 100, 100, 0),
        Row("b", 1, 2, 100, 100, 100),  # one node is free, two are needed
        Row("c", 2, 1, 10, 10, 100),  # would fit at 2, but b is before it
        Row("d", 3, 1, 10, 10, 100),  # b, c and d fill the machine
        Row("e", 4, 1, 10, 10, 110),  # the fifth node does not exist
    ])  # fmt: skip


def test_all_facts_of_an_instant_come_before_the_pass() -> None:
    check("fcfs", [
        Row("a", 0, 4, 100, 100, 0),
        Row("b", 100, 4, 100, 100, 100),  # arrives in the second in which a ends
    ])  # fmt: skip


def test_the_limit_ends_a_job_to_the_second() -> None:
    world = check("fcfs", [
        Row("a", 0, 4, 70, 500, 0),
        Row("b", 1, 4, 10, 10, 70),
    ])  # fmt: skip
    assert world.state("a") == "TIMEOUT"


def test_a_cancelled_head_blocks_no_longer() -> None:
    rows = [
        Row("a", 0, 3, 100, 100, 0),
        Row("b", 1, 2, 100, 100, None),
        Row("c", 2, 1, 10, 10, 50),  # starts when b is cancelled
    ]
    world = world_of("fcfs", rows)
    world.scancel("b", at=50)
    world.until(LATE)
    compare(world, rows)


def test_equal_submit_times_go_by_job_id_and_priority_goes_before_both() -> None:
    world = World(f"{HEAD}NodeName=n1\nPartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED\n", "fcfs")
    for line in ("-J a --priority=5", "-J b --priority=5", "-J c --priority=9"):
        world.sbatch(line, 10)
    world.until(LATE)
    assert world.starts("a b c") == {"a": 10, "b": 20, "c": 0}


def test_partitions_that_share_no_node_do_not_block_each_other() -> None:
    world = World(two_partitions("n[1-2]", "n[3-4]"), "fcfs")
    for line in ("-J a -p left -N2", "-J b -p left -N2", "-J c -p right -N1"):
        world.sbatch(line + " -t 10", 100)
    world.until(LATE)
    assert world.starts("a b c") == {"a": 0, "b": 100, "c": 0}


def test_partitions_that_share_a_node_do() -> None:
    world = World(two_partitions("n[1-3]", "n[3-4]"), "fcfs")
    for line in ("-J a -p left -N3", "-J b -p left -N2", "-J c -p right -N1"):
        world.sbatch(line + " -t 10", 100)
    world.until(LATE)
    assert world.starts("a b c") == {"a": 0, "b": 100, "c": 100}
