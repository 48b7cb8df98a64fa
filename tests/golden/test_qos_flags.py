"""Flags of QOS, recorded with slurmctld 22.05.8 at clock rate 10. Times are seconds after 08:00:00 of the recording."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden.oracle_cluster import accounting
from unit.core.world import HEAD, World

from slurmsim.config.accounting.load import load_accounting
from slurmsim.core.records.messages import CreateReservation
from slurmsim.model.reservation import ReservationSpec

CONF = f"""{HEAD}MinJobAge=100000
KillWait=5
SchedulerParameters=bf_interval=10,bf_resolution=60
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityDecayHalfLife=00:05:00
PriorityWeightJobSize=1000
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
NodeName=n[1-4] Sockets=1 CoresPerSocket=4 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
PartitionName=lim Nodes=ALL MaxTime=10 MinNodes=2 MaxNodes=3
"""
COMMANDS = """add cluster oracle
add qos ptime Flags=PartitionTimeLimit
add qos pmin Flags=PartitionMinNodes
add qos pmax Flags=PartitionMaxNodes
add qos resv Flags=RequiresReservation
add qos nores Flags=NoReserve
add qos thres Flags=EnforceUsageThreshold UsageThreshold=0.5
add account acc
add user alice,bob,carol,dave Account=acc
modify user where name=alice,bob,carol,dave set qos=normal,ptime,pmin,pmax,resv,nores,thres DefaultQOS=normal"""


def world(policy: str = "backfill") -> World:
    return World(CONF, policy, plan_all=policy == "backfill", start=120, accounting=accounting(COMMANDS))


def reserved() -> CreateReservation:
    """ra: n4 for alice, ten minutes from 8:02:07."""
    spec = ReservationSpec("ra", 127, 727, ("n4",), users=("alice",), flags=frozenset({"IGNORE_JOBS"}))
    return CreateReservation(spec)


def test_limits_of_the_partition_are_lifted() -> None:
    """MaxTime=10, MinNodes=2, MaxNodes=3 of the partition; every flag lifts one of them."""
    w = world()
    for line in (
        "-q normal -J t0 -N2 -n2 -t 20", "-q ptime -J t1 -N2 -n2 -t 20", "-q ptime -J t2 -N2 -n2",
        "-q normal -J m0 -N1 -n1 -t 5", "-q pmin -J m1 -N1 -n1 -t 5", "-q pmin -J m2 -n1 -t 5",
        "-q normal -J x0 -N4 -n4 -t 5",
    ):  # fmt: skip
        w.sbatch(f"-p lim {line}", 20, at=125)
    w.sbatch("-p lim -q pmax -J x1 -N4 -n4 -t 5", 20, at=127)
    w.sbatch("-p lim -q pmax -J x2 -N2-4 -n4 -t 5", 20, at=127)
    w.sbatch("-q resv -J r0 -n1 -t 5", 20, at=127)
    w.tell(reserved(), 127)
    w.sbatch("-q resv --reservation=ra -J r1 -n1 -t 5", 20, at=127)
    w.until(139)
    assert w.refused == {"r0": "Invalid qos specification"}
    waits = {"t0": "PartitionTimeLimit", "m0": "PartitionNodeLimit", "x0": "PartitionNodeLimit"}
    assert {name: w.reason(name) for name in waits} == waits
    assert [(w.nodes(n), w[n].time_limit_s) for n in ("t1", "t2", "m1", "m2")] == [
        ("n[1-2]", 1200), ("n[1-2]", 600), ("n1", 300), ("n[1-2]", 300),  # m2 is given the partition's least number
    ]  # fmt: skip
    assert (w.state("r1"), w.nodes("r1")) == ("RUNNING", "n4")
    assert (w.reason("x1"), w.planned("x1")[0]) == ("ReqNodeNotAvail, May be reserved for other job", 781)
    assert (w.nodes("x2"), w.shares("x2")) == ("n[2-3]", "1,3")
    w.until(200)
    assert {name: w.reason(name) for name in waits} == waits


def test_a_job_that_needs_more_nodes_than_the_partition_gives() -> None:
    """x1, without the reservation that stood in its way in the recording."""
    w = world()
    w.sbatch("-p lim -q pmax -J x1 -N4 -n4 -t 5", 20, at=125)
    w.sbatch("-p lim -q pmax -J x2 -N2-4 -n4 -t 5", 20, at=150)
    w.until(160)
    assert (w.nodes("x1"), w.nodes("x2")) == ("n[1-4]", "n[1-4]")


def test_no_place_is_kept() -> None:
    """NoReserve: it has an estimate and no nodes; those behind it are planned as if it were not there."""
    w = world()
    w.tell(reserved(), 127)
    w.sbatch("-J f1 -N3 --exclusive -t 5", 200, at=220, user="bob")
    w.sbatch("-q nores -J w1 -N4 --exclusive -t 5", 20, at=224, user="carol")
    w.sbatch("-J w2 -N1 -n1 -t 30", 60, at=225, user="dave")
    w.sbatch("-J w3 -N2 --exclusive -t 5", 20, at=225, user="dave")
    w.until(249)
    assert (w.start("f1"), w.nodes("f1")) == (220, "n[1-3]")
    assert w.reasons("w1 w2 w3") == {"w1": "Resources", "w2": "Priority", "w3": "Priority"}
    assert w.planned("w2") == (520, "n3") and w.planned("w3") == (520, "n[1-2]")  # the end of f1
    assert w.planned("w1")[1] == ""


@pytest.mark.parametrize("policy", ["backfill", "easy"])
def test_a_fair_share_that_must_be_reached(policy: str) -> None:
    """EnforceUsageThreshold: whoever has used more than his share waits until it has risen, and blocks nobody."""
    w = world(policy)
    w.sbatch("-J u1 -N1 -n2 -t 5", 130, at=130, user="alice")
    w.sbatch("-J u2 -N1 -n4 -t 5", 130, at=130, user="bob")
    w.until(275)
    w.sbatch("-q thres -J h1 -N4 --exclusive -t 5", 20, at=276, user="alice")  # third of four, by use
    w.sbatch("-q thres -J h2 -n1 -t 5", 20, at=276, user="bob")
    w.sbatch("-q thres -J h3 -n1 -t 5", 20, at=276, user="carol")
    w.sbatch("-J h4 -n1 -t 5", 20, at=276, user="dave")
    w.until(296)
    assert w.reasons("h1 h2") == {"h1": "QOSUsageThreshold", "h2": "QOSUsageThreshold"}
    assert all(w.start(n) in range(276, 280) for n in ("h3", "h4"))
    w.sbatch("-J v1 -N2 --exclusive -t 30", 1200, at=300, user="carol")
    w.sbatch("-J v2 -N1 --exclusive -t 30", 1200, at=300, user="dave")
    w.until(700)
    assert w.start("v1") == w.start("v2") == 300  # though h1 came before them
    # carol and dave have used more by now: h1 waits for their nodes, h2 may start
    assert w.reason("h1") in ("Resources", "Priority", "None") and w.start("h2") is not None
    w.until(1700)
    assert w.start("h1") == 1500


def test_what_is_refused_or_warned_about(tmp_path: Path) -> None:
    from slurmsim.config.findings import Report

    file = tmp_path / "qos.txt"
    file.write_text(
        "add cluster c\nadd qos low\nadd account a qos=normal,low DefaultQOS=low\nadd user u Account=a\n"
        "modify user where name=u set qos=normal\n"
    )
    report = Report()
    load_accounting([file], report=report)
    (finding,) = report.findings
    assert "DefaultQOS" in str(finding) and "inherited by user u of account a" in str(finding)
