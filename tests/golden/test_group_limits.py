"""The recorded group `limits` (slurmctld 22.05.8), the steps that speak of the scheduler.

Times are seconds after 08:00:00 of the recording.
"""

from __future__ import annotations

from golden.oracle_cluster import oracle_world
from unit.core.world import World

from slurmsim.core.records.messages import NodesDown, NodesDrain, NodesResume, SetPartitionState
from slurmsim.hostlist import expand
from slurmsim.states import NODES_REQUIRED_TEXT

REFUSED = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
# user, options, what it showed five seconds after the first submission: a reason, or the nodes it ran on
JOBS = [
    ("bob", "-q limited -J l1 -n 8 -t 5", "n[01-02]"),
    ("bob", "-q limited -J l2 -n 8 -t 5", "n[02-03]"),
    ("bob", "-q limited -J l3 -n 8 -t 5", "QOSMaxJobsPerUserLimit"),
    ("bob", "-q limited -J l4 -n 1 -t 5", "QOSMaxJobsPerUserLimit"),
    ("bob", "-q limited -J l5 -n 1 -t 5", f"QOSMaxSubmitJobPerUserLimit: {REFUSED}"),
    ("carol", "-q limited -J c1 -n 17 -t 5", "QOSGrpNodeLimit"),
    ("carol", "-q limited -J c2 -N 5 -t 5", "n[01-05]"),
    ("carol", "-q low -J c3 -t 60", "QOSMaxWallDurationPerJobLimit"),
    ("dave", "-J d1 -n 20 -t 5", "n[03-06]"),
    ("dave", "-J d2 -n 8 -t 5", "AssocGrpCpuLimit"),
    ("dave", "-J d3 -n 30 -t 5", "AssocGrpCpuLimit"),
    ("dave", "-J d4 -n 1 -t 5", f"AssocMaxSubmitJobLimit: {REFUSED}"),
    ("alice", "-L matlab:3 -J m1 -t 5", "n06"),
    ("alice", "-L matlab:2 -J m2 -t 5", "Licenses"),
    ("alice", "-L matlab:2,fluent:4 -J m3 -t 5", "Licenses"),
    ("alice", "-p debug -t 40 -J p1", "PartitionTimeLimit"),
    ("alice", "-p debug -N 3 -J p2", "PartitionNodeLimit"),
    ("alice", "-p down -J p3", "PartitionDown"),
    ("alice", "-p batch,fast -J p4 -t 5", "n06"),
    ("alice", "-p scav -N 16 -n 16 -J s1 -t 5", "Resources"),
]
NAMES = [line.split("-J ")[1].split()[0] for _, line, _ in JOBS]


def shown(w: World, name: str) -> str:
    """Where it runs, or why it waits, or why it was refused."""
    if name in w.refused:
        return w.refused[name]
    return w.nodes(name) if w.state(name) == "RUNNING" else w.reason(name)


def submit_all() -> World:
    w = oracle_world(10)
    for user, line, _ in JOBS:
        w.sbatch(line, 600, at=14, user=user)
    return w


def test_limits_of_qos_associations_partitions_and_licenses() -> None:
    w = submit_all()
    w.until(19)
    expected = {name: what for name, (_, _, what) in zip(NAMES, JOBS, strict=True)}
    assert {name: shown(w, name) for name in NAMES} == expected
    assert w.controller.licenses.used == {"matlab": 3, "fluent": 0}
    w.sbatch("-p fast -N 2 --exclusive -J pre -t 5", 600, at=19)
    w.until(29)
    assert shown(w, "pre") == "n[15-16]"
    assert {name: shown(w, name) for name in NAMES} == expected


def test_drained_nodes_and_a_pulled_plug() -> None:
    """From 15.6 s on: all nodes of a partition drained, a partition DOWN, all back, one node DOWN, bob gone."""
    w = submit_all()
    w.sbatch("-p fast -N 2 --exclusive -J pre -t 5", 600, at=19)
    w.tell(NodesDrain(tuple(expand("n[01-14]")), "all"), 29)
    w.sbatch("-J dr -t 5", 600, at=29)
    w.sbatch("-w n02 -J dr2 -t 5", 600, at=29)
    w.tell(SetPartitionState("fast", "DOWN"), 30)
    w.sbatch("-p fast -J pd -t 5", 600, at=30)
    w.until(33)
    names = "c1 l3 l4 c3 dr2 dr m3 m2 p2 p1 p3 pd s1"
    assert w.reasons(names) == {
        "c1": NODES_REQUIRED_TEXT, "l3": "QOSMaxJobsPerUserLimit", "l4": "QOSMaxJobsPerUserLimit",
        "c3": "QOSMaxWallDurationPerJobLimit", "dr2": "ReqNodeNotAvail, UnavailableNodes:n02",
        "dr": "ReqNodeNotAvail, UnavailableNodes:n[01-14]", "m3": "Licenses", "m2": "Licenses",
        "p2": "PartitionNodeLimit", "p1": "PartitionTimeLimit", "p3": "PartitionDown", "pd": "PartitionDown",
        "s1": NODES_REQUIRED_TEXT,
    }  # fmt: skip
    assert [w.planned(name)[0] for name in names.split()] == [None] * 13
    w.tell(SetPartitionState("fast", "UP"), 33)
    w.tell(NodesResume(tuple(expand("n[02-14]"))), 33)
    w.tell(NodesDown(("n01",), "pulled plug"), 33)
    w.until(37)
    assert {n: (w.state(n), w.reason(n), w[n].restarts) for n in ("c2", "l1")} == dict.fromkeys(
        ("c2", "l1"), ("PENDING", "BeginTime", 1)
    )
    assert {n: w.state(n) for n in ("l2", "l3", "d1", "dr", "m1", "p4", "pre")} == dict.fromkeys(
        ("l2", "l3", "d1", "dr", "m1", "p4", "pre"), "RUNNING"
    )
    assert w.reasons("l4 d3 c3 d2 m3 m2 p2 p1 p3 pd s1") == {
        "l4": "QOSMaxJobsPerUserLimit", "d3": "AssocGrpCpuLimit", "c3": "QOSMaxWallDurationPerJobLimit",
        "d2": "AssocGrpCpuLimit", "m3": "Licenses", "m2": "Licenses", "p2": "PartitionNodeLimit",
        "p1": "PartitionTimeLimit", "p3": "PartitionDown", "pd": "Resources", "s1": NODES_REQUIRED_TEXT,
    }  # fmt: skip
    assert w.reason("c1") == "QOSMaxCpuPerUserLimit"
    assert (w.nodes("l3"), w.nodes("dr")) == ("n[02-03,06]", "n04")  # l3 on its group's nodes first
    for name in ("l1", "l2", "l3", "l4"):
        w.scancel(name, at=38)
    w.until(42)
    assert w.state("dr2") == "RUNNING"
    assert w.reasons("c2 c1 d3 d2 pd s1") == {
        "c2": "BeginTime", "c1": "QOSMaxCpuPerUserLimit", "d3": "AssocGrpCpuLimit", "d2": "AssocGrpCpuLimit",
        "pd": "Resources", "s1": NODES_REQUIRED_TEXT,
    }  # fmt: skip
