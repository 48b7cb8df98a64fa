"""Keys of slurm.conf that a running cluster takes with scontrol reconfigure."""

from __future__ import annotations

from pathlib import Path

import pytest

import slurmsim

CONF = """\
ClusterName=tux
SlurmctldHost=localhost
SelectType=select/cons_tres
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n1 CPUs=2 RealMemory=4000
PartitionName=low Nodes=ALL Default=YES PriorityTier=1
PartitionName=high Nodes=ALL PriorityTier=2
"""


def made(tmp_path: Path) -> slurmsim.Cluster:
    (tmp_path / "slurm.conf").write_text(CONF)
    return slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True, slurm_version="26.05")


def reconfigured(cluster: slurmsim.Cluster, line: str) -> None:
    conf = cluster.folder / "slurm.conf"
    conf.write_text(f"{conf.read_text()}{line}\n")
    cluster.run("scontrol reconfigure", check=True)


def test_preempt_exempt_time_counts_from_a_reconfiguration_on(tmp_path: Path) -> None:
    with made(tmp_path) as cluster:
        reconfigured(cluster, "PreemptExemptTime=00:01:40")
        cluster.run("sbatch -n2 --wrap 'sleep 900'", check=True)
        cluster.step(10)
        cluster.run("sbatch -n2 -p high --wrap 'sleep 900'", check=True)
        cluster.step(60)
        assert cluster.run("squeue -h -S i -o %i%t").stdout.split() == ["1R", "2PD"]
        cluster.step(100)
        assert cluster.run("squeue -h -S i -o %i%t").stdout.split() == ["1PD", "2R"]


@pytest.mark.parametrize("line", [
    "DependencyParameters=kill_invalid_depend", "DisableRootJobs=YES", "FairShareDampeningFactor=5",
    "MessageTimeout=30", "PriorityFavorSmall=YES",
])  # fmt: skip
def test_keys_that_no_state_rests_on(tmp_path: Path, line: str) -> None:
    with made(tmp_path) as cluster:
        cluster.run("sbatch -n2 --wrap 'sleep 900'", check=True)
        cluster.step(10)
        reconfigured(cluster, line)
        key, _, value = line.partition("=")
        shown = cluster.run(f"scontrol show config | grep -i '^{key} '").stdout
        assert value.lower() in shown.lower()
        assert cluster.run("squeue -h -o %i%t").stdout.split() == ["1R"]
