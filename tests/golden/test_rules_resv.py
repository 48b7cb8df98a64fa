"""Reservations, licenses, deadlines and minimum times: scenarios recorded with slurmctld 22.05.8.

Times are seconds after 08:00:00 of the recording. `start` is when slurmctld came up: its limit scans (30 s), its looks
for reservations (5 s) and its full passes (60 s) keep that phase. The recordings ran on a clock ten times too fast, so
that starts may be some seconds later there; what is asserted exactly is shown so by the recording.
"""

from __future__ import annotations

from unit.core.world import HEAD, World

from slurmsim.core.records.messages import CreateReservation, DeleteReservation
from slurmsim.hostlist import expand
from slurmsim.model.reservation import ReservationSpec, canonical_flag

ONE = "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE"
LONG_WAIT = "ReqNodeNotAvail, May be reserved for other job"


def world(
    nodes: str = "n[1-4]", more: str = "", *, start: int = 0, parameters: str = "bf_interval=10", part: str = ONE
) -> World:
    conf = (
        f"{HEAD}MinJobAge=100000\nKillWait=5\nSchedulerParameters={parameters}\n{more}\n"
        f"NodeName={nodes} Sockets=1 CoresPerSocket=4 RealMemory=8000\n{part}\n"
    )
    return World(conf, "backfill", start=start, plan_all=True)


def reserve(
    name: str, start: int, minutes: int, users: str, nodes: str, flags: str = "", cores: int = 0
) -> ReservationSpec:
    """scontrol create reservation."""
    words = frozenset(canonical_flag(word) for word in flags.split(",") if word)
    counts = (cores,) if cores else ()
    return ReservationSpec(
        name, start, start + 60 * minutes, tuple(expand(nodes)), core_counts=counts, users=tuple(users.split(",")),
        flags=words,
    )  # fmt: skip


def test_reservations_first_part() -> None:
    """reservations: a long job waits for its end, a short one passes, jobs inside wait for its begin."""
    w = world(start=2)
    w.tell(CreateReservation(reserve("r1", 187, 5, "bob", "n[1-2]")), 7)
    w.sbatch("-J long -N3 -n3 --exclusive -t 10", 60, at=7)
    w.sbatch("-J short -N3 -n3 --exclusive -t 2", 60, at=7)
    w.sbatch("--reservation=r1 -J in1 -N1 -n4 -t 3", 100, at=7, user="bob")
    w.sbatch("--reservation=r1 -J in2 -N1 -n4 -t 30", 1000, at=7, user="bob")
    w.sbatch("--reservation=r1 -J no -N1 -t 3", 100, at=8, user="carol")
    w.sbatch("-J c1 -N1 -n1 -t 60", 60, at=8, user="carol")
    w.until(22)
    assert w.refused == {"no": "Access denied to requested reservation"}
    assert (w.start("short"), w.nodes("short")) == (7, "n[1-3]")
    assert w.nodes("c1") == "n4"
    assert w.reasons("long in1 in2") == {"long": "Resources", "in1": "Reservation", "in2": "Reservation"}
    assert w.planned("long")[0] == 541  # 8:08:07 rounded up to the minute, and a second
    assert w.planned("in1")[0] is None and w.planned("in2")[0] is None
    assert w["in1"].eligible_time is None
    w.tell(CreateReservation(reserve("r2", 22, 10, "alice", "n1")), 22)
    w.tell(CreateReservation(reserve("r3", 22, 5, "alice", "n4", "ignore_jobs")), 22)
    w.until(202)
    assert w.refused["r2"] == "Requested reservation overlaps with another reservation"
    assert "r3" not in w.refused
    assert w.reason("long") == LONG_WAIT and w.planned("long")[0] == 541
    assert (w.start("in1"), w.nodes("in1")) == (187, "n1")  # in the second it begins
    assert (w.start("in2"), w.nodes("in2")) == (187, "n2")  # though its limit lies beyond the end
    w.until(493)
    assert w.state("in1") == "COMPLETED" and w["in1"].end_time == 287
    assert w.state("in2") == "RUNNING" and w["in2"].end_limit == 187 + 1800
    assert w.nodes("long") == "n[1,3-4]" and w.start("long") in range(487, 498)
    w.until(520)
    assert (w.state("in2"), w.reason("in2")) == ("TIMEOUT", "TimeLimit")  # first scan after its end
    w.tell(DeleteReservation("r1"), 521)
    w.until(521)
    assert w.refused["r1"] == "Requested reservation is invalid"  # gone by itself


def test_sbatch_says_at_once_that_reserved_nodes_are_not_for_a_job() -> None:
    """Whoever is ahead of it: what is not reserved before its limit could not serve it, were it free."""
    w = world()
    w.tell(CreateReservation(reserve("r1", 1800, 60, "bob", "n[1-2]")), 1)
    w.sbatch("-J fill -N4 -n16 -t 20", 1200, at=2)
    w.until(10)
    w.sbatch("-J head -N4 -n16 -t 5", 60, at=10)
    w.sbatch("-J named -w n1 -t 60", 60, at=11)
    w.sbatch("-J wide -N3 -n3 -t 60", 60, at=11)
    w.sbatch("-J short -w n1 -t 5", 60, at=11)
    w.sbatch("-J inside -w n1 -t 60 --reservation=r1", 60, at=11, user="bob")
    w.sbatch("-J other -N2 -t 60", 60, at=11)
    expected = {
        "named": LONG_WAIT,
        "wide": LONG_WAIT,
        "short": "Priority",
        "inside": "Reservation",
        "other": "Priority",
    }
    w.until(11)
    assert w.reasons("named wide short inside other") == expected
    w.until(75)  # passes later: they keep what they said
    assert w.reasons("named wide short inside other") == expected


def test_reservations_of_cores_flexible_and_maintenance() -> None:
    """reservations, second part."""
    w = world(start=422)
    w.tell(CreateReservation(reserve("rc", 514, 30, "carol", "n1", cores=2)), 514)
    w.sbatch("-J d1 -w n1 -n2 -t 10", 500, at=514)
    w.sbatch("-J d2 -w n1 -n1 -t 10", 500, at=514)
    w.sbatch("--reservation=rc -J d3 -n2 -t 10", 500, at=514, user="carol")
    w.sbatch("--reservation=rc -J d4 -n1 -t 10", 500, at=514, user="carol")
    w.until(526)
    assert (w.start("d1"), w.start("d3")) == (514, 514)
    assert w.reasons("d2 d4") == {"d2": "Resources", "d4": "Resources"}
    assert w.planned("d4") == (1114, "n1")  # the end of d3
    assert w.planned("d2")[0] == 1680  # 8:28:00: the planner blocks the whole node for d4, 8:18:00 to 8:28:00
    w.tell(CreateReservation(reserve("rf", 526 + 600, 30, "dave", "n2", "flex")), 526)
    w.sbatch("--reservation=rf -J f1 -N2 --exclusive -t 20", 500, at=526, user="dave")
    w.tell(CreateReservation(reserve("rm", 526, 5, "root", "n4", "maint,ignore_jobs")), 526)
    w.sbatch("-w n4 -J m1 -n1 -t 5", 50, at=526, user="bob")
    w.until(541)
    assert w.nodes("f1") == "n[2-3]" and w.start("f1") in range(526, 537)  # ten minutes early, and on more nodes
    assert (w.reason("m1"), w.planned("m1")[0]) == (LONG_WAIT, 841)  # 8:13:46 rounded up, and a second
    shown = [row for row in w.controller.state.events if row[1] == "NODE"]
    assert [(row[3], row[6]) for row in shown] == [("RESERVED", "n1"), ("MAINT", "n4")]


def test_reservation_end() -> None:
    """reservation-end: jobs in it are timed out by the scan, waiting ones held; FLEX, MAGNETIC, several names."""
    w = world(more="ResvOverRun=0", start=1)
    w.tell(CreateReservation(reserve("ra", 7, 2, "alice", "n1")), 7)
    w.tell(CreateReservation(reserve("rf", 7, 2, "alice", "n2", "flex")), 7)
    w.tell(CreateReservation(reserve("mag", 7, 4, "bob", "n3", "magnetic")), 7)
    w.tell(CreateReservation(reserve("later", 3607, 10, "carol,dave", "n4")), 7)
    w.sbatch("--reservation=ra -J a1 -n2 -t 10", 1000, at=7)
    w.sbatch("--reservation=ra -J a2 -N1 -n4 -t 1", 30, at=7)
    w.sbatch("--reservation=rf -J f1 -N1 -n2 -t 10", 1000, at=7)
    w.sbatch("--reservation=ra,rf -J two -N1 -n2 -t 1", 30, at=7)
    w.sbatch("-J b1 -N1 -n4 -t 3", 100, at=7, user="bob")
    w.sbatch("-J b2 -N1 -n2 -t 3", 100, at=7, user="bob")
    w.sbatch("--reservation=later -J c1 -n1 -t 5", 30, at=7, user="carol")
    w.sbatch("--reservation=later -J d1 -n1 -t 5", 30, at=7, user="dave")
    w.until(21)
    assert {n: w.nodes(n) for n in ("a1", "f1", "two", "b1", "b2")} == {
        "a1": "n1", "f1": "n2", "two": "n2", "b1": "n3", "b2": "n4",
    }  # fmt: skip
    assert {w.start(n) for n in ("a1", "f1", "two", "b1", "b2")} == {7}
    assert w.reasons("a2 c1 d1") == {"a2": "Resources", "c1": "Reservation", "d1": "Reservation"}
    assert w.planned("a2")[0] == 607  # the end of a1
    shown = {n: w[n].reservation_name for n in ("a1", "f1", "two", "b1", "b2", "c1")}
    assert shown == {"a1": "ra", "f1": "rf", "two": "ra,rf", "b1": "mag", "b2": "", "c1": "later"}
    w.tell(DeleteReservation("later"), 21)
    w.sbatch("--reservation=none -J d2 -n1 -t 5", 30, at=21, user="dave")
    w.until(123)
    assert w.refused == {
        "later": "Requested reservation is in use", "d2": "Requested reservation is invalid",
    }  # fmt: skip
    assert (w["two"].end_time, w["b1"].end_time, w["b2"].end_time) == (37, 107, 107)
    w.until(224)
    assert (w.state("a1"), w.reason("a1"), w["a1"].end_time) == ("TIMEOUT", "TimeLimit", 151)
    assert (w.reason("a2"), w["a2"].priority) == ("Reservation ra was deleted", 0)
    held = [row for row in w.controller.state.events if row[1] == "HOLD"]
    assert [(row[0], row[2], row[3]) for row in held] == [(151, w.id("a2"), "RESV_DEL_HOLD")]
    assert (w.state("f1"), w["f1"].end_limit) == ("RUNNING", 607)  # FLEX: runs on


def test_licenses() -> None:
    """licenses: a job lacking one blocks nobody; lower ones may take them first."""
    w = world("n[1-2]", "Licenses=mat:3,flu:2")
    w.sbatch("-L mat:2 -J a -n1 -t 5", 60, at=4)
    w.sbatch("-L mat:2 -J b -n1 -t 5", 60, at=4, user="bob")
    w.sbatch("-L mat:1 -J c -n1 -t 5", 100, at=4, user="carol")
    w.sbatch("-L mat:1,flu:2 -J d -n1 -t 5", 30, at=4, user="dave")
    w.sbatch("-n1 -J e -t 5", 30, at=4, user="dave")
    w.sbatch("-L flu:2 -J f -n1 -t 5", 100, at=4)
    w.sbatch("-L mat:4 -J g -t 5", 30, at=4, user="bob")
    w.sbatch("-L sas -J h -t 5", 30, at=4, user="bob")
    w.until(17)
    assert w.refused == {"g": "Invalid license specification", "h": "Invalid license specification"}
    assert w.starts("a c e f") == {"a": 4, "c": 4, "e": 4, "f": 4}
    assert w.reasons("b d") == {"b": "Licenses", "d": "Licenses"}
    assert w.planned("b")[0] is None and w.planned("d")[0] is None
    assert w.controller.licenses.used == {"mat": 3, "flu": 2}
    w.until(87)
    assert w.start("b") in (64, 65, 66, 67)  # when a gave its licenses back
    assert w.reason("d") == "Licenses"
    assert w.controller.licenses.used == {"mat": 3, "flu": 2}
    w.until(150)
    assert w.start("d") in range(104, 108)  # flu comes back
    assert w.nodes("d") == "n1"
    w.until(200)
    assert w.controller.licenses.used == {"mat": 0, "flu": 0}


def test_minimum_times_and_deadlines() -> None:
    """time-min."""
    w = world(
        "n[1-3]",
        parameters="bf_interval=10,bf_resolution=60",
        part="PartitionName=main Nodes=ALL Default=YES MaxTime=60",
    )
    w.sbatch("-J r1 -N2 --exclusive -t 8", 2000, at=4)
    w.sbatch("-J w1 -N3 --exclusive -t 5", 60, at=9, user="bob")
    w.sbatch("-J m1 -N1 -n2 -t 30 --time-min=3", 60, at=13, user="carol")
    w.sbatch("-J m2 -N1 -n1 -t 30 --time-min=15", 60, at=13, user="carol")
    w.sbatch(f"-J d1 -N1 -n1 -t 3 --deadline={13 + 120}", 60, at=13, user="dave")
    w.sbatch(f"-J d2 -N3 -t 3 --deadline={13 + 240}", 60, at=13, user="dave")
    w.sbatch(f"-J d3 -N3 -t 10 --deadline={13 + 240}", 60, at=13, user="dave")
    w.sbatch(f"-J d4 -N1 -n4 --deadline={13 + 600}", 60, at=13, user="dave")
    w.until(28)
    assert w["m1"].time_limit_s == 180 and w["m1"].scheduler == "Backfill"  # the minimum, though 7 minutes were free
    assert w.nodes("m1") == "n3" and w.start("m1") in range(13, 25)
    assert w.reasons("w1 m2 d2 d4") == {"w1": "Resources", "m2": "Priority", "d2": "Priority", "d4": "Priority"}
    planned = {name: w.planned(name)[0] for name in ("w1", "m2", "d2", "d4")}
    assert planned == {"w1": 484, "m2": 780, "d2": 1680, "d4": 1860}
    assert w["m2"].time_limit_s == 1800
    for name in ("d1", "d3"):
        assert (w.state(name), w.reason(name), w[name].exit_code) == ("DEADLINE", "DeadLine", "0:1")
        assert w[name].end_time in range(13, 25)
    w.until(92)
    assert w.state("m1") == "COMPLETED"
    assert (w.state("d2"), w.reason("d2")) == ("DEADLINE", "DeadLine")
    assert w["d2"].end_time in range(74, 85)  # the first cycle after 0:73, when three minutes were left
    assert {name: w.planned(name)[0] for name in ("w1", "m2", "d4")} == {"w1": 484, "m2": 780, "d4": 780}
    w.until(270)
    assert w.reasons("w1 m2 d4") == {"w1": "Resources", "m2": "Priority", "d4": "Priority"}


def test_running_jobs_in_the_plan_and_licenses() -> None:
    """running-reserve: a job whose license is in use has no estimate without bf_licenses."""
    w = world(more="Licenses=lic:2", parameters="bf_interval=10,bf_running_job_reserve")
    w.sbatch("-J r1 -N1 --exclusive -L lic:1 -t 4", 2000, at=6)
    w.sbatch("-J r2 -N1 -n4 -t 6", 2000, at=6)
    w.sbatch("-J r3 -N1 -n2 -t 8", 2000, at=6, user="bob")
    w.sbatch("-J w1 -N4 -n4 -t 5", 60, at=12, user="carol")
    w.sbatch("-J w2 -N1 -n4 -L lic:2 -t 5", 60, at=12, user="carol")
    w.sbatch("-J w3 -N1 --exclusive -t 3", 60, at=12, user="dave")
    w.sbatch("-J w4 -N1 -n1 -L lic:1 -t 20", 60, at=12, user="dave")
    w.until(29)
    assert [w.nodes(n) for n in ("r1", "r2", "r3", "w3")] == ["n1", "n2", "n3", "n4"]
    assert w.reasons("w1 w2 w4") == {"w1": "Resources", "w2": "Priority", "w4": "Priority"}
    assert w.planned("w1") == (366, "n[1-4]")
    assert w.planned("w2") == (None, "")
    assert w.planned("w4") == (660, "n3")
    w.until(129)
    assert w.planned("w1")[0] == 366 and w.planned("w2")[0] is None and w.planned("w4") == (660, "n3")
