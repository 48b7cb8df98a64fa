"""Every field of a job, node, partition and reservation that slurmrestd takes: what it takes, it shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import slurmsim
from slurmsim.live.cluster import Cluster
from slurmsim.records.partition import PARTITION
from slurmsim.rest.controller_writing import BODIES
from slurmsim.rest.job_description import FIELDS
from slurmsim.rest.messages import Request
from slurmsim.rest.server import make_service
from slurmsim.rest.service import Service

CONF = """\
ClusterName=oracle
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1000
GresTypes=gpu
Licenses=mat:4
NodeName=n[1-4] Sockets=2 CoresPerSocket=4 RealMemory=8000 TmpDisk=1000 Feature=a,b Gres=gpu:4
PartitionName=defq Nodes=ALL Default=YES DefaultTime=60
PartitionName=other Nodes=ALL
"""
USERS = {"alice": 2001, "bob": 2002}
START = 1_800_000_000
LATER = START + 7200
"""The clock is frozen, so that only what is written changes what is shown."""
JOB_VALUES: dict[str, Any] = {
    "admin_comment": "x", "begin_time": LATER, "comment": "x", "constraints": "a", "contiguous": True,
    "core_specification": 1, "thread_specification": 1,
    "cores_per_socket": 2, "cpus_per_task": 2, "deadline": LATER * 2 - START, "dependency": "singleton",
    "excluded_nodes": ["n4"], "extra": "x", "licenses": "mat:1", "mail_type": ["END"], "mail_user": "eve",
    "memory_per_cpu": 500, "memory_per_node": 500, "minimum_cpus": 3, "name": "new", "nice": 5, "nodes": "2",
    "partition": "other", "prefer": "b", "priority": 7, "reboot": True, "requeue": False, "required_nodes": ["n2"],
    "shared": ["mcs"], "sockets_per_node": 2, "standard_error": "/e", "standard_input": "/i",
    "standard_output": "/o", "tasks": 2, "tasks_per_node": 2, "temporary_disk_per_node": 50,
    "threads_per_core": 1, "time_limit": 20, "time_minimum": 10, "tres_per_job": "gres/gpu:1",
    "tres_per_node": "gres/gpu:1", "tres_per_task": "gres/gpu:2", "wckey": "key", "minimum_nodes": 2,
    "maximum_nodes": 3, "current_working_directory": "/tmp",
}  # fmt: skip
"""A value that a held job does not have."""
WITHOUT = frozenset({
    "account", "argv", "array", "environment", "hold", "maximum_cpus", "memory_update_delay", "memory_update_margin",
    "ntasks_per_tres", "qos", "reservation",
    "tasks_per_core", "tasks_per_socket", "tres_per_socket",
})  # fmt: skip
"""Fields of a submission that no update changes, or of clusters with accounts and reservations."""
NODE_VALUES = {
    "comment": "x", "extra": "x", "features": ["a", "b", "c"], "features_act": ["a"], "gres": "gpu:3",
    "state": ["DRAIN"], "reason": "y", "weight": 5,
}  # fmt: skip
"""In this order: only a node that is no longer up keeps a reason."""
RESERVATION_VALUES: dict[str, Any] = {
    "accounts": ["acct"], "duration": 90, "end_time": START + 9000, "flags": ["IGNORE_JOBS"], "licenses": ["mat:1"],
    "max_start_delay": 100, "node_count": 2, "node_list": ["n3"], "partition": "other",
    "purge_completed": {"time": 60}, "start_time": START + 3600, "users": ["bob"], "comment": "x",
}  # fmt: skip
UNTOLD = frozenset({"comment", "defaults.job"})
"""Fields that only `scontrol show` tells."""
QUIET = frozenset({"purge_completed"})
"""What it does not tell: the time of a flag that is not set."""
NOT_THERE = frozenset({"burst_buffer", "core_count", "features", "groups", "tres", "name"})
PARTITION_VALUES: dict[str, Any] = {
    "alternate": "other", "grace_time": 7, "nodes.configured": "n[1-3]", "nodes.allowed_allocation": "n1",
    "accounts.allowed": "acct", "groups.allowed": "alice", "tres.billing_weights": "CPU=2",
    "defaults.job": "DefCpuPerGPU=2", "defaults.partition_memory_per_cpu": 100,
    "defaults.partition_memory_per_node": 100, "defaults.time": 30, "maximums.cpus_per_node": 3,
    "maximums.cpus_per_socket": 2,
    "maximums.partition_memory_per_cpu": 300, "maximums.partition_memory_per_node": 300, "maximums.nodes": 2,
    "maximums.time": 50,
    "maximums.over_time_limit": 4, "minimums.nodes": 2, "priority.job_factor": 8, "priority.tier": 7,
    "partition.state": ["DOWN"], "partition.oversubscribe": "FORCE:5", "partition.exclusive": "USER",
    "flags": ["HIDDEN", "NO_ROOT", "ROOT_ONLY", "REQ_RESV", "LLN", "PDOI"], "preempt_mode": ["REQUEUE"],
}  # fmt: skip
NOT_OF_THIS_PARTITION = frozenset({"name", "accounts.deny", "qos.allowed", "qos.assigned", "qos.deny", "topology"})
"""Its name, what a list of allowed ones hides, and what takes a database or topology.yaml."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    path = tmp_path_factory.mktemp("writes") / "slurm.conf"
    path.write_text(CONF)
    with slurmsim.cluster(conf=path, frozen=True, start=START, slurm_version="26.05", users=USERS) as made:
        yield made


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Service:
    return make_service(str(cluster.folder))


def ask(service: Service, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    text = b"" if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    answer = service.answer(Request(method, f"/slurm/v0.0.45/{path}", {}, headers, text))
    return answer.status, json.loads(answer.body)


def shown(service: Service, cluster: Cluster, path: str, what: str, name: str) -> tuple[Any, str]:
    document = ask(service, "GET", path)[1]
    return next(document[key] for key in document if key == f"{what}s"), cluster.run(
        ["scontrol", "-d", "show", what, name]
    ).stdout


def test_every_field_has_a_value_here() -> None:
    assert FIELDS.keys() == JOB_VALUES.keys() | WITHOUT
    assert BODIES["nodes"].keys() - {"name", "meta", "errors", "warnings"} == NODE_VALUES.keys()
    assert BODIES["reservation"].keys() == RESERVATION_VALUES.keys() | NOT_THERE


@pytest.mark.parametrize("field", JOB_VALUES)
def test_a_field_of_a_job(service: Service, cluster: Cluster, field: str) -> None:
    job = cluster.run("sbatch --parsable -H -n1 -t30 --gpus-per-task=1 --wrap true").stdout.strip()
    before = shown(service, cluster, f"job/{job}", "job", job)
    status, answer = ask(service, "POST", f"job/{job}", {field: JOB_VALUES[field]})
    after = shown(service, cluster, f"job/{job}", "job", job)
    if status == 200 and not answer["errors"]:
        assert after[0] != before[0]
    else:
        assert after == before, answer["errors"]


@pytest.mark.parametrize("field", NODE_VALUES)
def test_a_field_of_a_node(service: Service, cluster: Cluster, field: str) -> None:
    before = shown(service, cluster, "node/n1", "node", "n1")
    status, answer = ask(service, "POST", "node/n1", {field: NODE_VALUES[field]})
    after = shown(service, cluster, "node/n1", "node", "n1")
    assert (status, answer["errors"]) == (200, [])
    assert after[0] != before[0]
    assert after[1] != before[1]


@pytest.mark.parametrize("field", RESERVATION_VALUES)
def test_a_field_of_a_reservation(service: Service, cluster: Cluster, field: str) -> None:
    cluster.run("scontrol delete reservationname=r", check=False)
    cluster.run("scontrol create reservationname=r starttime=now+2hours duration=60 nodecnt=1 users=alice")
    before = shown(service, cluster, "reservation/r", "reservation", "r")
    status, answer = ask(service, "POST", "reservation", {"name": "r", field: RESERVATION_VALUES[field]})
    after = shown(service, cluster, "reservation/r", "reservation", "r")
    assert (status, answer["errors"]) == (200, [])
    assert (after[0] == before[0]) == (field in UNTOLD)
    assert (after[1] == before[1]) == (field in QUIET)


@pytest.mark.parametrize("field", PARTITION_VALUES)
def test_a_field_of_a_partition(service: Service, cluster: Cluster, field: str) -> None:
    before = shown(service, cluster, "partition/defq", "partition", "defq")
    outer, _, inner = field.partition(".")
    value = {inner: PARTITION_VALUES[field]} if inner else PARTITION_VALUES[field]
    status, answer = ask(service, "POST", "partitions", {"partitions": [{"name": "defq", outer: value}]})
    after = shown(service, cluster, "partition/defq", "partition", "defq")
    assert (status, answer["errors"]) == (200, [])
    assert (after[0] == before[0]) == (field in UNTOLD)
    assert after[1] != before[1]


def test_every_field_of_a_partition_has_a_value_here() -> None:
    assert {row.json for row in PARTITION if row.json and row.update} <= PARTITION_VALUES.keys() | NOT_OF_THIS_PARTITION


def test_flags_of_a_partition_are_cleared_and_others_stay(service: Service, cluster: Cluster) -> None:
    """As real 26.05 tells them: who has the nodes is no flag."""
    for flags, told in ((["LLN", "PDOI"], ["LLN", "PDOI"]), (["HIDDEN"], ["HIDDEN", "LLN", "PDOI"]),
                        (["HIDDEN_CLEAR", "LLN_CLEAR", "PDOI_CLEAR"], [])):  # fmt: skip
        body = {"partitions": [{"name": "other", "flags": flags, "partition": {"exclusive": "USER"}}]}
        assert ask(service, "POST", "partitions", body)[0] == 200
        found = ask(service, "GET", "partition/other")[1]["partitions"][0]
        assert (found["flags"], found["partition"]["exclusive"]) == (told, "USER")


@pytest.mark.parametrize(
    ("place", "value", "description"),
    [
        ("oversubscribe", "MAYBE", "expected NO, YES[:#], or FORCE[:#]"),
        ("oversubscribe", "YES:1", "YES count must be > 1"),
        ("oversubscribe", "FORCE:0", "FORCE count must be >= 1"),
        ("oversubscribe", "YES:40000", "count too large"),
        ("exclusive", "ALL", "expected NO, NODE, USER, or TOPO"),
    ],
)
def test_who_shares_a_partition_is_said_in_known_words(
    service: Service, place: str, value: str, description: str
) -> None:
    status, answer = ask(
        service, "POST", "partitions", {"partitions": [{"name": "other", "partition": {place: value}}]}
    )
    assert status != 200
    assert description in [error["description"] for error in answer["errors"]]
    assert "Failure during parsing" in [error["error"] for error in answer["errors"]]


@pytest.mark.parametrize(("written", "shown_as"), [("FORCE:5", "FORCE:5"), ("yes", "YES:4"), ("FORCE:1", "FORCE:1"),
                                                   ("NO", "NO")])  # fmt: skip
def test_how_often_a_partition_is_shared_is_shown(service: Service, written: str, shown_as: str) -> None:
    body = {"partitions": [{"name": "other", "partition": {"oversubscribe": written}}]}
    assert ask(service, "POST", "partitions", body)[0] == 200
    assert ask(service, "GET", "partition/other")[1]["partitions"][0]["partition"]["oversubscribe"] == shown_as


@pytest.mark.parametrize("mode", ["DISABLED", "CANCEL"])
def test_how_jobs_of_a_partition_are_preempted_is_shown(service: Service, mode: str) -> None:
    """OFF of slurm.conf is DISABLED here."""
    assert ask(service, "POST", "partitions", {"partitions": [{"name": "other", "preempt_mode": [mode]}]})[0] == 200
    assert ask(service, "GET", "partition/other")[1]["partitions"][0]["preempt_mode"] == [mode]
