"""Steps that use one thread of a core, or bring CPUs with their GPUs, as 22.05.8, 24.11.5 and 26.05.5 place them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_client import PEOPLE, Cluster

from slurmsim.protocol import Refusal
from slurmsim.releases import RECORDED_RELEASES
from slurmsim.slurmctld.processes.step_places import TOO_MANY_CPUS, Room, place_step

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
NodeName=n[1-2] Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 Gres=gpu:a:4
PartitionName=batch Nodes=n[1-2] Default=YES MaxTime=60
PartitionName=more Nodes=n[1-2]
"""


def tasks(cpus: list[int], **asked: Any) -> list[int] | str:
    """Tasks of each node, or what the step is refused with."""
    n = asked.setdefault("num_tasks", 1)
    rooms = [Room(count, 0, grain=2) for count in cpus]
    wanted = {"cpu_count": n, "min_nodes": len(cpus), "max_nodes": len(cpus), **asked}
    try:
        return place_step(wanted, rooms).tasks
    except Refusal as refusal:
        return refusal.text


@pytest.mark.parametrize(
    ("cpus", "n", "found"),
    [
        ([4], 2, [2]),
        ([4], 3, TOO_MANY_CPUS),
        ([4, 4], 4, [2, 2]),
        ([4, 4], 5, TOO_MANY_CPUS),
        ([8, 2, 2], 6, [4, 1, 1]),
    ],
)
def test_one_thread_of_each_core_counts(cpus: list[int], n: int, found: list[int] | str) -> None:
    assert tasks(cpus, num_tasks=n, threads_per_core=1) == found


def test_unlike_nodes_are_overfilled_before_26_05() -> None:
    assert tasks([8, 2, 2], num_tasks=12, threads_per_core=1) == [6, 3, 3]
    assert tasks([8, 2, 2], num_tasks=12, threads_per_core=1, threads_counted=True) == TOO_MANY_CPUS
    assert tasks([8, 2, 2], num_tasks=6, threads_per_core=1, threads_counted=True) == [4, 1, 1]


def test_a_job_of_single_threads_has_half_as_many_cpus() -> None:
    assert tasks([8], num_tasks=4, job_threads=1) == [4]
    assert tasks([8], num_tasks=5, job_threads=1) == TOO_MANY_CPUS
    assert tasks([4], num_tasks=9, threads_per_core=1, overcommit=True) == [9]


@pytest.fixture(params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    (tmp_path / "gres.conf").write_text("AutoDetect=off\n", "utf-8")
    return Cluster(tmp_path, CONF, release=request.param)


def step(cluster: Cluster, job: int, **asked: Any) -> dict[str, Any]:
    """What a step gets; it ends at once."""
    wanted = {"job_id": job, "num_tasks": 1, "cpu_count": 1, "min_nodes": 1, "max_nodes": 1, **asked}
    found = cluster.call("step_create", PEOPLE["alice"], {"step": wanted})
    cluster.call("step_end", PEOPLE["alice"], {"job_id": job, "step_id": found["step_id"], "status": 0})
    return found


def running(cluster: Cluster, options: str) -> int:
    job = cluster.text(f"sbatch --parsable {options} --wrap 'sleep 60'", "alice")
    cluster.now += 5
    return int(job)


def test_cpus_per_gpu_give_a_step_the_cpus_of_its_gpus_since_23_11(cluster: Cluster) -> None:
    job = running(cluster, "--gpus=2 --cpus-per-gpu=4")
    asked = {"cpus_per_tres": "gres:gpu:3", "gpus": "gpu:1", "cpu_count": 3, "exact": cluster.release != "22.05"}
    found = step(cluster, job, **asked)
    assert (found["cpus"], found["gpus"]) == ([8 if cluster.release == "22.05" else 4], [1])
    assert step(cluster, job, **{**asked, "gpus": "gpu:2", "cpu_count": 6})["cpus"][0] in (6, 8)
    if cluster.release != "22.05":
        with pytest.raises(Refusal, match=TOO_MANY_CPUS):
            step(cluster, job, **{**asked, "cpu_count": 18, "gpus": "gpu:2", "cpus_per_tres": "gres:gpu:9"})


def test_gpus_of_a_node_count_before_those_of_tasks_and_the_last_of_a_type_counts(cluster: Cluster) -> None:
    job = running(cluster, "-N1 -n2 --gpus=4")
    assert step(cluster, job, tres_per_node="gres:gpu:2", tres_per_task="gres:gpu:1")["gpus"] == [2]
    assert step(cluster, job, tres_per_node="gres:gpu:2,gpu:1")["gpus"] == [1]


def test_a_step_uses_no_more_threads_than_its_job(cluster: Cluster) -> None:
    job = running(cluster, "-N1 -n4 --threads-per-core=1")
    said = "Cannot request more threads per core than the job allocation"
    with pytest.raises(Refusal, match=said):
        step(cluster, job, num_tasks=2, cpu_count=2, threads_per_core=2)
    with pytest.raises(Refusal, match=TOO_MANY_CPUS):
        step(cluster, job, num_tasks=700, cpu_count=700)
    with pytest.raises(Refusal, match="Task count specification invalid"):
        step(cluster, job, num_tasks=700, cpu_count=1, overcommit=True)


def test_the_partition_an_allocation_is_told_of(cluster: Cluster) -> None:
    job = running(cluster, "-p batch,more")
    told = cluster.call("allocation", PEOPLE["alice"], {"job_id": job})["partition"]
    assert told == ("batch,more" if cluster.release == "22.05" else "batch")
