"""Fewer tasks than --ntasks-per-node: jobs without GRES take them, those with GRES of tasks are refused (recorded)."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.commands.engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
GresTypes=gpu
NodeName=n[01-04] Sockets=2 CoresPerSocket=4 RealMemory=16000 Gres=gpu:a100:4
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0
"""
REFUSED = "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"
ALL = ("22.05", "24.11", "26.05")
OLDER = ("22.05", "24.11")


@pytest.mark.parametrize(
    ("options", "taken_by"),
    [
        ("-N1 -n2 --ntasks-per-node=4", ALL),
        ("-N1 -n2 --ntasks-per-node=2 --gpus-per-task=1", ALL),
        ("-n3 --ntasks-per-node=2 --gpus-per-task=1", ALL),
        ("-N1 -n2 --ntasks-per-node=4 --gpus-per-task=1", ()),
        ("-N2 -n4 --ntasks-per-node=8 --gpus-per-task=1", ()),
        ("-n2 --ntasks-per-node=3 --gpus-per-task=1", ()),
        ("-N1 -n2 --ntasks-per-node=4 --gpus=2", OLDER),
        ("-N1 -n2 --ntasks-per-node=4 --gpus-per-node=2", OLDER),
        ("-N1 -n2 --ntasks-per-node=4 --gres=gpu:2", OLDER),
    ],
)
@pytest.mark.parametrize("release", ALL)
def test_who_takes_it(options: str, taken_by: tuple[str, ...], release: str, tmp_path: Path) -> None:
    code, _, error = Cluster(tmp_path, CONF, release=release).run(f"sbatch -t 10 {options} --wrap true", "alice")
    assert (code, error) == ((0, "") if release in taken_by else (1, REFUSED))
