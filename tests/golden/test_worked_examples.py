"""The worked examples of real Slurm (22.05.8, bf_interval=3): blocking, tiers, the map; packing; time limits; D."""

from __future__ import annotations

from unit.core.world import World

from slurmsim.core.records.messages import CreateReservation
from slurmsim.model.reservation import ReservationSpec
from slurmsim.states import NODES_REQUIRED_TEXT

# 8 cores a node; the g nodes have two threads a core and a heavier weight. Three partitions, `hi` of a higher tier.
CONF = """ClusterName=c
SlurmctldHost=h
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1000
SchedulerParameters=bf_interval=3
PriorityType=priority/multifactor
PriorityWeightJobSize=1000
PriorityWeightPartition=1000
NodeName=n[1-4] Sockets=2 CoresPerSocket=4 RealMemory=16000 Weight=10
NodeName=g[1-2] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=32000 Weight=50
PartitionName=debug Nodes=n[1-4] Default=YES
PartitionName=long Nodes=ALL
PartitionName=hi Nodes=n[1-4] PriorityTier=10
"""


def clock(text: str) -> int:
    """Second of the day of ``hh:mm:ss``."""
    hours, minutes, seconds = map(int, text.split(":"))
    return hours * 3600 + minutes * 60 + seconds


def world(start: str) -> World:
    return World(CONF, "backfill", start=clock(start), plan_all=True)


def test_blocking_tiers_and_the_map() -> None:
    """Example A."""
    w = world("18:22:00")
    w.sbatch("-J A -N3 --exclusive -t 2", at=clock("18:22:19"))
    submit = clock("18:22:22")
    w.sbatch("-J B -N4 -t 5", at=submit)
    w.sbatch("-J C -n1 -t 1", at=submit)
    w.sbatch("-J D -N1 -n8 -t 10", at=submit)
    w.sbatch("-p long -J E -N6 -t 10", at=submit)
    w.sbatch("-p hi -J F -N2 -n16 -t 5", at=submit)
    w.sbatch("-p long -J G -n1 -t 10", at=submit)
    w.until(clock("18:22:30"))
    assert (w.start("A"), w.nodes("A")) == (clock("18:22:19"), "n[1-3]")
    assert (w.state("C"), w.nodes("C"), w["C"].scheduler) == ("RUNNING", "n4", "Backfill")  # fits before E's slot
    fates = {name: (*w.planned(name), w.reason(name), w[name].priority) for name in "FEBDG"}
    assert fates == {
        "F": (clock("18:24:19"), "n[1-2]", "Resources", 1291),  # end of A; first by its tier
        "E": (clock("18:29:00"), "g[1-2],n[1-4]", NODES_REQUIRED_TEXT, 1546),  # F's slot is 18:24:00 to 18:29:00
        "B": (clock("18:39:00"), "n[1-4]", NODES_REQUIRED_TEXT, 1364),  # E ends
        "D": (clock("18:44:00"), "n4", "Priority", 1145),  # behind B
        "G": (clock("18:39:00"), "g1", "Priority", 1091),  # may not use g1 before E
    }
    assert w["C"].priority == 1091


def test_packing_and_planning() -> None:
    """Example B. n1 was completing when R6 came: here it is taken by a job that then ends."""
    w = world("18:20:00")
    w.sbatch("-J before -w n1 --exclusive -t 1", 12, at=clock("18:20:50"))
    w.sbatch("-J R6 -n20 -t 5", at=clock("18:20:56"))  # ends by 18:25:56
    w.until(clock("18:20:57"))
    assert (w.nodes("R6"), w.shares("R6")) == ("n[2-4]", "8(x2),4")
    w.until(clock("18:21:57"))
    w.sbatch("-J R1 -n6 -t 3", at=clock("18:21:58"))  # ends by 18:24:58
    w.sbatch("-J R2 -n5 -t 4", at=clock("18:21:58"))  # ends by 18:25:58
    w.until(clock("18:22:00"))
    assert (w.start("R1"), w.nodes("R1"), w.shares("R1")) == (clock("18:21:58"), "n1", "6")
    # five CPUs: 2 are free on n1 and 4 on n4, neither is enough; the larger set first
    assert (w.start("R2"), w.nodes("R2"), w.shares("R2")) == (clock("18:21:58"), "n[1,4]", "1,4")
    for line in (
        "-J P3 -N4 --exclusive -t 5", "-J P2 -N2 -n16 -t 5", "-J P1 -N1 -n8 -t 5", "-J P4 -a 1-3 -N1 -n8 -t 1",
        "-J R4 -n3 -t 4", "-J R3 -n2 -t 6", "-J R5 -n1 -t 9",
    ):  # fmt: skip
        w.sbatch(line, at=clock("18:22:10"))
    w.until(clock("18:22:20"))
    planned = {name: w.planned(name) for name in ("P3", "P2", "P1", "P4_1", "P4_2", "P4_3", "R4", "R3", "R5")}
    assert planned == {
        "P3": (clock("18:25:58"), "n[1-4]"),  # the last running job's end
        "P2": (clock("18:30:00"), "n[1-2]"),  # P3's slot is 18:25:00 to 18:30:00
        "P1": (clock("18:30:00"), "n3"),
        "P4_1": (clock("18:30:00"), "n4"),
        "P4_2": (clock("18:31:00"), "n4"),
        "P4_3": (clock("18:32:00"), "n4"),
        "R4": (clock("18:33:00"), "n4"),
        "R3": (clock("18:35:00"), "n1"),
        "R5": (clock("18:35:00"), "n2"),
    }
    assert w.reason("P3") == "Resources"
    assert {w.reason(name) for name in planned if name != "P3"} == {"Priority"}
    assert [w[name].priority for name in ("P3", "P2", "P1", "P4_1", "R4", "R3", "R5")] == [
        1364, 1291, 1145, 1145, 1106, 1098, 1091,
    ]  # fmt: skip


def test_a_time_limit() -> None:
    """Example C: the limit is found by the scan, up to 30 s late."""
    w = world("17:59:53")  # scans at :23 and :53
    w.sbatch("-J a -n1 -t 1", at=clock("18:00:52"))
    w.until(clock("18:02:00"))
    assert w.start("a") == clock("18:00:52")
    assert (w.state("a"), w.reason("a"), w["a"].end_time) == ("TIMEOUT", "TimeLimit", clock("18:01:53"))


def test_a_plan_behind_a_reservation() -> None:
    """Example D: n[1-2] are reserved from 18:54:02 to 19:54:02."""
    w = world("17:53:00")
    spec = ReservationSpec("r", clock("18:54:02"), clock("19:54:02"), ("n1", "n2"), users=("bob",))
    w.tell(CreateReservation(spec), clock("17:54:00"))
    w.sbatch("-J hour -N4 -t 60", 60, at=clock("17:54:10"))
    w.until(clock("17:54:20"))
    w.sbatch("-J half -N4 -t 30", 60, at=clock("17:54:20"))
    w.until(clock("17:54:40"))
    assert (w.reason("hour"), w.planned("hour")[0]) == (
        "ReqNodeNotAvail, May be reserved for other job", clock("19:55:01"),  # its end, rounded up, and a second
    )  # fmt: skip
    assert w.start("half") in range(clock("17:54:20"), clock("17:54:24"))
