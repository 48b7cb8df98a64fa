"""The recorded group `arrays` (slurmctld 22.05.8), the steps that speak of the scheduler.

Times are seconds after 08:00:00 of the recording.
"""

from __future__ import annotations

from golden.oracle_cluster import oracle_world
from unit.core.world import HEAD, World

from slurmsim.core.records.messages import Hold, Release, SetArrayLimit


def test_throttles_holds_releases_and_cancels_of_tasks() -> None:
    w = oracle_world(12)
    first = w.sbatch("-a 0-9%3 -J one -t 10", 600, at=15)
    w.sbatch("-a 1,3-5,20-40:10 -J two -t 10", 3, at=15)
    w.sbatch("-a 1-4 -H -J three -t 10", 600, at=15)
    w.sbatch("-a 5 -J four -t 10", 600, at=15)
    w.sbatch("-a 1-3 -n 100 -J five -t 10", 600, at=15)
    w.sbatch("-a 1001 -J too -t 10", 600, at=15)  # recorded with 1-2000
    w.until(17)
    assert w.refused == {"too_1001": "Invalid job array specification"}
    assert (w.state("five_1"), w.nodes("five_1")) == ("RUNNING", "n[01-13]")
    assert w.reasons("five_2 five_3") == {"five_2": "Resources", "five_3": "Resources"}
    assert {w.reason(n) for n in ("four_5", "two_1", "two_40", "one_0")} <= {"Priority", "None"}
    assert {w.reason(f"three_{i}") for i in (1, 2, 3, 4)} == {"JobHeldUser"}
    w.until(20)  # backfill: n14 alone is in nobody's way, and has eight cores
    beside = [f"two_{i}" for i in (1, 3, 4, 5, 20)] + [f"one_{i}" for i in (0, 1, 2)]
    assert {w.nodes(n) for n in beside} == {"n14"} and {w[n].scheduler for n in beside} == {"Backfill"}
    assert {w.state(n) for n in ("two_30", "two_40", "four_5")} == {"PENDING"}
    assert {w.reason(f"one_{i}") for i in range(3, 10)} == {"JobArrayTaskLimit"}
    for i in (7, 8, 9):
        w.tell(Hold(w.id(f"one_{i}")), 20)
    w.until(20)
    assert [w.reason(f"one_{i}") for i in (3, 6, 7, 8, 9)] == ["JobArrayTaskLimit"] * 2 + ["JobHeldUser"] * 3
    for i in (7, 8, 9):
        w.tell(Release(w.id(f"one_{i}")), 20)
    w.tell(SetArrayLimit(first, 5), 21)
    w.tell(Release(w.id("three_2")), 22)
    w.until(26)
    # tasks that have been held have a record of their own, which comes before the rest of the array
    assert [i for i in range(10) if w.state(f"one_{i}") == "RUNNING"] == [0, 1, 2, 7, 8]
    assert {w.reason(f"one_{i}") for i in (3, 4, 5, 6, 9)} == {"JobArrayTaskLimit"}
    assert (w.state("three_2"), w.nodes("three_2")) == ("RUNNING", "n14")
    assert {w.reason(f"three_{i}") for i in (1, 3, 4)} == {"JobHeldUser"}
    for i in (3, 4, 5, 6, 9):
        w.scancel(f"one_{i}", at=26)
    for i in (0, 1, 2):
        w.scancel(f"one_{i}", at=26)
    w.until(28)
    assert [i for i in range(10) if w.state(f"one_{i}") == "RUNNING"] == [7, 8]


def test_what_waits_for_an_array() -> None:
    """The jobs of step 48 on: afterok on an array and on one task, aftercorr."""
    w = oracle_world(12)
    four = w.sbatch("-a 5 -J four -t 10", 600, at=15)
    five = w.sbatch("-a 1-3 -n 100 -J five -t 10", 600, at=15)
    w.sbatch(f"-d afterok:{four} -J afterarr", 1, at=28)
    w.sbatch(f"-d afterok:{five}_2 -J aftertask", 1, at=28)
    w.sbatch(f"-a 1-3 -d aftercorr:{five} -J corr", 1, at=28)
    w.until(29)
    waits = "afterarr aftertask corr_1 corr_2 corr_3"
    assert set(w.reasons(waits).values()) == {"Dependency"}
    assert w.reasons("five_2 five_3") == {"five_2": "Resources", "five_3": "Resources"}


def test_a_lower_throttle_takes_nobody_s_nodes() -> None:
    """Those that run go on; those that were about to start wait again."""
    w = oracle_world(0)
    array = w.sbatch("-a 0-9%6 -n 40 -J a -t 10", 100, at=1)
    w.until(5)
    assert [i for i in range(10) if w.state(f"a_{i}") == "RUNNING"] == [0, 1]
    assert w.reasons("a_2 a_5 a_6") == {"a_2": "Resources", "a_5": "Resources", "a_6": "JobArrayTaskLimit"}
    w.tell(SetArrayLimit(array, 1), 6)
    w.until(8)
    assert {w.reason(f"a_{i}") for i in range(2, 10)} == {"JobArrayTaskLimit"}
    w.until(150)
    assert [i for i in range(10) if w.state(f"a_{i}") == "RUNNING"] == [2]
    w.tell(SetArrayLimit(array, None), 151)
    w.until(160)
    assert [i for i in range(10) if w.state(f"a_{i}") == "RUNNING"] == [2, 3]
    assert {w.reason(f"a_{i}") for i in range(4, 10)} == {"Resources"}


def test_the_throttle_is_shown_until_the_task_is_tried() -> None:
    """Asked of slurmctld 22.05.8: behind a blocked partition nobody tries a task that has room again."""
    conf = (
        f"{HEAD}MinJobAge=100000\nKillWait=5\nSchedulerParameters=bf_interval=10\n"
        "NodeName=n[1-2] Sockets=1 CoresPerSocket=4 RealMemory=8000\nPartitionName=main Nodes=ALL Default=YES\n"
    )
    w = World(conf, "backfill", plan_all=True)
    w.sbatch("-J r1 -w n1 -N1 --exclusive -t 3", 170, at=10)
    w.sbatch("-J big -N2 --exclusive -t 5", 20, at=14)
    w.sbatch("-J arr -a 1-3%1 -N1 --exclusive -t 2", 30, at=14)
    w.until(28)
    assert (w.nodes("arr_1"), w["arr_1"].scheduler) == ("n2", "Backfill")
    assert w.reasons("big arr_2 arr_3") == {
        "big": "Resources", "arr_2": "JobArrayTaskLimit", "arr_3": "JobArrayTaskLimit",
    }  # fmt: skip
    w.until(140)
    # the second went by backfill too; the third would be in the way of big, which is planned for 3:10
    assert w.state("arr_2") == "COMPLETED" and w.planned("big")[0] == 190
    assert (w.reason("arr_3"), w.planned("arr_3")[0]) == ("JobArrayTaskLimit", 480)
