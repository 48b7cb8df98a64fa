"""Limits of a heterogeneous job as a whole: its components are tested together when they are submitted (26.05)."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.commands.engine_client import PEOPLE, Cluster

from slurmsim.protocol import Refusal

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
NodeName=n[1-8] CPUs=2
PartitionName=a Nodes=n[1-4] Default=YES
PartitionName=b Nodes=n[5-8]
PartitionName=c Nodes=n[1-8]
"""
ACCOUNTING = """\
Cluster - 'tux'
Parent - 'root'
Account - 'free'
Account - 'three':GrpTRES=node=3
Parent - 'free'
User - 'alice':DefaultAccount='free'
Parent - 'three'
User - 'alice'
"""
REFUSED = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


@pytest.fixture
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Cluster:
    made = Cluster(tmp_path, CONF, accounting=ACCOUNTING, release=getattr(request, "param", "26.05"))
    for line in ("add qos three maxtresperuser=node=3", "add qos narrow maxtresperuser=node=1",
                 "modify user alice set qos=normal,three,narrow"):  # fmt: skip
        made.text(f"sacctmgr -iQ {line}")
    made.text("scontrol update partitionname=c qos=narrow")
    return made


def submit(cluster: Cluster, *components: str) -> int | str:
    """Submit components of (partition, nodes, account, QOS); return the id, or why not."""
    jobs = []
    for one in components:
        partition, nodes, account, qos = one.split()
        jobs.append({"name": "h", "script": "#!/bin/sh\nsleep 99\n", "work_dir": "/tmp", "time_limit": 1,
                     "partition": partition, "min_nodes": int(nodes), "max_nodes": int(nodes), "account": account,
                     "qos": qos})  # fmt: skip
    try:
        return int(cluster.call("submit", PEOPLE["alice"], {"job": jobs[0], "components": jobs[1:]})["job_id"])
    except Refusal as refusal:
        return refusal.text


@pytest.mark.parametrize(
    ("components", "taken"),
    [
        (("a 2 three normal", "b 1 three normal"), True), (("a 2 three normal", "b 2 three normal"), False),
        (("a 2 three normal", "b 2 free normal"), True), (("a 2 free three", "b 2 free three"), False),
        (("a 2 free three", "b 2 free normal"), True), (("a 4 free normal", "b 4 free normal"), True),
        (("c 1 free normal", "c 1 free three"), False), (("c 1 free normal", "b 1 free three"), True),
    ],
)  # fmt: skip
def test_components_keep_limits_together(cluster: Cluster, components: tuple[str, ...], taken: bool) -> None:
    assert submit(cluster, *components) == (1 if taken else REFUSED)
    states = cluster.text("squeue -h -o %T").split()
    assert states == (["PENDING"] * len(components) if taken else [])


@pytest.mark.parametrize("cluster", ["24.11"], indirect=True)
def test_they_were_tested_one_by_one_before(cluster: Cluster) -> None:
    assert submit(cluster, "a 2 three normal", "b 2 three normal") == 1


def test_what_runs_does_not_count_but_in_the_qos_of_the_partition(cluster: Cluster) -> None:
    cluster.submit(account="three", partition="a", min_nodes=2)
    cluster.submit(account="free", partition="c", qos="normal", min_nodes=1)
    cluster.now += 60
    assert cluster.text("squeue -h -o %T").split() == ["RUNNING", "RUNNING"]
    assert submit(cluster, "a 2 three normal", "b 1 three normal") == 3
    assert submit(cluster, "c 1 free normal", "b 1 free normal") == REFUSED
    assert submit(cluster, "c 1 free narrow", "b 1 free normal") > 3  # a component names that QOS
