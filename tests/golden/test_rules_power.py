"""Power saving: what was recorded with slurmctld 22.05.8, and what the rates and time-outs do.

Times are seconds after the recording's slurmctld started; there the nodes of a job took 20 s to 30 s to boot.
"""

from __future__ import annotations

from itertools import pairwise

from unit.core.world import HEAD, World

from slurmsim.core.records.messages import NodesPower


def conf(nodes: int = 3, more: str = "SuspendExcNodes=n1") -> str:
    return (
        f"{HEAD}MinJobAge=100000\nKillWait=5\nSchedulerParameters=bf_interval=10,bf_resolution=60\n"
        "SuspendProgram=/s\nResumeProgram=/r\nSuspendTime=60\nSuspendTimeout=20\nResumeTimeout=120\n"
        f"{more}\nNodeName=n[1-{nodes}] Sockets=1 CoresPerSocket=4 RealMemory=8000\n"
        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE\n"
    )


def power(w: World) -> list[tuple[int, str, str]]:
    """(time, state, nodes) of the power events."""
    return [(e[0], e[3], e[6]) for e in w.controller.state.events if e[1] == "POWER"]


def test_as_recorded() -> None:
    """powersave: down after SuspendTime, awake nodes first, CONFIGURING until all nodes are up."""
    w = World(conf(), "backfill")
    w.sbatch("-J one -N1 -n1 -t 5", 61, at=114)
    w.sbatch("-J two -N2 --exclusive -t 5", 60, at=118, user="bob")
    w.until(117)
    assert power(w) == [(70, "POWERING_DOWN", "n[2-3]"), (100, "POWERED_DOWN", "n[2-3]")]
    assert (w.nodes("one"), w.start("one")) == ("n1", 114)  # the one that is awake
    w.until(130)
    assert (w.nodes("two"), w.state("two"), w["two"].held_since) == ("n[2-3]", "RUNNING", 118)
    assert power(w)[2:] == [(118, "POWERING_UP", "n[2-3]")]
    w.until(185)
    assert power(w)[3:] == [(148, "IDLE", "n[2-3]")]
    assert (w.start("two"), w["two"].end_limit) == (148, 448)  # from when the last node is up
    w.until(215)
    assert (w.state("two"), w["two"].end_time) == ("COMPLETED", 208)
    w.tell(NodesPower(("n1",), up=False), 245)
    w.until(275)
    assert power(w)[4:] == [(250, "POWERING_DOWN", "n1")] or power(w)[4][2] == "n1"
    w.until(600)
    assert w.controller.power is not None and w.controller.state.power.off == 0b111  # asked for, or idle for 60 s


def test_a_boot_that_takes_too_long() -> None:
    """rules-observed.md, section 8: after ResumeTimeout the nodes are down and the job is requeued."""
    w = World(conf(3, ""), "backfill", boot=500)
    w.sbatch("-J late -N2 --exclusive -t 5", 60, at=200)
    w.until(320)
    assert (w.state("late"), w["late"].restarts) == ("RUNNING", 0)
    w.until(340)
    assert (w.state("late"), w.reason("late"), w["late"].restarts) == ("PENDING", "BeginTime", 1)
    downs = [(e[3], e[4], e[6]) for e in w.controller.state.events if e[1] == "NODE"]
    assert downs == [("DOWN", "ResumeTimeout reached", "n[1-2]")]


def test_rates() -> None:
    """At most SuspendRate and ResumeRate nodes a minute, roughly."""
    w = World(conf(12, "SuspendRate=3\nResumeRate=4"), "backfill", boot=10)
    w.until(69)
    assert power(w) == []
    w.until(300)
    downs = [(t, nodes) for t, state, nodes in power(w) if state == "POWERING_DOWN"]
    assert downs[0] == (70, "n[1-3]")
    assert all(b[0] > a[0] for a, b in pairwise(downs)) and len(downs) >= 3
    w.until(800)
    w.sbatch("-J all -N12 --exclusive -t 5", 60, at=800)
    w.until(1100)
    ups = [(t, nodes) for t, state, nodes in power(w) if state == "POWERING_UP"]
    assert ups[0] == (800, "n[1-4]") and len(ups) >= 3
    assert w.start("all") == ups[-1][0] + 10


def test_nodes_that_are_awake_come_first_whatever_they_weigh() -> None:
    """scheduling.md, section 19, for part-node and whole-node jobs."""
    more = "SuspendExcNodes=n[3-4]"
    for size in ("-n1", "-N1 --exclusive"):
        w = World(conf(4, more), "backfill")
        w.sbatch(f"-J a {size} -t 5", 300, at=200)
        w.sbatch("-J b -N2 --exclusive -t 5", 300, at=205)
        w.until(260)
        assert w.nodes("a") == "n3"
        assert w.nodes("b") == "n[1,4]"
        assert (w.start("b") or 0) > 205


def test_powering_down_nodes_take_no_job() -> None:
    w = World(conf(2, "SuspendTimeout=40").replace("SuspendTimeout=20\n", ""), "backfill")
    w.sbatch("-J a -N1 --exclusive -t 5", 10, at=75)
    w.until(80)
    assert (w.state("a"), w.reason("a")) == ("PENDING", "Resources") or w.reason("a").startswith("Nodes required")
    w.until(200)
    assert w.state("a") == "COMPLETED" and (w["a"].held_since or 0) > 110


def test_cloud_nodes_begin_powered_down() -> None:
    """slurmctld 24.11.5 and 26.05.5 show IDLE+CLOUD+POWERED_DOWN at their start; the first job boots what it gets."""
    text = conf(3, "").replace("RealMemory=8000\n", "RealMemory=8000 State=CLOUD\nNodeName=a1 CPUs=4\n")
    w = World(text, "backfill", boot=30)
    assert w.controller.state.power.off == 0b1110  # a1 is up
    w.sbatch("-J one -N1 --exclusive -t 5", 60, at=5)
    w.sbatch("-J two -N2 --exclusive -t 5", 60, at=6)
    w.until(60)
    assert (w.nodes("one"), w.nodes("two")) == ("a1", "n[1-2]")  # the one that is awake first
    assert power(w) == [(w["two"].held_since, "POWERING_UP", "n[1-2]"), (w.start("two"), "IDLE", "n[1-2]")]
    assert w.start("two") - w["two"].held_since == 30
    assert w.controller.state.power.off == 0b1000
    w.until(400)
    assert w.controller.state.power.off == 0b1111


def test_cloud_nodes_are_up_where_nothing_boots_them() -> None:
    text = conf(3, "").replace("SuspendTime=60", "SuspendTime=-1").replace("8000\n", "8000 State=CLOUD\n")
    w = World(text, "backfill")
    assert w.controller.power is None and w.controller.state.power.off == 0
    w.sbatch("-J one -N3 --exclusive -t 5", 60, at=5)
    w.until(6)
    assert w.start("one") == 5


def test_names_that_are_excluded_and_not_there_change_nothing() -> None:
    w = World(conf(3, "SuspendExcNodes=n[1-9]\nSuspendExcParts=none"), "backfill")
    w.until(300)
    assert power(w) == []
