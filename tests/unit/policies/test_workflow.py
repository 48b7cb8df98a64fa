"""Workflows as a policy sees them: who waits for whom, and the longest chain behind each job."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

import slurmsim
from slurmsim.policy import Policy, Start, Workflow

#        1 -> 2 -> 4 -> 5     and 6, an array of two tasks, before 8
#          -> 3 -> 4
JOBS = pd.DataFrame([
    {"job_id": 1, "run_time": 60, "time_limit": 60},
    {"job_id": 2, "run_time": 60, "time_limit": 600, "dependency": "afterok:1"},
    {"job_id": 3, "run_time": 60, "time_limit": 1200, "dependency": "afterany:1"},
    {"job_id": 4, "run_time": 60, "time_limit": 60, "dependency": "afterok:2:3"},
    {"job_id": 5, "run_time": 60, "time_limit": 120, "dependency": "after:4"},
    {"job_id": 6, "run_time": 60, "time_limit": 300, "array_job_id": 6, "array_task_id": 0},
    {"job_id": 7, "run_time": 60, "time_limit": 300, "array_job_id": 6, "array_task_id": 1},
    {"job_id": 8, "run_time": 60, "time_limit": 60, "dependency": "afterok:6"},
]).assign(submit=0, nodes=1, user="ann").fillna({"dependency": ""})  # fmt: skip


class Longest(Policy):
    """The job with the longest chain behind it goes first."""

    name = "longest"
    seen: ClassVar[dict[int, Any]] = {}

    def schedule(self, view: Any, now: int) -> Any:
        flow = Workflow(view)
        self.seen[now] = {
            "waits": {job.id: [one.id for one in view.dependencies(job)] for job in view.waiting},
            "critical": {job_id: flow.critical_s(job) for job_id, job in flow.jobs.items()},
            "path": [job.id for job in flow.critical_path(view.job(1))] if view.job(1) is not None else [],
        }
        for job in sorted(view.pending, key=lambda job: (-flow.critical_s(job), job.id)):
            if not (yield Start(job)):
                break


def test_a_policy_sees_the_graph(tmp_path: Path) -> None:
    Longest.seen.clear()
    trace = slurmsim.run(JOBS, nodes=1, policy=Longest, out=tmp_path / "out", report=False)
    first = Longest.seen[0]
    assert first["waits"] == {2: [1], 3: [1], 4: [2, 3], 5: [4], 8: [6, 7]}
    assert first["path"] == [1, 3, 4, 5]
    assert first["critical"] == {1: 1440, 2: 780, 3: 1380, 4: 180, 5: 120, 6: 360, 7: 360, 8: 60}
    assert Longest.seen[60]["waits"] == {4: [2, 3], 5: [4], 8: [6, 7]}
    frame = trace.jobs_frame(dates=False).sort_values("start")
    assert frame["job_id"].tolist() == [1, 3, 2, 6, 7, 4, 5, 8]
