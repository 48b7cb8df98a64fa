"""Blocks and switches in a live cluster: what jobs are told of their place, and what is refused or shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim

CONF = """ClusterName=blocks
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
TopologyPlugin=topology/{kind}
NodeName=n[1-8] CPUs=2
PartitionName=p Nodes=ALL Default=YES
"""
BLOCKS = "BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockSizes=4,8\n"
SWITCHES = "SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-8]\nSwitchName=top Switches=s[1-2]\n"


@pytest.fixture
def blocks(tmp_path: Path) -> Iterator[slurmsim.Cluster]:
    with started(tmp_path, "block", BLOCKS) as cluster:
        yield cluster


def started(folder: Path, kind: str, topology: str) -> slurmsim.Cluster:
    (folder / "slurm.conf").write_text(CONF.format(kind=kind), "utf-8")
    (folder / "topology.conf").write_text(topology, "utf-8")
    return slurmsim.cluster(conf=folder / "slurm.conf", slurm_version="26.05", jobs="run")


def told(cluster: slurmsim.Cluster, folder: Path, command: str) -> list[str]:
    done = cluster.run(f"cd {folder}; {command}", check=False)
    return (done.stdout + done.stderr).splitlines()


def test_scripts_and_tasks_are_told_their_block(blocks: slurmsim.Cluster, tmp_path: Path) -> None:
    script = "env | grep -E TOPO\\|SEGM | sort; srun -N2 -n2 sh -c 'echo $SLURM_TOPOLOGY_ADDR' | sort"
    said = told(blocks, tmp_path, f'sbatch -W -Q -N4 --segment=2 -o x.out --wrap "{script}"; cat x.out')
    first = [line for line in said if line.startswith("SLURM")]
    assert first == ["SLURM_JOB_SEGMENT_SIZE=2", "SLURM_TOPOLOGY_ADDR=b2.n5", "SLURM_TOPOLOGY_ADDR_PATTERN=block.node"]


def test_the_size_of_segments_is_shown(blocks: slurmsim.Cluster, tmp_path: Path) -> None:
    told(blocks, tmp_path, "sbatch -H -N4 --segment=2 --spread-segments --wrap true")
    assert "   SegmentSize=2 SpreadSegments=Yes" in told(blocks, tmp_path, "scontrol show job 1")
    assert '"segment_size": 2,' in " ".join(told(blocks, tmp_path, "squeue --json"))
    assert told(blocks, tmp_path, "squeue -h -O SegmentSize")[0].strip() == "2"


def test_segments_that_fit_no_block_are_refused(blocks: slurmsim.Cluster, tmp_path: Path) -> None:
    assert told(blocks, tmp_path, "sbatch -N6 --segment=4 --wrap true") == [
        "sbatch: fatal: --segment=4 does not fit the job size (6): node count must be evenly divisible by segment size"
    ]
    assert told(blocks, tmp_path, "sbatch -N4 --segment=2 -w n1 --wrap true") == [
        "sbatch: error: Batch job submission failed: Requested topology configuration is not available"
    ]
    assert told(blocks, tmp_path, "squeue -h -t all -o '%i %T %r'") == ["1 FAILED BadConstraints"]


def test_tasks_are_told_their_switches(tmp_path: Path) -> None:
    with started(tmp_path, "tree", SWITCHES) as cluster:
        assert told(
            cluster, tmp_path, "srun -Q -w n6 sh -c 'echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN'"
        ) == ["top.s2.n6 switch.switch.node"]
        assert told(cluster, tmp_path, "scontrol show topology unit=s2 node=n6") == [
            "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[5-8]"
        ]
        assert told(cluster, tmp_path, "scontrol show topology s2") == [
            "slurm_load_topo error: Requested topology configuration is not available"
        ]


def test_partitions_with_topologies_of_their_own(tmp_path: Path) -> None:
    """A partition's topology may change while it runs; what nodes are told of goes by the cluster's default."""
    pytest.importorskip("yaml", reason="NOT TESTED: topology.yaml: PyYAML is not installed")
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-8] CPUs=2\nPartitionName=p Nodes=ALL Default=YES Topology=r\n"
    )
    (tmp_path / "topology.yaml").write_text(
        "- topology: f\n  flat: true\n- topology: r\n  ring: {rings: [{ring: r1, nodes: 'n[1-4]'}]}\n"
    )
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", slurm_version="26.05", jobs="run") as cluster:
        assert told(cluster, tmp_path, "srun -N2 -n2 env | grep ^SLURM_TOPOLOGY_ADDR= | sort") == [
            "SLURM_TOPOLOGY_ADDR=n1", "SLURM_TOPOLOGY_ADDR=n2"
        ]  # fmt: skip
        refused = "sbatch: error: Batch job submission failed: Requested node configuration is not available"
        assert told(cluster, tmp_path, "sbatch -N5 --wrap true") == [refused]
        assert told(cluster, tmp_path, "scontrol update partition=p topology=f") == []
        assert told(cluster, tmp_path, "sbatch -N5 --wrap true") == ["Submitted batch job 3"]
        assert told(cluster, tmp_path, "scontrol show topology r") == ["RingName=r1 Nodes=n[1-4] RingSize=4"]
        assert told(cluster, tmp_path, "scontrol update node=n1 topology=r:r1") == [
            "slurm_update error: slurmsim does not move nodes to another unit of a topology"
        ]  # fmt: skip
