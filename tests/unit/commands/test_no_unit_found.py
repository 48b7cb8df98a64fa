"""What jobs say that find enough idle nodes, but no block or box of a torus that has them (26.05), as recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_client import Cluster

pytest.importorskip("yaml", reason="NOT TESTED: topology.yaml: PyYAML is not installed")

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=5,bf_resolution=60
DefMemPerCPU=100
NodeName=n[01-16] Sockets=2 CoresPerSocket=4 RealMemory=16000
PartitionName=batch Nodes=n[01-16] Default=YES MaxTime=1-0 DefaultTime=10
"""
TORUS = """\
- topology: t
  cluster_default: true
  torus3d:
    toruses:
      - name: p
        nodes: n[01-16]
        dims: {x: 4, y: 2, z: 2}
        placements: [{dims: {x: 2, y: 2, z: 2}}, {dims: {x: 2, y: 2, z: 1}}, {dims: {x: 1, y: 1, z: 1}}]
"""
BLOCKS = "BlockName=b1 Nodes=n[01-04]\nBlockName=b2 Nodes=n[05-08]\nBlockSizes=4,8\n"


def submit(cluster: Cluster, options: str) -> None:
    cluster.text(f"sbatch -Q --exclusive -t 30 {options} --wrap 'sleep 300'", "alice")
    cluster.now += 7


def reasons(cluster: Cluster) -> dict[str, str]:
    """Return what the jobs that wait say."""
    rows = cluster.text("squeue -h -t PD -o '%i|%r'").splitlines()
    return dict(row.split("|") for row in sorted(rows))


def test_a_box_of_a_torus(tmp_path: Path) -> None:
    (tmp_path / "topology.yaml").write_text(TORUS)
    cluster = Cluster(tmp_path, CONF, release="26.05")
    for options in ("-N4 -w n[01,02,05,06]", "-N4 -w n[03,04,07,08]", "-N8"):
        submit(cluster, options)
    assert reasons(cluster) == {"3": "No suitable topology unit found"}
    assert "Reason=No_suitable_topology_unit_found " in cluster.text("scontrol show job 3")
    job = json.loads(cluster.text("squeue -j 3 --json"))["jobs"][0]
    assert (job["state_reason"], job["state_description"]) == ("Resources", "No suitable topology unit found")
    submit(cluster, "-N4")  # backfill starts it
    assert reasons(cluster) == {"3": "No suitable topology unit found"}
    submit(cluster, "-N4")  # now fewer nodes than job 3 needs are idle
    assert reasons(cluster) == {"3": "Resources", "5": "Priority"}


@pytest.mark.parametrize(
    ("release", "segments", "said"),
    [
        ("24.11", "", "Resources"),
        ("26.05", "", "No suitable topology unit found"),
        ("26.05", "--segment=3", "No suitable topology unit found for segment"),
    ],
)
def test_a_block(tmp_path: Path, release: str, segments: str, said: str) -> None:
    (tmp_path / "topology.conf").write_text(BLOCKS)
    conf = CONF.replace("n[01-16]", "n[01-08]") + "TopologyPlugin=topology/block\n"
    cluster = Cluster(tmp_path, conf, release=release)
    for options in ("-N2 -w n[01,02]", "-N2 -w n[05,06]", f"-N3 {segments}"):
        submit(cluster, options)
    assert reasons(cluster) == {"3": said}


def test_a_partition_may_be_given_the_units_of_its_nodes(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(BLOCKS)
    cluster = Cluster(
        tmp_path, CONF.replace("n[01-16]", "n[01-08]") + "TopologyPlugin=topology/block\n", release="26.05"
    )
    for word in ("TOPO", "NODE", "USER", "NO"):
        assert cluster.run(f"scontrol update PartitionName=batch Exclusive={word}") == (0, "", "")
        assert f" Exclusive={word} " in cluster.text("scontrol show partition batch").replace("\n", " ")
