"""--prefer: where jobs go, and what is shown of them, as real Slurm of three releases answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

from slurmsim.releases import RECORDED_RELEASES

CONF = """\
ClusterName=tux
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=7,bf_resolution=60
PriorityType=priority/basic
DefMemPerCPU=100
NodeName=DEFAULT CPUs=8 Sockets=2 CoresPerSocket=4 RealMemory=16000
NodeName=n[01-04] Feature=a
NodeName=n[05-08] Feature=b
NodeName=n[09-10] Feature=a,b
PartitionName=batch Nodes=n[01-10] Default=YES MaxTime=1-00:00:00 DefaultTime=10
PartitionName=first Nodes=n[01-04] MaxTime=30 DefaultTime=5
"""
SHOWN = 'squeue -h -o "%i|%T|%r|%N"'
ASKED = "squeue -h -O jobid:4,feature:7,prefer"


@pytest.fixture(params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    return Cluster(tmp_path, CONF, release=request.param)


def later(cluster: Cluster, seconds: int) -> None:
    for _ in range(seconds):
        cluster.now += 1
        cluster.text("squeue -h")


def lines(cluster: Cluster, command: str = SHOWN) -> list[str]:
    return sorted(cluster.text(command).splitlines())


def newest(cluster: Cluster) -> bool:
    return str(cluster.release) == "26.05"


def test_nodes_with_what_is_preferred_come_first(cluster: Cluster) -> None:
    cluster.run("sbatch --exclusive --prefer=b --wrap 'sleep 100'")
    cluster.run("sbatch --exclusive -C a --prefer=b --wrap 'sleep 100'")  # in the constraint's stead
    cluster.run("sbatch --exclusive -C a --prefer='a,b' --wrap 'sleep 100'")
    later(cluster, 4)
    assert lines(cluster) == ["1|RUNNING|None|n05", "2|RUNNING|None|n06", "3|RUNNING|None|n09"]
    assert [line.split() for line in lines(cluster, ASKED)] == [
        ["1", "b", "(null)"], ["2", "b", "(null)"], ["3", "a&b", "(null)"]
    ]  # fmt: skip
    assert "Features=b DelayBoot" in cluster.text("scontrol show job 2")
    assert "Prefer" not in cluster.text("scontrol show job 2")


def test_the_main_scheduler_does_without_in_26_05_and_only_backfill_did_before(cluster: Cluster) -> None:
    cluster.run("sbatch --exclusive -N6 -n6 -C b --wrap 'sleep 300'")
    later(cluster, 4)
    cluster.run("sbatch --exclusive -N2 -n2 --prefer=b --wrap 'sleep 100'")
    cluster.run("sbatch --exclusive -N1 --wrap 'sleep 100'")
    later(cluster, 3)
    after_pass = lines(cluster)
    later(cluster, 30)
    over = ["1|RUNNING|None|n[05-10]", "2|RUNNING|None|n[01-02]", "3|RUNNING|None|n03"]
    assert lines(cluster) == over
    waiting = [over[0], "2|PENDING|Priority|", "3|PENDING|Priority|"]
    assert after_pass in ([over] if newest(cluster) else [waiting, over])
    scheduler = "Main" if newest(cluster) else "Backfill"
    assert f"Scheduler={scheduler}" in cluster.text("scontrol show job 2")
    assert "Features=(null)" in cluster.text("scontrol show job 2")


def test_a_waiting_job_tells_what_it_prefers_and_plans_without(cluster: Cluster) -> None:
    cluster.run("sbatch --exclusive -N10 -n10 -t5 --wrap 'sleep 300'")
    cluster.run("sbatch -J w --prefer=b -N1 --wrap 'sleep 10'")
    later(cluster, 16)
    reason = "Resources" if newest(cluster) else "Priority"
    assert lines(cluster)[1] == f"2|PENDING|{reason}|"
    shown = cluster.text("scontrol show job 2")
    assert "SchedNodeList=n01" in shown
    assert "Features=(null)" in shown
    assert "Prefer=b" in shown


def test_what_is_preferred_can_be_changed(cluster: Cluster) -> None:
    cluster.run("sbatch --exclusive -N10 -n10 -t5 --wrap 'sleep 20'")
    cluster.run("sbatch -J w --prefer=b -N1 --wrap 'sleep 10'")
    later(cluster, 4)
    assert cluster.run("scontrol update job 2 prefer=a,b")[0] == 0
    assert "Prefer=a&b" in cluster.text("scontrol show job 2")
    assert cluster.run("scontrol update job 2 prefer=c")[1:] == (
        "", "Invalid preferred feature specification for job 2\n"
    )  # fmt: skip
    assert "Prefer=a&b" in cluster.text("scontrol show job 2")
    later(cluster, 30)
    assert "Features=a&b" in cluster.text("scontrol show job 2")
    assert " NodeList=n09" in cluster.text("scontrol show job 2").replace("\n", " ")


def test_what_is_preferred_goes_where_nothing_is_named(cluster: Cluster) -> None:
    cluster.run("sbatch -H --exclusive --prefer=b --wrap 'sleep 10'")
    cluster.run("scontrol update job 1 prefer=")
    assert "Prefer" not in cluster.text("scontrol show job 1")
    cluster.run("scontrol release 1")
    later(cluster, 4)
    assert lines(cluster) == ["1|RUNNING|None|n01"]


def test_submissions_do_not_do_without(cluster: Cluster) -> None:
    refused = "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"
    assert cluster.run("sbatch --exclusive --prefer=b -N8 -n8 --wrap 'sleep 100'")[2] == refused
    assert cluster.run("sbatch -p first --exclusive --prefer=b --wrap 'sleep 50'")[2] == refused
    assert cluster.run("sbatch -p first,batch --exclusive --prefer=b --wrap 'sleep 50'")[0] == 0
    assert "n[01-08]" in cluster.run("sbatch -N8 -n8 --test-only --exclusive --prefer=b --wrap true")[2]


def test_all_partitions_are_tried_for_it_first_from_23_11_on(cluster: Cluster) -> None:
    cluster.run("sbatch -p first,batch --exclusive --prefer=b --wrap 'sleep 50'")
    cluster.run("sbatch --array=1-8 --exclusive --prefer=b --wrap 'sleep 50'")
    later(cluster, 20)
    by_task = dict(line.split("|", 1) for line in lines(cluster))
    if str(cluster.release) == "22.05":
        assert by_task.pop("1") == "RUNNING|None|n01"
        assert by_task.pop("2_[7-8]").startswith("PENDING")  # backfill tries no task twice
        assert [text[-3:] for text in by_task.values()] == ["n05", "n06", "n07", "n08", "n09", "n10"]
    else:
        assert by_task.pop("1") == "RUNNING|None|n05"
        assert [text[-3:] for text in by_task.values()] == ["n06", "n07", "n08", "n09", "n10", "n01", "n02", "n03"]
