"""What wild worlds have shown, as small as it gets (``python -m wild.shrink``): each is sound now."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from wild.judging import judge
from wild.world import World

FOUND = {
    # the validator took what still ran for ended when the run stopped later than all starts and ends
    "a job that stands still at the end of the run": World(
        1024,
        ("NodeName=n[1-2] Gres=gpu:2,nic:2", "GresTypes=gpu,nic", "PartitionName=p Nodes=ALL Default=YES"),
        (
            {"job_id": 6, "submit": 147, "nodes": 2, "options": "--gpus-per-socket=1 --sockets-per-node=1"},
            {"job_id": 23, "submit": 317, "cancel_at": 617},
        ),
        watts=("time,watts", "293,1220", "362,140"),
        options={"power_budget": "@watts.csv"},
    ),
    # the gang stopped a job whose watts nobody had counted yet: KeyError
    "a gang under a budget": World(
        1105,
        (
            "SelectType=select/cons_tres", "PreemptType=preempt/qos", "PreemptMode=CANCEL,GANG",
            "NodeName=n[1-6] RealMemory=8000", "PartitionName=p Nodes=ALL Default=YES OverSubscribe=FORCE:2",
        ),
        (
            {"job_id": 1, "submit": 0, "nodes_max": 5, "run_time": 300},
            {"job_id": 8, "submit": 166, "mem_per_cpu": 10, "run_time": 300},
            {"job_id": 10, "submit": 186, "mem_per_node": 100, "run_time": 60},
        ),
        options={"power_budget": "300"},
    ),
    # kernels said never, plain Python gave four CPUs
    "one task with a GPU under MaxMemPerCPU": World(
        1174,
        (
            "SelectType=select/cons_tres", "MaxMemPerCPU=2000",
            "NodeName=n[1-4] CoresPerSocket=8 RealMemory=8000 Gres=gpu:2", "PartitionName=p Nodes=ALL Default=YES",
        ),
        ({"job_id": 17, "submit": 402, "tasks": 1, "gres": "gpu:1", "run_time": 60},),
    ),
    # the row said memory and GPUs of the most nodes, and CPUs of the fewest
    "a job on fewer nodes than it may have": World(
        44,
        (
            "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core_Memory", "GresTypes=gpu",
            "NodeName=n[1-2] CPUs=4 RealMemory=1000 Gres=gpu:2",
            "NodeName=n3 CPUs=4 RealMemory=1000 Gres=gpu:2 State=DOWN",
            "PartitionName=p Nodes=ALL Default=YES",
        ),
        (
            {"job_id": 1, "submit": 0, "run_time": 60, "time_limit": 300, "nodes": 3, "min_nodes": 2, "max_nodes": 3,
             "mem_per_cpu": 10, "gres": "gpu:1", "app": "LeanMD:parallelism=24:sigma=0.2"},
        ),
        options={"policy": "equipartition"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_found_once(name: str, tmp_path: Path) -> None:
    ran, findings = judge(FOUND[name], tmp_path / "w")
    assert (ran.how, findings) == ("ran", [])


ASKED = {
    "1 task": ({"tasks": 1, "gres": "gpu:1"}, 1, 1),
    "1 task, no GPU": ({"tasks": 1}, 4, 1),
    "2 tasks": ({"tasks": 2, "gres": "gpu:1"}, 4, 1),
    "1 node": ({"nodes": 1, "gres": "gpu:1"}, 4, 1),
    "2 nodes, 2 tasks": ({"nodes": 2, "tasks": 2, "gres": "gpu:1"}, 2, 2),
    "1 task of 2 CPUs": ({"tasks": 1, "cpus_per_task": 2, "gres": "gpu:1"}, 2, 1),
}


@pytest.mark.parametrize("name", ASKED)
def test_cpus_for_memory_beside_gpus(name: str, tmp_path: Path) -> None:
    """MaxMemPerCPU asks for four CPUs a node; a job of one task a node and GPUs gets those of its tasks all the same.

    Asked of slurmctld 22.05.8 (nodes of 8 CPUs, 8,000 MiB, gpu:2; MaxMemPerCPU=2000, no default): CPUs and nodes squeue
    showed of ``sbatch -n1 --gres=gpu:1``, ``-n1``, ``-n2 --gres=gpu:1``, ``-N1 --gres=gpu:1``,
    ``-N2 -n2 --gres=gpu:1``, ``-n1 -c2 --gres=gpu:1``.
    """
    job, cpus, nodes = ASKED[name]
    world = FOUND["one task with a GPU under MaxMemPerCPU"]
    small = World(0, world.conf, ({"job_id": 1, "submit": 0, "run_time": 60, **job},))
    ran, findings = judge(small, tmp_path / "w")
    assert ran.folder is not None and not findings
    row = pq.read_table(ran.folder / "jobs.parquet").to_pylist()[0]
    assert (row["cpus"], row["nodes"], row["state"]) == (cpus, nodes, "COMPLETED")
