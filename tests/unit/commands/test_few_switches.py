"""``--switches`` with fewer switches than the nodes lie on: the job waits for them, and then goes without."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
TopologyPlugin=topology/tree
NodeName=n[1-3] CPUs=2
PartitionName=batch Nodes=n[1-3] Default=YES
"""


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_a_job_waits_for_switches_that_can_never_do(tmp_path: Path, release: str) -> None:
    """As real Slurm takes it; three nodes, of which one is on no switch, are refused."""
    (tmp_path / "topology.conf").write_text(
        "SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n2\nSwitchName=root Switches=s1,s2\n"
    )
    cluster = Cluster(tmp_path, CONF, release=release)
    assert cluster.text("sbatch --switches=1 -N2 --wrap 'sleep 9'") == "Submitted batch job 1\n"
    assert cluster.run("sbatch --switches=1 -N3 --wrap true")[0] == 1
    cluster.now += 40
    assert cluster.text("squeue -h -o '%i %T %r'") == "1 PENDING Resources\n"
    cluster.now += 400  # max_switch_wait is 300
    assert " NodeList=n[1-2]" in cluster.text("scontrol show job 1").replace("\n  ", "")
