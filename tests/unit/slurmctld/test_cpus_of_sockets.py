"""MaxCPUsPerSocket: how many CPUs the jobs of a partition have of a node, and that others may have the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_calls import ALICE, do, engine_of, show, wait

from slurmsim.slurmctld.engine.engine import Engine

CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-2] Sockets=2 CoresPerSocket=4
PartitionName=few Nodes=ALL Default=YES MaxCPUsPerSocket=2
PartitionName=both Nodes=ALL MaxCPUsPerSocket=3 MaxCPUsPerNode=3
PartitionName=all Nodes=ALL
PartitionName=none Nodes=ALL MaxCPUsPerSocket=0
"""
BATCH = {"name": "j", "script": "#!/bin/sh\nsleep 500\n", "work_dir": "/tmp", "time_limit": 10, "min_cpus": 1}


@pytest.fixture
def cluster(tmp_path: Path) -> Engine:
    return engine_of(tmp_path, CONF, "26.05")


def states(cluster: Engine, count: int, **asked: Any) -> list[str]:
    ids = [str(do(cluster, "submit", ALICE, job={**BATCH, **asked})["job_id"]) for _ in range(count)]
    wait(cluster, 70)
    return [str(show(cluster, job, "job_state")[0]) for job in ids]


@pytest.mark.parametrize(("partition", "most"), [("few", 8), ("both", 6), ("all", 16)])
def test_as_many_jobs_as_sockets_allow(cluster: Engine, partition: str, most: int) -> None:
    found = states(cluster, most + 1, partition=partition)
    assert (found.count("RUNNING"), found.count("PENDING")) == (most, 1)


def test_the_rest_is_for_other_partitions(cluster: Engine) -> None:
    assert states(cluster, 8, partition="few").count("RUNNING") == 8
    assert states(cluster, 9, partition="all").count("RUNNING") == 8


def test_none_at_all(cluster: Engine) -> None:
    assert states(cluster, 1, partition="none") == ["PENDING"]


def test_an_update_counts_from_then_on(cluster: Engine) -> None:
    do(cluster, "update_partition", partition={"name": "all", "max_cpus_per_socket": 1})
    assert states(cluster, 5, partition="all").count("RUNNING") == 4
