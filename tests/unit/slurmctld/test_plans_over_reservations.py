"""Where backfill plans beside reservations: asked of real Slurm 22.05 (the session `resvplans`), to the second.

slurmctld asks what is reserved from the instant it tries a start at until the limit, and tries no other one before the
next opening. So a job whose start the future test puts off may be planned over a reservation, which it cannot enter
when it comes to start.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_calls import ALICE, ROOT, do, show, wait

from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine, new_header

START = 1_767_600_000  # a whole minute
CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=5,bf_resolution=60
DefMemPerCPU=100
NodeName=n[1-4] Sockets=2 CoresPerSocket=4 RealMemory=16000
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-00:00:00
PartitionName=big Nodes=ALL MinNodes=2
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Engine:
    """All nodes are taken for an hour, from the third second on."""
    (tmp_path / "slurm.conf").write_text(CONF)
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, release="22.05")
    e = make_engine(header, tmp_path)
    submit(e, 60, whole=4)
    wait(e, 6)
    return e


def submit(e: Engine, minutes: int, whole: int = 0, person: Person = ALICE, **asked: Any) -> str:
    nodes = {"min_nodes": whole, "max_nodes": whole, "shared": "exclusive"} if whole else {}
    job = {"name": "j", "script": "#!/bin/sh\nsleep 9999\n", "work_dir": "/tmp", "time_limit": minutes, "min_cpus": 1}
    return str(do(e, "submit", person, job={**job, **nodes, **asked})["job_id"])


def reserve(e: Engine, name: str, after: int, minutes: int, nodes: str) -> None:
    asked = {"name": name, "start_time": e.now + after * 60, "duration": minutes, "users": "root", "node_list": nodes}
    do(e, "create_reservation", ROOT, reservation=asked)
    wait(e, 8)


def plan(e: Engine, job: str) -> tuple[int, str]:
    """Minutes from the beginning to the planned start, and its nodes."""
    start, nodes = show(e, job, "start_time", "sched_nodes")
    return round((start - START) / 60), nodes


def test_a_start_put_off_by_jobs_is_planned_over_a_reservation(cluster: Engine) -> None:
    reserve(cluster, "r1", 90, 60, "n[1-2]")
    four, two = submit(cluster, 60, whole=4), submit(cluster, 60, whole=2)
    wait(cluster, 8)
    assert plan(cluster, four) == (60, "n[1-4]")
    assert plan(cluster, two) == (120, "n[3-4]")
    do(cluster, "hold_job", ROOT, job_id=four, kind="hold")
    wait(cluster, 10)
    assert plan(cluster, two) == (60, "n[1-2]")  # from 09:00 to 10:00, reserved from 09:30 on


def test_what_the_tried_instant_sees_reserved_is_left_alone(cluster: Engine) -> None:
    reserve(cluster, "r1", 90, 60, "n[1-2]")
    two = submit(cluster, 60, whole=2)
    short, long, longer = (submit(cluster, minutes, num_tasks=8, min_cpus=8) for minutes in (20, 120, 100))
    wait(cluster, 8)
    assert [plan(cluster, job) for job in (two, short, long, longer)] == [
        (60, "n[1-2]"), (60, "n3"), (60, "n4"), (80, "n3"),
    ]  # fmt: skip
    reserve(cluster, "r2", 70, 20, "n3")
    assert [plan(cluster, job) for job in (two, short, long, longer)] == [
        (60, "n[1-2]"), (60, "n4"), (80, "n4"), (91, "n3"),
    ]  # fmt: skip


def test_nobody_starts_over_a_reservation_though_he_is_planned_there(cluster: Engine) -> None:
    reserve(cluster, "r1", 90, 60, "n[1-2]")
    four = submit(cluster, 60, whole=4)
    wait(cluster, 8)
    assert plan(cluster, four) == (60, "n[1-4]")
    wait(cluster, 60 * 61)
    assert show(cluster, four, "job_state", "state_reason")[0] != "RUNNING"
    assert plan(cluster, four)[0] >= 150


def test_a_job_of_a_reservation_goes_to_its_partition_and_has_as_many_nodes_as_that_wants(cluster: Engine) -> None:
    """An unseen session: a job of one task, with no word about nodes."""
    reserve(cluster, "r1", 90, 60, "n1")
    assert show(cluster, submit(cluster, 1, person=ROOT, reservation="r1"), "partition", "num_nodes") == ["batch", 1]
    do(cluster, "update_reservation", ROOT, reservation={"name": "r1", "partition": "big"})
    assert show(cluster, submit(cluster, 1, person=ROOT, reservation="r1"), "partition", "num_nodes") == ["big", 2]
    named = submit(cluster, 1, person=ROOT, reservation="r1", partition="batch")
    assert show(cluster, named, "partition") == ["batch"]


def test_who_waits_for_a_time_or_a_job_names_its_reservation_until_a_pass(cluster: Engine) -> None:
    """Asked of 22.05.8: the test at the submission ends at the reservation, that of an array is not made."""
    reserve(cluster, "r1", 90, 60, "n1")
    later = {"person": ROOT, "reservation": "r1", "begin_time": cluster.now + 600}
    begin, array = submit(cluster, 1, **later), submit(cluster, 1, **later, array_inx="0-1")
    after = submit(cluster, 1, person=ROOT, reservation="r1", dependency="afterok:1")
    assert show(cluster, begin, "state_reason") == ["Reservation"] == show(cluster, after, "state_reason")
    assert show(cluster, array, "state_reason") != ["Reservation"]
    submit(cluster, 1, whole=4)  # somebody is in the queue: passes are made
    wait(cluster, 8)
    assert show(cluster, begin, "state_reason") == ["BeginTime"]
    assert show(cluster, after, "state_reason") == ["Dependency"]


@pytest.mark.parametrize(("release", "told"), [("22.05", None), ("26.05", "batch")])
def test_the_partition_of_a_reservation_that_grew(tmp_path: Path, release: str, told: str | None) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    e = make_engine(
        new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, release=release), tmp_path
    )
    reserve(e, "r1", 90, 60, "n1")
    do(e, "update_reservation", ROOT, reservation={"name": "r1", "node_cnt": [3]})
    found = do(e, "reservations", ROOT, fields=["partition", "node_cnt"])["columns"]
    assert found == {"partition": [told], "node_cnt": [3]}


def test_a_job_root_submits_for_somebody_has_roots_group_unless_told_otherwise(cluster: Engine) -> None:
    """What sbatch sends with --uid is its own group (asked of 22.05.8)."""
    assert show(cluster, submit(cluster, 1, person=ROOT, user_name="alice"), "user_name", "group_name") == [
        "alice",
        "root",
    ]
    own = submit(cluster, 1, person=ROOT, user_name="alice", group_id=2001)
    assert show(cluster, own, "group_id") == [2001]
