"""What an update leaves as it was: an array's places, a requeued job's begin, what sizes came to before a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_calls import ALICE, do, engine_of, show, wait

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.engine.engine import Engine

CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
DefMemPerCPU=100
PriorityType=priority/basic
NodeName=n[1-2] CPUs=8 RealMemory=8000
PartitionName=batch Nodes=ALL Default=YES
"""
BATCH = {"name": "j", "script": "#!/bin/sh\nsleep 500\n", "work_dir": "/tmp", "time_limit": 10, "min_cpus": 1}


def engine(folder: Path, release: str = "22.05") -> Engine:
    return engine_of(folder, CONF, release)


@pytest.fixture
def cluster(tmp_path: Path) -> Engine:
    return engine(tmp_path)


def submit(e: Engine, **asked: Any) -> str:
    return str(do(e, "submit", ALICE, job={**BATCH, **asked})["job_id"])


def update(e: Engine, job_id: str, **job: Any) -> str:
    try:
        do(e, "update_job", job_id=job_id, job=job)
    except Refusal as refusal:
        return refusal.text
    return ""


def test_the_first_task_keeps_its_place(cluster: Engine) -> None:
    submit(cluster, min_nodes=2, max_nodes=2, shared="exclusive")
    wait(cluster, 5)
    submit(cluster, num_tasks=8)
    array = submit(cluster, array_inx="1-4%1")
    wait(cluster, 60)
    assert update(cluster, array, name="other") == ""
    wait(cluster, 60)
    assert show(cluster, array, "state_reason") == ["Priority"]  # no task runs: the throttle holds nobody


def test_a_requeued_job_waits_for_its_begin_whatever_is_updated(cluster: Engine) -> None:
    job = submit(cluster)
    wait(cluster, 5)
    do(cluster, "requeue_job", job_id=job)
    begin = cluster.now + 121
    wait(cluster, 10)
    assert show(cluster, job, "eligible_time", "accrue_time") == [begin, begin]
    assert update(cluster, job, name="other") == ""
    wait(cluster, 60)
    assert show(cluster, job, "job_state", "state_reason", "start_time") == ["PENDING", "BeginTime", begin]
    assert update(cluster, job, begin_time=cluster.now + 5) == ""
    wait(cluster, 70)
    assert show(cluster, job, "job_state") == ["RUNNING"]


@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_a_requeued_job_is_expected_to_get_as_many_nodes_as_it_had(tmp_path: Path, release: str) -> None:
    e = engine(tmp_path, release)
    for _ in range(2):
        submit(e, num_tasks=6, min_cpus=6)
    job = submit(e, num_tasks=4, min_cpus=4)
    wait(e, 5)
    assert show(e, job, "num_nodes") == [2]
    do(e, "requeue_job", job_id=job)
    wait(e, 5)
    assert show(e, job, "job_state", "num_nodes") == ["PENDING", 2]


@pytest.mark.parametrize(("release", "order"), [("22.05", [1, 2]), ("24.11", [2, 1])])
def test_since_24_11_requeued_jobs_come_last(tmp_path: Path, release: str, order: list[int]) -> None:
    e = engine(tmp_path, release)
    first, second = submit(e), submit(e)
    wait(e, 5)
    before = show(e, first, "priority")
    do(e, "requeue_job", job_id=first)
    assert show(e, first, "state_flags", "priority") == [["COMPLETING"], *before]
    wait(e, 5)
    priority = {1: show(e, first, "priority")[0], 2: show(e, second, "priority")[0]}
    assert sorted(priority, key=lambda job: -priority[job]) == order


def test_a_refused_update_leaves_what_sizes_came_to(cluster: Engine) -> None:
    job = submit(cluster, hold=True, num_tasks=4)
    before = show(cluster, job, "tres_req_str")
    assert update(cluster, job, min_nodes=2, core_spec=1) != ""
    assert show(cluster, job, "num_nodes") == [2]
    assert update(cluster, job, prefer="") == ""
    assert show(cluster, job, "tres_req_str") == before


def test_without_accounting_an_update_takes_the_account_away(cluster: Engine) -> None:
    job = submit(cluster, hold=True, account="physics")
    assert show(cluster, job, "account") == ["physics"]
    assert update(cluster, job, account="chem") == ""
    assert not show(cluster, job, "account")[0]


TRES = "Invalid Trackable RESource (TRES) specification"


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
@pytest.mark.parametrize("held", [True, False])
def test_bindings_and_frequencies(tmp_path: Path, release: str, held: bool) -> None:
    """Recorded with 22.05.8, 24.11.5 and 26.05.5, of a waiting and of a running job: what was said before it stays."""
    cluster = engine(tmp_path, release)
    job = submit(cluster, hold=held)
    wait(cluster, 10)
    assert show(cluster, job, "job_state") == ["PENDING" if held else "RUNNING"]
    bind = "gpu:closest" if release == "22.05" else "gres/gpu:closest"
    fields = ("tres_bind", "tres_freq", "comment")
    assert update(cluster, job, tres_bind=bind, tres_freq="gpu:low") == ""
    assert show(cluster, job, *fields) == [bind, "gpu:low", None]
    assert update(cluster, job, tres_bind="junk", comment="c") == TRES
    assert update(cluster, job, tres_bind="", tres_freq="junk") == TRES
    assert show(cluster, job, *fields) == [None, "gpu:low", "c"]
    assert update(cluster, job, tres_freq="") == ""
    assert show(cluster, job, *fields) == [None, None, "c"]


def test_a_label_is_for_waiting_jobs(tmp_path: Path) -> None:
    """Recorded with 26.05.5, without MCSPlugin: a running job is refused before all else, a waiting one has none."""
    cluster = engine(tmp_path, "26.05")
    runs, waits = submit(cluster), submit(cluster, hold=True)
    wait(cluster, 10)
    assert update(cluster, runs, mcs_label="foo", tres_freq="gpu:low") == "Job is no longer pending execution"
    assert update(cluster, waits, mcs_label="foo", tres_freq="gpu:low") == ""
    assert show(cluster, runs, "mcs_label", "tres_freq") == [None, None]
    assert show(cluster, waits, "mcs_label", "tres_freq") == [None, "gpu:low"]
