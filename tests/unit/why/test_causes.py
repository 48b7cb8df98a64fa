"""What stood behind a wait: grace times, reservations, licenses, limits, nodes that boot; and waits between runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slurmsim.cli import main
from slurmsim.trace.reader import read_trace
from slurmsim.why import Explanation, explain
from slurmsim.why.text import as_text

HEAD = """ClusterName=four
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=10
NodeName=n[1-4] CPUs=2
"""
ONE = "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE\n"
Job = dict[str, object]


def replay(folder: Path, conf: str, jobs: list[Job], *options: str) -> dict[int, Explanation]:
    """Run `jobs` (columns of a workload by name, ids 1, 2, …) and explain each."""
    names = sorted({name for job in jobs for name in job})
    columns: dict[str, object] = {"job_id": np.arange(1, len(jobs) + 1)}
    for name in names:
        text = any(isinstance(job.get(name), str) for job in jobs)
        values = [job.get(name, "" if text else -1) for job in jobs]
        columns[name] = pa.array(values) if text else np.array(values, np.int64)
    pq.write_table(pa.table(columns), folder / "log.parquet")
    (folder / "slurm.conf").write_text(HEAD + conf)
    out = folder / "out"
    argv = ["run", "--conf", str(folder / "slurm.conf"), "--workload", str(folder / "log.parquet"), "--out", str(out)]
    assert main([*argv, "--quiet", *options]) == 0
    assert main(["validate", str(out)]) == 0
    trace = read_trace(out)
    return {i + 1: explain(trace, i + 1) for i in range(len(jobs))}


def job(submit: int, run: int, limit: int, **more: object) -> Job:
    return {"submit": submit, "run_time": run, "time_limit": limit, "tasks": 1, **more}


def test_a_victim_in_its_grace_time(tmp_path: Path) -> None:
    conf = (
        "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
        "PartitionName=low Nodes=ALL Default=YES MaxTime=INFINITE GraceTime=90\n"
        "PartitionName=high Nodes=ALL PriorityTier=10 MaxTime=INFINITE\n"
    )
    low, high = (
        {"partition": "low", "nodes": 4, "exclusive": 1, "tasks": 4},
        {"partition": "high", "exclusive": 0, "tasks": 2},
    )
    found = replay(tmp_path, conf, [job(0, 5000, 6000, user="ann", **low), job(100, 60, 60, user="bob", **high)])
    (cause,) = found[2].causes
    assert (cause.kind, [other.job_id for other in cause.others]) == ("preemption", [1])
    assert cause.begin == 100 and 190 <= cause.end <= 220  # the scan after its grace time
    assert found[2].spans[-1].end == found[2].job["start"] == cause.end
    assert f"it preempted job 1 of ann (4 nodes): told at 100 s, gone by {cause.end} s" in as_text(found[2])
    (other,) = found[1].causes
    assert other.kind == "preempted" and [by.job_id for by in other.others] == [2]
    assert "it was preempted itself, by job 2 of bob" in as_text(found[1])


def test_a_job_that_was_requeued_waited_twice(tmp_path: Path) -> None:
    conf = (
        "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
        "PartitionName=low Nodes=ALL Default=YES MaxTime=INFINITE\n"
        "PartitionName=high Nodes=ALL PriorityTier=10 MaxTime=INFINITE\n"
    )
    low, high = (
        {"partition": "low", "nodes": 4, "exclusive": 1, "tasks": 4},
        {"partition": "high", "exclusive": 0, "tasks": 2},
    )
    found = replay(tmp_path, conf, [job(0, 500, 600, **low), job(100, 60, 60, **high)])
    victim = found[1]
    assert [span.reason for span in victim.spans][:3] == ["None", "(it ran)", "BeginTime"]
    ran = victim.spans[1]
    assert (ran.begin, ran.end) == (3, 100)  # batch_sched_delay; the preemptor starts in the instant it comes
    assert victim.spans[-1].end == victim.job["start"] and victim.waited_s == victim.job["start"] - 97
    assert "it had nodes, and was requeued" in as_text(victim)


@pytest.mark.parametrize("flags", ["[]", '["MAINT", "IGNORE_JOBS"]'])
def test_a_reservation_ahead(flags: str, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(
        f'[[reservation]]\nname = "ahead"\nstart = 1000\nduration = 10\nnodes = "n[1-4]"\nusers = ["root"]\n'
        f"flags = {flags}\n"
    )
    found = replay(tmp_path, ONE, [job(10, 60, 3600), job(20, 60, 600)], "--reservations", str(tmp_path / "r.toml"))
    assert found[2].causes == () and found[2].waited_s < 15  # short enough to be done before
    (cause,) = found[1].causes
    assert (cause.kind, cause.what.split()[0], cause.nodes, cause.end) == ("reservation", "ahead", "n[1-4]", 1600)
    assert 1000 <= cause.begin <= 1005  # noticed every 5 s
    said = as_text(found[1])
    assert "Reservation ahead" in said and "reserv" in found[1].spans[-1].rule
    assert found[1].job["start"] >= 1600


def test_a_job_inside_a_reservation(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(
        '[[reservation]]\nname = "later"\nstart = 500\nduration = 60\nnodes = "n1"\nusers = ["ann"]\n'
    )
    jobs = [job(10, 60, 600, user="ann", reservation="later"), job(10, 60, 60, user="bob")]
    found = replay(tmp_path, ONE, jobs, "--reservations", str(tmp_path / "r.toml"))
    assert [span.reason for span in found[1].spans][-1] == "Reservation"
    (cause,) = found[1].causes
    assert (cause.kind, cause.what.split()[0]) == ("reservation", "later")
    assert found[1].job["start"] == 500


def test_a_license_somebody_holds(tmp_path: Path) -> None:
    jobs = [job(0, 300, 600, user="ann", licenses="mat:2"), job(10, 60, 600, user="bob", licenses="flu,mat:1")]
    found = replay(tmp_path, "Licenses=mat:2,flu:1\n" + ONE, jobs)
    assert [span.reason for span in found[2].spans][-1] == "Licenses"
    held = {cause.what: [other.job_id for other in cause.others] for cause in found[2].causes}
    assert held == {"mat": [1], "flu": []}
    assert "License mat from" in as_text(found[2]) and "held by job 1 of ann" in as_text(found[2])


def test_a_limit_others_count_under(tmp_path: Path) -> None:
    (tmp_path / "acct.txt").write_text(
        "add cluster four\nadd qos q MaxJobsPerUser=1\nadd account a GrpTRES=cpu=2\nadd account b\n"
        "add user ann,bob Account=a\nadd user cat Account=b\nmodify user where name=cat set qos+=q\n"
    )
    conf = f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=limits,qos\n{ONE}"
    jobs = [
        job(0, 300, 600, user="ann", account="a", tasks=2), job(10, 60, 600, user="bob", account="a"),
        job(10, 200, 600, user="cat", account="b", qos="q"), job(20, 60, 600, user="cat", account="b", qos="q"),
    ]  # fmt: skip
    found = replay(tmp_path, conf, jobs, "--accounting", str(tmp_path / "acct.txt"))
    (group,) = [cause for cause in found[2].causes if cause.kind == "limit"]
    assert (group.what, [other.job_id for other in group.others]) == ("AssocGrpCpuLimit", [1])
    (own,) = [cause for cause in found[4].causes if cause.kind == "limit"]
    assert (own.what, [other.job_id for other in own.others]) == ("QOSMaxJobsPerUserLimit", [3])
    assert "under it ran job 3 of cat" in as_text(found[4])


def test_nodes_that_boot(tmp_path: Path) -> None:
    conf = (
        "SuspendProgram=/x\nResumeProgram=/x\nSuspendTime=60\nSuspendTimeout=30\nResumeTimeout=300\n"
        f"SuspendRate=0\nResumeRate=0\n{ONE}"
    )
    found = replay(tmp_path, conf, [job(0, 10, 600), job(900, 60, 600, nodes=2, tasks=4)], "--boot-time", "120")
    late = found[2]
    assert late.spans[-1].reason == "(its nodes boot)" and late.spans[-1].end == late.job["start"]
    (cause,) = late.causes
    assert (cause.kind, cause.end - cause.begin) == ("boot", late.spans[-1].end - late.spans[-1].begin)
    assert "were powered down and took 2 min to come up" in as_text(late)
