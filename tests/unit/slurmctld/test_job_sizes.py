"""What a job says it asks for: of itself, and after updates (NumNodes, NumCPUs, NumTasks and TRES of scontrol)."""

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
NodeName=n[1-8] CPUs=8 RealMemory=8000
PartitionName=batch Nodes=ALL Default=YES
PartitionName=big Nodes=ALL MinNodes=2
"""
SIZES = ("num_nodes", "max_nodes_asked", "num_cpus", "num_tasks", "tres_req_str")
BATCH = {"name": "j", "script": "#!/bin/sh\nsleep 500\n", "work_dir": "/tmp", "time_limit": 10, "min_cpus": 1}


@pytest.fixture
def cluster(tmp_path: Path) -> Engine:
    (tmp_path / "slurm.conf").write_text(CONF)
    return make_engine(new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), tmp_path)


def do(e: Engine, call: str, person: Person = ROOT, **arguments: Any) -> dict[str, Any]:
    return e.execute(e.now, call, arguments, person)


def submit(e: Engine, person: Person = ALICE, **asked: Any) -> str:
    return str(do(e, "submit", person, job={**BATCH, **asked})["job_id"])


def show(e: Engine, job_id: str, *fields: str) -> list[Any]:
    found = do(e, "jobs", job_id=job_id, fields=list(fields))["columns"]
    return [found[name][0] for name in fields]


def update(e: Engine, job_id: str, **job: Any) -> str:
    try:
        do(e, "update_job", job_id=job_id, job=job)
    except Refusal as refusal:
        return refusal.text
    return ""


@pytest.mark.parametrize(
    ("asked", "sizes"),
    [
        ({}, [1, 0, 1, 1, "cpu=1,mem=100M,node=1,billing=1"]),
        # a range of nodes has no tasks of its own: one CPU is enough for the command
        ({"min_nodes": 2, "max_nodes": 4}, [4, 4, 1, 2, "cpu=1,mem=100M,node=2,billing=1"]),
        ({"num_tasks": 4, "min_cpus": 4, "spread_job": True}, [4, 4, 4, 4, "cpu=4,mem=400M,node=1,billing=4"]),
        # the partition's MinNodes count as asked for, unless -N 1 is less than they are
        ({"partition": "big"}, [2, 0, 1, 2, "cpu=1,mem=100M,node=2,billing=1"]),
        ({"partition": "big", "cpus_per_task": 4, "min_cpus": 4}, [2, 0, 4, 2, "cpu=4,mem=400M,node=2,billing=4"]),
        ({"partition": "batch,big"}, [1, 0, 1, 1, "cpu=1,mem=100M,node=1,billing=1"]),
        ({"overcommit": True, "min_nodes": 3, "max_nodes": 3, "min_cpus": 3},
         [3, 3, 3, 3, "cpu=3,mem=300M,node=3,billing=3"]),
    ],
)  # fmt: skip
def test_what_a_new_job_asks_for(cluster: Engine, asked: dict[str, Any], sizes: list[Any]) -> None:
    job = submit(cluster, **asked)
    assert show(cluster, job, *SIZES) == sizes


def test_a_range_takes_the_nodes_that_are_idle(cluster: Engine) -> None:
    submit(cluster, min_nodes=5, max_nodes=5, min_cpus=5, shared="exclusive")
    cluster.execute(START + 9, "ping", {}, ROOT)
    job = submit(cluster, min_nodes=2, max_nodes=8, shared="exclusive")
    assert show(cluster, job, "num_nodes", "max_nodes_asked") == [3, 8]


@pytest.mark.parametrize(
    ("changes", "sizes"),
    [
        # nothing but what is named changes, and what follows from it
        ({"num_tasks": 30}, [9, 9, 9, 30, "cpu=9,mem=900M,node=9,billing=9"]),
        ({"cpus_per_task": 4}, [9, 9, 9, 9, "cpu=9,mem=900M,node=9,billing=9"]),
        ({"min_cpus": 12}, [9, 9, 12, 9, "cpu=12,mem=900M,node=9,billing=12"]),
        ({"min_nodes": 12, "max_nodes": 12}, [12, 12, 12, 12, "cpu=12,mem=1200M,node=12,billing=12"]),
        ({"pn_min_cpus": 2}, [9, 9, 18, 9, "cpu=18,mem=900M,node=9,billing=18"]),
        ({"pn_min_memory": 50, "mem_per_cpu": True}, [9, 9, 9, 9, "cpu=9,mem=450M,node=9,billing=9"]),
    ],
)  # fmt: skip
def test_what_an_update_changes(tmp_path: Path, changes: dict[str, Any], sizes: list[Any]) -> None:
    (tmp_path / "slurm.conf").write_text(CONF.replace("n[1-8]", "n[1-16]"))
    e = make_engine(new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), tmp_path)
    job = submit(e, hold=True, min_nodes=9, max_nodes=9, min_cpus=9)
    assert update(e, job, **changes) == ""
    assert show(e, job, *SIZES) == sizes


def test_a_number_of_nodes_leaves_the_maximum_that_was_not_given(cluster: Engine) -> None:
    job = submit(cluster, hold=True, num_tasks=2, min_cpus=2)
    assert update(cluster, job, min_nodes=2) == ""
    assert show(cluster, job, *SIZES) == [2, 0, 2, 2, "cpu=2,mem=200M,node=2,billing=2"]


def test_a_job_keeps_the_partition_that_was_the_default(cluster: Engine) -> None:
    job = submit(cluster, hold=True)
    do(cluster, "update_partition", partition={"name": "big", "default": True})
    assert show(cluster, job, "partition") == ["batch"]
    assert update(cluster, job, num_tasks=2) == ""
    assert show(cluster, job, "partition") == ["batch"]


@pytest.mark.parametrize(("person", "priority"), [(ALICE, 4_294_901_759), (ROOT, 50)])
def test_operators_alone_say_what_priority_their_jobs_have(cluster: Engine, person: Person, priority: int) -> None:
    assert show(cluster, submit(cluster, person, priority=50), "priority") == [priority]


def test_a_job_that_reboots_its_nodes_has_them_to_itself(cluster: Engine) -> None:
    job = submit(cluster, ROOT, reboot=True, power="level")
    assert show(cluster, job, "reboot", "shared", "power_flags") == [1, "NO", "LEVEL"]


def test_without_accounting_there_is_no_qos(cluster: Engine) -> None:
    job = submit(cluster, qos="normal")
    assert show(cluster, job, "qos") == [None]
    assert update(cluster, job, qos="high", comment="x") == ""
    assert show(cluster, job, "qos") == [None]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"burst_buffer": "", "comment": "x"}, "Job has already finished"),
        ({"burst_buffer": "x"}, "Requested operation not supported on this system"),
        ({"licenses": "nosuch:1", "cluster_features": ""}, "Job has already finished"),
    ],
)
def test_what_is_said_of_a_job_that_is_over(cluster: Engine, changes: dict[str, Any], text: str) -> None:
    job = submit(cluster, hold=True)
    do(cluster, "kill", job_id=job)
    assert update(cluster, job, **changes) == text


def test_an_array_that_no_node_could_run_stays_one_failed_record(cluster: Engine) -> None:
    with pytest.raises(Refusal):
        submit(cluster, array_inx="1,3,5%2", pn_min_tmp_disk=10)
    shown = show(cluster, "1", "array_task_str", "job_state", "state_reason", "array_job_id")
    assert shown == ["1,3,5%2", "FAILED", "BadConstraints", 1]
    assert submit(cluster) == "2"
    cluster.execute(START + 4000, "ping", {}, ROOT)
    with pytest.raises(Refusal):
        show(cluster, "1", "job_state")


def test_a_job_that_was_refused_shows_the_partition_tried_last(cluster: Engine) -> None:
    with pytest.raises(Refusal):
        submit(cluster, partition="batch,big", pn_min_tmp_disk=10)
    assert show(cluster, "1", "partition", "job_state") == ["big", "FAILED"]


def test_a_partition_named_twice_counts_once(cluster: Engine) -> None:
    job = submit(cluster, hold=True)
    assert update(cluster, job, partition="batch,batch") == ""
    assert show(cluster, job, "partition") == ["batch"]
    assert update(cluster, job, partition="big,batch,big") == ""
    assert show(cluster, job, "partition") == ["big,batch"]


def test_of_several_partitions_one_that_gives_more_nodes_than_asked_is_left_out(cluster: Engine) -> None:
    one, two = submit(cluster, partition="big,batch"), submit(cluster, partition="big")
    cluster.execute(START + 10, "ping", {}, ROOT)
    assert [show(cluster, job, "partition")[0] for job in (one, two)] == ["batch", "big"]
    assert [show(cluster, job, "num_nodes")[0] for job in (one, two)] == [1, 2]


def test_nodes_of_other_users_are_busy_where_nodes_are_for_one_user_alone(cluster: Engine) -> None:
    bob = Person("bob", 2002, "bob", 2002, "/home/bob")
    submit(cluster, min_nodes=8, num_tasks=8)
    cluster.execute(START + 5, "ping", {}, ROOT)
    waiting = submit(cluster, num_tasks=64)
    assert show(cluster, submit(cluster, bob, num_tasks=60), "state_reason") == ["Priority"]
    do(cluster, "update_partition", partition={"name": "batch", "exclusive_user": True})
    assert show(cluster, submit(cluster, bob), "state_reason") == ["Resources"]
    assert show(cluster, submit(cluster, num_tasks=60), "state_reason") == ["Priority"]
    assert show(cluster, waiting, "job_state") == ["PENDING"]


def test_a_snapshot_knows_that_nodes_may_be_for_one_user_alone(cluster: Engine, tmp_path: Path) -> None:
    submit(cluster, shared="user")
    cluster.execute(START + 5, "ping", {}, ROOT)
    other = make_engine(new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), tmp_path)
    restore(other, list(take(cluster)))
    assert other.controller.state.exclusive_users is not None
    bob = Person("bob", 2002, "bob", 2002, "/home/bob")
    do(other, "submit", bob, job={**BATCH, "num_tasks": 60})
    other.execute(START + 60, "ping", {}, ROOT)
    assert show(other, "2", "job_state") == ["PENDING"]


def test_each_node_gives_the_cpus_asked_of_it(cluster: Engine) -> None:
    jobs = [submit(cluster, pn_min_cpus=4), submit(cluster, pn_min_cpus=3, num_tasks=2, min_nodes=2, max_nodes=2)]
    changed = submit(cluster, hold=True)
    assert update(cluster, changed, pn_min_cpus=5) == ""
    do(cluster, "hold_job", job_id=changed, kind="release")
    cluster.execute(START + 65, "ping", {}, ROOT)
    assert [show(cluster, job, "num_cpus", "num_nodes") for job in (*jobs, changed)] == [[4, 1], [6, 2], [5, 1]]


def test_root_gives_a_job_its_group(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    users = {"alice": "2001"}
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, users=users)
    e = make_engine(header, tmp_path)
    job = submit(e, ROOT, group_id=2001)
    assert show(e, job, "group_id", "group_name") == [2001, "alice"]


def test_partitions_come_in_the_order_of_their_tiers(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF.replace("MinNodes=2", "PriorityTier=5"))
    e = make_engine(new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), tmp_path)
    assert show(e, submit(e, partition="batch,big", hold=True), "partition") == ["batch,big"]
    assert show(e, submit(e, partition="batch,big"), "partition") == ["big,batch"]


def test_there_is_no_federation_to_have_features(cluster: Engine) -> None:
    job = submit(cluster, hold=True)
    assert update(cluster, job, licenses="", cluster_features="") == "Unspecified error"


def test_a_range_of_cpus_shows_while_the_job_waits(cluster: Engine) -> None:
    job = submit(cluster, hold=True)
    assert update(cluster, job, min_cpus=4, max_cpus=64) == ""
    assert show(cluster, job, "num_cpus", "max_cpus") == [4, 64]
    assert update(cluster, job, min_cpus=8, max_cpus=2) == "CPU count specification invalid"


def test_tasks_a_node_leave_tasks_and_cpus_a_node(cluster: Engine) -> None:
    job = submit(cluster, min_nodes=4, max_nodes=4, shared="exclusive", begin_time=START + 600)
    assert update(cluster, job, ntasks_per_node=4) == ""
    assert show(cluster, job, "num_tasks", "ntasks_per_node", "pn_min_cpus") == [4, 4, 1]
    assert update(cluster, job, pn_min_cpus=2) == ""
    assert show(cluster, job, "pn_min_cpus") == [2]


def test_a_new_default_of_memory_leaves_the_tres_of_waiting_jobs(cluster: Engine) -> None:
    job = submit(cluster, begin_time=START + 600)
    asked = submit(cluster, begin_time=START + 600, pn_min_memory=50, mem_per_cpu=True)
    do(cluster, "update_partition", partition={"name": "batch", "def_mem_per_cpu": 200})
    fields = ("pn_min_memory", "tres_req_str")
    assert show(cluster, job, *fields) == [200, "cpu=1,mem=100M,node=1,billing=1"]
    assert show(cluster, asked, *fields) == [50, "cpu=1,mem=50M,node=1,billing=1"]
    assert show(cluster, submit(cluster), "tres_req_str") == ["cpu=1,mem=200M,node=1,billing=1"]


def test_billing_of_a_partition_is_counted_with_its_nodes(cluster: Engine) -> None:
    def tres() -> str:
        found = do(cluster, "partitions", fields=["name", "tres_fmt_str"])["columns"]
        return str(found["tres_fmt_str"][found["name"].index("batch")]).rpartition(",")[2]

    do(cluster, "update_partition", partition={"name": "batch", "billing_weights": "cpu=2.0"})
    assert tres() == "billing=64"
    do(cluster, "update_partition", partition={"name": "batch", "nodes": "n[1-4]"})
    assert tres() == "billing=64"  # of half as many nodes, at the new weights
    do(cluster, "update_partition", partition={"name": "batch", "billing_weights": "cpu=1.0"})
    assert tres() == "billing=64"


def test_what_never_started_is_billed_as_it_was_counted(cluster: Engine) -> None:
    with pytest.raises(Refusal):
        submit(cluster, pn_min_tmp_disk=10)
    do(cluster, "update_partition", partition={"name": "batch", "billing_weights": "cpu=2.0"})
    assert show(cluster, "1", "job_state", "tres_req_str") == ["FAILED", "cpu=1,mem=100M,node=1,billing=1"]
    assert show(cluster, submit(cluster), "tres_req_str") == ["cpu=1,mem=100M,node=1,billing=2"]


def test_whether_a_job_may_be_requeued_is_changed_beside_its_size(cluster: Engine) -> None:
    job = submit(cluster, num_tasks=64, dependency="singleton", requeue=1)
    assert update(cluster, job, requeue=0, min_cpus=4) == ""
    assert show(cluster, job, "requeue") == [0]


def test_of_several_partitions_the_least_number_of_nodes_counts(cluster: Engine) -> None:
    job = submit(cluster, partition="big,batch", hold=True)
    assert show(cluster, job, "num_nodes", "tres_req_str") == [1, "cpu=1,mem=100M,node=1,billing=1"]
    assert show(cluster, submit(cluster, partition="big", hold=True), "tres_req_str") == [
        "cpu=1,mem=100M,node=2,billing=1"
    ]


def test_nodes_somebody_has_to_himself_are_not_expected(cluster: Engine) -> None:
    submit(cluster, min_nodes=3, shared="exclusive")
    submit(cluster, num_tasks=3, req_nodes="n8")
    cluster.execute(cluster.now + 10, "ping", {}, ROOT)
    assert show(cluster, submit(cluster, min_nodes=1, max_nodes=8), "num_nodes") == [5]
    assert show(cluster, submit(cluster, min_nodes=6, max_nodes=8), "num_nodes") == [8]  # too few: of all
    assert show(cluster, submit(cluster, min_nodes=1, max_nodes=8, shared="exclusive"), "num_nodes") == [4]


def test_a_node_needs_room_for_the_tasks_of_a_socket_before_it_gets_one(tmp_path: Path) -> None:
    """job_test.c _select_cores; as 22.05.8 decided on a node with so many of 2x4 cores taken."""
    (tmp_path / "slurm.conf").write_text(CONF.replace("CPUs=8", "Sockets=2 CoresPerSocket=4"))
    e = make_engine(new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), tmp_path)

    def starts(taken: int, **asked: Any) -> list[Any]:
        both = submit(e, num_tasks=taken, min_cpus=taken, req_nodes="n1"), submit(e, **asked)
        e.execute(e.now + 10, "ping", {}, ROOT)
        found = show(e, both[1], "job_state", "nodes", "num_cpus")
        for job_id in both:
            do(e, "kill", job_id=job_id)
        e.execute(e.now + 10, "ping", {}, ROOT)
        return found

    here = {"num_tasks": 1, "req_nodes": "n1"}
    assert starts(7, **here, ntasks_per_socket=3)[0] == "PENDING"
    assert starts(5, **here, ntasks_per_socket=3)[0] == "RUNNING"
    assert starts(7, **here, ntasks_per_core=2)[0] == "PENDING"
    assert starts(5, **here, ntasks_per_socket=2, cpus_per_task=2)[0] == "PENDING"
    assert starts(7, num_tasks=8, min_cpus=8, ntasks_per_socket=2) == ["RUNNING", "n[2-3]", 8]
    assert starts(7, num_tasks=8, min_cpus=8, ntasks_per_socket=2, shared="exclusive") == ["RUNNING", "n[2-3]", 16]
    with pytest.raises(Refusal, match="node configuration is not available"):
        submit(e, **here, ntasks_per_socket=5)


def test_nodes_reserved_for_others_are_not_expected(cluster: Engine) -> None:
    asked = {"start_time": START + 300, "duration": 60, "node_list": "n[5-8]", "users": "root", "flags": []}
    do(cluster, "create_reservation", reservation={**asked, "name": "r"})
    submit(cluster, min_nodes=1, shared="exclusive")
    cluster.execute(cluster.now + 10, "ping", {}, ROOT)
    assert show(cluster, submit(cluster, min_nodes=1, max_nodes=8), "num_nodes") == [3]
    assert show(cluster, submit(cluster, min_nodes=1, max_nodes=8, time_limit=2), "num_nodes") == [7]  # over by then
    assert show(cluster, submit(cluster, min_nodes=4, max_nodes=8), "num_nodes") == [8]  # too few: of all


def test_a_job_that_was_cancelled_while_it_waited_shows_the_cpus_found_for_it(cluster: Engine) -> None:
    submit(cluster, min_nodes=8, max_nodes=8, shared="exclusive")
    job = submit(cluster, min_nodes=4, max_nodes=4, min_cpus=4, shared="exclusive")
    cluster.execute(cluster.now + 40, "ping", {}, ROOT)
    assert show(cluster, job, "job_state", "num_cpus") == ["PENDING", 4]
    do(cluster, "kill", job_id=job)
    assert show(cluster, job, "job_state", "num_cpus") == ["CANCELLED", 32]


def test_too_few_nodes_to_look_at_are_told_at_once(cluster: Engine) -> None:
    """As 22.05.8 said: six nodes for its tasks, of which jobs that share with nobody leave four; or reserved ones."""
    submit(cluster, min_nodes=4, max_nodes=4, min_cpus=4, shared="exclusive")
    submit(cluster, min_nodes=8, max_nodes=8, min_cpus=8, shared="exclusive")
    cluster.execute(cluster.now + 10, "ping", {}, ROOT)
    assert show(cluster, submit(cluster, num_tasks=16, min_cpus=16, ntasks_per_node=3), "state_reason") == ["Resources"]
    assert show(cluster, submit(cluster, num_tasks=9, min_cpus=9, ntasks_per_node=3), "state_reason") == ["Priority"]
    assert show(cluster, submit(cluster, shared="exclusive"), "state_reason") == ["Priority"]
    asked = {
        "start_time": START + 300,
        "duration": 60,
        "node_list": "n[5-8]",
        "users": "root",
        "flags": [],
        "name": "r",
    }
    do(cluster, "create_reservation", reservation={**asked, "name": "r"})
    assert show(cluster, submit(cluster, shared="exclusive"), "state_reason") == ["Resources"]
