"""Cores that jobs do not get: a node is allocated when jobs have the others (sinfo.c of 22.05 to 26.05)."""

from __future__ import annotations

from pathlib import Path

import pytest

import slurmsim
from slurmsim.releases import RECORDED_RELEASES

CONF = """\
ClusterName=spec
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n1 CPUs=3 CoresPerSocket=3 CoreSpecCount=1
NodeName=n2 CPUs=3 CoresPerSocket=3 CoreSpecCount=2
PartitionName=all Nodes=ALL Default=YES
"""


@pytest.mark.parametrize("release", [RECORDED_RELEASES[0], RECORDED_RELEASES[-1]])
@pytest.mark.parametrize(("tasks", "states"), [(3, ["alloc", "alloc"]), (2, ["mix", "alloc"])])
def test_specialised_cores_do_not_make_a_node_mixed(
    tmp_path: Path, release: str, tasks: int, states: list[str]
) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True, slurm_version=release) as cluster:
        cluster.run(["sbatch", "-w", "n1,n2", f"-n{tasks}", "--wrap", "sleep 60"])
        cluster.step(5)
        assert cluster.run(["sinfo", "-h", "-N", "-o", "%t"]).stdout.split() == states
