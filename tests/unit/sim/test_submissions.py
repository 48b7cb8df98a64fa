"""Workload columns become submissions: each value where it belongs."""

from __future__ import annotations

import numpy as np
import pytest

from slurmsim.model.request import GresRequest
from slurmsim.sim.more_options import parse_more_options
from slurmsim.sim.submissions import Submissions
from slurmsim.workload import TextColumn, Workload

INTS = {
    "job_id": 7, "time_limit": 3600, "time_min": 600, "begin": 50, "nice": 3, "priority": 99, "hold": 1, "requeue": 0,
    "array_job_id": 5, "array_task_id": 2, "array_limit": 4, "deadline": 9000, "run_time": 100, "exit_code": 3,
    "exit_signal": 9, "cancel_at": 70,
}  # fmt: skip
TEXTS = {
    "name": "a name", "user": "alice", "account": "acc", "qos": "high", "dependency": "afterok:6",
    "reservation": "resv", "licenses": "mat:2", "outcome": "OUT_OF_MEMORY",
}  # fmt: skip


def one_job(**texts: str) -> Workload:
    """A workload of one job with every column above filled."""
    ints = {name: np.array([value], np.int64) for name, value in INTS.items()}
    return Workload(ints, {name: TextColumn.from_list([value]) for name, value in {**TEXTS, **texts}.items()})


def test_every_column_reaches_its_field() -> None:
    ((row, sub, behaviour),) = Submissions(one_job(partition="a,b")).rows()
    assert row == 0
    assert (sub.job_id, sub.time_limit_s, sub.time_min_s, sub.begin, sub.nice, sub.priority) == (
        7,
        3600,
        600,
        50,
        3,
        99,
    )
    assert (sub.name, sub.user, sub.account, sub.qos, sub.partitions) == ("a name", "alice", "acc", "high", ("a", "b"))
    assert (sub.hold, sub.requeue, sub.dependency) == (True, False, "afterok:6")
    assert (sub.array_job_id, sub.array_task_id, sub.array_limit) == (5, 2, 4)
    assert (sub.reservation, sub.licenses, sub.deadline) == ("resv", "mat:2", 9000)
    assert (sub.no_kill, sub.kill_invalid) == (False, None)
    assert (behaviour.run_time, behaviour.state, behaviour.exit_code, behaviour.cancel_at) == (
        100, "OUT_OF_MEMORY", "3:9", 70,
    )  # fmt: skip


def test_rarer_options_reach_their_fields() -> None:
    ((_, sub, _),) = Submissions(one_job(options="--no-kill --kill-on-invalid-dep=yes")).rows()
    assert (sub.no_kill, sub.kill_invalid) == (True, True)
    assert (sub.reservation, sub.licenses, sub.deadline) == ("resv", "mat:2", 9000)


def test_gres_of_each_task() -> None:
    ((_, sub, _),) = Submissions(one_job(options="--tres-per-task=gres/mic=1,gres/gpu:a100:2")).rows()
    assert sub.request.gres == (GresRequest("mic", "", 1, "task"), GresRequest("gpu", "a100", 2, "task"))
    with pytest.raises(ValueError, match="bad value in '--tres-per-task=mem=3'"):
        parse_more_options("--tres-per-task=mem=3")
