"""Partitions, limits, nodes, arrays, dependencies, priorities: scenarios recorded with slurmctld 22.05.8.

Times are seconds after 08:00:00 of the recording, when slurmctld started (its limit scans and full passes fall on
whole minutes and half minutes). Only what the recordings show is asserted.
"""

from __future__ import annotations

from unit.core.world import HEAD, World

from slurmsim.core.records.messages import (
    Hold,
    NodesDown,
    NodesDrain,
    NodesResume,
    Release,
    Requeue,
    SetArrayLimit,
    SetPartitionState,
    SetTimeLimit,
)  # fmt: skip
from slurmsim.states import NODES_REQUIRED_TEXT

ONE = "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE"
WEIGHTS = "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\nPriorityWeightPartition=1000"
REFUSED_STATE = "Required partition not available (inactive or drain)"
REFUSED_NODES = "Requested node configuration is not available"


def world(nodes: str, partitions: str = ONE, more: str = "", *, plan_all: bool = False) -> World:
    conf = (
        f"{HEAD}MinJobAge=100000\nKillWait=5\nSchedulerParameters=bf_interval=10,bf_resolution=60\n{more}\n"
        f"NodeName={nodes} Sockets=1 CoresPerSocket=4 RealMemory=4000\n{partitions}\n"
    )
    return World(conf, "backfill", plan_all=plan_all)


def test_several_partitions_and_their_priorities() -> None:
    """partitions, first half."""
    parts = """PartitionName=pa Nodes=n[1-3] Default=YES PriorityTier=1 PriorityJobFactor=10 MaxTime=INFINITE
PartitionName=pb Nodes=n[2-4] PriorityTier=1 PriorityJobFactor=1 MaxTime=INFINITE
PartitionName=top Nodes=n[3-4] PriorityTier=5 MaxTime=INFINITE"""
    w = world("n[1-4]", parts, WEIGHTS, plan_all=True)
    w.sbatch("-p pa -J r1 -N2 --exclusive -t 5", 60, at=7)
    w.sbatch("-p pa,pb -J m1 -N1 -n4 -t 5", 60, at=11)
    w.sbatch("-p pb,pa -J m2 -N1 -n4 -t 5", 60, at=11)
    w.sbatch("-p pa,pb -J m3 -N3 -n12 -t 5", 60, at=11)
    w.sbatch("-p pa -J a1 -N3 --exclusive -t 5", 30, at=11)
    w.sbatch("-p top -J t1 -N2 --exclusive -t 5", 30, at=11)
    w.sbatch("-p pb -J b1 -N1 -n1 -t 1", 20, at=11)
    w.until(25)
    shown = {name: (w[name].priority, w.reason(name)) for name in ("r1", "m1", "m2", "m3", "a1", "t1", "b1")}
    assert shown == {
        "r1": (1312, "None"),
        "m1": (350, "Priority"),  # the lower of its two priorities
        "m2": (350, "Priority"),
        "m3": (850, NODES_REQUIRED_TEXT),
        "a1": (1468, "Priority"),
        "t1": (412, "None"),  # higher tier: first, whatever its priority
        "b1": (256, "Priority"),
    }
    assert (w.start("t1"), w.nodes("t1")) == (11, "n[3-4]")
    planned = {name: w.planned(name)[0] for name in ("m1", "m2", "m3", "a1", "b1")}
    assert planned == {"m1": 311, "m2": 600, "m3": 311, "a1": 600, "b1": 900}
    w.until(200)
    assert [(w[n].partition.name, w.nodes(n)) for n in ("m1", "m2", "m3", "a1", "b1")] == [
        ("pb", "n4"), ("pb", "n4"), ("pa", "n[1-3]"), ("pa", "n[1-3]"), ("pb", "n3"),
    ]  # fmt: skip
    assert [w[n].scheduler for n in ("m1", "m2", "m3", "a1", "b1")] == ["Backfill", "Main", "Main", "Main", "Backfill"]
    assert w.start("m3") - w["r1"].end_time == 3  # the loop had just passed; recorded: 4
    assert w.start("a1") == w["m3"].end_time
    assert w.start("m2") == w["m1"].end_time


def test_limits_of_a_partition() -> None:
    """partitions, second half: MaxCPUsPerNode, MinNodes, MaxNodes, MaxTime."""
    parts = """PartitionName=pa Nodes=n[1-3] Default=YES PriorityJobFactor=10 MaxTime=INFINITE
PartitionName=percpu Nodes=ALL MaxCPUsPerNode=2 MaxTime=INFINITE
PartitionName=mn Nodes=ALL MinNodes=2 MaxNodes=3 MaxTime=60"""
    w = world("n[1-4]", parts, WEIGHTS)
    for line in (
        "-p percpu -J c1 -n5 -t 5", "-p percpu -J c2 -N1 -n3 -t 5", "-p percpu -J c3 -N1 -n2 -t 5",
        "-p percpu -J c4 -n4 -t 5", "-p mn -J n1 -N1 -n1 -t 5", "-p mn -J n2 -n1 -t 5", "-p mn -J n3 -N4 -t 5",
        "-p mn -J n4 -N1-4 -t 5", "-p mn -J n5 -N2 -t 61",
    ):  # fmt: skip
        w.sbatch(line, 100, at=221)
    w.until(235)
    assert (w.nodes("c1"), w.shares("c1")) == ("n[1-3]", "2(x2),1")
    assert w.refused == {"c2": REFUSED_NODES}
    assert (w.nodes("c3"), w.shares("c3")) == ("n4", "2")
    assert w.reasons("c4 n1 n3 n4 n5") == {
        "c4": "Resources", "n1": "PartitionNodeLimit", "n3": "PartitionNodeLimit", "n4": "PartitionNodeLimit",
        "n5": "PartitionTimeLimit",
    }  # fmt: skip
    assert (w.nodes("n2"), w.shares("n2")) == ("n[1-2]", "1(x2)")  # beside c1: the other partition's CPUs do not count


def test_states_of_a_partition() -> None:
    """partition-state."""
    w = world("n[1-4]", "PartitionName=pa Nodes=n[1-2] Default=YES\nPartitionName=pb Nodes=n[3-4]")
    w.sbatch("-p pa -J r1 -N2 --exclusive -t 5", 40, at=6)
    w.sbatch("-p pa -J w1 -N1 --exclusive -t 5", 40, at=6)
    w.tell(SetPartitionState("pa", "DOWN"), 11)
    w.sbatch("-p pa -J d1 -N1 -t 5", 40, at=12)
    w.sbatch("-p pa,pb -J d2 -N1 -n2 -t 5", 40, at=12)
    w.until(21)
    assert w.state("r1") == "RUNNING"
    assert w.reasons("w1 d1") == {"w1": "PartitionDown", "d1": "PartitionDown"}
    assert (w["d2"].partition.name, w.nodes("d2")) == ("pb", "n3")
    w.until(70)
    assert w.state("r1") == "COMPLETED" and w.reason("w1") == "PartitionDown"
    w.tell(SetPartitionState("pa", "DRAIN"), 71)
    w.sbatch("-p pa -J e1 -N1 -t 5", 40, at=72)
    w.until(81)
    assert (w.nodes("w1"), w.nodes("d1")) == ("n1", "n2")
    w.tell(SetPartitionState("pa", "INACTIVE"), 82)
    w.tell(SetPartitionState("pb", "INACTIVE"), 82)
    w.sbatch("-p pa -J e2 -N1 -t 5", 40, at=83)
    w.sbatch("-p pb -J e3 -N1 -t 5", 40, at=132)
    w.until(140)
    assert w.refused == {"e1": REFUSED_STATE, "e2": REFUSED_STATE, "e3": REFUSED_STATE}
    assert (w.state("w1"), w.state("d1")) == ("COMPLETED", "COMPLETED")  # running ones went on
    w.tell(SetPartitionState("pb", "DOWN"), 142)
    w.sbatch("-p pb -J e4 -N1 -t 5", 40, at=142)
    w.until(152)
    assert w.reason("e4") == "PartitionDown"
    w.tell(SetPartitionState("pb", "UP"), 152)
    w.until(164)
    assert w.state("e4") == "RUNNING"


def test_time_limits() -> None:
    """time-limits: scans at :00 and :30, OverTimeLimit of cluster and partition, edits of the limit."""
    parts = """PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=7
PartitionName=inf Nodes=ALL MaxTime=INFINITE
PartitionName=strict Nodes=ALL MaxTime=INFINITE OverTimeLimit=0"""
    w = world("n[1-3]", parts, "OverTimeLimit=1")
    w.sbatch("-p main -J t1 -n1 -t 1", 1000, at=6)
    w.sbatch("-p strict -J t2 -n1 -t 1", 1000, at=6)
    w.sbatch("-p strict -J t3 -n1 -t 1", None, at=6)  # ignores SIGTERM
    w.sbatch("-p strict -J t4 -n1 -t 3", None, at=6)  # asks for a signal, and goes on
    w.sbatch("-p main -J t5 -n1", 20, at=6)
    w.sbatch(f"-p main -J t6 -n1 -t {365 * 86400}s", 20, at=6)  # UNLIMITED
    w.sbatch("-p main -J t7 -n1 -t 90", 20, at=6)
    w.sbatch("-p inf -J t8 -n1", 1000, at=6)
    w.sbatch("-p inf -J t9 -n1", 1000, at=6)
    w.sbatch("-p main -J u1 -n1 -t 10", 1000, at=6)
    w.until(14)
    assert w["t5"].time_limit_s == 420
    assert w.reasons("t6 t7") == {"t6": "PartitionTimeLimit", "t7": "PartitionTimeLimit"}
    w.tell(SetTimeLimit(w.id("t7"), 1800), 15)
    w.tell(SetTimeLimit(w.id("t9"), 60), 15)
    w.tell(SetTimeLimit(w.id("u1"), 240), 15)
    w.until(290)
    assert w.state("t7") == "COMPLETED" and w.start("t7") in range(15, 19)
    ends = {n: (w.state(n), w[n].end_time, w.reason(n)) for n in ("t1", "t2", "t3", "t4", "t9")}
    assert ends == {
        "t1": ("TIMEOUT", 150, "TimeLimit"),  # 66 + 60 allowed, found at 2:30
        "t2": ("TIMEOUT", 90, "TimeLimit"),
        "t3": ("TIMEOUT", 90, "TimeLimit"),  # killed 30 s later, COMPLETING until then: not modelled
        "t4": ("TIMEOUT", 210, "TimeLimit"),
        "t9": ("TIMEOUT", 150, "TimeLimit"),
    }
    assert w.reason("t6") == "PartitionTimeLimit"
    assert (w.state("t8"), w.state("u1")) == ("RUNNING", "RUNNING")  # u1: 246 + 60 is not over yet


def test_nodes_that_fail_and_come_back() -> None:
    """node-events."""
    w = world("n[1-4]")
    w.sbatch("-J r1 -w n1 -n2 -t 10", 500, at=6)
    w.sbatch("-J r2 -w n1 -n2 --no-requeue -t 10", 500, at=6)
    w.sbatch("-J r3 -N2 -w n[2-3] --exclusive -t 10", 500, at=6)
    w.sbatch("-J r4 -w n4 -n4 -t 10", 40, at=6)
    w.tell(NodesDown(("n1",), "pulled"), 12)
    w.until(16)
    assert (w.state("r1"), w.reason("r1"), w["r1"].begin, w["r1"].restarts) == ("PENDING", "BeginTime", 12 + 121, 1)
    assert (w.state("r2"), w.reason("r2"), w["r2"].end_time) == ("NODE_FAIL", "NodeDown", 12)
    w.tell(NodesDrain(("n4",), "fan"), 16)
    w.sbatch("-J w1 -w n4 -n1 -t 5", 30, at=16)
    w.sbatch("-J w2 -n1 -t 5", 30, at=16)
    w.until(23)
    assert w.reasons("w1 w2") == {"w1": "ReqNodeNotAvail, UnavailableNodes:n4", "w2": "Resources"}
    assert w.state("r4") == "RUNNING"  # a draining node lets its job finish
    w.tell(NodesDrain(("n3",), "disk"), 23)
    w.tell(NodesDown(("n2",), "two"), 53)
    w.until(59)
    assert w.state("r4") == "COMPLETED"
    assert (w.reason("r3"), w["r3"].begin) == ("BeginTime", 53 + 121)  # one node lost is enough
    assert w.reasons("w1 w2") == {"w1": "ReqNodeNotAvail, UnavailableNodes:n4", "w2": NODES_REQUIRED_TEXT}
    w.tell(NodesResume(("n4", "n1")), 59)
    w.until(65)
    assert (w.nodes("w1"), w.nodes("w2")) == ("n4", "n4")
    w.tell(NodesResume(("n2", "n3")), 65)
    w.until(176)
    assert w.state("r1") == "PENDING"  # eligible since 2:13, but nobody looks before the full pass
    w.until(232)
    assert (w.start("r1"), w.nodes("r1")) == (180, "n1")
    assert (w.start("r3"), w.nodes("r3")) == (180, "n[2-3]")


def test_arrays_and_what_waits_for_them() -> None:
    """arrays-deps, first part."""
    w = world("n[1-2]")
    w.sbatch("-J arr -a 1-6%2 -n1 -t 5", 40, at=6)
    w.until(12)
    assert (w.nodes("arr_1"), w.nodes("arr_2")) == ("n1", "n1")
    assert {w.reason(f"arr_{i}") for i in (3, 4, 5, 6)} == {"JobArrayTaskLimit"}
    w.tell(SetArrayLimit(1, 3), 12)
    w.tell(Hold(w.id("arr_5")), 12)
    w.until(19)
    assert w.start("arr_3") in (12, 13, 14, 15)
    assert w.reasons("arr_4 arr_5 arr_6") == {
        "arr_4": "JobArrayTaskLimit", "arr_5": "JobHeldUser", "arr_6": "JobArrayTaskLimit",
    }  # fmt: skip
    w.tell(Requeue(w.id("arr_1")), 20)
    w.sbatch("-J corr -a 1-6 -d aftercorr:1 -n1 -t 5", 10, at=20)
    w.sbatch("-J any -d afterany:1 -n1 -t 5", 10, at=20)
    w.sbatch("-J one -d afterok:2 -n1 -t 5", 10, at=20)  # task 2
    w.until(50)
    assert (w.start("arr_4"), w.start("arr_6")) == (20, 46)
    # the array is full, so that its begin time is not asked for
    assert w.reasons("arr_1 arr_5") == {"arr_1": "JobArrayTaskLimit", "arr_5": "JobHeldUser"}
    assert w["arr_1"].begin == 141
    assert w.start("corr_2") == w.start("one") == w["arr_2"].end_time == 46
    assert {w.reason(n) for n in ("corr_1", "corr_3", "corr_6", "any")} == {"Dependency"}
    w.tell(Release(w.id("arr_5")), 51)
    w.tell(SetArrayLimit(1, None), 51)  # though one of its tasks has ended
    w.until(110)
    assert w.reasons("arr_1 corr_1 any") == {"arr_1": "BeginTime", "corr_1": "Dependency", "any": "Dependency"}
    assert w.state("arr_5") == "COMPLETED" and w.start("arr_5") in (51, 52, 53, 54)
    w.until(260)
    assert w.start("arr_1") == 180  # 20 + 121 = 141, found by the full pass
    waits = [w.start(f"corr_{i}") - w[f"arr_{i}"].end_time for i in range(1, 7)]
    assert waits == [0, 0, 2, 0, 0, 0]  # the loop had passed just before the third
    assert w.start("any") == w["arr_1"].end_time == 220  # the requeued task was the last
    # priorities: the array one, the released task a new one after all others
    assert [w[n].priority - 4294901759 for n in ("arr_1", "arr_6", "corr_1", "any", "one", "arr_5")] == [
        0, 0, -1, -2, -3, -4,
    ]  # fmt: skip


def test_singletons() -> None:
    """arrays-deps, second part: same name and user; only jobs that carry the dependency wait."""
    w = world("n[1-2]")
    lines = [("alice", "-d singleton"), ("alice", "-d singleton"), ("bob", "-d singleton"), ("alice", "")]
    for user, dependency in lines:
        w.sbatch(f"-J single {dependency} -n1 -t 5", 20, at=251, user=user)
    w.until(257)
    jobs = sorted(w.controller.state.jobs.values(), key=lambda job: job.id)
    assert [job.state for job in jobs] == ["RUNNING", "PENDING", "RUNNING", "RUNNING"]
    assert jobs[1].reason == "Dependency"
    w.until(324)
    assert jobs[1].start_time is not None and jobs[1].start_time >= jobs[3].end_time == jobs[3].start_time + 20


def test_dependencies_on_a_failed_job() -> None:
    """arrays-deps, third part."""
    w = world("n[1-2]")
    w.sbatch("-J bad -n1 -t 5", 5, at=324, state="FAILED", user="bob")
    for line in (
        "-J ok1 -d afterok:1",
        "-J not -d afternotok:1",
        "-J or -d afterok:1?afternotok:1",
        "-J aft -d after:1+1",
    ):
        w.sbatch(f"{line} -n1 -t 5", 10, at=325, user="bob")
    w.until(327)
    assert set(w.reasons("ok1 not or aft").values()) == {"Dependency"}
    w.until(346)
    assert w.reasons("ok1 aft") == {"ok1": "DependencyNeverSatisfied", "aft": "Dependency"}
    assert (w.state("not"), w.state("or")) == ("COMPLETED", "COMPLETED")
    w.until(461)
    assert w.reason("ok1") == "DependencyNeverSatisfied"
    assert w.state("aft") == "COMPLETED"
    assert w.start("aft") % 60 == 0  # its minute was over at 384; only a full pass notices


def test_small_relative_to_time() -> None:
    """priority-size."""
    parts = f"{ONE} PriorityJobFactor=10\nPartitionName=big Nodes=ALL MaxTime=INFINITE PriorityJobFactor=40"
    flags = """PriorityType=priority/multifactor
PriorityFlags=SMALL_RELATIVE_TO_TIME
PriorityWeightJobSize=1000
PriorityWeightPartition=500"""
    w = world("n[1-4]", parts, flags, plan_all=True)
    w.sbatch("-J run -N4 --exclusive -t 10", 30, at=6)
    for line in (
        "-J s1 -n1 -t 10", "-J s2 -n4 -t 10", "-J s3 -N2 -n8 -t 2", "-J s4 -N4 -n16 -t 60", "-p big -J s5 -n2 -t 5",
        "-p big,main -J s6 -n2 -t 20",
    ):  # fmt: skip
        w.sbatch(line, 20, at=10)
    w.until(15)
    names = ("run", "s1", "s2", "s3", "s4", "s5", "s6")
    assert [w[n].priority for n in names] == [225, 150, 150, 375, 141, 550, 137]
    assert [w.planned(n)[0] for n in ("s1", "s2", "s3", "s4", "s5", "s6")] == [720, 720, 606, 1800, 606, 606]
    assert (w.reason("s5"), w.reason("s3")) == ("Resources", NODES_REQUIRED_TEXT)
    w.until(131)
    assert [w.nodes(n) for n in names[1:]] == ["n4", "n1", "n[2-3]", "n[1-4]", "n1", "n1"]
    end = w["run"].end_time
    assert [w.start(n) == end for n in names[1:]] == [True, False, True, False, True, True]
    assert w.start("s2") == w["s1"].end_time and w.start("s4") == w["s2"].end_time


def test_favor_small() -> None:
    """priority-favorsmall."""
    flags = "PriorityType=priority/multifactor\nPriorityFavorSmall=YES\nPriorityWeightJobSize=1000"
    w = world("n[1-4]", ONE, flags, plan_all=True)
    w.sbatch("-J run -N4 --exclusive -t 10", 30, at=4)
    for line in ("-J s1 -N4 -n16 -t 5", "-J s2 -N2 -n4 -t 5", "-J s3 -n1 -t 5", "-J s4 -N1 --exclusive -t 5"):
        w.sbatch(line, 20, at=10)
    w.until(14)
    assert [w[n].priority for n in ("run", "s1", "s2", "s3", "s4")] == [375, 1, 625, 843, 843]
    assert [w.planned(n)[0] for n in ("s1", "s2", "s3", "s4")] == [900, 604, 604, 604]
    assert w.reasons("s1 s2 s3 s4") == {"s1": "Priority", "s2": "Priority", "s3": "Resources", "s4": "Priority"}
    w.until(110)
    assert [w.nodes(n) for n in ("s1", "s2", "s3", "s4")] == ["n[1-4]", "n[3-4]", "n1", "n2"]
    assert w.start("s2") == w.start("s3") == w.start("s4") == w["run"].end_time
    assert w.start("s1") == w["s2"].end_time
