"""The one table of legal moves of a job, and the order of the queue."""

from __future__ import annotations

import random
from typing import Any

import pytest
from unit.core.world import World, simple

from slurmsim.core.records.job import Job
from slurmsim.core.records.partition import Partition
from slurmsim.errors import InvariantError
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.states import COMPACT, FINAL_STATES, TRANSITIONS, JobState

LIVE = {"PENDING", "RUNNING", "SUSPENDED"}
ENDS = {
    "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
}  # fmt: skip
# From -> to, written out once more by hand.
LEGAL = (
    {("PENDING", s) for s in ("RUNNING", "CANCELLED", "DEADLINE", "FAILED", "BOOT_FAIL")}
    | {("RUNNING", s) for s in ENDS | {"SUSPENDED", "PENDING"}}
    | {("SUSPENDED", s) for s in ENDS | {"RUNNING", "PENDING"}}
    | {(s, "PENDING") for s in ENDS}
)


def job(**fields: object) -> Job:
    w = World(simple(2))
    sub = Submission(1, ResourceRequest(), **fields)  # type: ignore[arg-type]
    return w.controller.admission.admit(sub)


def test_the_states_are_all_there() -> None:
    assert set(TRANSITIONS) == LIVE | ENDS == set(COMPACT)
    assert FINAL_STATES == ENDS


@pytest.mark.parametrize("start", sorted(LIVE | ENDS))
@pytest.mark.parametrize("to", sorted(LIVE | ENDS))
def test_every_move(start: str, to: str) -> None:
    moving = job()
    moving.state = start
    if (start, to) in LEGAL:
        moving.move(to)
        assert moving.state == to
        return
    before = everything(moving)
    with pytest.raises(InvariantError, match=f"cannot go from {start} to {to}"):
        moving.move(to)
    assert everything(moving) == before


def everything(of: Job) -> dict[str, Any]:
    """What the record holds, by name."""
    found = {name: getattr(of, name) for name in dir(of) if not name.startswith("_") and hasattr(of, name)}
    assert {"state", "reason", "start_time"} <= set(found)
    return {name: value for name, value in found.items() if not callable(value)}


def test_an_unknown_state_is_no_state() -> None:
    moving = job()
    with pytest.raises(InvariantError):
        moving.move("SLEEPING")
    assert moving.state == JobState.PENDING


TWO = """ClusterName=t
NodeName=n[1-2]
PartitionName=a Nodes=ALL Default=YES
PartitionName=b Nodes=ALL PriorityTier=5
"""


def test_queue_order() -> None:
    """Tier, priority, submit time, job id, array index: the first difference decides."""
    rows = [  # partition, priority, submit, id, array, task; in the order they must come out
        ("b", 1, 9, 9, None, None),  # a higher tier beats any priority
        ("a", 50, 8, 8, None, None),
        ("a", 10, 1, 7, None, None),  # then the earlier submission
        ("a", 10, 2, 3, None, None),  # then the lower id …
        ("a", 10, 2, 12, 5, 0),  # … of an array its own, not the task's
        ("a", 10, 2, 10, 5, 1),
        ("a", 10, 2, 6, None, None),
    ]
    for seed in range(5):
        w = World(TWO)
        state, queue = w.controller.state.cluster, w.controller.state.queue
        shuffled = rows.copy()
        random.Random(seed).shuffle(shuffled)
        for part, priority, submit, job_id, array, task in shuffled:
            queue.add(_made(w, state.by_name[part], submit, job_id, array, task), (priority,))
        assert [r.job.id for r in queue.snapshot()] == [row[3] for row in rows]


def _made(w: World, part: Partition, submit: int, job_id: int, array: int | None, task: int | None) -> Job:
    from slurmsim.core.placement.cluster_state import compile_request

    request = ResourceRequest()
    sub = Submission(job_id, request, array_job_id=array, array_task_id=task)
    return Job(sub, (part,), (compile_request(w.controller.state.cluster, request, part),), submit)


def test_a_job_of_two_partitions_has_two_records_and_leaves_with_both() -> None:
    w = World(TWO)
    w.sbatch("-J block -N2 -t 5", 100)
    w.until(0)
    w.sbatch("-J x -p a,b -N1 -t 5", at=1)
    w.until(1)
    queue = w.controller.state.queue
    assert [r.partition.name for r in queue.snapshot()] == ["b", "a"]
    w.scancel("x")
    w.until(2)
    assert queue.snapshot() == [] and len(queue) == 0


def test_new_priorities_change_the_order() -> None:
    w = World(simple(2))
    w.sbatch("-J block -N2 -t 5", 100)
    w.sbatch("-J x -N2 -t 5", at=1)
    w.sbatch("-J y -N2 -t 5", at=2)
    w.until(2)
    queue = w.controller.state.queue
    assert [r.job.name for r in queue.snapshot()] == ["x", "y"]
    queue.reprioritise([queue.jobs[w.id("y")][0]], [4294967295])
    assert [r.job.name for r in queue.snapshot()] == ["y", "x"]
