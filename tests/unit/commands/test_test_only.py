"""``--test-only`` beside reservations and preemptable jobs, as recorded from real Slurm 22.05, 24.11 and 26.05."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=5,bf_resolution=60
PriorityType=priority/multifactor
PriorityWeightPartition=1000
DefMemPerCPU=100
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[1-8] Sockets=2 CoresPerSocket=4 RealMemory=16000
PartitionName=batch Nodes=n[1-8] Default=YES MaxTime=1-0 PriorityTier=10 PreemptMode=OFF
PartitionName=urgent Nodes=n[1-8] MaxTime=1-0 PriorityTier=20 PreemptMode=OFF
PartitionName=scav Nodes=n[1-8] MaxTime=1-0 PriorityTier=1 PreemptMode=REQUEUE
"""
RELEASES = pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
AT_08 = "2026-01-05T08:00:00"


def made(folder: Path, release: str) -> Cluster:
    return Cluster(folder, CONF, release=release)


def told(cluster: Cluster, options: str, user: str = "alice", command: str = "sbatch --wrap true") -> list[str]:
    """Return the lines without the job's id and, in 26.05, the letter that its text has too much."""
    tail = "" if command != "srun" else " true"
    code, out, error = cluster.run(f"{command} --test-only {options}{tail}", user)
    assert (code, out) == (int("allocation failure" in error), "")
    return [line.replace(" a using", " using").partition(" to start at ")[2] or line for line in error.splitlines()]


@RELEASES
def test_nodes_reserved_in_part_are_left_out_and_maintenance_of_all_is_waited_for(tmp_path: Path, release: str) -> None:
    cluster = made(tmp_path, release)
    cluster.text("scontrol create reservation reservationname=m starttime=now+900 duration=60 users=root nodes=ALL "
                 "flags=maint")  # fmt: skip
    after = "2026-01-05T09:15:00 using {} processors on nodes {} in partition batch"
    assert told(cluster, "-t 30 -N1") == [after.format(1, "n1")]
    assert told(cluster, "-t 30 -N8") == [after.format(8, "n[1-8]")]
    assert told(cluster, "-t 30 -w n2") == [after.format(1, "n2")]
    assert told(cluster, "-t 5 -w n2") == [f"{AT_08} using 1 processors on nodes n2 in partition batch"]
    cluster.text("scontrol delete reservation m")
    create = "scontrol create reservation starttime=now+900 duration=60"
    cluster.text(f"{create} reservationname=half users=root nodes=n[1-4] flags=maint")
    cluster.text(f"{create} reservationname=r2 users=bob nodes=n[5-6]")
    for options in ("-w n1", "-w n5", "-N8", "-N4 --exclusive"):
        assert told(cluster, f"-t 30 {options}") == [
            "allocation failure: Requested node configuration is not available"
        ]
    assert told(cluster, "-t 30 -N2") == [f"{AT_08} using 2 processors on nodes n[7-8] in partition batch"]
    assert told(cluster, "-t 30 --reservation=r2", "bob") == ["allocation failure: Invalid time specified"]
    cluster.run("sbatch -H --wrap true", "alice")
    assert cluster.text("squeue -h -o %i") == "11\n"  # each of those that were only tested had an id, refused or not


@RELEASES
def test_jobs_that_would_make_way_are_named(tmp_path: Path, release: str) -> None:
    """The first partition by tier that serves is told. Before 26.05 the first one named says who may be preempted."""
    cluster = made(tmp_path, release)
    cluster.run("sbatch -t 5 --exclusive --wrap 'sleep 300'", "alice")
    cluster.now += 5
    for nodes in ("-N4 --exclusive", "-N3 --exclusive"):
        cluster.run(f"sbatch -p scav -t 60 {nodes} --wrap 'sleep 900'", "bob")
        cluster.now += 5
    now = "2026-01-05T08:00:15 using {} processors on nodes {} in partition batch"
    assert told(cluster, "-t 10 -N5 --exclusive") == [now.format(40, "n[2-6]"), "sbatch:   Preempts: 3,2"]
    assert told(cluster, "-t 10 -w n2") == [now.format(1, "n2"), "sbatch:   Preempts: 2"]
    assert told(cluster, "-t 10 -w n2", command="srun") == [now.format(1, "n2"), "srun:   Preempts: 2"]
    all_of_them = told(cluster, "-t 10 -N8 --exclusive")
    assert all_of_them[0].endswith("using 64 processors on nodes n[1-8] in partition batch")
    assert all_of_them[1:] == ["sbatch:   Preempts: 3,2"]
    assert len(told(cluster, "-t 10 -p scav -N8")) == 1
    either = told(cluster, "-t 10 -p scav,urgent -w n2")
    assert either[0].endswith("using 1 processors on nodes n2 in partition urgent")
    assert either[1:] == (["sbatch:   Preempts: 2"] if release == "26.05" else [])


@RELEASES
def test_a_requeued_job_says_begin_time_after_a_cycle_of_backfill(tmp_path: Path, release: str) -> None:
    """What it said at its end goes with the next queue that is made, also if no pass of the main scheduler comes."""
    cluster = made(tmp_path, release)
    for _ in range(2):
        cluster.submit(script="#!/bin/sh\n#SLURMSIM runtime=1 exit=3\n")
    cluster.now += 20
    cluster.text("scontrol requeue 1")
    cluster.text("scontrol requeuehold 2")
    shown = "squeue -h -S i -o '%t %r'"
    assert cluster.text(shown) == "PD NonZeroExitCode\nPD job requeued in held state\n"
    cluster.now += 10
    assert cluster.text(shown) == "PD BeginTime\nPD job requeued in held state\n"


def test_srun_tells_when_a_job_that_waits_would_start(tmp_path: Path) -> None:
    """Since 26.05; before, --jobid was as if it was not there."""
    cluster = made(tmp_path, "26.05")
    cluster.text("sbatch -H -N2 -p batch -t 5 --wrap true")
    cluster.text("sbatch -N1 --exclusive -p batch --wrap 'sleep 100'")
    cluster.now += 5
    for options in ("--jobid=1", "--jobid=1 hostname", "-N3 --jobid=1 hostname"):
        assert cluster.run(f"srun --test-only {options}", "bob") == (
            0, "", "srun: Job 1 to start at 2026-01-05T08:00:05 a using 2 processors on nodes n[2-3] "
            "in partition batch\n")  # fmt: skip
    disabled, invalid = "Requested operation is presently disabled", "Invalid job id specified"
    assert cluster.run("srun --test-only --jobid=2 hostname", "alice") == (1, "", f"allocation failure: {disabled}\n")
    assert cluster.run("srun --test-only --jobid=77 hostname", "alice") == (1, "", f"allocation failure: {invalid}\n")
    (tmp_path / "older").mkdir()
    older = made(tmp_path / "older", "24.11")
    older.text("sbatch -H -N2 -p batch -t 5 --wrap true")
    assert "Job 2 to start" in older.run("srun --test-only --jobid=1 hostname", "alice")[2]
