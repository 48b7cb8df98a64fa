"""Which nodes and devices jobs get where nodes have other GPUs, as real Slurm of three releases answered.

``recorded_unequal_gpus.txt`` has a line a request, asked one by one of idle nodes, the first without GPUs;
``recorded_threaded_gpus.txt`` where cores have two threads and GPUs bring CPUs and memory by default.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine_client import Cluster

from slurmsim.releases import RECORDED_RELEASES

HERE = Path(__file__).parent
LINES, THREADED_LINES = (
    (HERE / f"recorded_{name}_gpus.txt").read_text("utf-8").splitlines()[1:] for name in ("unequal", "threaded")
)
CONF = """\
ClusterName=tux
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
GresTypes=gpu
NodeName=c1 Sockets=2 CoresPerSocket=8 RealMemory=64000
NodeName=g1 Sockets=2 CoresPerSocket=4 RealMemory=32000 Gres=gpu:a:2
NodeName=g2 Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:a:4
NodeName=g3 Sockets=2 CoresPerSocket=16 RealMemory=128000 Gres=gpu:b:8
NodeName=g4 Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:a:4
PartitionName=batch Nodes=ALL Default=YES DefaultTime=10
"""
GRES = """\
AutoDetect=off
NodeName=g[2,4] Name=gpu Type=a File=/dev/tty[0-1] Cores=0-7
NodeName=g[2,4] Name=gpu Type=a File=/dev/tty[2-3] Cores=8-15
NodeName=g1 Name=gpu Type=a File=/dev/tty[0-1]
NodeName=g3 Name=gpu Type=b File=/dev/tty[0-7]
"""
THREADED = """\
ClusterName=tux
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
GresTypes=gpu
NodeName=DEFAULT ThreadsPerCore=2
NodeName=c1 Sockets=2 CoresPerSocket=8 RealMemory=64000
NodeName=g1 Sockets=2 CoresPerSocket=16 RealMemory=128000 Gres=gpu:b:8
NodeName=g2 Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:a:4
NodeName=g3 Sockets=1 CoresPerSocket=4 RealMemory=32000 Gres=gpu:a:1
NodeName=g4 Sockets=2 CoresPerSocket=4 RealMemory=32000 Gres=gpu:b:2
PartitionName=batch Nodes=ALL Default=YES DefaultTime=10 DefCpuPerGPU=2 DefMemPerGPU=2000
"""
THREADED_GRES = """\
AutoDetect=off
NodeName=g1 Name=gpu Type=b File=/dev/tty[0-7]
NodeName=g2 Name=gpu Type=a File=/dev/tty[0-3]
NodeName=g3 Name=gpu Type=a File=/dev/tty0
NodeName=g4 Name=gpu Type=b File=/dev/tty[0-1]
"""


@pytest.fixture(scope="module", params=RECORDED_RELEASES)
def threaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    folder = tmp_path_factory.mktemp("threaded")
    (folder / "gres.conf").write_text(THREADED_GRES, "utf-8")
    return Cluster(folder, THREADED, release=request.param, users=("alice",))


@pytest.fixture(scope="module", params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    folder = tmp_path_factory.mktemp("unequal")
    (folder / "gres.conf").write_text(GRES, "utf-8")
    return Cluster(folder, CONF, release=request.param, users=("alice",))


def found(cluster: Cluster, options: str) -> str:
    code, job, error = cluster.run(f"sbatch --parsable {options} --wrap 'sleep 60'", "alice")
    if code:
        return error.rpartition(": ")[2].strip()
    cluster.now += 6
    shown = cluster.text(f"scontrol show job -d {job.strip()}")
    cluster.run("scancel -u alice")
    cluster.now += 60
    fields = dict(re.findall(r"(\w+)=(\S*)", shown))
    devices = re.findall(r"CPU_IDs=.* GRES=(\S+)", shown)
    told = f"cpus={fields['NumCPUs']} tasks={fields['NumTasks']}"
    return " ".join(filter(None, [fields["JobState"][:4], fields["NodeList"], told, *devices]))


def wanted_of(line: str, release: str) -> tuple[str, str]:
    options, *cells = line.split(" | ")
    wanted = ""
    for cell in cells[: RECORDED_RELEASES.index(release) + 1]:
        wanted = wanted if cell == "=" else cell
    return options, wanted


def name_of(line: str) -> str:
    return line.partition(" |")[0].replace(" ", "")


@pytest.mark.parametrize("line", LINES, ids=name_of)
def test_nodes_and_devices_are_those_of_real_slurm(cluster: Cluster, line: str) -> None:
    options, wanted = wanted_of(line, cluster.release)
    if wanted != "?":
        assert found(cluster, options) == wanted


@pytest.mark.parametrize("line", THREADED_LINES, ids=name_of)
def test_so_they_are_where_cores_have_threads(threaded: Cluster, line: str) -> None:
    options, wanted = wanted_of(line, threaded.release)
    assert found(threaded, options) == wanted
