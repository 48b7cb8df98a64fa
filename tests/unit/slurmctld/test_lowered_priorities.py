"""What becomes of a priority that a user, who may only lower it, gives his own job."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_calls import ALICE, THREE_NODES, do, engine_of, show, submit, wait

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.engine.engine import Engine

NOT_PERSISTENT = "Changes to job priority are not persistent, change nice instead"


def engine(folder: Path, priority: str = "basic") -> Engine:
    return engine_of(folder, THREE_NODES.replace("priority/basic", f"priority/{priority}"))


@pytest.fixture
def cluster(tmp_path: Path) -> Engine:
    return engine(tmp_path)


def full(e: Engine) -> str:
    """Somebody has every node."""
    job = submit(e, min_nodes=3, max_nodes=3, shared="exclusive")
    wait(e, 5)
    return job


def test_a_users_lower_priority_is_refused_and_stays_under_priority_basic(cluster: Engine) -> None:
    full(cluster)
    first, second = submit(cluster), submit(cluster)
    with pytest.raises(Refusal, match=NOT_PERSISTENT):
        do(cluster, "update_job", ALICE, job_id=first, job={"priority": 5})
    assert show(cluster, first, "priority") == [5]
    wait(cluster, 70)
    assert show(cluster, first, "priority") == [5]
    queue = [record.job.id for record in cluster.controller.state.queue.snapshot()]
    assert queue == [int(second), int(first)]


def test_a_users_higher_priority_changes_nothing(cluster: Engine) -> None:
    full(cluster)
    job = submit(cluster, nice=100)
    before = show(cluster, job, "priority", "nice")
    with pytest.raises(Refusal, match="Access/permission denied"):
        do(cluster, "update_job", ALICE, job_id=job, job={"priority": 4_294_967_000})
    assert show(cluster, job, "priority", "nice") == before


def test_tasks_of_an_array_each_have_their_own(cluster: Engine) -> None:
    full(cluster)
    array = submit(cluster, array_inx="1-3")
    do(cluster, "update_job", ALICE, job_id=f"{array}_2", job={"priority": 2})
    told = do(cluster, "update_job", ALICE, job_id=array, job={"priority": 4})["responses"]
    assert told == [[f"{array}_1,3", NOT_PERSISTENT], [f"{array}_2", "Access/permission denied"]]


def test_under_multifactor_it_is_worked_out_anew_at_once(tmp_path: Path) -> None:
    e = engine(tmp_path, "multifactor\nPriorityWeightJobSize=1000")
    full(e)
    job = submit(e)
    before = show(e, job, "priority")
    with pytest.raises(Refusal, match=NOT_PERSISTENT):
        do(e, "update_job", ALICE, job_id=job, job={"priority": 1})
    assert show(e, job, "priority") == before
