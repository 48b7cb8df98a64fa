"""sched/builtin: slurmctld's main scheduler alone. The controller starts at second 0 in all cases."""

from __future__ import annotations

from policy_cases import LATE, Row, check
from world import HEAD, World


def test_passes_come_three_seconds_apart_and_at_once_when_a_job_ends() -> None:
    check("builtin", [
        Row("a", 0, 3, 600, 600, 3),  # no pass in the first batch_sched_delay seconds
        Row("b", 1, 4, 600, 60, 603),  # the end of a brings a pass
        Row("c", 2, 1, 60, 60, 663),  # a free node, but b is before it
    ])  # fmt: skip


def test_a_lone_submission_is_seen_at_once_the_next_three_seconds_later() -> None:
    world = check("builtin", [
        Row("a", 100, 1, 60, 600, 100),
        Row("b", 101, 1, 61, 70, 103),  # 61 s are two minutes in Slurm
        Row("c", 104, 1, 60, 60, 106),
    ])  # fmt: skip
    assert (world.state("a"), world["a"].end_time) == ("TIMEOUT", 180)  # over at 160, found by the scan of 180
    assert (world.state("b"), world["b"].end_time) == ("COMPLETED", 173)


def test_it_backfills_nothing_and_says_who_started_what() -> None:
    world = check("builtin", [Row("a", 0, 3, 600, 600, 3), Row("b", 1, 4, 600, 60, 603), Row("c", 2, 1, 60, 60, 663)])
    assert world.controller.life_cycle.backfilled == 0
    assert {world[name].scheduler for name in "abc"} == {"Main"}


def test_a_blocked_partition_blocks_no_other_one() -> None:
    conf = f"{HEAD}NodeName=n[1-4]\nPartitionName=left Nodes=n[1-2] Default=YES\nPartitionName=right Nodes=n[3-4]\n"
    world = World(conf, "builtin")
    for line in ("-J a -p left -N2", "-J b -p left -N2", "-J c -p left -N1", "-J d -p right -N2", "-J e -p right -N1"):
        world.sbatch(line + " -t 10", 100)
    world.until(LATE)
    assert world.starts("a b c d e") == {"a": 3, "b": 103, "c": 203, "d": 3, "e": 103}


def test_a_blocked_job_shows_resources_and_those_behind_it_priority() -> None:
    world = World(f"{HEAD}NodeName=n[1-4]\nPartitionName=main Nodes=ALL Default=YES\n", "builtin")
    for line in ("-J a -N3", "-J b -N4", "-J c -N1"):
        world.sbatch(line + " -t 10", 100)
    world.until(10)
    assert world.reasons("a b c") == {"a": "None", "b": "Resources", "c": "Priority"}
