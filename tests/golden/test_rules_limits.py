"""Limits of associations and QOS: scenarios recorded with slurmctld 22.05.8 (limits-*, limit-stop, limits).

Times are seconds after 08:00:00 of the recording. Only what the recordings show is asserted: the reason of
each job at each look, and when and by which scheduler it started.
"""

from __future__ import annotations

from unit.core.world import HEAD, World

from slurmsim.config.accounting.build import build
from slurmsim.config.accounting.commands import read_commands
from slurmsim.config.accounting.draft import Draft
from slurmsim.config.findings import Report
from slurmsim.model.accounting import Accounting

ONE = "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE"
REFUSED = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


def accounting(commands: str) -> Accounting:
    """What sacctmgr makes of `commands`."""
    draft = Draft(Report())
    read_commands(commands, "sacctmgr.txt", draft)
    return build(draft, "sacctmgr.txt")


def world(
    commands: str, nodes: str = "n[1-4]", cores: int = 4, partitions: str = ONE, more: str = "", *, start: int = 72,
    parameters: str = "bf_interval=10,bf_resolution=60", enforce: str = "associations,limits,qos",
) -> World:  # fmt: skip
    conf = (
        f"{HEAD}MinJobAge=100000\nKillWait=5\nSchedulerParameters={parameters}\n{more}\n"
        f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce={enforce}\n"
        f"NodeName={nodes} Sockets=1 CoresPerSocket={cores} RealMemory=8000\n{partitions}\n"
    )
    return World(conf, "backfill", plan_all=True, start=start, accounting=accounting(commands))


def test_limits_of_associations() -> None:
    """limits-assoc: GrpJobs, GrpTRES of a parent account, MaxJobs, GrpSubmitJobs."""
    w = world(
        """add cluster oracle
add account top GrpTRES=cpu=12
add account sub1 parent=top GrpJobs=2
add account sub2 parent=top
add account free
add user alice Account=sub1
add user bob Account=sub2
add user carol Account=free MaxJobs=1
add user dave Account=free GrpSubmitJobs=2 GrpTRES=cpu=1"""
    )
    w.sbatch("-J a1 -N1 -n4 -t 10", 41, at=80, user="alice")
    w.sbatch("-J a2 -N1 -n4 -t 10", 101, at=80, user="alice")
    w.sbatch("-J a3 -N1 -n1 -t 10", 60, at=80, user="alice")
    w.sbatch("-J b1 -N1 -n4 -t 10", 101, at=80, user="bob")
    w.sbatch("-J b2 -N1 -n4 -t 10", 60, at=80, user="bob")
    w.sbatch("-J b3 -N1 -n2 -t 10", 61, at=80, user="bob")  # in the recording's last second it ends after a2
    w.sbatch("-J c1 -N1 -n2 -t 10", 61, at=80, user="carol")
    w.sbatch("-J c2 -N1 -n1 -t 10", 31, at=80, user="carol")
    w.sbatch("-J d1 -N1 -n1 -t 10", 41, at=80, user="dave")
    w.sbatch("-J d2 -N1 -n2 -t 10", 41, at=80, user="dave")
    w.sbatch("-J d3 -N1 -n1 -t 10", 40, at=80, user="dave")
    w.until(92)
    assert w.refused == {"d3": f"AssocGrpSubmitJobsLimit: {REFUSED}"}
    assert [w.nodes(n) for n in ("a1", "a2", "b1", "c1", "d1")] == ["n1", "n2", "n3", "n4", "n4"]
    first = w.start("a1")
    assert first is not None and first <= 82
    waits = w.reasons("a3 b2 b3 c2 d2")
    assert waits == {
        "a3": "AssocGrpJobsLimit",
        "b2": "AssocGrpCpuLimit",  # 12 CPUs of the account above are taken
        "b3": "AssocGrpCpuLimit",
        "c2": "AssocMaxJobsLimit",
        "d2": "AssocGrpCpuLimit",
    }
    planned = {name: w.planned(name)[0] for name in waits}
    assert planned == {"a3": None, "b2": first + 600, "b3": first + 600, "c2": None, "d2": first + 600}
    w.until(138)
    ended = w["a1"].end_time
    assert (w.start("a3"), w.nodes("a3"), w["a3"].scheduler) == (ended, "n4", "Main")
    assert (w.start("b3"), w.nodes("b3"), w["b3"].scheduler) == (ended, "n1", "Main")  # passes b2, which is too big
    assert w.reasons("b2 c2 d2") == {"b2": "AssocGrpCpuLimit", "c2": "AssocMaxJobsLimit", "d2": "AssocGrpCpuLimit"}
    assert [w.planned(n)[0] for n in ("b2", "c2", "d2")] == [first + 600, None, None]
    w.until(198)
    assert w.start("b2") == w["a2"].end_time and w.nodes("b2") == "n2"
    assert w["c1"].end_time is not None and w.start("c2") in range(w["c1"].end_time, w["c1"].end_time + 4)
    assert w.reason("d2") == "AssocGrpCpuLimit" and w.state("d2") == "PENDING"  # its own limit is 1


QOS = """add cluster oracle
add qos partq GrpTRES=cpu=6 MaxJobsPerUser=2
add qos usercpu MaxTRESPerUser=cpu=4
add qos userjobs MaxJobsPerUser=1
add qos deny Flags=DenyOnLimit MaxTRESPerJob=cpu=4 MaxWall=10
add qos nodeny MaxTRESPerJob=cpu={nodeny} MaxWall=10 MinTRESPerJob=cpu=2
add qos over Flags=OverPartQOS GrpTRES=cpu=10 MaxJobsPerUser=4
add qos grp GrpJobs=2 GrpSubmitJobs=3
add qos wide MaxJobsPerUser=3
add account acc
add user alice,bob,carol,dave Account=acc
modify user where name=alice,bob,carol,dave set qos=normal,usercpu,userjobs,deny,nodeny,over,grp,wide DefaultQOS=normal
modify user dave set MaxJobs=1"""
PQ = f"{ONE}\nPartitionName=pq Nodes=ALL QOS=partq MaxTime=INFINITE"


def test_limits_of_qos() -> None:
    """limits-qos, up to the operator's edit: per user, per job, group, partition QOS, OverPartQOS."""
    w = world(QOS.format(nodeny=4), cores=8, partitions=PQ, start=79)
    w.sbatch("-q usercpu -J u1 -n3 -t 10", 60, at=87, user="alice")
    w.sbatch("-q usercpu -J u2 -n2 -t 10", 60, at=87, user="alice")
    w.sbatch("-q usercpu -J u3 -n1 -t 10", 60, at=87, user="alice")
    w.sbatch("-q usercpu -J u4 -n5 -t 10", 60, at=87, user="alice")
    w.sbatch("-q usercpu -J u5 -n2 -t 10", 60, at=87, user="bob")
    w.sbatch("-q userjobs -J j1 -n1 -t 10", 40, at=87, user="bob")
    w.sbatch("-q userjobs -J j2 -n1 -t 10", 40, at=87, user="bob")
    w.sbatch("-q deny -J y1 -n5 -t 5", 60, at=87, user="carol")
    w.sbatch("-q deny -J y2 -n1 -t 11", 60, at=87, user="carol")
    w.sbatch("-q deny -J y3 -n4 -t 5", 60, at=87, user="carol")
    w.sbatch("-q nodeny -J z1 -n5 -t 5", 60, at=87, user="carol")
    w.sbatch("-q nodeny -J z2 -n2 -t 11", 60, at=87, user="carol")
    w.sbatch("-q nodeny -J z3 -n1 -t 5", 60, at=88, user="carol")
    w.sbatch("-q nodeny -J z4 -n3 -t 5", 60, at=88, user="carol")
    w.until(99)
    assert w.refused == {
        "y1": f"QOSMaxCpuPerJobLimit: {REFUSED}",
        "y2": f"QOSMaxWallDurationPerJobLimit: {REFUSED}",
    }
    held = {
        "u2": "QOSMaxCpuPerUserLimit",  # u3, smaller, passes it
        "u4": "QOSMaxCpuPerUserLimit",
        "j2": "QOSMaxJobsPerUserLimit",
        "z1": "QOSMaxCpuPerJobLimit",
        "z2": "QOSMaxWallDurationPerJobLimit",
        "z3": "QOSMinCpuNotSatisfied",
    }
    assert {name: (w.reason(name), w.planned(name)[0]) for name in held} == {n: (r, None) for n, r in held.items()}
    assert [w.nodes(n) for n in ("u1", "u3", "u5", "j1", "y3", "z4")] == ["n1", "n1", "n1", "n1", "n2", "n2"]
    w.sbatch("-p pq -J p1 -n3 -t 10", 60, at=100, user="carol")
    w.sbatch("-p pq -J p2 -n1 -t 10", 60, at=100, user="carol")
    w.sbatch("-p pq -J p3 -n1 -t 10", 60, at=100, user="carol")
    w.sbatch("-p pq -J p4 -n3 -t 10", 60, at=100, user="bob")
    w.sbatch("-p pq -q over -J o1 -n3 -t 10", 60, at=100, user="bob")
    w.sbatch("-p pq -q over -J o2 -n3 -t 10", 60, at=101, user="bob")
    w.sbatch("-p pq -q over -J o3 -n5 -t 10", 60, at=101, user="bob")
    w.sbatch("-J d1 -n1 -t 10", 100, at=101, user="dave")
    w.sbatch("-J d2 -n1 -t 10", 100, at=101, user="dave")
    w.sbatch("-q wide -J d3 -n1 -t 10", 100, at=101, user="dave")
    w.sbatch("-q grp -J g1 -n1 -t 10", 40, at=101, user="alice")
    w.sbatch("-q grp -J g2 -n1 -t 10", 60, at=101, user="bob")
    w.sbatch("-q grp -J g3 -n1 -t 10", 60, at=101, user="carol")
    w.sbatch("-q grp -J g4 -n1 -t 10", 60, at=101, user="carol")
    w.until(113)
    assert w.refused["g4"] == f"QOSGrpSubmitJobsLimit: {REFUSED}"
    assert w.reasons("p3 p4 o3 d2 g3") == {
        "p3": "QOSMaxJobsPerUserLimit",
        "p4": "QOSMaxJobsPerUserLimit",  # o1 and o2 count in the partition's QOS, though judged by their own
        "o3": "QOSGrpCpuLimit",
        "d2": "AssocMaxJobsLimit",
        "g3": "QOSGrpJobsLimit",
    }
    assert w.reasons(" ".join(held)) == held
    assert {w.state(n) for n in ("p1", "p2", "o1", "o2", "d1", "d3", "g1", "g2")} == {"RUNNING"}
    assert [w.planned(n)[0] is None for n in ("u2", "u4", "z1", "o3", "p3")] == [True, False, False, False, True]


def test_what_frees_a_limit_of_a_qos() -> None:
    """limits-qos after the operator has raised MaxTRESPerJob: starts in the second of the end that frees the limit."""
    w = world(QOS.format(nodeny=8), cores=8, partitions=PQ, start=79)
    w.sbatch("-q usercpu -J u1 -n3 -t 10", 60, at=87, user="alice")
    w.sbatch("-q usercpu -J u2 -n2 -t 10", 60, at=87, user="alice")
    w.sbatch("-q userjobs -J j1 -n1 -t 10", 40, at=87, user="bob")
    w.sbatch("-q userjobs -J j2 -n1 -t 10", 40, at=87, user="bob")
    w.sbatch("-q nodeny -J z1 -n5 -t 5", 60, at=87, user="carol")
    w.sbatch("-p pq -q over -J o1 -n3 -t 10", 60, at=100, user="bob")
    w.sbatch("-p pq -q over -J o2 -n3 -t 10", 60, at=100, user="bob")
    w.sbatch("-p pq -q over -J o3 -n5 -t 10", 60, at=100, user="bob")
    w.sbatch("-p pq -J p4 -n3 -t 10", 60, at=100, user="bob")
    w.sbatch("-q grp -J g1 -n1 -t 10", 40, at=101, user="alice")
    w.sbatch("-q grp -J g2 -n1 -t 10", 60, at=101, user="bob")
    w.sbatch("-q grp -J g3 -n1 -t 10", 60, at=101, user="carol")
    w.until(115)
    assert w.state("z1") == "RUNNING"
    assert w.reasons("u2 j2 o3 p4 g3") == {
        "u2": "QOSMaxCpuPerUserLimit", "j2": "QOSMaxJobsPerUserLimit", "o3": "QOSGrpCpuLimit",
        "p4": "QOSMaxJobsPerUserLimit", "g3": "QOSGrpJobsLimit",
    }  # fmt: skip
    w.until(199)
    freed = {"u2": "u1", "j2": "j1", "o3": "o1", "g3": "g1"}
    assert {n: (w[n].start_time - (w[by].end_time or 0)) in range(4) for n, by in freed.items()} == dict.fromkeys(
        freed, True
    )
    assert w.reason("p4") == "QOSGrpCpuLimit"  # the next violated limit: o3 has 5 of the partition's 6 CPUs


def test_limits_of_accounts() -> None:
    """limits-account: per account, distinct nodes of a group, per node, minutes owed; array tasks submitted."""
    w = world(
        """add cluster oracle
add qos pa MaxTRESPerAccount=cpu=6 MaxJobsPerAccount=3 Priority=10
add qos nodes GrpTRES=node=2 MaxTRESPerNode=cpu=3 Priority=20
add qos free UsageFactor=0 Priority=5
add qos wall GrpTRESRunMins=cpu=30 MaxTRESMins=cpu=15
add qos subs MaxSubmitJobsPerUser=2 MaxSubmitJobsPerAccount=3
add account one
add account two
add user alice,bob Account=one
add user carol,dave Account=two
modify user where name=alice,bob,carol,dave set qos=normal,pa,nodes,free,wall,subs DefaultQOS=normal""",
        more="PriorityType=priority/multifactor\nPriorityWeightQOS=1000\nPriorityCalcPeriod=1", start=72,
    )  # fmt: skip
    lines = [
        ("alice", "-q pa -J a1 -n3 -t 5", 50), ("bob", "-q pa -J b1 -n2 -t 5", 100),
        ("bob", "-q pa -J b2 -n2 -t 5", 50), ("alice", "-q pa -J a2 -n1 -t 5", 50),
        ("carol", "-q pa -J c1 -n4 -t 5", 50),
        ("carol", "-q nodes -J n1 -N1 -n2 -t 5", 50), ("dave", "-q nodes -J n2 -N2 -n2 -t 5", 50),
        ("dave", "-q nodes -J n3 -N1 -n4 -t 5", 50), ("dave", "-q wall -J w1 -n3 -t 5", 60),
        ("dave", "-q wall -J w2 -n3 -t 6", 60), ("carol", "-q wall -J w3 -n3 -t 5", 60),
        ("carol", "-q wall -J w4 -n1 -t 5", 60), ("alice", "-q subs -J s1 -a 1-2 -n1 -t 5", 10),
        ("alice", "-q subs -J s2 -n1 -t 5", 10), ("bob", "-q subs -J s3 -a 1-2 -n1 -t 5", 10),
        ("bob", "-q free -J f1 -n2 -t 5", 70),
    ]  # fmt: skip
    for user, line, run in lines:
        w.sbatch(line, run, at=81, user=user)
    w.until(96)
    assert w.refused == {
        "s2": f"QOSMaxSubmitJobPerUserLimit: {REFUSED}",
        "s3_1": f"MaxSubmitJobsPerAccount: {REFUSED}",
        "s3_2": f"MaxSubmitJobsPerAccount: {REFUSED}",  # an array is taken whole or not at all
    }
    running = [name for name in ("a1", "b1", "a2", "c1", "n1", "n2", "f1") if w.state(name) == "RUNNING"]
    assert running == ["a1", "b1", "a2", "c1", "n1", "n2", "f1"]
    assert (w.nodes("n1"), w.nodes("n2")) == ("n1", "n[1-2]")  # two distinct nodes
    assert w.reasons("b2 n3 w1 w2 w3 w4 s1_1") == {
        "b2": "MaxJobsPerAccount",
        "n3": "QOSGrpNodeLimit",
        "w1": "Resources",
        "w2": "QOSMaxCpuMinutesPerJobLimit",
        "w3": "Priority",
        "w4": "Priority",
        "s1_1": "Priority",
    }
    planned = [w.planned(n)[0] for n in ("b2", "n3", "w1", "w2", "w3", "w4")]
    assert planned == [None, 382, 382, 382, 382, 382] or planned == [None, 381, 381, 381, 381, 381]
    w.until(156)
    assert {w.state(n) for n in ("b1", "b2", "w1", "w3")} == {"RUNNING"}
    assert {w.start(n) for n in ("b2", "w1", "w3")} == {131}
    assert w.reasons("n3 w2 w4") == {
        "n3": "QOSMaxCpuPerNode",  # its group has room again: the next limit
        "w2": "QOSGrpCPURunMinutesLimit",
        "w4": "QOSGrpCPURunMinutesLimit",  # 15 + 15 minutes owed, less at most a minute that has passed
    }
    w.until(216)
    assert w.reasons("n3 w2") == {"n3": "QOSMaxCpuPerNode", "w2": "QOSMaxCpuMinutesPerJobLimit"}
    assert w.start("w4") in range(191, 197)


MINUTES = """PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityDecayHalfLife=0
PriorityUsageResetPeriod=MONTHLY
PriorityWeightFairshare=1000"""


def test_limits_in_minutes() -> None:
    """limits-minutes: GrpTRESMins and GrpWall end running jobs, GrpTRESRunMins shrinks, MaxTRESMins of one job."""
    w = world(
        """add cluster oracle
add account mins GrpTRESMins=cpu=10
add account runmins GrpTRESRunMins=cpu=40
add account permin MaxTRESMins=cpu=20
add account wall GrpWall=3
add user alice Account=mins
add user bob Account=runmins
add user carol Account=permin
add user dave Account=wall""",
        more=MINUTES, start=84,
    )  # fmt: skip
    w.sbatch("-J m1 -N1 -n4 -t 30", 1000, at=90, user="alice")
    w.sbatch("-J r1 -N1 -n4 -t 5", 1000, at=90, user="bob")
    w.sbatch("-J r2 -N1 -n2 -t 5", 1000, at=90, user="bob")
    w.sbatch("-J r3 -N1 -n4 -t 4", 100, at=90, user="bob")
    w.sbatch("-J r4 -N1 -n1 -t 5", 100, at=90, user="bob")
    w.sbatch("-J r5 -N1 -n4 -t 11", 100, at=90, user="bob")
    w.sbatch("-J p1 -n1 -t 21", 60, at=90, user="carol")
    w.sbatch("-J p2 -n1 -t 20", 30, at=90, user="carol")
    w.sbatch("-J w1 -n1 -t 10", 1000, at=90, user="dave")
    w.until(101)
    held = {
        "r3": "AssocGrpCPURunMinutesLimit",  # 20 + 10 + 5 minutes owed, 16 more than the 40
        "r5": "AssocGrpCPURunMinutesLimit",
        "p1": "AssocMaxCpuMinutesPerJobLimit",
    }
    assert w.reasons("r3 r5 p1") == held
    assert [w.planned(n)[0] for n in held] == [390, 390, None]
    assert [w.nodes(n) for n in ("m1", "r1", "r2", "r4", "p2", "w1")] == ["n1", "n2", "n3", "n3", "n3", "n4"]
    w.sbatch("-J m2 -n1 -t 5", 30, at=101, user="alice")
    for look in (211, 271):
        w.until(look)
        assert w.reasons("r3 r5 p1") == {**held, "r3": "Resources"}  # 18 owed after the third recalculation
        assert w.planned("r3")[0] == 390
        assert {w.state(n) for n in ("m1", "r1", "r2", "w1")} == {"RUNNING"}
    w.sbatch("-J m3 -n1 -t 5", 30, at=331, user="alice")
    w.sbatch("-J w2 -n1 -t 1", 30, at=331, user="dave")
    w.until(341)
    assert (w.state("m1"), w.reason("m1"), w["m1"].end_time) == ("TIMEOUT", "TimeLimit", 294)  # as recorded: 3:24
    assert (w.start("r3"), w.nodes("r3")) == (294, "n1")
    assert w.reasons("r5 p1 m3") == {
        "r5": "AssocGrpCPURunMinutesLimit",
        "p1": "AssocMaxCpuMinutesPerJobLimit",
        "m3": "AssocGrpCPUMinutesLimit",
    }
    w.until(411)
    # in the recording the scan of 5:24 came after the recalculation of that second, here the next scan ends it
    assert (w.state("w1"), w.reason("w1"), w["w1"].end_time) == ("TIMEOUT", "TimeLimit", 354)
    assert w.reason("w2") == "AssocGrpWallLimit"
    assert w.state("r3") == "COMPLETED"


def test_safe_limits() -> None:
    """limits-safe: a job starts only if what is used, what running jobs may use and its own limit stay inside."""
    w = world(
        """add cluster oracle
add account mins GrpTRESMins=cpu=20
add account wall GrpWall=10
add user alice Account=mins
add user bob Account=mins
add user dave Account=wall""",
        more=MINUTES, start=56, enforce="associations,limits,qos,safe",
    )  # fmt: skip
    w.sbatch("-J s1 -n2 -t 6", 60, at=64, user="alice")
    w.sbatch("-J s2 -n2 -t 6", 60, at=64, user="alice")
    w.sbatch("-J s3 -n1 -t 8", 60, at=64, user="bob")
    w.sbatch("-J s4 -n5 -t 5", 60, at=64, user="bob")
    w.sbatch("-J w1 -n1 -t 6", 60, at=64, user="dave")
    w.sbatch("-J w2 -n1 -t 6", 60, at=64, user="dave")
    w.sbatch("-J w3 -n1 -t 11", 60, at=64, user="dave")
    w.until(75)
    assert [w.nodes(n) for n in ("s1", "s3", "w1", "w2")] == ["n1", "n1", "n1", "n2"]  # GrpWall adds no running limits
    held = {"s2": "AssocGrpCPUMinutesLimit", "s4": "AssocGrpCPUMinutesLimit", "w3": "AssocGrpWallLimit"}
    assert w.reasons("s2 s4 w3") == held
    assert [w.planned(n)[0] for n in held] == [None, None, None]
    w.until(145)
    assert w.start("s2") in range(124, 128) and w.nodes("s2") == "n1"  # 3 used and 12 of its own
    assert w.reasons("s4 w3") == {"s4": "AssocGrpCPUMinutesLimit", "w3": "AssocGrpWallLimit"}
    w.until(205)
    assert w.state("s2") == "COMPLETED"
    assert w.reasons("s4 w3") == {"s4": "AssocGrpCPUMinutesLimit", "w3": "AssocGrpWallLimit"}
    assert w.controller.state.tree is not None
    used = {b.spec.account: b.ledger for b in w.controller.state.tree.branches if not b.is_user}
    assert int(used["mins"].used_tres_s["cpu"]) // 60 == 5 and round(used["wall"].used_wall_s / 60, 2) == 2.0


def test_a_limit_that_stops_the_queue() -> None:
    """limit-stop: with assoc_limit_stop nothing behind starts but by backfill, and the limited job has a plan."""
    w = world(
        """add cluster oracle
add account acc
add account lim GrpTRES=cpu=4 GrpJobs=2
add user alice,bob Account=lim
add user carol,dave Account=acc MaxJobs=1""",
        nodes="n[1-2]", partitions=f"{ONE}\nPartitionName=other Nodes=ALL MaxTime=INFINITE", start=47,
        parameters="bf_interval=10,assoc_limit_stop",
    )  # fmt: skip
    w.sbatch("-J a1 -n3 -t 5", 61, at=55, user="alice")
    w.sbatch("-J a2 -n2 -t 5", 31, at=55, user="bob")
    w.sbatch("-J c1 -n1 -t 5", 30, at=55, user="carol")
    w.sbatch("-p other -J d1 -n1 -t 5", 30, at=55, user="dave")
    w.sbatch("-p other -J d2 -n1 -t 5", 30, at=55, user="dave")
    w.sbatch("-p other -J c2 -n1 -t 1", 20, at=55, user="carol")
    w.until(69)
    assert (w.start("a1"), w.nodes("a1")) == (55, "n1")
    assert [(w.nodes(n), w[n].scheduler) for n in ("c1", "d1")] == [("n1", "Backfill"), ("n2", "Backfill")]
    assert w.reasons("a2 d2 c2") == {"a2": "AssocGrpCpuLimit", "d2": "AssocMaxJobsLimit", "c2": "AssocMaxJobsLimit"}
    cycle = w.start("c1")
    assert cycle is not None
    planned = w.planned("a2")[0]
    assert planned is not None and (planned - 500 - cycle) % 10 == 0  # 500 s after the last cycle
    after_a2 = planned // 60 * 60 + 300
    assert [w.planned(n)[0] for n in ("d2", "c2")] == [after_a2, after_a2 + 300]
    w.until(170)
    assert w.start("a2") == w["a1"].end_time and w["a2"].scheduler == "Main"
    for waiting, ended in (("d2", "d1"), ("c2", "c1")):
        end = w[ended].end_time
        assert end is not None and w.start(waiting) in range(end, end + 11) and w[waiting].scheduler == "Backfill"
