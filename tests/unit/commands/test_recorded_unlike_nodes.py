"""Which of unlike nodes a job gets: CPUs with and without threads, 96 and 40 to a node, one node reserved.

``recorded_unlike_nodes.txt`` has a line a request, asked one by one of the made-up site of the scripts' harness: nodes,
CPUs and tasks on 22.05.8, 24.11.5 and 26.05.5.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine_client import Cluster

from slurmsim.releases import RECORDED_RELEASES

HERE = Path(__file__).parent
SITE = HERE.parents[1] / "differential" / "scripts" / "site"
LINES = (HERE / "recorded_unlike_nodes.txt").read_text("utf-8").splitlines()[1:]


@pytest.fixture(scope="module", params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    folder = tmp_path_factory.mktemp("unlike")
    (folder / "gres.conf").write_bytes((SITE / "gres.conf").read_bytes())
    conf, people = ((SITE / name).read_text("utf-8") for name in ("slurm.conf", "sacctmgr.txt"))
    made = Cluster(folder, conf, storage="slurmdbd", accounting=people, release=request.param, users=("alice",))
    made.run(
        "scontrol create reservation reservationname=class users=alice nodes=c11,c12,g05 starttime=now duration=10-00"
    )
    return made


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.partition(" |")[0].replace(" ", ""))
def test_nodes_are_those_of_real_slurm(cluster: Cluster, line: str) -> None:
    options, *cells = line.split(" | ")
    wanted = ""
    for cell in cells[: RECORDED_RELEASES.index(cluster.release) + 1]:
        wanted = wanted if cell == "=" else cell
    cluster.run("scancel -u alice")
    cluster.now += 60
    job = cluster.run(f"sbatch --parsable {options} --wrap 'sleep 60'", "alice")[1].strip()
    cluster.now += 6
    shown = dict(re.findall(r"(\w+)=(\S+)", cluster.text(f"scontrol show job {job}")))
    assert f"{shown['NodeList']} cpus={shown['NumCPUs']} tasks={shown['NumTasks']}" == wanted


def test_cpus_of_gpus_that_are_not_asked_for_prefer_no_node(cluster: Cluster) -> None:
    """The launchers of some trainings ask so; newer releases refuse it."""
    cluster.run("scancel -u alice")
    cluster.now += 60
    options = "-p gpu -N3 --ntasks-per-node=8 --cpus-per-gpu=6 --exclusive"
    code, job, error = cluster.run(f"sbatch --parsable {options} --wrap 'sleep 60'", "alice")
    if cluster.release != "22.05":
        assert code == 1 and "did not request any GPU" in error
        return
    cluster.now += 6
    assert "NodeList=g[01-03]" in cluster.text(f"scontrol show job {job.strip()}")
