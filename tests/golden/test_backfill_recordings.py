"""Backfill as slurmctld 22.05.8 was recorded doing it: the same submissions must give the same starts and plans.

Times are mm:ss after 08:00:00 of the recording; slurmctld started at 0:00. The recordings ran on a clock ten times
too fast, so their starts may be a second or two later than here; planned starts follow from them.
"""

from __future__ import annotations

import pytest
from unit.core.world import HEAD, World

LINEAR = "ClusterName=test\nSlurmctldHost=localhost\nSelectType=select/linear\n"
ONE = "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE"


def at(text: str) -> int:
    minutes, seconds = text.split(":")
    return int(minutes) * 60 + int(seconds)


def world(parameters: str, nodes: str = "n[1-4]", partitions: str = ONE, more: str = "", head: str = HEAD) -> World:
    conf = (
        f"{head}MinJobAge=100000\nKillWait=5\nSchedulerParameters={parameters}\n{more}\n"
        f"NodeName={nodes} Sockets=1 CoresPerSocket=4 RealMemory=8000\n{partitions}\n"
    )
    return World(conf, "backfill", plan_all=True)


def plans(w: World, *expected: tuple[str, str, str]) -> None:
    """Each (job, planned start, planned nodes); "" for a job without a plan."""
    got = [(name, *w.planned(name)) for name, _, _ in expected]
    assert got == [(name, at(start) if start else None, nodes) for name, start, nodes in expected]


def ran(w: World, *expected: tuple[str, str, str, str]) -> None:
    """Each (job, start, nodes, which scheduler started it)."""
    got = [(name, w.start(name), w.nodes(name), w[name].scheduler) for name, *_ in expected]
    assert got == [(name, at(start), nodes, who) for name, start, nodes, who in expected]


def test_plan_of_a_queue_and_what_an_early_end_moves() -> None:
    """backfill-plan: eight planned starts behind three running jobs."""
    w = world("bf_interval=10,bf_resolution=60")
    w.sbatch("-J r1 -N2 --exclusive -t 4", 200, at=at("0:04"))
    w.sbatch("-J r2 -N1 --exclusive -t 6", 340, at=at("0:04"))
    w.sbatch("-J r3 -N1 --exclusive -t 3", 60, at=at("0:04"))
    w.sbatch("-J q1 -N4 --exclusive -t 5", 60, at=at("0:10"))
    w.sbatch("-J q2 -N2 --exclusive -t 3", 100, at=at("0:10"))
    w.sbatch("-J q3 -N1 --exclusive -t 2", 60, at=at("0:10"))
    w.sbatch("-J q4 -N1 -n1 -t 10", 300, at=at("0:10"))
    w.sbatch("-J q5 -N1 -n2 -t 4", 60, at=at("0:10"))
    w.sbatch("-J q6 -N3 --exclusive -t 6", 100, at=at("0:10"))
    w.sbatch("-J q7 -N1 -n3 -t 2", 30, at=at("0:10"))
    w.sbatch("-J q8 -N2 -n2 -t 20", 100, at=at("0:10"))
    w.until(at("0:27"))
    plans(
        w,
        ("q1", "6:04", "n[1-4]"),  # the exact end of r2, the last it needs
        ("q2", "11:00", "n[1-2]"),  # q1's slot ends at floor(11:04)
        ("q3", "3:04", "n4"),  # the end of r3; gone before q1
        ("q4", "11:00", "n4"),
        ("q5", "11:00", "n3"),
        ("q6", "15:00", "n[1-3]"),  # q5's end: 11:00 + 4 min
        ("q7", "4:04", "n1"),  # the end of r1; gone before q1
        ("q8", "21:00", "n[1-2]"),  # q6's end
    )
    assert w.reason("q1") == "Resources"
    assert {w.reason(q) for q in ("q2", "q3", "q4", "q5", "q6", "q7", "q8")} == {"Priority"}
    w.until(at("1:27"))  # r3 ended early at 1:04: q3 runs, only q7 gained
    plans(
        w, ("q1", "6:04", "n[1-4]"), ("q2", "11:00", "n[1-2]"), ("q4", "11:00", "n4"), ("q5", "11:00", "n3"),
        ("q6", "15:00", "n[1-3]"), ("q7", "3:10", "n4"), ("q8", "21:00", "n[1-2]"),
    )  # fmt: skip
    w.until(at("12:00"))
    ran(
        w,
        ("r1", "0:04", "n[1-2]", "Main"),
        ("r2", "0:04", "n3", "Main"),
        ("r3", "0:04", "n4", "Main"),
        ("q3", "1:10", "n4", "Backfill"),
        ("q7", "2:10", "n4", "Backfill"),
        ("q1", "5:44", "n[1-4]", "Main"),
        ("q2", "6:44", "n[1-2]", "Main"),
        ("q4", "6:44", "n3", "Main"),
        ("q5", "6:44", "n3", "Main"),
        ("q6", "8:24", "n[1-2,4]", "Main"),
    )


def test_jobs_a_user_and_a_partition_may_have_planned() -> None:
    """backfill-user: bf_max_job_user=2, bf_max_job_part=4 count candidates of one cycle."""
    w = world("bf_interval=10,bf_max_job_user=2,bf_max_job_part=4", partitions=f"{ONE}\nPartitionName=other Nodes=ALL")
    w.sbatch("-J r1 -N3 --exclusive -t 5", 200, at=at("0:06"), user="dave")
    for user, line, run in (
        ("alice", "-J a1 -N4 --exclusive -t 5", 30), ("alice", "-J a2 -N4 --exclusive -t 5", 30),
        ("alice", "-J a3 -N1 -n1 -t 1", 30), ("bob", "-J b1 -N4 --exclusive -t 5", 30),
        ("bob", "-J b2 -N1 -n1 -t 1", 20), ("bob", "-J b3 -N1 -n1 -t 1", 20), ("carol", "-J c1 -N1 -n1 -t 1", 20),
        ("carol", "-p other -J c2 -N1 -n1 -t 1", 20), ("dave", "-p other -J d1 -N1 -n1 -t 1", 20),
    ):  # fmt: skip
        w.sbatch(line, run, at=at("0:10"), user=user)
    w.until(at("0:25"))
    plans(
        w,
        ("a1", "5:06", "n[1-4]"),
        ("a2", "10:00", "n[1-4]"),
        ("a3", "", ""),  # alice's third
        ("b1", "15:00", "n[1-4]"),
        ("c1", "", ""),  # the fifth of the partition
    )
    ran(
        w,
        ("b2", "0:10", "n4", "Backfill"),
        ("c2", "0:10", "n4", "Backfill"),
        ("d1", "0:10", "n4", "Backfill"),
        ("b3", "0:20", "n4", "Backfill"),  # b2 left the queue: the partition's fourth now
    )
    w.until(at("1:50"))
    assert w.start("c1") in range(at("0:30"), at("0:42"))  # b3 left the queue
    plans(w, ("a1", "5:06", "n[1-4]"), ("a2", "10:00", "n[1-4]"), ("a3", "", ""), ("b1", "15:00", "n[1-4]"))


def test_nothing_is_kept_for_a_start_beyond_the_window() -> None:
    """backfill-window, bf_window=10: a 60-minute job passes a head that must wait 20 minutes, not one of 8."""
    w = world("bf_interval=10,bf_window=10")
    w.sbatch("-J r1 -N3 --exclusive -t 20", at=at("0:06"))
    for line in ("-J w1 -N4 --exclusive -t 5", "-J l1 -N1 -n2 -t 60", "-J l2 -N1 -n3 -t 30"):
        w.sbatch(line, at=at("0:10"))
    w.until(at("0:24"))
    assert (w.state("w1"), w.reason("w1")) == ("PENDING", "Resources")
    ran(w, ("l1", "0:10", "n4", "Backfill"))
    assert w.reason("l2") == "Priority"
    for name in ("r1", "w1", "l1", "l2"):
        w.scancel(name, at("0:30"))
    w.sbatch("-J r2 -N3 --exclusive -t 8", at=at("0:45"))
    for line in ("-J w2 -N4 --exclusive -t 5", "-J l3 -N1 -n2 -t 60", "-J l4 -N1 -n3 -t 6"):
        w.sbatch(line, at=at("0:50"))
    w.until(at("1:05"))
    plans(w, ("w2", "8:45", "n[1-4]"), ("l3", "", ""))
    assert (w.nodes("l4"), w.state("l3")) == ("n4", "PENDING")


def test_slots_are_rounded_down_to_the_resolution() -> None:
    """backfill-resolution=300: w1 ends at 19:04, yet w2 is planned at 15:00 and blocks until 20:00."""
    w = world("bf_interval=10,bf_resolution=300", nodes="n[1-2]")
    w.sbatch("-J r1 -N1 --exclusive -t 12", at=at("0:04"))
    for line in (
        "-J w1 -N2 --exclusive -t 7", "-J w2 -N2 --exclusive -t 4", "-J w3 -N1 --exclusive -t 3",
        "-J f1 -N1 -n1 -t 14", "-J f2 -N1 -n1 -t 11", "-J f3 -N1 -n1 -t 9",
    ):  # fmt: skip
        w.sbatch(line, 60, at=at("0:09"))
    w.until(at("0:24"))
    ran(w, ("w3", "0:10", "n2", "Backfill"))
    plans(
        w,
        ("w1", "12:04", "n[1-2]"),
        ("w2", "15:00", "n[1-2]"),
        ("f1", "20:00", "n2"),
        ("f2", "20:00", "n1"),
        ("f3", "3:10", "n2"),  # the end of w3; its own end 12:10 is floored to 10:00
    )


def test_a_young_head_keeps_nothing() -> None:
    """backfill-age, bf_min_age_reserve=60."""
    w = world("bf_interval=10,bf_min_age_reserve=60")
    w.sbatch("-J r1 -N3 --exclusive -t 5", at=at("0:07"))
    w.sbatch("-J w1 -N4 --exclusive -t 5", 60, at=at("0:10"))
    w.sbatch("-J l1 -N1 -n2 -t 60", 30, at=at("0:19"))
    w.until(at("0:29"))
    plans(w, ("w1", "", ""))
    ran(w, ("l1", "0:19", "n4", "Main"))  # not even the main scheduler stops at w1
    w.sbatch("-J l2 -N1 -n2 -t 60", 30, at=at("1:29"))
    w.until(at("1:49"))
    plans(w, ("w1", "5:07", "n[1-4]"), ("l2", "", ""))
    assert w.reasons("w1 l2") == {"w1": "Resources", "l2": "Priority"}
    w.sbatch("-J l3 -N1 -n2 -t 1", 30, at=at("1:49"))
    w.until(at("2:04"))
    assert (w.nodes("l3"), w[("l3")].scheduler, w.state("l2")) == ("n4", "Backfill", "PENDING")


def test_array_tasks_are_planned_up_to_the_limit() -> None:
    """backfill-array: bf_max_job_array_resv=2 and bf_busy_nodes; slurmctld shows the last task's start for all."""
    w = world("bf_interval=10,bf_max_job_array_resv=2,bf_busy_nodes")
    for line in ("-J r1 -N1 -n2 -t 4", "-J r2 -N2 --exclusive -t 6", "-J r3 -N1 -n4 -t 3"):
        w.sbatch(line, at=at("0:06"))
    for line in (
        "-J arr -a 1-5 -N1 -n4 -t 5", "-J w1 -N3 -n3 --exclusive -t 5", "-J w2 -N1 -n2 -t 10", "-J w3 -N1 -n2 -t 2",
    ):  # fmt: skip
        w.sbatch(line, 30, at=at("0:10"))
    w.until(at("0:25"))
    plans(
        w,
        ("arr_1", "3:06", "n4"),
        ("arr_2", "4:06", "n1"),
        ("arr_3", "", ""),
        ("w1", "8:00", "n[2-4]"),
        ("w2", "9:00", "n1"),
    )
    assert w.nodes("w3") == "n1"
    assert w.reasons("arr_1 arr_5 w1 w2") == {
        "arr_1": "Resources", "arr_5": "Resources", "w1": "Priority", "w2": "Priority",
    }  # fmt: skip
    # one submission, one priority: r1 to r3 came before
    assert [w[name].priority - 4294901759 for name in ("arr_1", "arr_5", "w1", "w2", "w3")] == [-3, -3, -4, -5, -6]


def test_one_plan_a_job() -> None:
    """backfill-oneresv: a job in two partitions holds nodes in one, so a long job starts in the other."""
    parts = "PartitionName=pa Nodes=n[1-2] Default=YES\nPartitionName=pb Nodes=n[3-4]"
    w = world("bf_interval=10,bf_one_resv_per_job", partitions=parts)
    w.sbatch("-p pa -J r1 -N2 --exclusive -t 4", at=at("0:06"))
    w.sbatch("-p pb -J r2 -N1 --exclusive -t 8", at=at("0:06"))
    for line in ("-p pa,pb -J w1 -N2 --exclusive -t 5", "-p pb -J l1 -N1 -n2 -t 30", "-p pa -J l2 -N1 -n2 -t 30"):
        w.sbatch(line, 60, at=at("0:10"))
    w.until(at("0:25"))
    plans(w, ("w1", "4:06", "n[1-2]"), ("l2", "9:00", "n1"))
    ran(w, ("l1", "0:10", "n4", "Backfill"))
    assert w.reasons("w1 l2") == {"w1": "Resources", "l2": "Priority"}


def test_running_jobs_in_the_map() -> None:
    """running-reserve without its licence jobs: bf_running_job_reserve changes nothing here."""
    w = world("bf_interval=10,bf_running_job_reserve")
    for line in ("-J r1 -N1 --exclusive -t 4", "-J r2 -N1 -n4 -t 6", "-J r3 -N1 -n2 -t 8"):
        w.sbatch(line, at=at("0:06"))
    for line in ("-J w1 -N4 -n4 -t 5", "-J w3 -N1 --exclusive -t 3", "-J w4 -N1 -n1 -t 20"):
        w.sbatch(line, 60, at=at("0:10"))
    w.until(at("0:26"))
    plans(w, ("w1", "6:06", "n[1-4]"), ("w4", "11:00", "n3"))
    ran(w, ("w3", "0:10", "n4", "Backfill"))


@pytest.mark.parametrize(
    ("head", "more", "planned"),
    [
        (HEAD, "", "15:00"),  # on nodes that are left out till 2:00, x would end when p's plan begins: it comes after p
        (HEAD, "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE", "2:30"),
        (LINEAR, "", "2:30"),
    ],
    ids=["whole", "preemptable", "linear"],
)
def test_what_backfill_starts_is_left_out_of_the_map(head: str, more: str, planned: str) -> None:
    """Where it has its nodes to itself and nobody may preempt it, and never under select/linear."""
    w = world("bf_interval=30", more=more, head=head)
    w.sbatch("-J r1 -N1 --exclusive -w n1 -t 10", at=at("0:03"))
    w.sbatch("-J r2 -N2 --exclusive -w n[3-4] -t 30", at=at("0:03"))
    for line in ("-J p -N2 -t 5", "-J s -N1 -t 2", "-J x -N1 -t 8"):
        w.sbatch(f"{line} --exclusive", at=at("0:05"))
    w.until(at("0:31"))
    ran(w, ("s", "0:30", "n2", "Backfill"))
    plans(w, ("p", "10:03", "n[1-2]"), ("x", planned, "n2"))


def test_a_quick_pass_looks_only_so_deep() -> None:
    """queue-depth, default_queue_depth=2: three blocked jobs use it up; the full pass finds the startable ones."""
    parts = f"{ONE}\nPartitionName=pa Nodes=n1\nPartitionName=pb Nodes=n2"
    w = world("bf_interval=300,default_queue_depth=2", nodes="n[1-2]", partitions=parts)
    w.sbatch("-J r1 -N1 -n4 -w n1 -t 10", 400, at=at("0:04"))
    for line in ("-p pa -J w1", "-p pa -J w2", "-p pa -J w3", "-p pb -J x1", "-p pb -J x2"):
        w.sbatch(f"{line} -n1 -t 5", 30, at=at("0:12"))
    w.until(at("0:50"))
    assert w.reasons("w1 w2 w3 x1 x2") == {
        "w1": "Resources", "w2": "Priority", "w3": "Priority", "x1": "Priority", "x2": "Priority",
    }  # fmt: skip
    w.until(at("1:20"))
    ran(w, ("x1", "1:00", "n2", "Main"), ("x2", "1:00", "n2", "Main"))
    assert w.reason("w1") == "Resources"
