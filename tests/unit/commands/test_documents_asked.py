"""Values of ``--json`` that sessions of personas asked for and slurmsim gave differently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_client import CONF, Cluster

SHARING = (
    CONF.replace(
        "PartitionName=batch",
        "PartitionName=alone Nodes=ALL OverSubscribe=EXCLUSIVE\nPartitionName=shared Nodes=ALL OverSubscribe=FORCE:2\n"
        "PartitionName=batch",
    )
    .replace("n[1-2]", "n[1-3]")
    .replace("associations,limits,qos", "none")
)


def _kinds(cluster: Cluster) -> dict[str, tuple[str, str]]:
    jobs = json.loads(cluster.text("squeue --json"))["jobs"]
    found = {job["name"]: job["job_resources"] for job in jobs}
    return {name: (of["select_type"][0], of["nodes"]["select_type"][0]) for name, of in found.items()}


@pytest.mark.parametrize(("parameters", "word"), [("CR_Core", "CR_CORE"), ("CR_CPU_Memory", "CR_CPU_MEMORY")])
def test_what_is_consumable_and_who_may_share_nodes_is_told(tmp_path: Path, parameters: str, word: str) -> None:
    conf = SHARING.replace("CR_Core", parameters)
    for release, told in (("24.11", "CORE"), ("26.05", word)):
        (tmp_path / release).mkdir()
        cluster = Cluster(tmp_path / release, conf, release=release)
        for partition in ("shared", "batch"):
            assert cluster.run(f"sbatch -J {partition} -p {partition} -n1 --wrap 'sleep 600'", "alice")[0] == 0
        assert cluster.run("sbatch -J alone -p alone -N1 --wrap 'sleep 600'", "alice")[0] == 0
        cluster.now += 5
        cluster.engine.network.advance(cluster.now)
        assert _kinds(cluster) == {
            "shared": (told, "AVAILABLE"), "batch": (told, "ONE_ROW"), "alone": (told, "RESERVED"),
        }  # fmt: skip


@pytest.mark.parametrize(("release", "later"), [("24.11", 7), ("26.05", 7)])
def test_a_reconfiguration_starts_each_slurmd_anew(tmp_path: Path, release: str, later: int) -> None:
    cluster = Cluster(tmp_path, release=release)
    began = json.loads(cluster.text("scontrol show node --json"))["nodes"][0]["slurmd_start_time"]["number"]
    cluster.now = began + later
    cluster.engine.network.advance(cluster.now)
    cluster.text("scontrol reconfigure")
    for node in json.loads(cluster.text("scontrol show node --json"))["nodes"]:
        assert node["slurmd_start_time"]["number"] == began + later


GPUS = CONF.replace("NodeName=n[1-2] CPUs=4", "NodeName=n[1-2] Gres=gpu:2 CPUs=8").replace(
    "PartitionName=batch Nodes=ALL",
    "GresTypes=gpu\nNodeName=m1 CPUs=4 RealMemory=4000\nAccountingStorageTRES=gres/gpu\n"
    "PartitionName=cpu Nodes=m1\nPartitionName=batch Nodes=n[1-2] DefCpuPerGPU=2",
).replace("associations,limits,qos", "none")  # fmt: skip
HELD = {
    "-n2 --exclusive": 2,
    "-N2 --ntasks-per-node=3": 6,
    "-N1 --exclusive": 1,
    "-n1 --gpus=2": 4,
    "-n1 --mincpus=3": 3,
}
"""Options and the CPUs of job_resources: those a job is sure to need."""


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
@pytest.mark.parametrize("options", HELD)
def test_a_job_holds_the_cpus_it_is_sure_to_need(tmp_path: Path, options: str, release: str) -> None:
    cluster = Cluster(tmp_path, GPUS, release=release)
    assert cluster.run(f"sbatch {options} --wrap 'sleep 600'", "alice")[0] == 0
    cluster.now += 5
    cluster.engine.network.advance(cluster.now)
    (job,) = json.loads(cluster.text("squeue --json"))["jobs"]
    held = job["job_resources"]
    assert held["allocated_cores" if release == "22.05" else "cpus"] == HELD[options]


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_defaults_of_gpus_are_in_the_text_of_a_partition_alone(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, GPUS, release=release)
    told = {one["name"]: one for one in json.loads(cluster.text("scontrol show partition --json"))["partitions"]}
    assert told["batch"]["defaults"]["job"] == ""
    assert "JobDefaults=DefCpuPerGPU=2" in cluster.text("scontrol show partition batch")
    assert told["cpu"]["tres"]["configured"] == "cpu=4,mem=4000M,node=1,billing=4"  # none of the GPUs there are
    assert told["batch"]["tres"]["configured"].endswith("gres/gpu=4")


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_a_requeued_job_is_billable_for_its_last_run(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, CONF.replace("associations,limits,qos", "none"), release=release)
    assert cluster.run("sbatch -n3 --wrap 'sleep 600'", "alice")[0] == 0

    def told() -> float | None:
        (job,) = json.loads(cluster.text("squeue --json"))["jobs"]
        value = job["billable_tres"]
        if release == "22.05":
            return None if value is None else float(value)
        return float(value["number"]) if value["set"] else None

    assert told() is None
    cluster.now += 5
    cluster.engine.network.advance(cluster.now)
    assert told() == 3
    cluster.text("scontrol requeue 1")
    cluster.now += 5
    cluster.engine.network.advance(cluster.now)
    assert cluster.text("squeue -h -o %t") == "PD\n"
    assert told() == 3


@pytest.mark.parametrize(("release", "most"), [("24.11", 0), ("26.05", 3)])
def test_a_job_cancelled_before_it_ran_again_keeps_what_it_asked(tmp_path: Path, release: str, most: int) -> None:
    conf = CONF.replace("associations,limits,qos", "none") + "PartitionName=low Nodes=ALL PriorityTier=1\n"
    cluster = Cluster(tmp_path, conf, release=release)
    assert cluster.run("sbatch -p low,batch -n3 --wrap 'sleep 600'", "alice")[0] == 0
    for command in ("scontrol requeue 1", "scancel 1"):
        cluster.now += 5
        cluster.engine.network.advance(cluster.now)
        cluster.text(command)
    (job,) = json.loads(cluster.text("squeue -t all --json"))["jobs"]
    assert (job["job_state"], job["max_nodes"]["number"]) == (["CANCELLED"], most)
    assert job["partition"] in ("low", "batch")  # that of the last run alone


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_a_run_that_ended_in_a_requeue_is_one_of_a_job_that_waits(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, CONF.replace("associations,limits,qos", "none"), release=release)
    assert cluster.run("sbatch --wrap 'sleep 600'", "alice")[0] == 0
    cluster.now += 5
    cluster.engine.network.advance(cluster.now)
    cluster.text("scontrol requeue 1")
    states = [job["state"]["current"] for job in json.loads(cluster.text("sacct -a -D --json"))["jobs"]]
    assert states == [["PENDING", "REQUEUED"]]
