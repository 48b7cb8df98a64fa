"""A job whose processes were sent STOP is STOPPED until they get CONT, or until it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = Cluster(tmp_path, release="26.05")
    made.text("sacctmgr -i add account physics")
    made.text("sacctmgr -i add user alice account=physics")
    made.submit("alice", seconds=300)
    made.now += 10
    made.engine.network.advance(made.now)
    return made


def state(cluster: Cluster) -> str:
    return cluster.text("squeue -h -o %T,%t")


def test_stop_and_continue(cluster: Cluster) -> None:
    assert state(cluster) == "RUNNING,R\n"
    cluster.text("scancel -s STOP 1", "alice")
    assert state(cluster) == "STOPPED,ST\n"
    assert "JobState=STOPPED" in cluster.text("scontrol show job 1")
    assert cluster.text("squeue -h -t STOPPED -o %i") == "1\n"
    assert cluster.again().jobs.keys() and cluster.again().job_table.jobs[1].stopped
    cluster.text("scancel -s CONT 1", "alice")
    assert state(cluster) == "RUNNING,R\n"


@pytest.mark.parametrize("command", ["scancel 1", "scontrol requeue 1"])
def test_a_job_that_ends_is_stopped_no_more(cluster: Cluster, command: str) -> None:
    cluster.text("scancel -s STOP 1", "alice")
    cluster.text(command)
    assert "STOPPED" not in cluster.text("squeue -h -t all -o %T")
