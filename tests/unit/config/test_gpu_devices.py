"""Which GRES have device files, and which variables tell the numbers of a job's GPUs (gres.conf)."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmsim.config.load import load_cluster
from slurmsim.model.node import GPU_VARIABLES

CONF = """\
ClusterName=c
SlurmctldHost=head
SelectType=select/cons_tres
GresTypes=gpu,nic
NodeName=n[1-2] CPUs=8 Gres=gpu:a:2,nic:4
PartitionName=main Nodes=ALL Default=YES
"""
CUDA, ROCR, _, OPENCL = ((name,) for name in GPU_VARIABLES)


@pytest.mark.parametrize(
    ("gres", "files", "variables"),
    [
        ("", {"gpu"}, GPU_VARIABLES),  # as where they are detected
        ("Name=gpu File=/dev/nvidia[0-1]\nName=nic Count=4", {"gpu"}, GPU_VARIABLES),
        ("Name=gpu Count=2\nName=nic File=/dev/nic[0-3]", {"nic"}, GPU_VARIABLES),
        ("Name=gpu File=/dev/nvidia[0-1] Flags=nvidia_gpu_env,opencl_env", {"gpu"}, CUDA + OPENCL),
        ("Name=gpu File=/dev/nvidia[0-1] Flags=no_gpu_env", {"gpu"}, ()),
        ("AutoDetect=rsmi", {"gpu"}, ROCR),
        ("AutoDetect=off\nName=gpu Type=a File=/dev/nvidia[0-1]", {"gpu"}, GPU_VARIABLES),
        ("NodeName=n1 AutoDetect=nvml\nNodeName=n2 Name=gpu Count=2", {"gpu"}, CUDA),
    ],
)
def test_devices_of_the_first_node(gres: str, files: set[str], variables: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    if gres:
        (tmp_path / "gres.conf").write_text(gres + "\n")
    node = load_cluster(tmp_path / "slurm.conf")[0].nodes[0]
    assert {one.name for one in node.gres if not one.counted} == files
    assert node.gpu_variables == variables
