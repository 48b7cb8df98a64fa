"""What is news to backfill, what it plans, and what waiting jobs say until the next pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_calls import ALICE, do, show, wait

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine, new_header
from slurmsim.slurmctld.snapshot.image import restore, take

START = 1_767_600_000
BOB = Person("bob", 2002, "bob", 2002, "/home/bob")
CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
AccountingStorageType=accounting_storage/slurmdbd
SchedulerParameters=bf_interval=5
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityWeightJobSize=1000
PriorityWeightAge=1000
DefMemPerCPU=100
NodeName=n[1-3] CPUs=8 RealMemory=8000
PartitionName=batch Nodes=ALL Default=YES
PartitionName=down Nodes=ALL State=DOWN
"""
BATCH = {"name": "j", "script": "#!/bin/sh\nsleep 5000\n", "work_dir": "/tmp", "time_limit": 60, "min_cpus": 1}
NOT_NOW = "Job can not be altered now, try again later"


@pytest.fixture
def cluster(tmp_path: Path) -> Engine:
    return engine(tmp_path)


def engine(folder: Path, release: str = "22.05") -> Engine:
    (folder / "slurm.conf").write_text(CONF)
    header = new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, release=release)
    return make_engine(header, folder)


def submit(e: Engine, **asked: Any) -> str:
    return str(do(e, "submit", ALICE, job={**BATCH, **asked})["job_id"])


def settle(e: Engine) -> None:
    """Let passes and cycles come until nothing is news any more."""
    for _ in range(60):
        wait(e, 1)
        if not e.controller.state.triggers.changed:
            return
    raise AssertionError("something is news for ever")


def whole(e: Engine, nodes: int, **asked: Any) -> str:
    return submit(e, min_nodes=nodes, max_nodes=nodes, shared="exclusive", **asked)


def test_a_refused_cancel_is_news_to_backfill(cluster: Engine) -> None:
    job = whole(cluster, 3)
    whole(cluster, 3)
    settle(cluster)
    with pytest.raises(Refusal, match="Access/permission denied"):
        do(cluster, "kill", BOB, job_id=job)
    assert cluster.controller.state.triggers.changed


def test_priorities_worked_out_are_news_though_they_stay(cluster: Engine) -> None:
    whole(cluster, 3)
    whole(cluster, 3)
    settle(cluster)
    cluster.controller.recalculation.run(cluster.now, again=True)
    assert cluster.controller.state.triggers.changed


def test_an_update_of_a_partition_is_news_though_nothing_changes(cluster: Engine) -> None:
    whole(cluster, 3)
    whole(cluster, 3)
    settle(cluster)
    do(cluster, "update_partition", partition={"name": "batch", "allow_accounts": "ALL"})
    assert cluster.controller.state.triggers.changed


def test_a_plan_has_its_nodes_of_now_though_its_start_stays(cluster: Engine) -> None:
    whole(cluster, 3)
    job = submit(cluster, num_tasks=8, time_limit=600)
    wait(cluster, 10)
    start, nodes = show(cluster, job, "start_time", "sched_nodes")
    assert nodes == "n1"
    asked = {"name": "r", "start_time": cluster.now + 7200, "duration": 60, "users": "root", "node_list": "n1"}
    do(cluster, "create_reservation", reservation=asked)
    wait(cluster, 10)
    assert show(cluster, job, "start_time", "sched_nodes") == [start, "n2"]


@pytest.mark.parametrize(
    ("asked", "reason"), [({"dependency": "afterok:1"}, "Dependency"), ({"begin_time": START + 5000}, "BeginTime")]
)
def test_a_job_that_waits_for_no_nodes_says_so_after_a_pass(
    cluster: Engine, tmp_path: Path, asked: dict[str, Any], reason: str
) -> None:
    """Also after a restart in between."""
    submit(cluster)
    job = submit(cluster, partition="down", **asked)
    assert show(cluster, job, "state_reason") == ["PartitionDown"]
    other = engine(tmp_path)
    restore(other, list(take(cluster)))
    for one in (cluster, other):
        wait(one, 10)
        assert show(one, job, "state_reason") == [reason]


def test_a_task_that_hears_a_signal_is_asked_again_while_others_wait(cluster: Engine) -> None:
    array = submit(cluster, array_inx="0-3%1")
    wait(cluster, 10)
    with pytest.raises(Refusal, match=NOT_NOW):
        do(cluster, "kill", ALICE, job_id=f"{array}_0", signal=10)
    other = submit(cluster, array_inx="0-1")
    wait(cluster, 10)
    assert do(cluster, "kill", ALICE, job_id=f"{other}_0", signal=10) == {}


def test_more_tasks_than_the_named_nodes_hold_get_more_nodes(cluster: Engine) -> None:
    job = submit(cluster, num_tasks=20, min_cpus=20, min_nodes=2, req_nodes="n[1-2]")
    wait(cluster, 5)
    assert show(cluster, job, "nodes") == ["n[1-3]"]


def test_new_weights_bill_nobody_who_was_there_before(cluster: Engine) -> None:
    running, waiting = whole(cluster, 3), submit(cluster, num_tasks=2, min_cpus=2)
    wait(cluster, 5)
    asked = show(cluster, running, "tres_req_str")
    do(cluster, "update_partition", partition={"name": "batch", "billing_weights": "cpu=2.0"})
    assert show(cluster, running, "tres_req_str") == asked
    later = submit(cluster, num_tasks=2, min_cpus=2)
    shown = [show(cluster, job, "tres_req_str")[0].split("billing=")[1] for job in (waiting, later)]
    assert shown == ["2", "4"]
    assert show(cluster, running, "tres_alloc_str")[0].endswith("billing=24")
    do(cluster, "update_job", job_id=waiting, job={"min_cpus": 3})
    assert show(cluster, waiting, "tres_req_str")[0].endswith("billing=6")


@pytest.mark.parametrize(("seconds", "late"), [(10, True), (60, False)])
def test_a_short_job_of_the_main_scheduler_ends_behind_the_pass_of_its_second(
    cluster: Engine, seconds: int, late: bool
) -> None:
    job = whole(cluster, 3, script=f"#!/bin/sh\nsleep {seconds}\n")
    wait(cluster, 5)
    start, scheduler = show(cluster, job, "start_time", "scheduler")
    assert scheduler == "Main"
    wait(cluster, start + seconds - 1 - cluster.now)
    following = whole(cluster, 3)  # the loop looks in the next second
    wait(cluster, 30)
    assert show(cluster, job, "end_time") == [start + seconds]
    assert (show(cluster, following, "start_time") > [start + seconds]) is late


def test_a_task_by_its_own_id_is_nobody_to_scancel(cluster: Engine) -> None:
    array = submit(cluster, array_inx="1-2")
    wait(cluster, 5)
    with pytest.raises(Refusal, match="Invalid job id specified"):
        do(cluster, "kill", ALICE, job_id=str(int(array) + 1))


def test_a_new_array_is_not_asked_what_it_waits_for(cluster: Engine) -> None:
    with pytest.raises(Refusal):
        submit(cluster, pn_min_tmp_disk=10)
    array = submit(cluster, array_inx="1-2", dependency="aftercorr:1")
    assert show(cluster, array, "state_reason", "dependency") == ["None", "aftercorr:1(unfulfilled)"]
    wait(cluster, 15)
    assert show(cluster, f"{array}_1", "state_reason") == ["DependencyNeverSatisfied"]


def test_a_task_that_corresponds_to_none_waits_for_the_whole_array(cluster: Engine) -> None:
    """As 22.05 was seen to do: it is fulfilled when all have completed (test_job_dependency)."""
    first = submit(cluster, array_inx="0-1", script="#!/bin/sh\nsleep 30\n")
    behind = submit(cluster, array_inx="1,8", dependency=f"aftercorr:{first}")
    wait(cluster, 15)
    assert show(cluster, f"{behind}_8", "job_state", "state_reason") == ["PENDING", "Dependency"]
    wait(cluster, 60)
    assert show(cluster, f"{behind}_8", "job_state") == ["RUNNING"]


@pytest.mark.parametrize(
    ("release", "planned", "on_grid"),
    [("22.05", "never", False), ("22.05", "idle", True), ("22.05", "busy", False),
     ("26.05", "never", False), ("26.05", "idle", True), ("26.05", "busy", True)],
)  # fmt: skip
def test_plans_on_nodes_that_get_a_mark_keep_the_cadence(
    tmp_path: Path, release: str, planned: str, on_grid: bool
) -> None:
    """Idle ones; since 24.11 all. Where nobody can be planned idle nodes alone are no news."""
    e = engine(tmp_path, release)
    host = e.controller.host
    for name in ("n1", "n2", "n3")[: 3 if planned == "busy" else 1]:
        submit(e, req_nodes=name)
    wait(e, 4)  # else the larger job is the first to start
    if planned == "never":
        do(e, "update_node", names="n3", state="DOWN", reason="test")
    whole(e, 3)
    wait(e, 22)
    last = host.policy.last_cycle
    assert host.policy.next_time(host.view, last + 13, True) == last + (15 if on_grid else 13)
