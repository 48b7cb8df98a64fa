"""The batch step of a job has the GPUs of its first node in sacct, also where the nodes have unlike shares."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
AccountingStorageTRES=gres/gpu
AccountingStorageType=accounting_storage/slurmdbd
NodeName=n[1-2] CPUs=4 RealMemory=4000 Gres=gpu:4
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0
"""


@pytest.mark.parametrize(("options", "first"), [
    ("--gpus-per-task=1 -N2 -n3", 2), ("--gpus-per-node=3 -N2", 3), ("--gpus-per-task=2 -N2 -n2", 2), ("-N2", 0),
])  # fmt: skip
@pytest.mark.parametrize("forgotten", [False, True])
def test_gpus_of_the_batch_step(tmp_path: Path, options: str, first: int, forgotten: bool) -> None:
    cluster = Cluster(tmp_path, CONF, release="26.05")
    cluster.text(f"sbatch -Q {options} --wrap 'sleep 3'", "alice")
    cluster.now += 10_000 if forgotten else 10
    cluster.engine.network.advance(cluster.now)
    shown = cluster.text("sacct -nP -j 1.batch -S now-1days -o alloctres").strip()
    assert shown == "cpu=" + shown[4] + (f",gres/gpu={first}" if first else "") + ",mem=0,node=1"
