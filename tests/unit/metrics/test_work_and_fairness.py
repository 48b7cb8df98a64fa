"""Goodput, losses, energy and fairness of runs small enough to count by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import slurmsim
from slurmsim.metrics.fairness import by_user
from slurmsim.metrics.work import of_trace


def test_users_by_hand(tmp_path: Path) -> None:
    """One node: b and c wait for those before. Slowdowns: a 1 and 2, b 3, c 31."""
    jobs = pd.DataFrame({
        "job_id": [1, 2, 3, 4], "submit": 0, "run_time": [100, 100, 100, 10], "time_limit": 3600, "nodes": 1,
        "user": ["a", "a", "b", "c"],
    })  # fmt: skip
    trace = slurmsim.run(jobs, out=tmp_path / "t", nodes=1, policy="fcfs", report=False)
    found = by_user(trace)
    means = [1.5, 3.0, 31.0]
    assert found["jain_users"] == pytest.approx(sum(means) ** 2 / (3 * sum(x * x for x in means)))
    assert found["users_slowdown_spread"] == pytest.approx((3 + 0.8 * 28) / (1.5 + 0.2 * 1.5))
    none = slurmsim.run(jobs, out=tmp_path / "n", nodes=1, policy="fcfs", report=False, until=50)
    assert by_user(none) == {"jain_users": None, "users_slowdown_spread": None}


def test_work_that_is_lost(tmp_path: Path) -> None:
    """Two nodes of one CPU. Job 1 loses 40 s to a node's failure and runs again; job 2 meets its limit."""
    (tmp_path / "events.csv").write_text("time,action,nodes\n40,down,n1\n100,resume,n1\n")
    jobs = pd.DataFrame({
        "job_id": [1, 2], "submit": [0, 100], "run_time": [200, 900], "time_limit": [600, 60], "nodes": [1, 1],
    })  # fmt: skip
    trace = slurmsim.run(
        jobs, out=tmp_path / "t", nodes=2, policy="fcfs", report=False, node_events=tmp_path / "events.csv"
    )
    found, summary = of_trace(trace, 2), trace.summary
    table = trace.jobs_frame(dates=False).set_index("job_id").sort_index()
    assert summary["requeues"] == 1 and table.state.tolist() == ["COMPLETED", "TIMEOUT"]
    lost = int(table.end[2] - table.start[2])
    assert found["lost_cpu_s"] == 40 + lost
    available = 2 * summary["makespan_s"] - 60  # a node was down from 40 to 100
    assert found["goodput"] == pytest.approx(200 / available)
    assert found["goodput"] + found["lost_cpu_s"] / available == pytest.approx(summary["utilization"])
    assert found["offered_load"] == pytest.approx((200 + lost) / (2 * 100)) and found["energy_j"] is None


def test_energy_where_there_is_some(tmp_path: Path) -> None:
    """Of two nodes one works for 100 s and the other is idle all the time."""
    jobs = pd.DataFrame({"job_id": [1], "submit": [0], "run_time": [100], "time_limit": [600], "nodes": [1]})
    trace = slurmsim.run(
        jobs, out=tmp_path / "t", nodes=2, policy="fcfs", report=False, base_w=50, full_w=300, idle_w=100
    )
    of_jobs = int(trace.jobs_frame()["energy_j"].sum())
    assert of_jobs > 0 and of_trace(trace, 2)["energy_j"] == of_jobs + 100 * 100


def test_gpus_in_use_and_stranded_by_hand(tmp_path: Path) -> None:
    """Two nodes of 4 GPUs, each with a job of 3 for 100 s: job 3 of two asks for what is free, and cannot have it."""
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "ClusterName=c\nSlurmctldHost=h\nSelectType=select/cons_tres\nGresTypes=gpu\n"
        "NodeName=n[1-2] CPUs=8 CoresPerSocket=8 Gres=gpu:4\nPartitionName=p Nodes=ALL Default=YES\n"
    )
    frame = pd.DataFrame({
        "job_id": [1, 2, 3, 4], "submit": [0, 0, 20, 30], "run_time": [100, 100, 60, 40], "time_limit": 100, "nodes": 1,
        "gres": ["gpu:3", "gpu:3", "gpu:2", "gpu:4"],
    })  # fmt: skip
    trace = slurmsim.run(frame, conf=conf, policy="easy", out=tmp_path / "out", report=False)
    # 6 GPUs for 100 s, then 2 for 60 s and 4 for 40 s; 2 are free while job 3 waits, from 20 to 100
    assert trace.summary["makespan_s"] == 160
    assert trace.summary["gpu_utilization"] == pytest.approx((600 + 120 + 160) / (8 * 160))
    assert trace.summary["gpu_stranded"] == pytest.approx(2 * 80 / (8 * 160))
