"""--contiguous with nodes that are named: all nodes between them are named, too (bit_fill_gaps, _job_create)."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
NodeName=n[01-16] Sockets=2 CoresPerSocket=4 RealMemory=16000
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0
"""
COUNT, NAME = "Node count specification invalid", "Invalid node name specified"
NEITHER = "Requested node configuration is not available"
# Typed to 22.05.8, and to 24.11.5 and 26.05.5, which answer alike: the nodes of the job, or why it was refused. All
# nodes were idle each time.
ASKED = [
    ("-w n01,n03", "n[01-03]", "n[01-02]"),
    ("-N2 -w n01,n03", COUNT, "n[01-02]"),
    ("-N4 -w n01,n03", "n[01-04]", "n[01-04]"),
    ("-n2 -w n01,n04", "n[01-04]", "n[01-02]"),
    ("-N1-4 -w n01,n04", "n[01-04]", "n[01-04]"),
    ("-N1-3 -w n01,n04", COUNT, "n[01-03]"),
    ("-N2-8 -w n01,n04 -x n02", NAME, "n[01,03-04]"),
    ("-N3-8 -w n01,n04 -x n02", NAME, NEITHER),
]


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_nodes_between_those_named(tmp_path: Path, release: str) -> None:
    cluster, number = Cluster(tmp_path, conf=CONF, release=release), 0
    for words, before, since in ASKED:
        wanted = before if release == "22.05" else since
        _, out, error = cluster.run(f"sbatch {words} --contiguous --exclusive -t5 --wrap true", "alice")
        if wanted.startswith("n["):
            number += 1
            assert out == f"Submitted batch job {number}\n", (words, "a refusal for nodes or counts takes no id")
            cluster.now += 100
            assert f"\n   NodeList={wanted}\n" in cluster.text(f"scontrol show job {number}"), words
        else:
            assert error.endswith(f"failed: {wanted}\n"), words
