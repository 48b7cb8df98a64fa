"""CPUs of jobs that say --mincpus beside -n, and of GPU jobs whose tasks share CPUs (-O), as recorded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """
ClusterName=t
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
NodeName=c[1-3] Sockets=2 CoresPerSocket=32 ThreadsPerCore=2 RealMemory=256000 State=UNKNOWN
NodeName=v[1-2] Sockets=2 CoresPerSocket=20 RealMemory=384000 Gres=gpu:8 State=UNKNOWN
PartitionName=cpu Nodes=c[1-3] Default=YES
PartitionName=gpu Nodes=v[1-2] DefCpuPerGPU=4
"""
ASKED = {  # nodes and CPUs of 22.05, 24.11 and 26.05
    "-n 2 --mincpus=4": ("1 4", "1 2", "1 2"),
    "-n 8 --mincpus=2": ("1 8", "1 8", "1 8"),
    "-n 4 --mincpus=8 -N 2": ("2 16", "2 4", "2 4"),
    "-n 3 -c 2 --mincpus=4": ("1 6", "1 6", "1 6"),
    "-N 2 --mincpus=4": ("2 8", "2 8", "2 8"),
    "--mincpus=6": ("1 6", "1 6", "1 6"),
    "-O -n 8 --gpus=2 -p gpu": ("1 1", "1 8", "1 8"),
    "-O -n 4 --gres=gpu:1 -p gpu": ("1 1", "1 4", "1 4"),
    "-O -n 4 -N 2 --gpus-per-node=1 -p gpu": ("2 2", "2 8", "2 8"),
    "-O -n 2 --gpus-per-task=1 -p gpu": ("1 8", "1 8", "1 8"),
}


@pytest.mark.parametrize(("column", "release"), [*enumerate(("22.05", "24.11", "26.05"))])
def test_cpus_of_nodes_are_those_of_tasks_and_gpus(column: int, release: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, CONF, release=release, users=("alice",))
    found = {}
    for number, options in enumerate(ASKED, 1):
        cluster.run(f"sbatch {options} --wrap 'sleep 60'", "alice")
        cluster.now += 5
        shown = re.search(r"NumNodes=(\d+) NumCPUs=(\d+)", cluster.text(f"scontrol show job {number}"))
        assert shown is not None
        found[options] = f"{shown[1]} {shown[2]}"
        cluster.run(f"scancel {number}", "alice")
        cluster.now += 5
    assert found == {options: answers[column] for options, answers in ASKED.items()}
