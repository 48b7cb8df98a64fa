"""squeue against the recordings of real Slurm, and rule by rule."""

from __future__ import annotations

import shlex
import time
from calendar import timegm
from typing import Any

import pytest
from fake_cluster import FakeClient, Record, call, golden, job_record

from slurmsim.commands import squeue

_USERS = {"root": 0, "alice": 2001, "bob": 2002, "carol": 2003, "dave": 2004}


def recorded_jobs(recording: Any, release: str) -> list[Record]:
    """The jobs of a recording, from its ``squeue --json``."""
    import json

    step = next(step for step in recording["steps"] if step.get("cmd") == "squeue --json")
    jobs = [job_record(entry, release) for entry in json.loads(step["stdout"])["jobs"]]
    for job in jobs:
        if job["name"] == "whole":
            job["sched_nodes"] = "n[01-14]"
    return jobs


def recorded_steps(jobs: list[Record], now: int, release: str) -> list[Record]:
    """Batch steps of the running jobs, and the one step of job 2."""
    steps = []
    for job in jobs:
        if job["job_state"] != "RUNNING":
            continue
        array = job["array_job_id"] or None
        step = {
            "job_id": job["job_id"], "step_id": 0xFFFFFFFB, "array_job_id": array,
            "array_task_id": job["array_task_id"] if array else None, "name": "batch", "partition": job["partition"],
            "user_name": job["user_name"], "user_id": job["user_id"], "start_time": job["start_time"],
            "run_time": now - job["start_time"], "nodes": job["batch_host"], "state": "RUNNING", "num_tasks": 1,
        }  # fmt: skip
        steps.append(step)
        if job["job_id"] == 2:
            begin = job["start_time"] + (1 if release == "22.05" else 0)
            more = {"step_id": 0, "name": "inner", "nodes": job["nodes"], "num_tasks": 4, "start_time": begin}
            steps.append({**step, **more, "run_time": now - begin})
    return steps


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


# the later JSON layouts; and a time that moved between the two commands
_NOT_COMPARED = {
    "24.11": {"squeue --json"},
    "26.05": {"squeue --json", 'squeue -O "JobID:8,LastSchedEval:60" -j 1,3,4,5,6,7'},
}


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_recording(release: str) -> None:
    recording = golden("squeue.json" if release == "22.05" else f"slurm-{release}/squeue.json")
    start = timegm(time.strptime(recording["start"], "%Y-%m-%dT%H:%M:%S"))
    jobs = recorded_jobs(recording, release)
    steps = [step for step in recording["steps"] if step.get("cmd") and not step.get("setup")]
    wrong = []
    for step in steps:
        if step["cmd"] in _NOT_COMPARED.get(release, ()):
            continue
        if not any(_same(step, jobs, start + offset, release) for offset in (0, 1, 2)):
            wrong.append(step["cmd"])
    assert wrong == []
    assert len(steps) > 200


def _same(step: Record, jobs: list[Record], start: int, release: str) -> bool:
    """Whether the command, called at its second, prints what was recorded."""
    now = int(start + step["t"])
    nodes = [{"name": f"n{i:02d}", "node_hostname": "head"} for i in range(1, 17)]
    client = FakeClient(
        now, jobs=[dict(job) for job in jobs], steps=recorded_steps(jobs, now, release), nodes=nodes,
        partitions=[{"name": name, "priority_tier": 10} for name in ("batch", "debug", "fast")],
    )  # fmt: skip
    client.users, client.release = _USERS, release
    words = shlex.split(step["cmd"])
    environ = {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environ[name] = value
    got = call(squeue.run, words[1:], client, **environ)
    return got == (step["rc"], step["stdout"], step["stderr"])
