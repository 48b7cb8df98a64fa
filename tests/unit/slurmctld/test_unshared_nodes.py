"""Who may not share: jobs an update told so, and cores of reservations where partitions share theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine, new_header
from slurmsim.slurmctld.snapshot.image import restore, take

START = 1_767_600_000
ROOT, ALICE = Person("root", 0, "root", 0, "/root"), Person("alice", 2001, "alice", 2001, "/home/alice")
CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
DefMemPerCPU=100
NodeName=n[1-3] CPUs=8 RealMemory=8000
PartitionName=batch Nodes=ALL Default=YES
"""
BATCH = {"name": "j", "script": "#!/bin/sh\nsleep 500\n", "work_dir": "/tmp", "time_limit": 10, "min_cpus": 1}


def engine(folder: Path, conf: str = CONF, release: str = "22.05") -> Engine:
    (folder / "slurm.conf").write_text(conf)
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, release=release)
    return make_engine(header, folder)


@pytest.fixture
def cluster(tmp_path: Path) -> Engine:
    return engine(tmp_path)


def do(e: Engine, call: str, person: Person = ROOT, **arguments: Any) -> dict[str, Any]:
    return e.execute(e.now, call, arguments, person)


def submit(e: Engine, **asked: Any) -> str:
    return str(do(e, "submit", ALICE, job={**BATCH, **asked})["job_id"])


def update(e: Engine, job_id: str, person: Person = ROOT, **job: Any) -> str:
    try:
        do(e, "update_job", person, job_id=job_id, job=job)
    except Refusal as refusal:
        return refusal.text
    return ""


def show(e: Engine, job_id: str, *fields: str) -> list[Any]:
    found = do(e, "jobs", job_id=job_id, fields=list(fields))["columns"]
    return [found[name][0] for name in fields]


def unshared(e: Engine, **asked: Any) -> str:
    job = submit(e, hold=True, **asked)
    assert update(e, job, shared=0) == ""
    do(e, "hold_job", job_id=job, kind="release")
    return job


def wait(e: Engine, seconds: int) -> None:
    e.execute(e.now + seconds, "ping", {}, ROOT)


def test_only_operators_tell_a_job_not_to_share(cluster: Engine) -> None:
    assert update(cluster, submit(cluster, hold=True), ALICE, shared=0) == "Access/permission denied"


def test_nobody_follows_a_job_that_does_not_share(cluster: Engine) -> None:
    submit(cluster, num_tasks=4, req_nodes="n1")
    wait(cluster, 5)
    alone = unshared(cluster, num_tasks=2, req_nodes="n1")  # it names its node: who is there may stay
    wait(cluster, 10)
    later = submit(cluster, req_nodes="n1")
    wait(cluster, 10)
    assert show(cluster, alone, "job_state", "shared") == ["RUNNING", "NO"]
    assert show(cluster, later, "job_state") == ["PENDING"]
    do(cluster, "kill", job_id=alone)
    wait(cluster, 60)
    assert show(cluster, later, "job_state") == ["RUNNING"]


def test_it_starts_on_empty_nodes(cluster: Engine) -> None:
    first = submit(cluster, num_tasks=3, min_nodes=3, max_nodes=3)
    wait(cluster, 5)
    alone = unshared(cluster)
    wait(cluster, 65)
    assert show(cluster, alone, "job_state", "state_reason") == ["PENDING", "Resources"]
    do(cluster, "kill", job_id=first)
    wait(cluster, 65)
    assert show(cluster, alone, "job_state") == ["RUNNING"]


def test_an_exclusive_job_stays_exclusive(cluster: Engine) -> None:
    job = unshared(cluster, shared="exclusive")
    wait(cluster, 5)
    assert show(cluster, job, "shared", "num_cpus") == ["NO", 8]


def test_a_snapshot_knows_who_does_not_share(cluster: Engine, tmp_path: Path) -> None:
    unshared(cluster, num_tasks=2, req_nodes="n1")
    wait(cluster, 5)
    other = engine(tmp_path)
    restore(other, list(take(cluster)))
    later = submit(other, req_nodes="n1")
    wait(other, 60)
    assert show(other, later, "job_state") == ["PENDING"]


def test_cores_are_reserved_where_partitions_share_them(tmp_path: Path) -> None:
    e = engine(tmp_path, CONF + "PartitionName=shared Nodes=n[1-2] OverSubscribe=FORCE:2\n")
    submit(e, partition="shared", num_tasks=2, req_nodes="n1", time_limit=60)
    wait(e, 5)
    asked = {"name": "r", "start_time": e.now + 600, "duration": 60, "users": "root", "core_cnt": [4],
             "partition": "shared"}  # fmt: skip
    do(e, "create_reservation", reservation=asked)
    (reservation,) = e.controller.state.reserved.all
    assert reservation.cores == {0: 4} and reservation.core_bits == {0: 0b111100}  # beside those of the job
    outside = submit(e, partition="shared", num_tasks=5, min_nodes=1, max_nodes=1, req_nodes="n1", time_limit=60)
    shorter = submit(e, partition="shared", num_tasks=8, min_nodes=1, max_nodes=1, req_nodes="n1", time_limit=2)
    wait(e, 65)
    assert show(e, outside, "job_state") == ["PENDING"]  # four of its eight are kept
    assert show(e, shorter, "job_state") == ["RUNNING"]


@pytest.mark.parametrize(
    ("release", "waiting", "ran"),
    [
        ("22.05", ["YES", "YES"], ["YES", "YES", "YES"]),
        ("24.11", ["YES", "NO"], ["YES", "YES", "YES"]),
        ("26.05", ["OK", "NO"], ["OK", "YES", "YES"]),
    ],
)
def test_a_partition_that_shares_from_now_on(release: str, waiting: list[str], ran: list[str], tmp_path: Path) -> None:
    """Who runs keeps its nodes to itself; whoever comes later goes elsewhere, two on each core."""
    e = engine(tmp_path, CONF + "PartitionName=other Nodes=ALL\n", release)
    first = submit(e, num_tasks=2, min_nodes=2, max_nodes=2, time_limit=60)
    wait(e, 5)
    do(e, "update_partition", partition={"name": "batch", "over_subscribe": ["FORCE", 2]})
    e.controller.check()
    second, exclusive = submit(e, num_tasks=8), submit(e, shared="exclusive", time_limit=60)
    elsewhere, third = submit(e, partition="other"), submit(e, num_tasks=8)
    held = [submit(e, hold=True, num_tasks=8), submit(e, hold=True, shared="exclusive")]
    wait(e, 65)
    field = "oversubscribe" if release == "26.05" else "shared"
    jobs = (first, second, exclusive, elsewhere, third)
    assert [show(e, job, "nodes")[0] for job in jobs] == ["n[1-2]", "n3", "n3", "", ""]
    assert [show(e, job, field)[0] for job in held] == waiting
    do(e, "kill", job_id=first)
    do(e, "update_partition", partition={"name": "batch", "over_subscribe": ["NO", 1]})
    wait(e, 65)
    e.controller.check()
    assert [show(e, job, "nodes")[0] for job in (elsewhere, third)] == ["n1", "n2"]
    other = engine(tmp_path, CONF + "PartitionName=other Nodes=ALL\n", release)
    restore(other, list(take(e)))
    other.controller.check()
    do(other, "update_partition", partition={"name": "batch", "over_subscribe": ["FORCE", 2]})
    assert [show(other, job, field)[0] for job in (first, second, exclusive)] == ran
