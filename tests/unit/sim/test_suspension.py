"""A suspended job's run time stands still: the driver's timers, the trace, and what the validator makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import Prepared, prepare
from slurmsim.replaying.replay import execute
from slurmsim.trace.reader import read_trace
from slurmsim.validate import validate_trace

CONF = """ClusterName=test
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=10
PreemptType=preempt/partition_prio
PreemptMode={mode}
DefMemPerCPU=100
NodeName=n[1-3] Sockets=1 CoresPerSocket=4 RealMemory=1000
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 OverSubscribe={share} MaxTime=60
PartitionName=hi Nodes=ALL PriorityTier=10 OverSubscribe={share} MaxTime=60
"""
# job, submit, cpus, run time, partition (1 low, 2 hi)
JOBS = ((1, 0, 12, 200, 1), (2, 50, 4, 100, 2), (3, 60, 4, 30, 2), (4, 70, 4, 100, 1), (5, 400, 12, 50, 2))


def prepared(folder: Path, mode: str, policy: str | None = None) -> Prepared:
    """`JOBS` ready to be replayed."""
    share = "FORCE:1" if "GANG" in mode else "NO"  # jobs of two tiers with FORCE share CPUs where none are suspended
    (folder / "slurm.conf").write_text(CONF.format(mode=mode, share=share))
    lines = ["; Version: 2.2", "; MaxProcs: 12", "; MaxNodes: 3", "; UnixStartTime: 0", "; Partition: 1 low",
             "; Partition: 2 hi"]  # fmt: skip
    for job, submit, cpus, run_time, partition in JOBS:
        lines.append(f"{job} {submit} -1 {run_time} {cpus} -1 -1 {cpus} 1800 -1 1 1 1 1 1 {partition} -1 -1")
    (folder / "jobs.swf").write_text("\n".join(lines) + "\n")
    options = RunOptions(str(folder / "jobs.swf"), str(folder / "out"), str(folder / "slurm.conf"), policy=policy,
                         option=(("partitions", "partition"), ("map", "1:low,2:hi")))  # fmt: skip
    return prepare(options)


def run(folder: Path, mode: str) -> Path:
    """Replay `JOBS` and return the trace's folder."""
    return execute(prepared(folder, mode), report=False)[0]


@pytest.mark.parametrize("mode", ["SUSPEND,GANG", "REQUEUE", "CANCEL"])
def test_a_replay_with_preemption_is_valid(tmp_path: Path, mode: str) -> None:
    folder = run(tmp_path, mode)
    report = validate_trace(folder)
    assert report.valid, report.to_text()
    jobs = read_trace(folder).jobs_frame(dates=False).set_index("job_id").sort_index()
    assert jobs.loc[2, "wait_s"] <= 4 and jobs.loc[3, "wait_s"] <= 4  # nobody of a lower tier keeps them waiting
    if mode == "CANCEL":
        assert jobs.loc[1, "state"] == "PREEMPTED"
        return
    assert set(jobs["state"]) == {"COMPLETED"}
    assert jobs["run_time_s"].tolist() == [run_time for _, _, _, run_time, _ in JOBS]
    first = jobs.loc[1]
    if mode == "REQUEUE":
        assert first["restarts"] == 1
    else:  # suspended from the first preemptor's start to the end of the last
        assert first["end"] - first["start"] == 200 + (jobs.loc[[2, 3], "end"].max() - jobs.loc[2, "start"])


def test_the_events_tell_of_it(tmp_path: Path) -> None:
    events = read_trace(run(tmp_path, "SUSPEND,GANG")).events_frame()
    told = events[events["event"].isin(["SUSPEND", "RESUME"])]
    assert told["job_id"].iloc[:2].tolist() == [1, 1]
    assert told["event"].iloc[:2].tolist() == ["SUSPEND", "RESUME"]
    assert set(told["scheduler"]) == {"Gang"}
    assert told["state"].iloc[0] == "SUSPENDED"


def test_who_never_preempts_is_said(tmp_path: Path) -> None:
    said = [str(finding) for finding in prepared(tmp_path, "REQUEUE", "easy").findings]
    assert any("PreemptType" in line and "policy easy never preempts" in line for line in said)
    assert not prepared(tmp_path, "REQUEUE").findings
