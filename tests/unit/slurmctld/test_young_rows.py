"""What accounting of 22.05 tells of a job within the first seconds, as recorded; since 24.11 it is told at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_calls import ALICE, ROOT, do, engine_of, submit, wait

from slurmsim.slurmctld.engine.engine import Engine

CONF = """ClusterName=c
SlurmctldHost=h
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
NodeName=n[1-2] CPUs=4 RealMemory=1000
PartitionName=batch Nodes=ALL Default=YES DefaultTime=10
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Engine:
    e = engine_of(tmp_path, CONF)
    wait(e, 11)  # slurmctld tells of jobs 10 and 15 s after it came up
    return e


def rows(e: Engine, job_id: str | None = None) -> list[tuple[Any, ...]]:
    """Name, state, partition and whether it was eligible and has CPUs, of a job or of all."""
    asked = {"end": e.now + 9} | ({} if job_id is None else {"jobs": [[int(job_id), None]]})
    found = do(e, "accounting_jobs", ROOT, **asked)["columns"]
    return [
        (name, state, partition, bool(eligible), tres.get("cpu", 0))
        for name, state, partition, eligible, tres in zip(
            *(found[key] for key in ("name", "state", "partition", "eligible", "tres_alloc")), strict=True
        )
    ]


def test_a_job_that_waits_has_no_row_yet(cluster: Engine) -> None:
    job = submit(cluster, hold=True, name="held")
    wait(cluster, 3)
    assert rows(cluster, job) == rows(cluster) == []
    wait(cluster, 1)
    assert rows(cluster, job) == [("held", "PENDING", "batch", False, 0)]


def test_the_first_step_makes_a_row_of_little(cluster: Engine) -> None:
    """It is found by the job's id alone, as it was never eligible."""
    job = submit(cluster, name="runs")
    wait(cluster, 2)
    assert rows(cluster, job) == [("allocation", "PENDING", "", False, 0)]
    assert rows(cluster) == []
    assert do(cluster, "jobs", ROOT, job_id=job, fields=["job_state"])["columns"]["job_state"] == ["RUNNING"]
    wait(cluster, 2)
    assert rows(cluster, job) == rows(cluster) == [("runs", "RUNNING", "batch", True, 4)]


def test_an_end_is_told_at_once(cluster: Engine) -> None:
    started, held = submit(cluster, name="runs"), submit(cluster, name="held", hold=True)
    wait(cluster, 2)
    for job in (started, held):
        do(cluster, "kill", ALICE, job_id=job)
    wait(cluster, 1)
    assert rows(cluster, started) == [("allocation", "CANCELLED", "", False, 4)]
    assert rows(cluster, held) == [("allocation", "CANCELLED", "", False, 0)]
    wait(cluster, 2)
    assert [row[:3] for row in rows(cluster, started)] == [("runs", "CANCELLED", "batch")]


def test_newer_releases_tell_of_a_job_at_once(tmp_path: Path) -> None:
    newer = engine_of(tmp_path, CONF, release="24.11")
    wait(newer, 11)
    assert rows(newer, submit(newer, name="new", hold=True)) == [("new", "PENDING", "batch", False, 0)]
