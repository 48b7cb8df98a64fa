"""CPUs in the size of a waiting job with GPUs, once backfill has looked for nodes: as real Slurm counts them."""

from __future__ import annotations

import pytest
from unit.core.world import World

CONF = """ClusterName=gpus
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=5
PriorityType=priority/multifactor
PriorityWeightJobSize=10000
PriorityCalcPeriod=1
AccountingStorageType=accounting_storage/slurmdbd
DefMemPerCPU=100
GresTypes=gpu
NodeName=g[1-3] Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:a100:4
NodeName=c[1-3] Sockets=2 CoresPerSocket=8 RealMemory=64000
PartitionName=gpu Nodes=g[1-3] Default=YES DefCpuPerGPU=4
PartitionName=plain Nodes=g[1-3]
PartitionName=all Nodes=g[1-3],c[1-3] DefCpuPerGPU=4
"""
# What is asked, and the CPUs by which 22.05.8 and 24.11.5 had worked out the priority that sprio shows after 75 s.
RECORDED = """
--gres=gpu:a100:4 | 16 16
--gres=gpu:4 | 16 16
--gres=gpu:1 | 4 4
-G 4 | 16 16
-G 6 | 24 32
--gpus-per-node=2 | 8 8
-N2 --gpus-per-node=2 | 16 16
-n2 --gpus-per-task=2 | 16 16
-n2 --gpus-per-task=1 -c3 | 6 6
--gpus=2 --cpus-per-gpu=3 | 6 6
--gpus=2 --cpus-per-gpu=3 --mem-per-gpu=500 | 6 6
--gres=gpu:2 -c1 | 1 1
--gres=gpu:2 -n3 | 8 8
--gres=gpu:2 --exclusive | 16 16
-p plain --gres=gpu:2 | 1 1
-p plain --gres=gpu:4 -n2 | 2 2
-p plain -G 5 | 2 2
-p plain --gpus-per-task=1 -n4 | 4 4
-p all --gres=gpu:3 | 12 12
-p all -G 8 | 32 32
-p plain --gpus-per-task=1 --gpus=4 | 4 4
--gpus-per-task=1 --gpus=4 | 16 16
-N2 --gres=gpu:1 -n4 | 8 8
-N1-2 -G 4 | 16 16
"""


@pytest.mark.parametrize(("release", "column"), [("22.05", 0), ("24.11", 1)])
def test_cpus_of_gpus_count(release: str, column: int) -> None:
    world = World(CONF, "backfill", release=release)
    for node in (1, 2, 3):
        world.sbatch(f"-J full{node} -p plain -w g{node} --gres=gpu:4", run=10_000, at=1)
    cases = dict(line.split(" | ") for line in RECORDED.strip().splitlines())
    for k, asked in enumerate(cases):
        world.sbatch(f"-J j{k} -t 60 {asked.replace('-G ', '--gpus=')}", run=60, at=10)
    world.until(85)
    waiting = (world[f"j{k}"] for k in range(len(cases)))
    counted = {asked: job.tried_cpus or job.n_cpus for asked, job in zip(cases, waiting, strict=True)}
    assert counted == {asked: int(cpus.split()[column]) for asked, cpus in cases.items()}
