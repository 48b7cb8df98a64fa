"""What made-up scripts showed of 22.05.8, 24.11.5 and 26.05.5."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine_client import Cluster

from slurmsim.commands.submit.steps.environment import exported
from slurmsim.releases import RECORDED_RELEASES

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits
PriorityType=priority/basic
GresTypes=gpu
NodeName=n[1-5] Sockets=1 CoresPerSocket=8 ThreadsPerCore=2 Gres=gpu:4 Feature=a
PartitionName=batch Nodes=n[1-5] Default=YES MaxTime=60
"""
PEOPLE = """\
add account lab MaxWall=30
add user alice account=lab
"""


@pytest.fixture(params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    (tmp_path / "gres.conf").write_text("AutoDetect=off\n", "utf-8")
    return Cluster(tmp_path, CONF, storage="slurmdbd", accounting=PEOPLE, release=request.param)


def nodes_of(cluster: Cluster, options: str) -> str:
    """NumNodes of a job some time after it came."""
    job = cluster.text(f"sbatch --parsable {options} --wrap 'sleep 60'", "alice").strip()
    cluster.now += 5
    found = re.search(r"NumNodes=(\S+)", cluster.text(f"scontrol show job {job}"))
    assert found
    return found[1]


def test_nodes_are_not_looked_for_where_a_job_is_over_a_wall_limit(cluster: Cluster) -> None:
    assert nodes_of(cluster, "-N3-4 -t 31") == "3-4"
    assert nodes_of(cluster, "-N3-4 -b now+1hour -t 30") == "4-4"
    assert nodes_of(cluster, "-n4 --spread-job -t 31") == "1-4"
    assert nodes_of(cluster, "-n4 --spread-job -H") == "1-4"


@pytest.mark.parametrize("wrong", ["-t 10 --time-min=20", "-p nosuch", "--deadline=now+1minute -t 10"])
@pytest.mark.parametrize("features", ["-C nosuch", "--prefer=nosuch"])
def test_features_come_before_what_else_is_wrong_since_23_02(cluster: Cluster, wrong: str, features: str) -> None:
    code, _, error = cluster.run(f"sbatch {features} {wrong} --wrap true", "alice")
    first = cluster.release != "22.05" or wrong.startswith("--deadline")
    assert (code, "feature specification" in error) == (1, first)


def test_what_goes_through_hides_a_value_beside_the_name() -> None:
    environ = {"A": "32", "SLURM_X": "1"}
    assert exported(environ, "ALL,A=4,B=5", environ) == {"A": "32", "B": "5", "SLURM_X": "1"}
    assert exported(environ, "A=4", environ) == {"A": "4", "SLURM_X": "1"}


def test_cpus_by_task_and_by_gpu_of_variables_exclude_each_other(cluster: Cluster) -> None:
    variables = {"SLURM_JOB_ID": "1", "SLURM_CPUS_PER_GPU": "2", "SLURM_TRES_PER_TASK": "gres/gpu:1"}
    code, _, error = cluster.run("srun -n1 -c1 true", "alice", **variables)
    said = "srun: fatal: --cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive\n"
    assert code == 1 and (error == said) == (cluster.release != "22.05")


@pytest.mark.parametrize("options", ["--gres=gpu:1", "--gpus-per-node=2"])
def test_gpus_of_a_step_are_not_held_against_each_other(cluster: Cluster, options: str) -> None:
    job = cluster.text("sbatch --parsable --gpus=3 -N1 --wrap 'sleep 60'", "alice").strip()
    cluster.now += 5
    inside = {"SLURM_JOB_ID": job, "SLURM_GPUS": "3", "SLURM_GPUS_ON_NODE": "3"}
    code, _, error = cluster.run(f"srun -n 99 {options} true", "alice", **inside)
    said = f"srun: error: Unable to create step for job {job}: More processors requested than permitted\n"
    assert (code, error) == (1, said)


SITE = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
NodeName=v1 Sockets=2 CoresPerSocket=20 Gres=gpu:v:8
PartitionName=gpu Nodes=v1 Default=YES DefCpuPerGPU=4
PartitionName=plain Nodes=v1
"""


@pytest.mark.parametrize("release", RECORDED_RELEASES)
@pytest.mark.parametrize(
    ("options", "cpus", "gpus"),
    [
        ("--gpus-per-socket=1 --sockets-per-node=2 -n2", (8, 32, 8), (2, 2, 2)),
        ("--gpus-per-socket=1 --sockets-per-node=1", (4, 32, 32), (2, 2, 2)),
        ("--gpus-per-socket=2 --sockets-per-node=2", (16, 32, 32), (4, 4, 4)),
        ("--gpus-per-socket=1 --sockets-per-node=2 -n2 -c8", (16, 16, 16), (1, 1, 2)),
        ("-p plain --gpus-per-socket=1 --sockets-per-node=1 -n1", (1, 1, 1), (1, 1, 1)),
    ],
)
def test_gpus_of_the_sockets_a_job_has_cores_of(
    tmp_path: Path, release: str, options: str, cpus: tuple[int, ...], gpus: tuple[int, ...]
) -> None:
    (tmp_path / "gres.conf").write_text("AutoDetect=off\n", "utf-8")
    cluster = Cluster(tmp_path, SITE, release=release)
    cluster.text(f"sbatch {options} --wrap 'sleep 60'", "alice")
    cluster.now += 5
    shown = cluster.text("scontrol show job -d 1")
    found = re.search(r"NumCPUs=(\d+)", shown), re.search(r"GRES=gpu:v:(\d+)", shown)
    at = RECORDED_RELEASES.index(release)
    assert [int(one[1]) for one in found if one] == [cpus[at], gpus[at]]
