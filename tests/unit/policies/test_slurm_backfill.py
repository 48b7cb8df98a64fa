"""sched/backfill beside the main scheduler. The controller starts at second 0, bf_interval is 30 unless said."""

from __future__ import annotations

import pytest
from policy_cases import LATE, Row, check, compare, world_of
from unit.core.world import World, simple


def rows(c: int, d: int) -> list[Row]:
    """Three nodes busy for ten minutes, a head that needs all four, and two jobs for the fourth node."""
    return [
        Row("a", 0, 3, 600, 600, 3),
        Row("head", 1, 4, 600, 60, 603),
        Row("c", 2, 1, 300, 300, c),  # over long before the head's planned start
        Row("d", 3, 1, 900, 300, d),  # would delay it
    ]


def test_a_job_that_delays_nobody_starts_at_the_next_cycle() -> None:
    world = check("backfill", rows(c=30, d=663))
    assert {name: world[name].scheduler for name in ("a", "head", "c", "d")} == {
        "a": "Main", "head": "Main", "c": "Backfill", "d": "Main",
    }  # fmt: skip
    assert world.controller.life_cycle.backfilled == 1


@pytest.mark.parametrize(
    ("more", "c"),
    [
        pytest.param("bf_interval=100", 100, id="cycles come every bf_interval"),
        pytest.param("bf_max_job_test=1", 663, id="only the head is tested"),
        pytest.param("bf_max_job_test=2,bf_node_space_size=50", 30, id="the head and c are tested"),
        pytest.param("bf_max_job_user=1", 663, id="the user has used up his one candidate"),
        pytest.param("bf_max_job_part=1", 663, id="so has the partition"),
        pytest.param("bf_interval=-1", 663, id="no cycle at all"),
    ],
)
def test_the_parameters_decide(more: str, c: int) -> None:
    check("backfill", rows(c=c, d=663), more=f"SchedulerParameters={more}")


def test_the_head_shows_its_planned_start() -> None:
    world = world_of("backfill", rows(c=30, d=663))
    world.until(31)
    start, nodes = world.planned("head")
    assert start is not None
    assert start >= 603
    assert nodes == "n[1-4]"


def test_a_planned_start_beyond_the_window_keeps_no_nodes() -> None:
    long = [
        Row("a", 0, 3, 7200, 7200, 3),
        Row("head", 1, 4, 600, 60, 10830),
        Row("c", 2, 1, 10800, 10800, 30),  # delays the head, whose start is more than an hour away
    ]
    check("backfill", long, more="SchedulerParameters=bf_window=60")
    long[1] = Row("head", 1, 4, 600, 60, 7203)
    long[2] = Row("c", 2, 1, 10800, 10800, 7263)
    check("backfill", long, more="SchedulerParameters=bf_window=1440")


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
@pytest.mark.parametrize("atoms", "01")
def test_a_planned_start_beyond_the_window_is_shown_without_nodes(atoms: str, release: str) -> None:
    """Seen on each release: squeue has it as START_TIME, and no SCHEDNODES."""
    conf = simple(4, 1, more="SchedulerParameters=bf_window=60")
    conf = conf.replace("cons_tres\nSelectTypeParameters=CR_Core", "linear")
    world = World(conf, f"backfill:atoms={atoms}", plan_all=True, release=release)
    world.sbatch("-J a -N4 -t 180", run=10_000, at=2)
    for name in "bcd":
        world.sbatch(f"-J {name} -N4 -t 10", run=100, at=3)
    world.until(100)
    assert {world.planned(name) for name in "bcd"} == {(10_803, "")}


def test_every_blocked_job_keeps_its_plan_not_only_the_first() -> None:
    check("backfill", [
        Row("a", 0, 2, 600, 600, 3),
        Row("head", 1, 3, 600, 600, 603),
        Row("second", 2, 4, 600, 600, 1203),
        Row("c", 2, 1, 5400, 600, 1803),  # beside the head it would fit; EASY would start it at 2
        Row("d", 3, 1, 1080, 600, 30),  # over before second is planned
    ])  # fmt: skip


def test_a_cancelled_head_lets_the_next_pass_start_the_rest() -> None:
    jobs = rows(c=30, d=330)
    jobs[1] = Row("head", 1, 4, 600, 60, None)
    world = world_of("backfill", jobs)
    world.scancel("head", at=40)
    world.until(LATE)
    compare(world, jobs)


def test_a_job_in_two_separate_partitions_starts_in_that_of_the_higher_tier() -> None:
    from unit.core.world import HEAD, World

    w = World(
        f"{HEAD}SchedulerParameters=partition_job_depth=1\nLicenses=a\nNodeName=n[1-3] CPUs=1\n"
        "PartitionName=low Nodes=n1 Default=YES\nPartitionName=high Nodes=n2 PriorityTier=2\n"
        "PartitionName=own Nodes=n3\n",
        "backfill", every_cycle=False,
    )  # fmt: skip
    w.sbatch("-J holder -N1 -p own -L a -t 10", 500, at=0)
    w.sbatch("-J first -N1 -p low,high -L a -t 1", 1, at=10)  # gets no license, but the main pass looks no further
    w.sbatch("-J second -N1 -p low,high -t 1", 1, at=10)
    w.until(100)
    assert (w["second"].scheduler, w.nodes("second")) == ("Backfill", "n2")


@pytest.mark.parametrize(("tasks", "at_once"), [("1-3%1", False), ("1-3", False), ("1-1%1", True)])
def test_tasks_a_throttle_keeps_back_are_planned_as_well(tasks: str, at_once: bool) -> None:
    """While one more task may start slurmctld plans for all of them: two of four CPUs each leave c no node."""
    world = World(simple(2, 4), "backfill")
    world.sbatch("-J a -n3 -t 10", 600)
    world.sbatch("-J b -n3 -t 10", 600)
    world.sbatch(f"-J t -a {tasks} -N1 -n4 -t 10", 600)
    world.sbatch("-J c -n1 -t 15", 900)
    world.until(602)
    assert world.start("c") == (30 if at_once else None)
    world.until(610)
    assert world.start("t_1") == 603


@pytest.mark.parametrize(("behind", "put_off"), [(1, True), (0, False)])
def test_a_plan_put_behind_another_keeps_the_cadence(behind: int, put_off: bool) -> None:
    """No node is idle. `head` waits for both nodes, and the jobs behind it for its end, not for that of `b`."""
    world = World(simple(2), "backfill", plan_all=True, every_cycle=False)
    host = world.controller.host
    host.policy.plans_go_on = True
    for name, nodes, limit in (("a", 1, 60), ("b", 1, 2), ("head", 2, 60), *[("behind", 1, 90)] * behind):
        world.sbatch(f"-J {name} -N{nodes} -t {limit}", 3600, at=1)
    world.until(35)
    assert host.policy.next_time(host.view, 119, True) == (120 if put_off else 119)


@pytest.mark.parametrize("every_cycle", [0, 1])
@pytest.mark.parametrize(("interval", "start"), [(60, 420), (61, 427), (90, 450), (120, 480), (300, 600), (600, 600)])
def test_cycles_rarer_than_full_passes_come_every_bf_interval(interval: int, start: int, every_cycle: int) -> None:
    """Nodes are busy until `x` ends at 405; only backfill can start `c`, whether the cycles before are made or not.

    With more than 60 no cycle came any more once the cluster had been quiet for one.
    """
    more = f"SchedulerParameters=bf_interval={interval}"
    world = World(simple(4, more=more), f"backfill:every_cycle={every_cycle}")
    world.sbatch("-J a -N3 -t 60", 3600)
    world.sbatch("-J x -N1 -t 60", 402)
    world.sbatch("-J head -N4 -t 10", 60, at=1)
    world.sbatch("-J c -N1 -t 5", 300, at=2)
    world.until(4000)
    assert (world.start("c"), world["c"].scheduler) == (start, "Backfill")


def test_cycles_keep_their_own_second_where_full_passes_have_another() -> None:
    """Recorded of 22.05.8 with bf_interval=60 and 16 nodes, 8 here; second 0 is slurmctld's start, 08:00:02.7.

    Full passes came at 08:01:03, 02:03, 03:03, 04:03 …; the head was submitted at 02:44, and backfill's cycles came at
    02:44, 03:44, 04:44 … 17:44. `x` had ended at 17:12, and `c` was started by Backfill at 17:44. Cycles that wait for
    the next full pass would have started it at 18:03.
    """
    world = World(simple(8, more="SchedulerParameters=bf_interval=60"), "backfill")
    world.sbatch("-J a -N7 -t 60", 3000, at=18)
    world.sbatch("-J x -N1 -t 60", 1001, at=29)
    world.sbatch("-J head -N8 -t 10", 60, at=162)
    world.sbatch("-J c -N1 -t 5", 300, at=174)
    world.until(1200)
    assert (world.start("c"), world["c"].scheduler) == (17 * 60 + 44 - 2, "Backfill")
