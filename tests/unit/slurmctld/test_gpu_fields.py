"""What jobs and partitions tell of the CPUs and memory GPUs bring, as slurmctld 22.05.8 tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.server.start import make_engine, new_header

START = 1_767_600_000
ROOT = Person("root", 0, "root", 0, "/root")
CONF = """ClusterName=gpus
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
DefCpuPerGPU=2
DefMemPerGPU=1000
DefMemPerCPU=100
NodeName=n[1-2] Sockets=1 CoresPerSocket=8 RealMemory=8000 Gres=gpu:a:2
NodeName=n[3-4] Sockets=1 CoresPerSocket=16 RealMemory=16000 Gres=gpu:b:4
PartitionName=main Nodes=ALL Default=YES
PartitionName=own Nodes=ALL DefCpuPerGPU=4
PartitionName=zero Nodes=ALL DefCpuPerGPU=0 DefMemPerGPU=0
"""
FIELDS = ("num_cpus", "num_tasks", "cpus_per_task", "pn_min_cpus", "pn_min_memory", "mem_per_cpu", "cpus_per_tres",
          "mem_per_tres")  # fmt: skip
THREE, OF_TASKS = {"tres_per_job": "gres:gpu:3"}, {"tres_per_task": "gres:gpu:1", "num_tasks": 3}


@pytest.fixture
def cluster(tmp_path: Path) -> Engine:
    (tmp_path / "slurm.conf").write_text(CONF)
    return make_engine(new_header(start=START, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), tmp_path)


def do(e: Engine, call: str, **arguments: Any) -> dict[str, Any]:
    return e.execute(e.now, call, arguments, ROOT)


@pytest.mark.parametrize(
    ("asked", "held", "running"),
    [
        (THREE, [1, 1, 1, 1, 100, True, None, None], [6, 1, 1, 1, 0, False, "gpu:2", "gpu:1000"]),
        ({**THREE, "cpus_per_gpu": 5, "cpus_per_tres": "gres:gpu:5"},
         [1, 1, 1, 1, 100, True, "gres:gpu:5", None], [15, 1, 1, 1, 0, False, "gres:gpu:5", "gpu:1000"]),
        ({"tres_per_job": "gres:gpu:5", "cpus_per_gpu": 3},
         [1, 1, 1, 1, 100, True, "gres:gpu:3", None], [15, 2, 1, 1, 0, False, "gres:gpu:3", "gpu:1000"]),
        ({**OF_TASKS, "partition": "own"},
         [3, 3, 1, 1, 100, True, None, None], [12, 3, 4, 1, 0, False, "gpu:4", "gpu:1000"]),
        ({**OF_TASKS, "cpus_per_gpu": 2},
         [3, 3, 2, 2, 100, True, "gres:gpu:2", None], [6, 3, 2, 2, 0, False, "gres:gpu:2", "gpu:1000"]),
        ({**THREE, "pn_min_memory": 700, "mem_per_cpu": True},
         [1, 1, 1, 1, 700, True, None, None], [6, 1, 1, 1, 700, True, "gpu:2", "gpu:1000"]),
        ({**THREE, "partition": "zero"},
         [1, 1, 1, 1, 100, True, None, None], [1, 1, 1, 1, 100, True, None, None]),
    ],
)  # fmt: skip
def test_jobs_tell_what_their_gpus_bring(
    cluster: Engine, asked: dict[str, Any], held: list[Any], running: list[Any]
) -> None:
    job = {"name": "j", "script": "#!/bin/sh\nsleep 500\n", "work_dir": "/tmp", "time_limit": 10, "hold": True, **asked}
    do(cluster, "submit", job=job)

    def shown() -> list[Any]:
        found = do(cluster, "jobs", job_id="1", fields=list(FIELDS))["columns"]
        return [found[name][0] for name in FIELDS]

    assert shown() == held
    do(cluster, "hold_job", job_id="1", kind="release")
    cluster.execute(START + 60, "ping", {}, ROOT)
    assert shown() == running


def test_partitions_tell_their_defaults_and_are_given_others(cluster: Engine) -> None:
    def shown() -> list[Any]:
        return list(do(cluster, "partitions", fields=["name", "job_defaults"])["columns"]["job_defaults"])

    assert shown() == [None, "DefCpuPerGPU=4", "DefCpuPerGPU=0,DefMemPerGPU=0"]
    do(cluster, "update_partition", partition={"name": "main", "job_defaults": "DefMemPerGPU=50,defcpupergpu=7"})
    assert shown()[0] == "DefMemPerGPU=50,DefCpuPerGPU=7"
    job = {"name": "j", "script": "#!/bin/sh\nsleep 500\n", "work_dir": "/tmp", "time_limit": 10, **THREE}
    do(cluster, "submit", job={**job, "tres_per_job": "gres:gpu:2"})
    cluster.execute(START + 60, "ping", {}, ROOT)
    found = do(cluster, "jobs", job_id="1", fields=["tres_alloc_str"])["columns"]
    assert found["tres_alloc_str"] == ["cpu=14,mem=100M,node=1,billing=14"]
