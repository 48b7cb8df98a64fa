"""What sbatch's own look says of jobs with several partitions, as real Slurm of three releases answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

from slurmsim.releases import RECORDED_RELEASES

CONF = """\
ClusterName=tux
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
NodeName=DEFAULT CPUs=8 Sockets=2 CoresPerSocket=4
NodeName=n[01-12] RealMemory=16000
PartitionName=batch Nodes=n[01-12] Default=YES MaxTime=1-00:00:00 DefaultTime=10
PartitionName=big Nodes=n[01-12] MaxTime=2:00:00 MinNodes=2 PriorityJobFactor=10
PartitionName=short Nodes=n[02-06] MaxTime=10 DefaultTime=2 PriorityTier=20
PartitionName=small Nodes=n[01-12] MaxNodes=2
"""
SHARED = {  # some nodes are idle
    "-p batch,short -t 60": ("short,batch|None|1",) * 3,
    "-p big,short -N2": ("short,big|None|2",) * 3,
    "-p small,batch -N3-3": (
        "batch,small|PartitionNodeLimit|3", "small,batch|PartitionNodeLimit|3", "small,batch|None|3"
    ),
    "-p big,batch -t 30": ("big,batch|None|2", "big,batch|None|2", "big,batch|None|1"),
    "-p batch,short -H": ("batch,short|JobHeldUser|1", None, "batch,short|JobHeldUser|1"),
}  # fmt: skip
TAKEN = {  # every node is somebody's alone
    "-p batch,short -t 60": ("batch,short|Resources|1", None, "batch,short|Resources|1"),
    "-p big,short": ("big,short|Resources|1", None, "big,short|Resources|1"),
    "-p batch,big -t 300": ("batch,big|Resources|1", None, "batch,big|Resources|1"),
    "-p big,short -d afterany:1 -t 60": ("big,short|Resources|1", None, "big,short|Resources|1"),
    "-p big -t 300": ("big|PartitionConfig|2", None, "big|Resources|2"),
}


ASKED = [
    (release, first, options, told)
    for first, found in (("-n 40", SHARED), ("-N 12 --exclusive", TAKEN))
    for options, all_told in found.items()
    for release, told in zip(RECORDED_RELEASES, all_told, strict=True) if told is not None  # None: it was not asked
]  # fmt: skip


@pytest.mark.parametrize(("release", "first", "options", "told"), ASKED)
def test_the_look_at_several_partitions(release: str, first: str, options: str, told: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, CONF, release=release)
    cluster.run(f"sbatch {first} -t 20 --wrap 'sleep 900'")
    cluster.now += 6
    cluster.run(f"sbatch {options} --wrap 'sleep 900'")
    found = cluster.text("squeue -h -a -j 2 -o '%P|%r|%D'").strip()
    assert found.replace("Priority", "None") == told  # whether one waits before it is not asked here
