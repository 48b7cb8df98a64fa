"""--spread-job with GPUs of the whole job, since 26.05: nodes are taken until they bring the GPUs, too."""

from __future__ import annotations

import pytest
from unit.core.world import HEAD, World

CONF = f"""{HEAD}GresTypes=gpu
NodeName=n[1-4] Sockets=1 CoresPerSocket=4 Gres=gpu:1
PartitionName=p Nodes=ALL Default=YES
"""
CONFIGURATION = "Requested node configuration is not available"


@pytest.mark.parametrize(
    ("line", "nodes"), [("--gpus=4", "n[1-4]"), ("--gpus=2", "n[1-2]"), ("--gpus=5", ""), ("-n2 --gpus=3", "")]
)
def test_nodes_are_taken_until_they_bring_the_gpus(line: str, nodes: str) -> None:
    """26.05.5 accepts the first two and refuses the others; which nodes they get there was not seen."""
    w = World(CONF, "backfill", release="26.05")
    w.sbatch(f"--spread-job {line} -J j -t 5", 60, at=1)
    w.until(40)
    if nodes:
        assert w.nodes("j") == nodes
    else:
        assert w.refused == {"j": CONFIGURATION}
