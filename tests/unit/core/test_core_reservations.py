"""Advance reservations: what is refused, which nodes are chosen, how they begin, repeat, change and end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from world import HEAD, World, simple

from slurmsim.core.records.messages import (
    AlterPartition,
    CreateReservation,
    DeleteReservation,
    NodesDown,
    NodesDrain,
    NodesResume,
    Release,
    StartAtOnce,
    UpdateReservation,
)
from slurmsim.hostlist import expand
from slurmsim.model.reservation import ReservationSpec, canonical_flag

POLICIES = ("backfill", "builtin", "easy", "conservative", "fcfs")
EVENT_DRIVEN = ("easy", "conservative", "fcfs")
DAY = 86_400


def spec(name: str, start: int, end: int, nodes: str = "", flags: str = "", **more: Any) -> ReservationSpec:
    words = frozenset(canonical_flag(word) for word in flags.split(",") if word)
    listed = ("ALL",) if nodes == "ALL" else tuple(expand(nodes)) if nodes else ()
    return ReservationSpec(name, start, end, listed, **{"users": ("bob",), "flags": words, **more})


def create(w: World, *args: Any, at: int | None = None, **more: Any) -> None:
    w.tell(CreateReservation(spec(*args, **more)), at)


def events(w: World) -> list[tuple[int, str, str, str]]:
    """(time, state, name and flags, nodes) of all reservation events."""
    return [(row[0], row[3], row[4], row[6]) for row in w.controller.state.events if row[1] == "RESERVATION"]


def reserved(w: World, name: str) -> str:
    r = w.controller.state.reserved.find(name)
    assert r is not None
    return w.controller.state.cluster.compress(
        [w.controller.state.table.names[i] for i in range(64) if r.nodes >> i & 1]
    )


def test_what_slurm_refuses_to_create() -> None:
    w = World(simple(4, more="Licenses=a:1"), "backfill")
    create(w, "held", 100, 200, "n1")
    w.sbatch("-J there -w n4 -N1 -t 10", at=0)
    w.until(5)
    cases = {
        "past": spec("past", -100, 50, "n2"), "ends": spec("ends", 50, 50, "n2"),
        "strange": spec("strange", 10, 20, "x1"), "held": spec("held", 300, 400, "n1"),
        "over": spec("over", 150, 250, "n[1-2]"), "busy": spec("busy", 50, 90, "n4"),
        "nobody": spec("nobody", 50, 90, "n2", users=()), "nowhere": spec("nowhere", 50, 90, "n2", partition="x"),
        "empty": spec("empty", 50, 90), "lots": spec("lots", 50, 90, "n2", licenses=(("a", 2),)),
        "part": spec("part", 50, 90, "ALL", "PART_NODES"), "nothing": spec("nothing", 50, 90, "", "ANY_NODES"),
        "listed": spec("listed", 50, 90, "n2", "REPLACE_DOWN"), "floats": spec("floats", 50, 90, "n2", "TIME_FLOAT"),
        "cores": spec("cores", 50, 90, "n[2-3]", core_counts=(1,)),
    }  # fmt: skip
    for one in cases.values():
        w.tell(CreateReservation(one), 5)
    w.until(5)
    assert w.refused == {
        "past": "Invalid time specified", "ends": "Invalid time specified", "strange": "Invalid node name specified",
        "held": "Duplicate reservation name", "over": "Requested reservation overlaps with another reservation",
        "busy": "Requested nodes are busy", "nobody": "Reservation request lacks users, groups or accounts",
        "nowhere": "Invalid partition name specified", "empty": "Invalid node name specified",
        "lots": "Invalid license specification", "part": "Invalid partition name specified",
        "nothing": "Requested reservation is invalid", "listed": "Invalid node name specified",
        "floats": "slurmsim: reservation flag TIME_FLOAT is not modelled",
        "cores": "Core count for reservation node list is not consistent!",
    }  # fmt: skip
    assert [r.name for r in w.controller.state.reserved.all] == ["held"]


def test_replace_gives_idle_nodes_for_those_in_use() -> None:
    w = World(simple(4), "backfill")
    create(w, "r", 0, 9000, "", "REPLACE", node_counts=(2,), users=("bob",))
    w.until(5)
    assert reserved(w, "r") == "n[1-2]"
    w.sbatch("-J in --reservation=r -w n1 -N1 -t 60", 3000, at=6, user="bob")
    w.until(100)
    assert reserved(w, "r") == "n[2-3]"
    w.sbatch("-J more --reservation=r -N2 -t 60", 3000, at=101, user="bob")
    w.until(200)
    assert reserved(w, "r") == "n[2,4]"  # one idle node is left for two: it keeps the first
    assert not w.refused


def test_maintenance_and_overlap_may_overlap() -> None:
    w = World(simple(2), "backfill")
    create(w, "a", 100, 200, "n1")
    create(w, "m", 100, 200, "n1", "MAINT")
    create(w, "o", 100, 200, "n1", "OVERLAP")
    create(w, "later", 200, 300, "n1")
    w.until(1)
    assert not w.refused


def test_nodes_for_a_count_are_the_first_free_ones() -> None:
    w = World(simple(8), "backfill")
    create(w, "named", 100, 200, "n2")
    w.sbatch("-J run -w n1,n3 -N2 -t 10", at=0)  # till 610 at most
    w.until(5)
    create(w, "two", 150, 250, node_counts=(2,))
    create(w, "late", 900, 950, node_counts=(3,))
    create(w, "busy", 150, 250, "", "IGNORE_JOBS", node_counts=(6,))
    create(w, "", 950, 990, node_counts=(1,), accounts=("phys",), users=())
    w.until(6)
    assert (reserved(w, "two"), reserved(w, "late")) == ("n[4-5]", "n[1-3]")
    assert reserved(w, "busy") == "n[1,3,6-8]"  # five are left that nobody has reserved: fewer are taken
    assert reserved(w, "phys_5") == "n1"


def test_all_nodes_or_a_partition() -> None:
    conf = f"{HEAD}NodeName=n[1-4]\nPartitionName=a Nodes=n[1-2] Default=YES\nPartitionName=b Nodes=n[3-4]\n"
    w = World(conf, "backfill")
    create(w, "part", 100, 400, "ALL", "PART_NODES", partition="b")
    w.sbatch("-J a -N1 -t 10", 60, at=50)
    w.sbatch("-p b -J b -N1 -t 10", 60, at=50)
    w.until(60)
    assert reserved(w, "part") == "n[3-4]"
    assert w.start("a") == 50
    assert w.reason("b") == "ReqNodeNotAvail, Reserved for maintenance"
    create(w, "all", 1200, 1300, "ALL", "MAINT")
    w.sbatch("-J c -N1 -t 30", 60, at=700)
    w.until(720)
    assert w.reason("c") == "ReqNodeNotAvail, Reserved for maintenance"
    w.until(1400)
    assert w.start("c") in range(1300, 1331)
    assert w.start("b") in range(400, 431)


def test_a_job_that_names_no_partition_goes_to_its_reservations() -> None:
    conf = f"{HEAD}NodeName=n[1-4]\nPartitionName=a Nodes=n[1-2] Default=YES\nPartitionName=b Nodes=n[3-4] MinNodes=2\n"
    w = World(conf, "backfill")
    create(w, "own", 100, 400, "n[3-4]", partition="b")
    create(w, "none", 100, 400, "n1")
    w.sbatch("--reservation=own -J in -N2 -t 1", 30, at=50, user="bob")
    w.sbatch("--reservation=own -p a -J named -t 1", 30, at=50, user="bob")
    w.sbatch("--reservation=none -J usual -t 1", 30, at=50, user="bob")
    w.until(200)
    assert [w[name].partition.name for name in ("in", "named", "usual")] == ["b", "a", "a"]
    assert (w.nodes("in"), w.nodes("usual")) == ("n[3-4]", "n1") and w.start("named") is None


@pytest.mark.parametrize("policy", POLICIES)
def test_who_may_go_in_and_who_must_stay_out(policy: str) -> None:
    w = World(simple(4), policy)
    create(w, "r", 100, 1000, "n[1-2]", accounts=("phys",), users=())
    w.sbatch("--reservation=r -J in1 -N1 -t 10 -A phys", 200, at=0)
    w.sbatch("--reservation=r -J in2 -N1 -t 10 -A phys", 200, at=0)
    w.sbatch("--reservation=r -J in3 -N2 -t 5 -A phys", 200, at=0)
    w.sbatch("--reservation=r -J alien -N1 -t 10 -A chem", 200, at=0)
    w.sbatch("-J out1 -N2 -t 30 -A phys", 200, at=0)
    w.sbatch("-J out2 -N3 -t 30 -A phys", 200, at=0)
    w.until(50)
    assert w.refused == {"alien": "Access denied to requested reservation"}
    assert w.reasons("in1 in2 in3") == dict.fromkeys(("in1", "in2", "in3"), "Reservation")
    assert w.nodes("out1") == "n[3-4]"
    w.until(3000)
    begin = range(100, 101) if policy in EVENT_DRIVEN else range(100, 106)
    assert {w.nodes("in1"), w.nodes("in2")} == {"n1", "n2"}
    assert w.start("in1") in begin and w.start("in2") in begin
    assert w.nodes("in3") == "n[1-2]" and w.start("in3") in range(300, 311)
    assert w.start("out2") >= 1000


@pytest.mark.parametrize("policy", EVENT_DRIVEN)
def test_ends_are_exact_under_event_driven_policies(policy: str) -> None:
    w = World(simple(2, more="ResvOverRun=1"), policy)
    create(w, "r", 100, 400, "n1")
    w.sbatch("--reservation=r -J long -N1 -t 20", 2000, at=0, user="bob")
    w.sbatch("--reservation=r -J next -N1 -t 20", 2000, at=0, user="bob")
    w.sbatch("-J other -N2 -t 2", 60, at=150)
    w.until(2000)
    assert (w.start("long"), w["long"].end_time, w.state("long")) == (100, 460, "TIMEOUT")
    assert w.reason("next") == "Reservation r was deleted"
    assert w.start("other") == 460
    assert w.controller.state.reserved.all == []


def test_cores_are_refused_under_event_driven_policies() -> None:
    w = World(simple(2, cpus=4), "easy")
    create(w, "c", 100, 400, "n1", core_counts=(2,))
    w.until(1)
    assert w.refused == {"c": "slurmsim: reservations of cores are not modelled under policy easy"}


def test_cores_wherever_they_are() -> None:
    w = World(simple(3, cpus=4), "backfill")
    create(w, "c", 10, 4000, core_counts=(6,))
    w.sbatch("-J out -n8 -t 60", 3000, at=20)
    w.sbatch("--reservation=c -J in -n6 -t 60", 3000, at=20, user="bob")
    w.until(60)
    r = w.controller.state.reserved.find("c")
    assert r is not None and r.cores == {0: 4, 1: 2}
    assert (w.nodes("in"), w.shares("in")) == ("n[1-2]", "4,2")
    assert w.reason("out") == "Reservation"  # there can never be eight while it lasts


def test_a_daily_reservation_comes_again() -> None:
    w = World(simple(2), "backfill")
    create(w, "d", 100, 400, "n1", "DAILY")
    w.sbatch("--reservation=d -J first -N1 -t 60", 100, at=50, user="bob")
    w.sbatch("--reservation=d -J second -N1 -t 60", 100, at=500, user="bob")
    w.until(600)
    assert w.start("first") in range(100, 106)
    assert w.reason("second") == "Reservation"
    w.until(DAY + 300)
    assert w.start("second") in range(DAY + 100, DAY + 106)
    assert [e[:2] for e in events(w)] == [
        (0, "CREATED"), (100, "STARTED"), (400, "ENDED"), (DAY + 100, "STARTED"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flag", "begins"),
    [
        # day 0 of the clock is a Thursday
        ("WEEKDAY", [0, 1, 4, 5]), ("WEEKEND", [0, 2, 3, 9]), ("WEEKLY", [0, 7, 14, 21]),
        ("HOURLY", [0, 1 / 24, 2 / 24, 3 / 24]),
    ],
)  # fmt: skip
def test_other_repetitions(flag: str, begins: list[float]) -> None:
    w = World(simple(1), "backfill")
    create(w, "d", 600, 900, "n1", flag)
    w.sbatch("-J waits -d afterok:99 -t 1", at=0)
    for day in range(22):
        w.sbatch(f"-J j{day} -t 1", 1, at=day * DAY + 43_200)
    w.until(22 * DAY)
    assert [e[0] for e in events(w) if e[1] == "STARTED"][:4] == [round(600 + day * DAY) for day in begins]


def test_a_repeating_reservation_does_not_keep_a_dead_queue_awake() -> None:
    w = World(simple(1), "backfill")
    create(w, "d", 600, 900, "n1", "DAILY")
    w.sbatch("-J never -N1 -t 1 --begin=99999999999", at=0)
    w.until(60 * DAY)
    assert w.controller.reservations.next_time() is None
    assert len(events(w)) < 50
    w.sbatch("--reservation=d -J again -t 1", 1, at=60 * DAY + 1000, user="bob")
    w.until(62 * DAY)
    assert w.start("again") in range(61 * DAY + 600, 61 * DAY + 606)


def test_an_idle_reservation_is_purged() -> None:
    w = World(simple(1), "backfill")
    create(w, "p", 100, 10_000, "n1", "PURGE_COMP", purge_comp_s=120)
    w.sbatch("--reservation=p -J in -t 10", 200, at=0, user="bob")
    w.sbatch("-J out -t 200", 60, at=0)
    w.until(3000)
    assert [e[:2] for e in events(w)][-2:] == [(420, "ENDED"), (420, "REMOVED")]  # idle since the scan at 300
    assert w.start("out") in range(420, 451)


def test_jobs_left_over_go_on_as_others_when_told() -> None:
    w = World(simple(2), "backfill")
    create(w, "r", 100, 200, "n1", "NO_HOLD_JOBS_AFTER")
    create(w, "s", 300, 400, "n2")
    w.sbatch("--reservation=r -J a -t 10", 1000, at=0, user="bob")
    w.sbatch("--reservation=r -J b -t 1", 10, at=0, user="bob")
    w.sbatch("--reservation=s -J c -t 10 --begin=5000", 10, at=0, user="bob")
    w.until(1000)
    assert (w.state("a"), w["a"].end_time) == ("TIMEOUT", 210)
    assert w.state("b") == "COMPLETED" and w["b"].reservation_name == ""
    assert w.reason("c") == "Reservation s was deleted"
    w.tell(Release(w.id("c")), 1000)
    w.until(6000)
    assert w.state("c") == "COMPLETED"  # released, it is a job like any other


def test_changes_and_what_slurm_refuses() -> None:
    w = World(simple(4, more="Licenses=a:2"), "backfill")
    create(w, "r", 100, 400, "n[1-2]")
    create(w, "s", 100, 400, "n3")
    w.tell(UpdateReservation("none", end=500), 1)
    w.tell(UpdateReservation("r", nodes=("n1", "n3")), 2)
    w.tell(UpdateReservation("s", users=()), 3)
    w.until(3)
    assert w.refused == {
        "none": "Requested reservation is invalid", "r": "Requested reservation overlaps with another reservation",
        "s": "Reservation request lacks users, groups or accounts",
    }  # fmt: skip
    w.refused.clear()
    w.tell(UpdateReservation("r", start=50, duration_s=600, nodes=("n1",), licenses=(("a", 1),)), 4)
    w.tell(UpdateReservation("s", node_count=2, users=("alice",), set_flags=frozenset({"FLEX"})), 5)
    w.until(60)
    assert not w.refused
    r, s = w.controller.state.reserved.all
    assert (r.start, r.end, reserved(w, "r"), r.licenses) == (50, 650, "n1", (("a", 1),))
    assert (reserved(w, "s"), s.users, s.flags) == ("n[2-3]", ("alice",), frozenset({"FLEX", "SPEC_NODES"}))
    w.tell(UpdateReservation("r", start=70), 61)
    w.tell(UpdateReservation("s", end=-100), 61)
    w.until(61)
    assert w.refused == {"r": "Reservation already started", "s": "Invalid time specified"}


def test_a_reservation_that_is_deleted_gives_its_nodes_back() -> None:
    w = World(simple(2), "backfill")
    create(w, "r", 100, 10_000, "n[1-2]")
    w.sbatch("-J a -N1 -t 60", 60, at=50)
    w.until(200)
    assert w.start("a") is None
    w.tell(DeleteReservation("r"), 201)
    w.until(300)
    assert w.start("a") in range(201, 206)


def test_other_nodes_for_those_that_fail() -> None:
    w = World(simple(4), "backfill")
    create(w, "count", 1000, 2000, node_counts=(2,))
    create(w, "named", 1000, 2000, "n3")
    create(w, "static", 3000, 4000, "", "STATIC", node_counts=(2,))
    w.tell(NodesDown(("n1",)), 10)
    w.until(40)
    assert (reserved(w, "count"), reserved(w, "static")) == ("n[2,4]", "n[1-2]")
    w.tell(NodesDown(("n3", "n4")), 50)
    w.until(95)
    assert (reserved(w, "count"), reserved(w, "named")) == ("n[2,4]", "n3")  # nothing else is left
    w.tell(NodesResume(("n1",)), 100)
    w.until(130)
    assert reserved(w, "count") == "n[1-2]"


@pytest.mark.parametrize(("release", "nodes"), [("22.05", "n2"), ("26.05", "n1")])
def test_maintenance_keeps_nodes_that_fail(release: str, nodes: str) -> None:
    w = World(simple(2), "backfill", release=release)
    create(w, "m", 1000, 2000, "", "MAINT", node_counts=(1,))
    w.tell(NodesDown(("n1",)), 10)
    w.until(40)
    assert reserved(w, "m") == nodes


def test_a_magnetic_reservation_draws_its_users_jobs_in() -> None:
    w = World(simple(3), "backfill")
    create(w, "m", 100, 4000, "n1", "MAGNETIC")
    w.sbatch("-J fill -w n2,n3 -N2 -t 100", 3000, at=0)
    w.sbatch("-J bobs -N1 -t 10", 60, at=150, user="bob")
    w.sbatch("-J alices -N1 -t 10", 60, at=150)
    w.until(200)
    assert (w.nodes("bobs"), w["bobs"].reservation_name) == ("n1", "m")
    assert w.start("alices") is None and w["alices"].reservation_name == ""


def test_nodes_are_marked_while_it_lasts() -> None:
    w = World(simple(3), "backfill")
    create(w, "r", 100, 200, "n[1-2]")
    create(w, "m", 150, 300, "n[2-3]", "MAINT")
    w.until(400)
    shown = [(row[0], row[3], row[6]) for row in w.controller.state.events if row[1] == "NODE"]
    assert shown == [
        (100, "RESERVED", "n[1-2]"), (150, "MAINT", "n[2-3]"), (200, "IDLE", "n1"), (300, "IDLE", "n[2-3]"),
    ]  # fmt: skip


def test_what_no_nodes_can_serve_waits_for_a_reservation_it_would_overlap() -> None:
    """Whether they ever could is not asked then: its request outgrew the nodes when the partition's default rose."""
    conf = simple(2, 2, "SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100").replace(
        "CPUs=2", "CPUs=2 RealMemory=1000"
    )
    w = World(conf, "backfill")
    w.sbatch("-J busy -N2 --exclusive -t 10", 100)
    w.sbatch("-J long -N1 -n2 -t 20", 30)
    w.sbatch("-J short -N1 -n2 -t 1", 30)
    create(w, "later", 900, 1500, "n1")
    w.until(10)
    main = w.controller.state.cluster.by_name["main"].spec
    w.tell(AlterPartition(replace(main, def_mem_per_cpu_mib=600)), 11)
    w.until(200)
    assert w.reasons("long short") == {"long": "Reservation", "short": "BadConstraints"}


def test_nodes_that_cannot_be_replaced_are_looked_for_again_once_something_has_changed() -> None:
    """slurmctld looks every 30 s. With the same nodes and reservations, and no job, it finds the same: none."""
    w = World(simple(3), "backfill")
    create(w, "r", 1000, 90_000, flags="IGNORE_JOBS", node_counts=(2,), at=10)
    w.tell(NodesDown(("n1", "n2", "n3"), "x"), 50)
    w.until(1100)
    turns = len(w.told)
    w.until(80_000)
    assert len(w.told) == turns
    w.tell(NodesResume(("n3",)), 80_005)
    w.until(80_009)
    assert reserved(w, "r") == "n[1-2]"
    w.until(80_010)
    assert reserved(w, "r") == "n3"


@pytest.mark.parametrize("partitions", ["p,q", "q,p"])
def test_an_allocation_without_a_limit_may_last_as_long_as_its_partition_lets_it(partitions: str) -> None:
    """22.05: ``srun -p p,q -N1 --exclusive``, p busy, n02 of q reserved in ten minutes: "queued and waiting"."""
    nodes = "NodeName=n[1-2] CPUs=8 CoresPerSocket=8\nPartitionName=p Nodes=n1 Default=YES MaxTime=5\n"
    w = World(f"{HEAD}{nodes}PartitionName=q Nodes=n2 MaxTime=60\n", "backfill")
    create(w, "r", 600, 2400, "n2", at=0)
    w.sbatch("-p p -N1 --exclusive", 300, at=0)
    w.until(5)
    job = w.sbatch(f"-J a -p {partitions} -N1 --exclusive", 20, at=6)
    w.tell(StartAtOnce(job), at=6)
    w.until(8)
    assert w.state("a") == "PENDING"


@pytest.mark.parametrize(("flags", "others", "start", "after"), [
    ("", "", 0, "n1"),  # the others are taken
    ("", "OVERLAP", 0, "n[1,3]"), ("REPLACE_DOWN", "OVERLAP", 0, "n[1,3]"), ("", "MAINT", 0, "n1"),
    ("DAILY", "MAINT", 8 * DAY, "n[1,3]"),
])  # fmt: skip
def test_a_node_that_is_down_is_replaced_in_the_next_second(flags: str, others: str, start: int, after: str) -> None:
    w = World(simple(4), "backfill")
    create(w, "others", start, start + 60, "n[3-4]", others)
    create(w, "r", 0, 600, "", flags, node_counts=(2,))
    w.until(10)
    assert reserved(w, "r") == "n[1-2]"
    w.tell(NodesDown(("n2",), "test"))
    w.until(12)
    kept = reserved(w, "r")
    assert kept == after if after != "n1" else kept == "n[1-2]"


def test_a_drained_node_is_replaced_at_the_next_scan() -> None:
    w = World(simple(4), "backfill")
    create(w, "r", 0, 600, "", node_counts=(2,))
    w.until(10)
    w.tell(NodesDrain(("n2",), "test"))
    w.until(12)
    assert reserved(w, "r") == "n[1-2]"
    w.until(45)
    assert reserved(w, "r") == "n[1,3]"


@pytest.mark.parametrize(
    ("release", "flags", "at_day", "other", "meets"),
    [
        ("26.05", "DAILY", 21, "", True), ("26.05", "WEEKLY", 21, "", True), ("26.05", "HOURLY", 21, "", True),
        ("22.05", "DAILY", 21, "", False),  # it looked a week ahead
        ("26.05", "WEEKLY", 20, "", False), ("26.05", "WEEKLY", 3, "DAILY", True),
        ("26.05", "WEEKDAY", 2, "WEEKEND", False), ("26.05", "WEEKEND", 1, "DAILY", True),
        ("26.05", "WEEKDAY", 14, "WEEKDAY", True), ("26.05", "", 21, "DAILY", False),
    ],
)  # fmt: skip
def test_recurring_reservations_keep_their_nodes_for_good(
    release: str, flags: str, at_day: int, other: str, meets: bool
) -> None:
    w = World(simple(1), "backfill", release=release)
    first = 2 * DAY if flags == "WEEKEND" else 0  # day 0 of the clock is a Thursday
    create(w, "first", first + 600, first + 900, "n1", flags)
    create(w, "second", at_day * DAY + first + 600, at_day * DAY + first + 900, "n1", other)
    w.until(1)
    assert w.refused == ({"second": "Requested reservation overlaps with another reservation"} if meets else {})


@pytest.mark.parametrize("at", [10, 700])
def test_a_recurring_reservation_is_skipped_before_and_in_a_period(at: int) -> None:
    w = World(simple(1), "backfill")
    create(w, "d", 600, 900, "n1", "DAILY")
    w.tell(UpdateReservation("d", skip=True), at)
    w.sbatch("-J there -t 1", 1, at=at + 1)
    w.until(1000)
    r = w.controller.state.reserved.find("d")
    assert r is not None and (r.start, r.end) == (DAY + 600, DAY + 900)
    assert w.start("there") < at + 10
    w.sbatch("-J inside --reservation=d -t 1", 1, at=1001, user="bob")
    w.tell(UpdateReservation("d", skip=True), 1002)
    w.until(1010)
    assert w.refused == {"d": "Requested reservation is in use"}


@pytest.mark.parametrize(("release", "days", "takes"), [("24.11", 9, ""), ("26.05", 9, "n1"), ("26.05", 6, "")])
def test_maintenance_that_is_far_off_takes_no_nodes_from_recurring_ones(release: str, days: int, takes: str) -> None:
    w = World(simple(1), "backfill", release=release)
    create(w, "maint", days * DAY, (days + 1) * DAY, "n1", "MAINT")
    create(w, "daily", 600, 900, "", "DAILY", node_counts=(1,))
    w.until(1)
    assert w.refused == ({} if takes else {"daily": "Requested nodes are busy"})
