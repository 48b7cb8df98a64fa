"""A run is a function of its input: same bytes whatever the hash seed, and its facts replay to the same decisions."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slurmsim import compiled
from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.messages import (
    AskSolver,
    Cancel,
    Hold,
    NodesDown,
    NodesDrain,
    NodesResume,
    Refused,
    Release,
    Requeue,
    Requeued,
    SetPartitionState,
    SetTimeLimit,
)
from slurmsim.policy import load_policy, parse_policy
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.sim.simulation import Simulation, Timed
from slurmsim.validate import validate_trace
from slurmsim_workloads.samples import sample_path

POLICIES = ("fcfs", "easy", "conservative", "backfill", "builtin", "pcp20:limit=0.01")
JOBS = 300
RUN = """
import sys
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.replay import execute
conf, workload, out, policy, jobs, mtbf = sys.argv[1:]
failures = {"mtbf": int(mtbf), "mttr": 3000, "seed": 3} if mtbf != "0" else {}
execute(prepare(RunOptions(workload, out, conf=conf, policy=policy or None, jobs=int(jobs), **failures)), report=False)
"""


def run_process(out: Path, hash_seed: str, policy: str, mtbf_s: int) -> None:
    """The sample, run in a process of its own."""
    command = [sys.executable, "-c", RUN, str(sample_path("sample.conf")), str(sample_path("sample.parquet")), str(out),
               policy, str(JOBS), str(mtbf_s)]  # fmt: skip
    done = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("policy", "mtbf_s"), [("", 0), ("conservative", 200_000)])
def test_same_input_same_bytes_whatever_the_hash_seed(tmp_path: Path, policy: str, mtbf_s: int) -> None:
    for seed in ("1", "2"):
        run_process(tmp_path / seed, seed, policy, mtbf_s)
    for table in ("jobs.parquet", "events.parquet", "usage.parquet", "requeued.parquet"):
        first, second = ((tmp_path / seed / table).read_bytes() for seed in ("1", "2"))
        assert first == second, f"{table} differs"
    report = validate_trace(tmp_path / "1")
    assert report.valid, report.to_text()


def summary(action: Any) -> tuple[Any, ...]:
    """An action as plain values."""
    if isinstance(action, Refused):
        return "Refused", action.sub.job_id, action.text
    if isinstance(action, AskSolver):
        return "AskSolver", action.number, action.solver, action.request
    job = action.run if isinstance(action, Requeued) else action.job
    return (type(action).__name__, job.id, job.state, job.reason, job.nodes, job.n_cpus, job.start_time, job.end_time,
            job.priority, job.restarts, job.partition.name)  # fmt: skip


@pytest.mark.parametrize(
    "policy", [pytest.param(name, marks=[pytest.mark.slow] if ":" in name else []) for name in POLICIES]
)
def test_the_bare_core_replays_the_facts_of_a_run(policy: str) -> None:
    """Actions and events are equal, turn by turn, when a fresh controller is told the same facts at the same times."""
    prepared = prepare(RunOptions(
        str(sample_path("sample.parquet")), "", conf=str(sample_path("sample.conf")), jobs=JOBS, policy=policy
    ))  # fmt: skip
    first = int(prepared.workload.ints["submit"].min())
    names = [node.name for node in prepared.cluster.nodes]
    ids = prepared.workload.ints["job_id"].tolist()
    timed = [
        Timed(first + 10_000, NodesDown(tuple(names[:5]))), Timed(first + 20_000, NodesDrain((names[7],))),
        Timed(first + 25_000, Hold(ids[100])), Timed(first + 30_000, SetTimeLimit(ids[40], 7_200)),
        Timed(first + 40_000, NodesResume(tuple(names[:8]))), Timed(first + 50_000, Release(ids[100])),
        Timed(first + 60_000, SetPartitionState(prepared.cluster.partitions[0].name, "DOWN")),
        Timed(first + 61_000, SetPartitionState(prepared.cluster.partitions[0].name, "UP")),
        *[Timed(first + 70_000, Requeue(job)) for job in ids[100:250]],
        *[Timed(first + 80_000, Cancel(job)) for job in ids[120:220:7]],
    ]  # fmt: skip
    events: list[Any] = []
    actions: list[list[tuple[Any, ...]]] = []

    log: list[tuple[int, list[Any]]] = []

    class Noting(Simulation):
        def _step(self, now: int, facts: list[Any]) -> list[Any]:
            log.append((now, list(facts)))
            return super()._step(now, facts)

        def _turned(self, now: int) -> None:
            events.append(list(controller.state.events))
            controller.state.events.clear()

    simulation = Noting(prepared.cluster, prepared.workload, prepared.policy, timed=timed)
    controller = simulation.controller
    step = controller.step

    def watched(now: int, facts: list[Any]) -> Any:
        answer = step(now, facts)
        actions.append([summary(action) for action in answer])
        return answer

    if not compiled():  # then no method can be replaced, and events alone are compared
        controller.step = watched  # type: ignore[method-assign]
    simulation.run()
    assert log and len(log) == len(events)
    assert compiled() or (len(log) == len(actions) and any(actions))
    kinds = {name for _, facts in log for name in (type(fact).__name__ for fact in facts)}
    assert kinds >= {"Submit", "JobEnded", "NodesDown", "Requeue", "SetTimeLimit"}

    name, options = parse_policy(policy)
    bare = Controller(prepared.cluster, load_policy(name)(options), simulation.start_time)
    for turn, (now, facts) in enumerate(copy.deepcopy(log)):
        answer = [summary(action) for action in bare.step(now, facts)]
        assert compiled() or answer == actions[turn], f"turn {turn} at {now}"
        assert bare.state.events == events[turn], f"turn {turn} at {now}"
        bare.state.events.clear()
        wake = bare.wake_at()
        following = log[turn + 1][0] if turn + 1 < len(log) else None
        assert wake is None or following is None or wake >= following, f"turn {turn}: nobody came at {wake}"
    bare.check()
    assert bare.state.jobs.keys() == controller.state.jobs.keys()
