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
