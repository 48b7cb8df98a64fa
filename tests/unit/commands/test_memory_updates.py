"""``--mem-update`` of 26.05: what is read, refused, kept and told, as a recording of 26.05.5 has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_client import Cluster

CONF = """\
ClusterName=tux
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[1-2] CPUs=4 RealMemory=4000
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0
"""
TOLD = {"30@1:30": "30%@2min", "30@1-1:30": "30%@1530min", "30@00:00:20": "30%@1min", " 30@1": "30%@1min"}
WRONG = ["30@", "@1", "0@1", "30@0", "30x@1", "70000@1", "30@70000", "-3@2", "30@UNLIMITED", "30@abc", "30.5@1"]


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path, CONF, release="26.05")


@pytest.mark.parametrize("text", TOLD)
def test_it_is_kept_and_told(cluster: Cluster, text: str) -> None:
    cluster.text(f"sbatch --mem=50 --mem-update='{text}' --wrap true", "alice")
    assert f" MinTmpDiskNode=0 MemUpdate={TOLD[text]}\n" in cluster.text("scontrol show job 1")
    margin, delay = TOLD[text].removesuffix("min").split("%@")
    (job,) = json.loads(cluster.text("squeue --json"))["jobs"]
    assert (job["memory_update_margin"], job["memory_update_delay"]) == (int(margin), int(delay))


def test_nothing_is_told_of_a_job_without(cluster: Cluster) -> None:
    cluster.text("sbatch --wrap true", "alice")
    assert "MemUpdate" not in cluster.text("scontrol show job 1")
    (job,) = json.loads(cluster.text("squeue --json"))["jobs"]
    assert (job["memory_update_margin"], job["memory_update_delay"]) == (0, 0)


@pytest.mark.parametrize("command", ["sbatch --wrap true", "srun true"])
def test_wrong_values_are_refused(cluster: Cluster, command: str) -> None:
    program, _, rest = command.partition(" ")
    for text in WRONG:
        wrong = f"{program}: error: Invalid --mem-update specification\n"
        assert cluster.run(f"{program} --mem-update={text} {rest}") == (255, "", wrong), text
    wrong = f"{program}: error: --mem-update requires MARGIN@DELAY format\n"
    assert cluster.run(f"{program} --mem-update=30 {rest}") == (255, "", wrong)


def test_it_is_shown_with_the_options(cluster: Cluster) -> None:
    assert "srun: mem-update          : 2@2\n" in cluster.run("srun -vv --test-only --mem-update=2@2 true")[2]


def test_earlier_releases_do_not_know_it(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, CONF, release="25.11")
    code, _, error = cluster.run("sbatch --mem-update=30@1 --wrap true")
    assert code != 0 and error.startswith("sbatch: unrecognized option '--mem-update=30@1'\n")
