"""PreemptExemptTime under PreemptMode=SUSPEND,GANG: from 26.05 on it keeps a job's CPUs from jobs beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=5
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
PreemptExemptTime=00:00:20
SchedulerTimeSlice=5
NodeName=n[1-2] CPUs=8
PartitionName=low Nodes=n1 PriorityTier=1 Default=YES
PartitionName=high Nodes=n1 PriorityTier=2
PartitionName=turns Nodes=n2 OverSubscribe=FORCE:2
"""
_STATES = "squeue -h -S i -o %T"


def states(cluster: Cluster, partition: str) -> list[str]:
    return cluster.text(f"{_STATES} -p {partition}").split()


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_an_exempt_job_is_not_suspended(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, CONF, release=release)
    cluster.text("sbatch -p low -c8 --wrap 'sleep 900'")
    cluster.now += 5
    cluster.text("sbatch -p high -c8 --wrap 'sleep 900'")
    cluster.now += 7
    first = ["RUNNING", "PENDING"] if release == "26.05" else ["SUSPENDED", "RUNNING"]
    assert states(cluster, "low,high") == first
    cluster.now += 70  # the next full pass
    assert states(cluster, "low,high") == ["SUSPENDED", "RUNNING"]


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_turns_begin_when_the_time_is_over(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, CONF, release=release)
    cluster.text("sbatch -p turns -c8 --wrap 'sleep 900'")
    cluster.now += 5
    cluster.text("sbatch -p turns -c8 --wrap 'sleep 900'")
    cluster.now += 2
    waiting = "PENDING" if release == "26.05" else "SUSPENDED"
    assert sorted(states(cluster, "turns")) == sorted(["RUNNING", waiting])
    cluster.now += 70
    assert sorted(states(cluster, "turns")) == ["RUNNING", "SUSPENDED"]
