"""CPUs that GPUs bring beside tasks: where a job goes and what each node gives, as real Slurm answered by release.

Three nodes of 16 CPUs and 4 GPUs; the partition `gpu` has DefCpuPerGPU=4, `gpun` none. A node that gives none of the
GPUs of a job is there for its CPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from script_cluster import Scripts

from slurmsim.releases import RECORDED_RELEASES, row

CONF = """\
ClusterName=oracle
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/basic
DefMemPerCPU=100
GresTypes=gpu
NodeName=g[1-3] Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:4
PartitionName=gpu Nodes=g[1-3] Default=YES DefaultTime=10 DefCpuPerGPU=4
PartitionName=gpun Nodes=g[1-3] DefaultTime=10
"""
BAD = "sbatch: error: Batch job submission failed: Requested node configuration is not available"
ONE_OF_TWO = "g1 0-1,8-9 (null) g2 0-1,8-9 gpu:1"
RECORDED = {
    "-N1 -n8 --gres=gpu:1": "g1 0-3,8-11 gpu:1",
    "-N1 -n6 --gpus=1": "g1 0-2,8-10 gpu:1",
    "-N1 -n8 --gpus-per-node=1": "g1 0-3,8-11 gpu:1",
    "-p gpun -N1 -n8 --gres=gpu:1 --cpus-per-gpu=4": "g1 0-3,8-11 gpu:1",
    "-n8 --gpus=1": {"22.05": "g1 0-3,8-11 gpu:1", "24.11": ONE_OF_TWO},
    "-p gpun -n8 --gpus=1 --cpus-per-gpu=4": {"22.05": "g1 0-3,8-11 gpu:1", "24.11": ONE_OF_TWO},
    "-n24 --gpus=2": {
        "22.05": "g1 0-15 gpu:1 g2 0-3,8-11 gpu:1",
        "24.11": "g1 0-3,8-11 (null) g[2-3] 0-3,8-11 gpu:1",
    },
    "-n24 --gpus=1": {"22.05": "g1 0-15 (null) g2 0-3,8-11 gpu:1", "24.11": BAD},
    "-n40 --gpus=2": {"22.05": "g1 0-15 (null) g2 0-15 gpu:1 g3 0-3,8-11 gpu:1", "24.11": BAD},
    "-p gpun -n24 --gpus=1": "g1 0-15 (null) g2 0-3,8-11 gpu:1",
    "-N2 --ntasks-per-node=6 --gpus=2": "g[1-2] 0-2,8-10 gpu:1",
    "-N2 -n10 --gpus=2": {"22.05": "g1 0-2,8-10 gpu:1 g2 0-1,8-9 gpu:1", "24.11": BAD},
}


@pytest.fixture(scope="module", params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripts]:
    yield Scripts(tmp_path_factory.mktemp("gpus"), request.param, CONF)


@pytest.mark.parametrize("options", RECORDED)
def test_cpus_and_gpus_of_each_node(cluster: Scripts, options: str) -> None:
    code, out, error = cluster.run(f"sbatch --parsable {options} --wrap 'sleep 99'", "alice")
    found = error.strip()
    if not code:
        cluster.now += 6
        shown = cluster.text(f"scontrol -d show job {out}")
        lines = re.findall(r"^ +Nodes=(\S+) CPU_IDs=(\S+) Mem=\d+ GRES=([^\s(]+|\(null\))", shown, re.MULTILINE)
        found = " ".join(" ".join(line) for line in lines)
        cluster.text(f"scancel {out}")
        cluster.now += 6
    wanted = RECORDED[options]
    assert found == (row(wanted, cluster.release) if isinstance(wanted, dict) else wanted)


UNEQUAL = (
    CONF[: CONF.index("NodeName=")]
    + """\
NodeName=g1 Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:2
NodeName=g2 Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:4
PartitionName=gpu Nodes=g[1-2] Default=YES DefaultTime=10 OverSubscribe=EXCLUSIVE
"""
)


@pytest.mark.parametrize("release", RECORDED_RELEASES)
def test_a_whole_node_has_as_many_gpus_as_it_can(tmp_path: Path, release: str) -> None:
    """Since 26.05 a job that may have one node only has the first that serves it."""
    first = "g1" if release == "26.05" else "g2"
    wanted = {
        "-N1 --gpus=1": first,
        "-N1 --gres=gpu:1": first,
        "-N1 -n2 --gpus-per-task=1": first,
        "--gres=gpu:1": "g2",
    }
    unequal = Scripts(tmp_path, release, UNEQUAL)
    found = {}
    for options in wanted:
        job = unequal.text(f"sbatch --parsable {options} --wrap 'sleep 99'", "alice").strip()
        unequal.now += 6
        found[options] = unequal.text(f"squeue -h -j {job} -o %N").strip()
        unequal.text(f"scancel {job}")
        unequal.now += 6
    assert found == wanted
