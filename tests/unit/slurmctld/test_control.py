"""scontrol's side of the daemon: who may change what, and what becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine, new_header

START = 1_767_600_000
ROOT, ALICE = Person("root", 0, "root", 0, "/root"), Person("alice", 2001, "alice", 2001, "/home/alice")
BOB = Person("bob", 2002, "bob", 2002, "/home/bob")


@pytest.fixture
def cluster() -> Engine:
    """Two nodes of four CPUs; alice's job 1 runs on all of them, job 2 waits, 3 is an array of three that waits."""
    header = new_header(start=START, mode="frozen", rate=1.0, nodes=2, cpus=4, owner=0, users={"alice": "2001"})
    e = make_engine(header, Path("."))
    script = "#!/bin/sh\nsleep 500\n"
    asked = {"name": "j", "script": script, "work_dir": "/tmp", "time_limit": 10, "num_tasks": 8}
    for more in ({}, {}, {"array_inx": "1-3"}):
        e.execute(START, "submit", {"job": {**asked, **more}}, ALICE)
    e.execute(START + 10, "ping", {}, ROOT)
    return e


def do(e: Engine, call: str, person: Person = ROOT, **arguments: Any) -> dict[str, Any]:
    return e.execute(e.now, call, arguments, person)


def refused(e: Engine, call: str, person: Person, **arguments: Any) -> str:
    with pytest.raises(Refusal) as caught:
        do(e, call, person, **arguments)
    return caught.value.text


def show(e: Engine, job_id: str, *fields: str) -> list[Any]:
    found = do(e, "jobs", job_id=job_id, fields=list(fields))["columns"]
    return [found[name][0] for name in fields]


def nodes(e: Engine, *fields: str) -> list[Any]:
    found = do(e, "nodes", fields=list(fields))["columns"]
    return [found[name][0] for name in fields]


def test_users_hold_their_own_jobs_and_release_what_they_held(cluster: Engine) -> None:
    assert refused(cluster, "hold_job", BOB, job_id="2", kind="hold") == "Invalid user id"
    do(cluster, "hold_job", ALICE, job_id="2", kind="hold")
    assert show(cluster, "2", "state_reason", "priority") == ["JobHeldUser", 0]
    do(cluster, "hold_job", ROOT, job_id="2", kind="hold")
    assert show(cluster, "2", "state_reason") == ["JobHeldAdmin"]
    assert refused(cluster, "hold_job", ALICE, job_id="2", kind="release") == "Access/permission denied"
    do(cluster, "hold_job", ROOT, job_id="2", kind="release")
    assert show(cluster, "2", "state_reason") == ["None"]  # until somebody looks


def test_a_running_job_can_be_held_for_its_requeue(cluster: Engine) -> None:
    do(cluster, "hold_job", ALICE, job_id="1", kind="hold")
    assert show(cluster, "1", "job_state", "state_reason", "priority") == ["RUNNING", "JobHeldUser", 0]
    do(cluster, "requeue_job", ALICE, job_id="1", hold=False)
    assert show(cluster, "1", "job_state", "state_reason") == ["PENDING", "JobHeldUser"]


def test_time_limits_are_raised_by_operators_alone(cluster: Engine) -> None:
    do(cluster, "update_job", ALICE, job_id="1", job={"time_limit": 5})
    assert refused(cluster, "update_job", ALICE, job_id="1", job={"time_limit": 50}) == "Access/permission denied"
    do(cluster, "update_job", ROOT, job_id="1", job={"time_limit": 50})
    assert show(cluster, "1", "time_limit") == [50]


def test_what_only_waiting_jobs_can_be_given(cluster: Engine) -> None:
    text = "Job is no longer pending execution"
    for change in ({"num_tasks": 2}, {"features": "x"}, {"dependency": "afterok:2"}, {"begin_time": START + 900}):
        assert refused(cluster, "update_job", ALICE, job_id="1", job=change) == text
    do(cluster, "update_job", ALICE, job_id="2", job={"num_tasks": 2, "comment": "less", "nice": 7})
    assert show(cluster, "2", "num_tasks", "comment", "nice") == [2, "less", 7]


def test_what_precedes_a_refused_field_stays_changed(cluster: Engine) -> None:
    change = {"comment": "kept", "time_limit": 900}
    assert refused(cluster, "update_job", ALICE, job_id="1", job=change) == "Access/permission denied"
    assert show(cluster, "1", "comment") == ["kept"]


def test_a_task_named_alone_leaves_the_record_of_its_array(cluster: Engine) -> None:
    assert do(cluster, "update_job", ALICE, job_id="3_2", job={"name": "second"}) == {
        "responses": [["3_2", "No error"]]
    }
    found = do(cluster, "jobs", job_id="3", fields=["array_task_str", "array_task_id", "name"])["columns"]
    assert found["array_task_str"] == ["1,3", None]
    assert found["name"] == ["j", "second"]
    answer = do(cluster, "requeue_job", ROOT, job_id="3_1", hold=True)
    assert answer == {"responses": [["3_1,3", "Job is pending execution"]]}  # the whole record is meant
    answer = do(cluster, "hold_job", ALICE, job_id="3_[2,9]", kind="hold")
    assert answer == {"responses": [["3_2", "No error"], ["3_9", "Invalid job id specified"]]}


def test_drained_nodes_tell_why_until_they_are_resumed(cluster: Engine) -> None:
    assert refused(cluster, "update_node", ALICE, names="n1", state="DRAIN", reason="x") == "Invalid user id"
    assert refused(cluster, "update_node", ROOT, names="n9", state="DRAIN", reason="x") == "Invalid node name specified"
    do(cluster, "update_node", ROOT, names="n1", state="DRAIN", reason="disk")
    assert nodes(cluster, "state_flags", "reason", "reason_time", "reason_uid") == [["DRAIN"], "disk", START + 10, 0]
    do(cluster, "update_node", ROOT, names="n1", state="RESUME")
    assert nodes(cluster, "state_flags", "reason") == [["NOT_RESPONDING"], None]
    cluster.execute(cluster.now + 1, "ping", {}, ROOT)
    assert nodes(cluster, "state_flags") == [[]]
    assert refused(cluster, "update_node", ROOT, names="n1", state="RESUME") == "Invalid node state specified"


def test_an_idle_node_is_made_idle_whatever_kept_it_out() -> None:
    e = make_engine(new_header(start=START, mode="frozen", rate=1.0, nodes=2, cpus=4, owner=0), Path("."))
    for state in ("DRAIN", "FAIL"):
        do(e, "update_node", ROOT, names="n1", state=state, reason="x")
        assert nodes(e, "state_flags", "reason") == [[state], "x"]
        do(e, "update_node", ROOT, names="n1", state="IDLE")
        assert nodes(e, "state_flags") == [[]]


def test_a_job_held_while_it_ran_ends_held(cluster: Engine) -> None:
    do(cluster, "hold_job", ROOT, job_id="1", kind="hold")
    cluster.execute(START + 510, "ping", {}, ROOT)
    assert show(cluster, "1", "job_state", "state_reason") == ["COMPLETED", "JobHeldAdmin"]


def test_partitions_come_and_go(cluster: Engine) -> None:
    do(cluster, "create_partition", ROOT, partition={"name": "new", "nodes": "n[1-2]", "max_time": 60})
    assert do(cluster, "partitions", fields=["min_nodes"])["columns"]["min_nodes"] == [0, 0, 1]
    do(cluster, "update_partition", ROOT, partition={"name": "new", "state_up": "DOWN", "nodes": "n2"})
    found = do(cluster, "partitions", fields=["name", "state_up", "nodes", "max_time"])["columns"]
    assert [found[name][-1] for name in ("name", "state_up", "nodes", "max_time")] == ["new", "DOWN", "n2", 60]
    assert refused(cluster, "delete_partition", ROOT, target="debug") == "Partition is in use"
    do(cluster, "delete_partition", ROOT, target="new")
    assert "new" not in do(cluster, "partitions", fields=["name"])["columns"]["name"]


def test_reservations_are_made_changed_and_deleted(cluster: Engine) -> None:
    asked = {"start_time": START + 3600, "duration": 60, "node_list": "n1", "users": "root", "flags": []}
    assert refused(cluster, "create_reservation", ALICE, reservation=asked) == "Invalid user id"
    assert do(cluster, "create_reservation", ROOT, reservation=asked) == {"name": "root_1"}
    do(cluster, "update_reservation", ROOT, reservation={"name": "root_1", "duration": 30, "flags": []})
    found = do(cluster, "reservations", fields=["end_time", "flag_text", "tres_str"])["columns"]
    assert found == {"end_time": [START + 5400], "flag_text": ["SPEC_NODES"], "tres_str": ["cpu=4"]}
    do(cluster, "delete_reservation", ROOT, target="root_1")
    assert refused(cluster, "delete_reservation", ROOT, target="root_1") == "Requested reservation is invalid"


def test_a_finished_job_can_be_requeued(cluster: Engine) -> None:
    cluster.execute(START + 520, "ping", {}, ROOT)
    assert show(cluster, "1", "job_state") == ["COMPLETED"]
    do(cluster, "requeue_job", ALICE, job_id="1", hold=False)
    assert show(cluster, "1", "job_state", "restart_cnt", "job_id") == ["PENDING", 1, 1]


def test_a_held_job_is_not_tried(cluster: Engine) -> None:
    asked = {"name": "j", "script": "#!/bin/sh\nsleep 5\n", "work_dir": "/tmp", "exc_nodes": "n[1-2]"}
    assert "configuration is not available" in refused(cluster, "submit", ALICE, job=asked)
    assert do(cluster, "submit", ALICE, job={**asked, "hold": True})["job_id"]


def test_an_overcommitted_job_asks_for_a_cpu_a_node(cluster: Engine) -> None:
    asked = {"script": "#!/bin/sh\nsleep 5\n", "work_dir": "/tmp", "num_tasks": 20, "min_nodes": 2, "max_nodes": 2}
    job = do(cluster, "submit", ALICE, job={**asked, "overcommit": True})["job_id"]
    assert show(cluster, str(job), "num_cpus", "num_tasks") == [2, 20]


def test_nodes_both_wanted_and_excluded_are_refused(cluster: Engine) -> None:
    asked = {"script": "#!/bin/sh\nsleep 5\n", "work_dir": "/tmp", "req_nodes": "n1", "exc_nodes": "n[1-2]"}
    assert refused(cluster, "submit", ALICE, job=asked) == "Invalid node name specified"


def test_one_nodes_wrong_transition_leaves_the_others_theirs(cluster: Engine) -> None:
    do(cluster, "update_node", names="n2", state="DRAIN", reason="disk")
    assert refused(cluster, "update_node", ROOT, names="ALL", state="RESUME") == "Invalid node state specified"
    assert do(cluster, "nodes", fields=["reason"])["columns"]["reason"] == [None, None]


def test_active_features_are_available_ones(cluster: Engine) -> None:
    why = "Active features not subset of available features"
    assert refused(cluster, "update_node", ROOT, names="n1", features_act="z") == why
    do(cluster, "update_node", names="n1", features="a,z")
    do(cluster, "update_node", names="n1", features_act="z")
    assert refused(cluster, "update_node", ROOT, names="n1", features="a,b") == why


def test_what_a_partition_cannot_be_given(cluster: Engine) -> None:
    def asked(**fields: str) -> dict[str, Any]:
        return {"name": "batch", **fields}

    bad = {"job_defaults": "JobDefaults", "billing_weights": "Trackable RESource (TRES)"}
    for field, name in bad.items():
        why = refused(cluster, "update_partition", ROOT, partition=asked(**{field: "x"}))
        assert why == f"Invalid {name} specification"
    do(cluster, "update_partition", partition=asked(job_defaults="defcpupergpu=2", billing_weights="cpu=2,mem=1G"))
    found = do(cluster, "partitions", fields=["name", "job_defaults", "billing_weights"])["columns"]
    at = found["name"].index("batch")
    assert (found["job_defaults"][at], found["billing_weights"][at]) == ("DefCpuPerGPU=2", "cpu=2,mem=1G")
    assert refused(cluster, "create_partition", ROOT, partition=asked()) == "Invalid partition name specified"


def test_who_may_move_jobs_up_is_asked_first(cluster: Engine) -> None:
    assert refused(cluster, "top_job", ALICE, job_id="999") == "Access/permission denied"


def test_a_job_cannot_be_sent_to_another_cluster(cluster: Engine) -> None:
    assert refused(cluster, "update_job", ALICE, job_id="2", job={"clusters": "x"}, acting_uid=2001)


def test_a_waiting_job_dies_of_a_kill_to_its_script(cluster: Engine) -> None:
    do(cluster, "kill", ALICE, job_id="2", signal=9, batch=True)
    assert show(cluster, "2", "job_state") == ["CANCELLED"]
    do(cluster, "kill", ALICE, job_id="3", signal=9, batch=True)
    assert show(cluster, "3", "job_state") == ["CANCELLED"]


def test_a_job_whose_script_is_killed_failed(cluster: Engine) -> None:
    do(cluster, "kill", ALICE, job_id="1", signal=None, batch=True)
    assert show(cluster, "1", "job_state", "state_reason", "exit_code") == ["FAILED", "JobLaunchFailure", 9]


def test_a_suspended_script_cannot_hear_that_it_is_killed(cluster: Engine) -> None:
    do(cluster, "suspend_job", job_id="1", op="suspend")
    do(cluster, "kill", ALICE, job_id="1", signal=None, batch=True)
    assert show(cluster, "1", "job_state") == ["CANCELLED"]


def test_steps_are_their_users(cluster: Engine) -> None:
    assert refused(cluster, "kill", BOB, job_id="1", step=0) == "Invalid user id"
    assert refused(cluster, "kill", BOB, job_id="1") == "Access/permission denied"


def test_a_node_said_not_to_respond_takes_no_jobs_until_it_is_asked_again(cluster: Engine) -> None:
    do(cluster, "update_node", ROOT, names="n1", state="NO_RESPOND")
    assert nodes(cluster, "state_flags")[0] == ["NOT_RESPONDING"]
    assert cluster.controller.node_states.mute == 1
    cluster.execute(START + 1 + 100, "ping", {}, ROOT)  # a third of SlurmdTimeout after the first second
    assert nodes(cluster, "state_flags")[0] == []


def test_a_node_that_comes_back_registers_first(cluster: Engine) -> None:
    do(cluster, "update_node", ROOT, names="n2", state="UNDRAIN")
    found = do(cluster, "nodes", fields=["state_flags", "boot_time"])["columns"]
    assert (found["state_flags"][1], found["boot_time"][1]) == (["NOT_RESPONDING"], 0)
    cluster.execute(cluster.now + 1, "ping", {}, ROOT)
    assert do(cluster, "nodes", fields=["state_flags"])["columns"]["state_flags"][1] == []


def test_addresses_are_as_many_as_nodes(cluster: Engine) -> None:
    assert refused(cluster, "update_node", ROOT, names="n[1-2]", node_addr="host") == "Invalid node name specified"
    do(cluster, "update_node", ROOT, names="n[1-2]", node_addr="a,b", cpu_bind="core")
    found = do(cluster, "nodes", fields=["node_addr", "cpu_bind"])["columns"]
    assert found == {"node_addr": ["a", "b"], "cpu_bind": ["cores", "cores"]}


def test_what_a_reservation_may_not_become(cluster: Engine) -> None:
    asked = {"start_time": START + 3600, "duration": 60, "node_list": "n1", "flags": []}
    do(cluster, "create_reservation", ROOT, reservation={**asked, "name": "r", "users": "root"})
    do(
        cluster,
        "create_reservation",
        ROOT,
        reservation={**asked, "name": "g", "groups": ALICE.group, "node_list": "n2"},
    )
    fields = ["users", "groups"]
    assert do(cluster, "reservations", fields=fields)["columns"] == {
        "users": ["root", None],
        "groups": [None, ALICE.group],
    }
    for change, text in (
        ({"name": "r", "groups": "root"}, "Reservations can't have users and groups specified, only one or the other"),
        ({"name": "g", "users": "root"}, "Reservations can't have users and groups specified, only one or the other"),
        ({"name": "g", "groups": ""}, "Reservation request lacks users, groups or accounts"),
        ({"name": "r", "features": "fast"}, "Requested operation not supported on this system"),
        ({"name": "r", "partition": "nowhere"}, "Invalid partition name specified"),
    ):
        assert refused(cluster, "update_reservation", ROOT, reservation=change) == text
    do(cluster, "update_reservation", ROOT, reservation={"name": "r", "partition": "debug"})
    assert do(cluster, "reservations", fields=["partition"])["columns"]["partition"] == ["debug", None]
    assert refused(cluster, "reboot_nodes", ALICE, names="n1") == "RebootProgram isn't defined"
    assert refused(cluster, "set_debug", ROOT, sched_log=1) == "Requested operation is presently disabled"


def test_a_partition_named_twice_is_one(tmp_path: Path) -> None:
    conf = "SlurmctldHost=h\nNodeName=n1\nPartitionName=p Nodes=ALL\nPartitionName=q Nodes=ALL AllowGroups=wheel\n"
    (tmp_path / "slurm.conf").write_text("ClusterName=c\n" + conf)
    e = make_engine(new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), tmp_path)
    job = {"name": "j", "script": "#!/bin/sh\n", "work_dir": "/tmp"}
    text = "User's group not permitted to use this partition"
    assert text in refused(e, "submit", ALICE, job={**job, "partition": "q,q"})
    assert do(e, "submit", ALICE, job={**job, "partition": "p,q"})


def test_a_partition_refuses_before_what_is_wanted_is_looked_at(tmp_path: Path) -> None:
    conf = "SlurmctldHost=h\nNodeName=n1\nPartitionName=q Nodes=ALL AllowGroups=wheel Default=YES\n"
    (tmp_path / "slurm.conf").write_text("ClusterName=c\n" + conf)
    e = make_engine(new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), tmp_path)
    job = {"name": "j", "script": "#!/bin/sh\n", "work_dir": "/tmp"}
    text = "User's group not permitted to use this partition"
    for more in ({"reservation": "r"}, {"features": "nosuch"}, {"threads_per_core": 2}, {"will_run": True}):
        assert refused(e, "submit", ALICE, job={**job, **more}) == text
    assert refused(e, "submit", ROOT, job={**job, "features": "nosuch"}) == "Invalid feature specification"


def test_a_node_is_drained_or_failing_as_was_asked_last_and_idle_clears_both(cluster: Engine) -> None:
    do(cluster, "update_node", names="n1", state="DRAIN", reason="disk")
    do(cluster, "update_node", names="n1", state="FAIL", reason="disk")
    assert nodes(cluster, "state_flags") == [["FAIL"]]
    do(cluster, "update_node", names="n1", state="DRAIN", reason="disk")
    assert nodes(cluster, "state_flags") == [["DRAIN"]]
    assert refused(cluster, "update_node", ROOT, names="n1", state="IDLE") == "Invalid node state specified"
    for job_id in ("1", "2", "3"):
        do(cluster, "kill", job_id=job_id)
    cluster.execute(cluster.now + 5, "ping", {}, ROOT)
    do(cluster, "update_node", names="n1", state="IDLE")
    assert nodes(cluster, "state_flags") == [[]]


@pytest.fixture
def basic(tmp_path: Path) -> Engine:
    """priority/basic, where every job submitted gets a lower priority: 1 runs on the only node, 2 waits."""
    conf = "ClusterName=c\nSlurmctldHost=h\nPriorityType=priority/basic\nNodeName=n1\nPartitionName=p Nodes=ALL\n"
    (tmp_path / "slurm.conf").write_text(conf)
    e = make_engine(new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), tmp_path)
    for _ in range(2):
        job = {"name": "j", "script": "#!/bin/sh\nsleep 50\n", "work_dir": "/tmp", "time_limit": 10, "partition": "p"}
        do(e, "submit", ALICE, job=job)
    e.execute(START + 10, "ping", {}, ROOT)
    return e


def test_only_operators_give_a_job_that_is_not_held_another_priority(basic: Engine) -> None:
    before = show(basic, "2", "priority")
    do(basic, "hold_job", ALICE, job_id="2", kind="release")
    assert show(basic, "2", "priority") == before
    do(basic, "hold_job", ROOT, job_id="2", kind="release")
    assert show(basic, "2", "priority") == [before[0] - 1]


def test_a_finished_job_keeps_its_priority_when_it_is_requeued(basic: Engine) -> None:
    before = show(basic, "1", "priority")
    basic.execute(START + 100, "ping", {}, ROOT)
    do(basic, "requeue_job", ALICE, job_id="1", hold=False)
    assert show(basic, "1", "job_state", "priority") == ["PENDING", *before]


@pytest.mark.parametrize(("release", "changed"), [("22.05", False), ("24.11", True), ("26.05", True)])
@pytest.mark.parametrize("plugin", ["basic", "multifactor"])
def test_a_finished_job_gets_its_priority_anew(plugin: str, release: str, changed: bool, tmp_path: Path) -> None:
    """By what its partition is worth now, or behind all others where they come in order."""
    conf = f"SlurmctldHost=h\nPriorityType=priority/{plugin}\nPriorityWeightPartition=1000\nNodeName=n[1-2]\n"
    (tmp_path / "slurm.conf").write_text("ClusterName=c\n" + conf + "PartitionName=p Nodes=ALL PriorityJobFactor=9\n")
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, release=release)
    e = make_engine(header, tmp_path)
    job = {"name": "j", "script": "#!/bin/sh\nsleep 5\n", "work_dir": "/tmp", "time_limit": 10, "partition": "p"}
    do(e, "submit", ALICE, job=job)
    do(e, "create_partition", partition={"name": "q", "nodes": "ALL", "priority_job_factor": 18})
    e.execute(START + 60, "ping", {}, ROOT)
    before = show(e, "1", "job_state", "priority")
    assert before[0] == "COMPLETED"
    given = show(e, "1", "tres_alloc_str")
    do(e, "requeue_job", ROOT, job_id="1", hold=False)
    assert (show(e, "1", "priority") != before[1:]) == changed
    assert show(e, "1", "tres_alloc_str") == given != [None]  # nothing has taken it away
    while show(e, "1", "job_state") != ["RUNNING"]:
        e.execute(e.now + 1, "ping", {}, ROOT)
        assert e.now < START + 400
    do(e, "requeue_job", ROOT, job_id="1", hold=False)
    assert show(e, "1", "restart_cnt", "tres_alloc_str") == [2, None]


def test_jobs_are_given_nodes_by_active_features_also_by_those_no_node_has_any_more(tmp_path: Path) -> None:
    conf = "SlurmctldHost=h\nNodeName=n[1-2] Feature=std\nNodeName=n[3-4] Feature=fast\nPartitionName=p Nodes=ALL\n"
    (tmp_path / "slurm.conf").write_text("ClusterName=c\n" + conf)
    e = make_engine(new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), tmp_path)
    job = {"name": "j", "script": "#!/bin/sh\nsleep 500\n", "work_dir": "/tmp", "time_limit": 10, "partition": "p"}
    do(e, "submit", ALICE, job={**job, "features": "fast", "begin_time": START + 30})
    do(e, "update_node", names="n[3-4]", features="std,new", features_act="new")
    assert "Requested node configuration" in refused(e, "submit", ALICE, job={**job, "features": "fast"})
    do(e, "submit", ALICE, job={**job, "features": "std", "min_nodes": 2})
    do(e, "submit", ALICE, job={**job, "features": "new"})
    e.execute(START + 60, "ping", {}, ROOT)
    places = [show(e, job_id, "job_state", "nodes")[:2] for job_id in ("3", "4")]
    assert places == [["RUNNING", "n[1-2]"], ["RUNNING", "n3"]]
    assert show(e, "1", "job_state") == ["PENDING"]
    do(e, "update_node", names="n4", features_act="std")
    do(e, "submit", ALICE, job={**job, "features": "std"})
    e.execute(START + 90, "ping", {}, ROOT)
    assert show(e, "5", "nodes") == ["n4"]


def test_a_reservation_by_features_needs_nodes_that_can_be_used(tmp_path: Path) -> None:
    conf = "SlurmctldHost=h\nNodeName=n[1-2] Feature=std\nNodeName=n3 Feature=fast\n"
    (tmp_path / "slurm.conf").write_text(f"ClusterName=c\n{conf}PartitionName=p Nodes=ALL Default=YES\n")
    e = make_engine(new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), tmp_path)
    asked = {"name": "r", "start_time": START + 600, "duration": 5, "users": "root", "flags": [], "node_cnt": [1]}
    do(e, "update_node", names="n3", state="DRAIN", reason="disk")
    text = refused(e, "create_reservation", ROOT, reservation={**asked, "features": "fast"})
    assert text == "Requested node configuration is not available"
    do(e, "create_reservation", ROOT, reservation={**asked, "features": "std"})


def test_a_reservation_gives_up_its_first_idle_nodes(cluster: Engine) -> None:
    for job_id in ("1", "2", "3"):
        do(cluster, "kill", job_id=job_id)
    cluster.execute(cluster.now + 5, "ping", {}, ROOT)
    asked = {"name": "r", "start_time": cluster.now + 600, "duration": 5, "users": "root", "flags": []}
    do(cluster, "create_reservation", reservation={**asked, "node_cnt": [2]})
    do(cluster, "update_reservation", reservation={"name": "r", "node_cnt": [1], "flags": []})
    assert do(cluster, "reservations", fields=["node_list"])["columns"]["node_list"] == ["n2"]


def test_a_partition_refuses_before_anything_else_is_looked_at(cluster: Engine) -> None:
    asked = {"name": "j", "script": "#!/bin/sh\ntrue\n", "work_dir": "/tmp", "time_limit": 5, "time_min": 9}
    assert refused(cluster, "submit", ROOT, job=asked).startswith("Invalid time-min")
    name = cluster.controller.state.cluster.partitions[0].name
    last = cluster.job_table.last_id
    do(cluster, "update_partition", partition={"name": name, "state_up": "DRAIN"})
    assert refused(cluster, "submit", ALICE, job=asked) == "Required partition not available (inactive or drain)"
    assert cluster.job_table.last_id == last
