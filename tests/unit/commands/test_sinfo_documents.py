"""Groups of `sinfo --json` by how GRES are used (24.05 on), as the sources of Slurm and recordings of 24.11 have it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """
ClusterName=t
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
NodeName=g[1-3] CPUs=8 RealMemory=16000 Gres=gpu:2 State=UNKNOWN
PartitionName=gpu Nodes=g[1-3] Default=YES
"""


@pytest.mark.parametrize(("release", "apart"), [("23.11", [["g1", "g2"], ["g3"]]), ("24.11", [["g1"], ["g2"], ["g3"]])])
def test_nodes_are_grouped_by_how_their_gres_are_used(release: str, apart: list[list[str]], tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, CONF, release=release, users=("alice",))
    for node, gpus in (("g1", 1), ("g2", 2)):
        cluster.run(f"sbatch -w {node} --gres=gpu:{gpus} --wrap 'sleep 600'", "alice")
    cluster.now += 60
    told = json.loads(cluster.text("sinfo --json"))
    assert sorted(group["nodes"]["nodes"] for group in told["sinfo"]) == apart
