"""What public bug reports tell of real Slurm, as small sessions; each answer was recorded from real Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=10,bf_resolution=60
PriorityType=priority/multifactor
PriorityWeightPartition=1000
DefMemPerCPU=100
NodeName=n[1-8] Sockets=2 CoresPerSocket=4 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=5
PartitionName=hi Nodes=ALL MaxTime=60 PriorityTier=10 PriorityJobFactor=10
"""
RELEASES = pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])


def made(folder: Path, release: str, conf: str = CONF, accounting: str = "") -> Cluster:
    return Cluster(folder, conf, accounting=accounting, release=release)


def queue(cluster: Cluster, form: str = "%i %t %D %r") -> list[str]:
    return cluster.text(f"squeue -h -S i -o '{form}'").splitlines()


# -- begin times ------------------------------------------------------------------------------------------------------


@RELEASES
def test_start_time_now_replaces_the_begin_time_of_a_requeue(tmp_path: Path, release: str) -> None:
    """All three: the job runs again within six seconds."""
    cluster = made(tmp_path, release)
    cluster.run("sbatch -t 30 --wrap 'sleep 1000'", "alice")
    cluster.run("sbatch -t 30 -a 1 --wrap 'sleep 1000'", "alice")
    cluster.now += 6
    cluster.text("scontrol requeue 1")
    cluster.text("scontrol requeue 2_1")
    cluster.now += 5
    assert queue(cluster, "%t %r") == ["PD BeginTime"] * 2
    cluster.text("scontrol update jobid=1 StartTime=now")
    cluster.text("scontrol update jobid=2 StartTime=now-60")
    assert queue(cluster, "%t %r %S") == ["PD None N/A"] * 2
    cluster.now += 6
    assert queue(cluster, "%t %r") == ["R None"] * 2


@RELEASES
def test_start_time_now_of_a_job_that_was_requeued_and_held(tmp_path: Path, release: str) -> None:
    cluster = made(tmp_path, release)
    cluster.run("sbatch -t 30 --wrap 'sleep 1000'", "alice")
    cluster.now += 6
    cluster.text("scontrol requeuehold 1")
    cluster.now += 7
    cluster.text("scontrol update jobid=1 StartTime=now+20")
    cluster.text("scontrol update jobid=1 StartTime=now-60")
    cluster.text("scontrol release 1")
    cluster.now += 7
    assert queue(cluster, "%t %r") == ["R None"]


# -- partitions that are up again -------------------------------------------------------------------------------------


@RELEASES
@pytest.mark.parametrize("state", ["down", "inactive"])
def test_a_partition_that_is_up_again_holds_nothing_against_its_jobs(tmp_path: Path, release: str, state: str) -> None:
    """All three: who is behind another says Priority, as it did before the partition was closed."""
    cluster = made(tmp_path, release)
    cluster.run("sbatch -p hi -N8 --exclusive --wrap 'sleep 60'", "alice")
    cluster.run("sbatch -n20 --exclusive --wrap 'sleep 60'", "alice")
    cluster.run("sbatch -n20 --exclusive --wrap 'sleep 60'", "alice")
    cluster.run("sbatch -w n7 --wrap 'sleep 60'", "alice")
    cluster.run("sbatch -a 1-3 -N8 --exclusive --wrap 'sleep 60'", "alice")
    cluster.now += 5
    cluster.text(f"scontrol update partitionname=main state={state}")
    cluster.now += 4
    closed = f"Partition{state.capitalize()}"
    assert queue(cluster)[1:] == [f"2 PD 3 {closed}", f"3 PD 3 {closed}", f"4 PD 1 {closed}", f"5_[1-3] PD 8 {closed}"]
    cluster.text("scontrol update partitionname=main state=up")
    cluster.now += 4
    assert queue(cluster)[1:] == ["2 PD 3 Resources", "3 PD 3 Priority", "4 PD 1 Priority", "5_[1-3] PD 8 Priority"]


@RELEASES
def test_jobs_that_came_while_their_partition_was_down(tmp_path: Path, release: str) -> None:
    cluster = made(tmp_path, release)
    cluster.text("scontrol update partitionname=main state=down")
    for line in ("-n20 --exclusive", "-N8 --exclusive", "-n20 --exclusive", "-w n7"):
        cluster.run(f"sbatch {line} --wrap 'sleep 60'", "alice")
    cluster.text("scontrol update partitionname=main state=up")
    cluster.now += 3
    assert queue(cluster) == ["1 R 3 None", "2 PD 8 Resources", "3 PD 3 Priority", "4 PD 1 Priority"]


# -- host lists -------------------------------------------------------------------------------------------------------

WITH_A_TAIL = {
    "rack[0-1]node[01-02,4]-ib":
        "rack0node01-ib rack0node02-ib rack0node4-ib rack1node01-ib rack1node02-ib rack1node4-ib",
    "n[1-2]-ib,m[3-4]": "n1-ib n2-ib m3 m4",
    "a[1-2]b[3]-x,c[1-2]y": "a1b3-x a2b3-x c1y c2y",
    "a[1-2]b[1-2]3": "a1b13 a1b23 a2b13 a2b23",
    "[1-2]a": "1a 2a",
    "a[1-2][3-4]z": "a13z a14z a23z a24z",
    "a[1-2]b[1-2]c[1-2]d": "a1b1c1d a1b1c2d a2b1c1d a2b1c2d a1b2c1d a1b2c2d a2b2c1d a2b2c2d",
}  # fmt: skip
"""What 24.11 and 26.05 make of it; 22.05 cannot read it."""
WITHOUT = {
    "n[1-2]x[1-2]": "n1x1 n1x2 n2x1 n2x2",
    "a[1-2]b[1-2],c": "a1b1 a1b2 a2b1 a2b2 c",
    "a[1-2]b[1-2]c[1-2]": "a1b1c1 a1b1c2 a2b1c1 a2b1c2 a1b2c1 a1b2c2 a2b2c1 a2b2c2",
    "a[1,2]b[7-8]c[2,1]d[3]": "a1b7c2d3 a2b7c2d3 a1b8c2d3 a2b8c2d3 a1b7c1d3 a2b7c1d3 a1b8c1d3 a2b8c1d3",
}

NO_NODES = (
    "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
    "main*        up    1:00:00      0    n/a \n"
    "hi           up    1:00:00      0    n/a \n"
)


@RELEASES
def test_host_names_of_several_brackets(tmp_path: Path, release: str) -> None:
    cluster = made(tmp_path, release)
    for text, names in (WITHOUT | WITH_A_TAIL).items():
        told = cluster.run(f"scontrol show hostnames '{text}'")
        if text in WITH_A_TAIL and release == "22.05":
            assert told == (0, "", f"Invalid hostlist: {text}\n")
        else:
            assert told == (0, names.replace(" ", "\n") + "\n", ""), text


def test_a_text_behind_the_last_bracket(tmp_path: Path) -> None:
    commands = {
        "scontrol show hostlist": {
            "22.05": (1, "", "Invalid hostlist: n[1-2]-ib\n"), "24.11": (0, "n1-ib,n2-ib\n", ""),
        },
        "scontrol show node": {
            "22.05": (1, "", "unable to parse node list n[1-2]-ib\n"),
            "24.11": (1, "Node n1-ib not found\nNode n2-ib not found\n", ""),
        },
        "squeue -h -w": {
            "22.05": (1, "", "squeue: error: 'n[1-2]-ib' invalid entry for --nodelist\n"),
            "24.11": (1, "", "squeue: error: Invalid node name n1-ib\n"),
        },
        "sinfo -n": {
            "22.05": (1, "", "sinfo: error: 'n[1-2]-ib' invalid entry for --nodes\n"), "24.11": (0, NO_NODES, ""),
        },
        "sbatch --wrap true -w": {
            "22.05": (1, "", "sbatch: error: memory allocation failure\n"),
            "24.11": (1, "", "sbatch: error: Batch job submission failed: Invalid node name specified\n"),
        },
    }  # fmt: skip
    for release in ("22.05", "24.11"):
        cluster = made(tmp_path, release)
        for command, told in commands.items():
            assert cluster.run(f"{command} 'n[1-2]-ib'") == told[release], command
