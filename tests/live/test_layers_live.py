"""Hierarchical resources in a live cluster: submissions, shows in every form, reservations, and a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="NOT TESTED: resources.yaml: PyYAML is not installed")

import slurmsim

CONF = """ClusterName=layers
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-8] CPUs=2
PartitionName=p Nodes=ALL Default=YES
"""
RESOURCES = """
- resource: flat
  mode: MODE_1
  layers: [{nodes: "n[1-4]", count: 3}, {nodes: "n[5-8]", count: -1}]
- resource: power
  mode: MODE_3
  variables: [{name: node, value: 100}]
  layers: [{nodes: "n[1-8]", count: 700, base: [{name: fans, value: 50}]}, {nodes: "n[1-4]", count: 300},
           {nodes: "n[5-8]", count: 500}]
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[slurmsim.Cluster]:
    (tmp_path / "slurm.conf").write_text(CONF, "utf-8")
    (tmp_path / "resources.yaml").write_text(RESOURCES, "utf-8")
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", slurm_version="26.05", frozen=True) as found:
        yield found


def told(cluster: slurmsim.Cluster, command: str) -> list[str]:
    done = cluster.run(command, check=False)
    return (done.stdout + done.stderr).splitlines()


def test_what_jobs_hold_is_shown(cluster: slurmsim.Cluster) -> None:
    told(cluster, "sbatch -N2 -L flat:2 --resources=power:node -t 5 --wrap 'sleep 250'; sleep 1")
    cluster.step(5)
    assert told(cluster, "scontrol -o show licenses") == [
        "LicenseName=flat Total=3 Used=2 Free=1 Reserved=0 Remote=no Nodes=n[1-4] Mode=1",
        "LicenseName=flat Total=4294967295 Used=0 Free=4294967295 Reserved=0 Remote=no Nodes=n[5-8] Mode=1",
        "LicenseName=power Total=300 Used=200 Free=100 Reserved=0 Remote=no Nodes=n[1-4] Mode=3",
        "LicenseName=power Total=500 Used=0 Free=500 Reserved=0 Remote=no Nodes=n[5-8] Mode=3",
        "LicenseName=power Total=650 Used=200 Free=450 Reserved=0 Remote=no Nodes=n[1-8] Mode=3",
    ]
    assert "Licenses=flat:2,power:node LicensesAlloc=flat(n[1-4]):2;power:100 " in " ".join(
        told(cluster, "scontrol show job 1")
    )
    document = json.loads("\n".join(told(cluster, "scontrol show licenses --json")))
    shown = [(one["LicenseName"], one["Nodes"], one["Used"], one["Free"]) for one in document["licenses"]]
    assert shown[:2] == [("power", "n[1-4]", 200, 100), ("power", "n[5-8]", 0, 500)]
    assert shown[-1] == ("flat", "n[5-8]", 0, 4294967295)


def test_what_cannot_be_is_refused(cluster: slurmsim.Cluster) -> None:
    bad = ["sbatch: error: Batch job submission failed: Invalid license specification"]
    for asked in ("flat:4", "power:watt", "flat(n[1-4]):1", "flat:-1", "flat:1;power:node;power(x):1"):
        assert told(cluster, f"sbatch -L '{asked}' --wrap true") == bad
    assert told(cluster, "sbatch -N8 -L power:node --wrap true") == [
        "sbatch: error: Batch job submission failed: Requested node configuration is not available"
    ]


def test_a_reservation_of_a_layer(cluster: slurmsim.Cluster) -> None:
    create = "scontrol create reservation starttime=now duration=9 users=root flags=ANY_NODES"
    assert told(cluster, f"{create} reservationname=r licenses='flat(n[1-4]):2,flat(n[5-8]):9'") == [
        "Reservation created: r"
    ]
    assert told(cluster, f"{create} licenses='flat(n[1-3]):1'") == [
        "Error creating the reservation: Invalid license specification"
    ]
    assert "Licenses=flat(n[1-4]):2;flat(n[5-8]):9 " in " ".join(told(cluster, "scontrol show reservation r"))
    assert "Reserved=2" in told(cluster, "scontrol -o show license flat")[0]


def test_a_restart_keeps_what_is_held(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF, "utf-8")
    (tmp_path / "resources.yaml").write_text(RESOURCES, "utf-8")
    state = tmp_path / "state"
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", slurm_version="26.05", frozen=True, folder=state) as first:
        told(first, "sbatch -N2 -L flat:2,power:node -t 50 --wrap 'sleep 2500'")
        first.step(5)
        before = told(first, "scontrol -o show licenses")
    with slurmsim.cluster(folder=state) as again:
        assert told(again, "scontrol -o show licenses") == before
        assert any("Used=200" in line for line in before)
        told(again, "scancel 1")
        again.step(60)
        assert all("Used=0" in line for line in told(again, "scontrol -o show licenses"))
