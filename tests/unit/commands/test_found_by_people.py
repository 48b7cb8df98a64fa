"""What sessions of personas and batch scripts asked, as real Slurm of three releases answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

from slurmsim.commands.submit.steps.environment import binding_told
from slurmsim.releases import RECORDED_RELEASES

SITE = """\
ClusterName=cloud
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=st1 CPUs=4 CoresPerSocket=4 RealMemory=8000
NodeName=dy[1-3] CPUs=8 CoresPerSocket=8 RealMemory=16000
PartitionName=static Nodes=st1 MaxTime=60 Default=YES
PartitionName=burst Nodes=dy[1-3]
PartitionName=two Nodes=dy[1-2] MaxTime=60 MaxNodes=1
"""
TAKEN, REFUSED = 0, 1


@pytest.mark.parametrize("release", RECORDED_RELEASES)
@pytest.mark.parametrize(
    ("options", "newest"),
    [
        ("-p static,burst -n 4 -N1 -c4", REFUSED),
        ("-p burst,static -n 4 -N1 -c4", REFUSED),
        ("-p static,two -n 4 -N1 -c4", REFUSED),
        ("-p static,burst -N2 -n 20", REFUSED),
        ("-p static,burst -n 40", TAKEN),
    ],
)
def test_a_job_too_large_for_all_of_its_partitions_may_wait_in_26_05(
    options: str, newest: int, release: str, tmp_path: Path
) -> None:
    cluster = Cluster(tmp_path, SITE, release=release)
    assert cluster.run(f"sbatch {options} --wrap true")[0] == (newest if release == "26.05" else REFUSED)


@pytest.mark.parametrize("release", RECORDED_RELEASES)
def test_the_last_run_of_a_job_hides_one_on_the_node_that_is_asked_for(release: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, SITE, storage="slurmdbd", accounting="add account a\nadd user root account=a",
                      release=release)  # fmt: skip
    cluster.run("sbatch -p burst --wrap 'sleep 1000'")
    cluster.now += 10
    cluster.run("scontrol requeue 1")
    cluster.run("scontrol update nodename=dy1 state=drain reason=x")
    cluster.now += 200
    assert cluster.text("squeue -h -o %N") == "dy2\n"
    asked = "sacct -X -n -P -o jobid,state"
    assert cluster.text(f"{asked} -N dy1") == ""
    assert cluster.text(f"{asked} -N dy1 -D") == "1|REQUEUED\n"
    assert cluster.text(f"{asked} -N dy2") == "1|RUNNING\n"


class Options:
    """What srun was asked, as far as its binding goes."""

    def __init__(self, release: str) -> None:
        self.context, self.release = self, release

    def get(self, name: str) -> str | None:
        return {"gpu_bind": "closest"}.get(name)


@pytest.mark.parametrize("release", RECORDED_RELEASES)
def test_a_lone_task_of_a_node_is_bound_from_25_11_on(release: str) -> None:
    chosen = Options(release)
    alone, both = (binding_told(chosen, n, release) for n in (1, 2))  # type: ignore[arg-type]
    assert both["SLURMD_TRES_BIND"].endswith("gpu:closest")
    assert alone == (both if release == "26.05" else {})
