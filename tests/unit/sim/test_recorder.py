"""Rows of jobs, of refused submissions and of runs that ended in a requeue, from a replay to the validator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slurmsim.model.request import GresRequest, ResourceRequest
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.replay import execute
from slurmsim.sim.recorder import asked_for
from slurmsim.trace.reader import Trace, read_trace
from slurmsim.validate import ValidationReport, validate_trace
from slurmsim.workload import TextColumn, Workload
from slurmsim_workloads import write_workload

CONF = """ClusterName=recorded
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
EnforcePartLimits=ALL
NodeName=n[1-4] CPUs=4 CoresPerSocket=4 RealMemory=8000
PartitionName=all Nodes=n[1-4] Default=YES MaxTime=UNLIMITED
PartitionName=small Nodes=n4 MaxTime=UNLIMITED
"""
EVENTS = "time,action,nodes,until,reason\n1030,down,n1,,broken\n1040,resume,n1,,\n"
TOO_MANY = "More processors requested than permitted"


def log(rows: list[dict[str, Any]]) -> Workload:
    """Jobs 1, 2, …; -1 and "" where a row says nothing."""
    default = {"run_time": 100, "time_limit": 600, "cpus_per_task": 1, "requeue": 1, "exclusive": 0}
    names = sorted({name for row in rows for name in row} | set(default))
    ints = {
        name: np.array([row.get(name, default.get(name, -1)) for row in rows], np.int64)
        for name in names
        if not any(isinstance(row.get(name), str) for row in rows)
    }
    texts = {name: TextColumn.from_list([row.get(name, "") for row in rows]) for name in names if name not in ints}
    return Workload(ints={"job_id": np.arange(1, len(rows) + 1), **ints}, texts=texts)


def replay(folder: Path, rows: list[dict[str, Any]], events: str = "", policy: str = "easy", conf: str = CONF) -> Trace:
    (folder / "slurm.conf").write_text(conf)
    write_workload(log(rows), str(folder / "log.parquet"))
    (folder / "nodes.csv").write_text(events)
    options = RunOptions(
        str(folder / "log.parquet"), str(folder / "out"), conf=str(folder / "slurm.conf"), policy=policy,
        node_events=str(folder / "nodes.csv") if events else None,
    )  # fmt: skip
    execute(prepare(options), report=False)
    return read_trace(folder / "out")


def judged(trace: Trace) -> ValidationReport:
    report = validate_trace(trace.path)
    assert report.valid, report.to_text()
    return report


def rows_of(table: Any) -> dict[int, dict[str, Any]]:
    return {row["job_id"]: row for row in table.to_pylist()}


@pytest.mark.parametrize(
    ("request_", "asked"),
    [
        (ResourceRequest(), (1, 1, 0, None)),
        (ResourceRequest(min_nodes=2, n_tasks=8, cpus_per_task=2, mem_per_cpu_mib=500), (2, 16, 0, 8000)),
        (ResourceRequest(min_nodes=3, max_nodes=5, mem_per_node_mib=700), (3, 3, 0, 2100)),
        (ResourceRequest(exclusive=True, mem_per_node_mib=0), (1, 1, 0, None)),
        (ResourceRequest(min_nodes=2, gres=(GresRequest("gpu", "", 2),)), (2, 2, 4, None)),
        (ResourceRequest(min_nodes=2, gres=(GresRequest("gpu", "a100", 3, "job"),)), (2, 2, 3, None)),
        (ResourceRequest(n_tasks=5, gres=(GresRequest("gpu", "", 1, "task"), GresRequest("nvme", "", 7))),
         (1, 5, 5, None)),
        (ResourceRequest(min_nodes=2, sockets_per_node=2, gres=(GresRequest("gpu", "", 1, "socket"),)),
         (2, 2, 4, None)),
    ],
)  # fmt: skip
def test_what_a_request_names(request_: ResourceRequest, asked: tuple[int, int, int, int | None]) -> None:
    assert asked_for(request_) == asked


def test_requests_and_begin_times_are_recorded_and_judged(tmp_path: Path) -> None:
    trace = replay(tmp_path, [
        {"submit": 1000, "nodes": 2, "tasks": 3, "mem_per_cpu": 200},
        {"submit": 1000, "tasks": 1, "begin": 1500},
        {"submit": 1000, "nodes": 1, "tasks": 1, "exclusive": 1},
        {"submit": 1000, "tasks": 1, "cpus_per_task": 2},
    ])  # fmt: skip
    jobs = rows_of(trace.jobs)
    assert [jobs[k]["cpus_per_task"] for k in range(1, 5)] == [1, 1, 1, 2]
    asked = ("req_nodes", "req_cpus", "req_gpus", "req_mem_mib", "begin")
    assert [jobs[1][name] for name in asked] == [2, 3, 0, 600, None]
    assert [jobs[2][name] for name in asked] == [1, 1, 0, None, 1500] and jobs[2]["start"] == 1500
    assert [jobs[3][name] for name in asked] == [1, 1, 0, None, None] and jobs[3]["cpus"] == 4
    report = judged(trace)
    assert [report.check(name).subjects for name in ("request_met", "start_after_begin")] == [4, 4]


def test_a_workload_asks_for_threads_and_cores(tmp_path: Path) -> None:
    conf = CONF.replace("CoresPerSocket=4", "CoresPerSocket=2 ThreadsPerCore=2")
    words = ("", "--threads-per-core=1", "--hint=nomultithread", "--ntasks-per-core=1", "--threads-per-core=2",
             "--mincpus=3", "--ntasks-per-socket=1")  # fmt: skip
    trace = replay(tmp_path, [{"submit": 1000, "tasks": 1, "options": text} for text in words], conf=conf)
    jobs = rows_of(trace.jobs)
    assert [jobs[k]["threads_per_core"] for k in range(1, 8)] == [None, 1, 1, None, 2, None, None]
    assert [(jobs[k]["req_cpus"], jobs[k]["cpus"]) for k in range(1, 8)] == [(1, 2)] * 5 + [(1, 4), (1, 2)]
    judged(trace)


def test_a_refused_submission_has_a_row_and_is_no_job(tmp_path: Path) -> None:
    trace = replay(tmp_path, [
        {"submit": 1000, "tasks": 1},
        {"submit": 1005, "nodes": 2, "tasks": 8, "partition": "small", "user": "eve", "mem_per_cpu": 50,
         "time_limit": 300},
        {"submit": 2000, "tasks": 1},
    ])  # fmt: skip
    row = rows_of(trace.jobs)[2]
    told = {"state": "REFUSED", "reason": TOO_MANY, "partition": "small", "user": "eve", "submit": 1005,
            "last_submit": 1005, "nodes": 2, "cpus": 8, "mem_mib": 400, "req_mem_mib": 400, "time_limit_s": 300,
            "eligible": None, "start": None, "end": None, "wait_s": None, "node_list": "", "restarts": 0}  # fmt: skip
    assert {name: row[name] for name in told} == told
    events = [e for e in trace.events.to_pylist() if e["job_id"] == 2]
    assert [(e["time"], e["event"], e["state"], e["reason"]) for e in events] == [(1005, "REFUSE", "REFUSED", TOO_MANY)]
    summary = trace.summary
    assert (summary["jobs"], summary["refused"], summary["never_started"], summary["unfinished"]) == (2, 1, 0, 0)
    assert summary["completed"] == 2 and summary["mean_wait_s"] == 0
    judged(trace)


@pytest.mark.parametrize("policy", ["easy", "backfill"])
def test_a_requeued_job_waits_from_its_first_submission(tmp_path: Path, policy: str) -> None:
    """n1 fails 30 s after job 1 started on all four nodes; it is eligible again 121 s later."""
    trace = replay(tmp_path, [{"submit": 1000, "nodes": 4, "tasks": 16}], EVENTS, policy)
    (lost,) = trace.requeued.to_pylist()
    (last,) = trace.jobs.to_pylist()
    started = lost["start"]
    told = {"job_id": 1, "state": "NODE_FAIL", "reason": "NodeDown", "submit": 1000, "last_submit": 1000,
            "end": 1030, "run_time_s": 1030 - started, "wait_s": started - 1000, "node_list": "n[1-4]", "cpus": 16,
            "mem_mib": 1600, "cpus_per_node": "4(x4)", "restarts": 0, "begin": None}  # fmt: skip
    assert {name: lost[name] for name in told} == told
    assert (last["submit"], last["last_submit"], last["begin"], last["restarts"]) == (1000, 1030, 1151, 1)
    assert last["start"] >= 1151 and last["wait_s"] == last["start"] - 1000 and last["state"] == "COMPLETED"
    summary = trace.summary
    assert summary["mean_wait_s"] == last["wait_s"] and summary["mean_turnaround_s"] == last["end"] - 1000
    assert (summary["requeues"], summary["requeued_cpu_s"]) == (1, 16 * (1030 - started))
    assert trace.requeued_frame()["state"].tolist() == ["NODE_FAIL"]
    requeue = [e for e in trace.events.to_pylist() if e["event"] == "REQUEUE"]
    assert [(e["time"], e["nodes"]) for e in requeue] == [(1030, "n[1-4]")]
    report = judged(trace)
    assert report.check("requeued_runs_agree").subjects == 1
    assert report.check("allocation_adds_up").subjects == 2


def test_a_requeued_job_that_never_runs_again_keeps_its_lost_run(tmp_path: Path) -> None:
    trace = replay(tmp_path, [{"submit": 1000, "nodes": 4, "tasks": 16, "cancel_at": 1100}], EVENTS)
    (last,) = trace.jobs.to_pylist()
    assert (last["state"], last["start"], last["end"], last["restarts"]) == ("CANCELLED", None, 1100, 1)
    assert (last["nodes"], last["node_list"], last["wait_s"]) == (4, "", None)
    assert trace.summary["never_started"] == 1 and trace.summary["requeues"] == 1
    judged(trace)
