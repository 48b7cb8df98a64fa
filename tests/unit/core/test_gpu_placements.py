"""CPUs, memory and GPUs of jobs that ask for GPUs, as real slurmctld gave them (gpu_placements*.txt)."""

from __future__ import annotations

from pathlib import Path

import pytest
from world import World

from slurmsim.hostlist import expand

_ONE, _BIG = "Sockets=1 CoresPerSocket=8", "Sockets=1 CoresPerSocket=16"
_THREADS = "Sockets=1 CoresPerSocket=8 ThreadsPerCore=2"


def _conf(parameters: str, small: str, big: str, more: str, partitions: str) -> str:
    return f"""ClusterName=gpus
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters={parameters}
GresTypes=gpu
{more}
NodeName=n[1-2] {small} RealMemory=8000 Gres=gpu:a:2
NodeName=n[3-4] {big} RealMemory=16000 Gres=gpu:b:4
NodeName=n5 {big} RealMemory=16000
PartitionName=main Nodes=ALL Default=YES
{partitions}
"""


CLUSTERS = {
    "plain": _conf(
        "CR_Core_Memory", _ONE, _BIG, "",
        "PartitionName=defs Nodes=ALL DefCpuPerGPU=3 DefMemPerGPU=1500\n"
        "PartitionName=some Nodes=ALL DefMemPerGPU=500 DefMemPerCPU=300",
    ),
    "defs": _conf(
        "CR_Core_Memory", _ONE, _BIG, "DefCpuPerGPU=2\nDefMemPerGPU=1000\nDefMemPerCPU=100",
        "PartitionName=own Nodes=ALL DefCpuPerGPU=4\nPartitionName=zero Nodes=ALL DefCpuPerGPU=0 DefMemPerGPU=0",
    ),
    "threads": _conf(
        "CR_Core_Memory", _THREADS, _THREADS, "DefCpuPerGPU=3\nDefMemPerGPU=1000\nDefMemPerCPU=100",
        "PartitionName=small Nodes=ALL DefCpuPerGPU=0",
    ),
    "cpu": _conf("CR_CPU", _ONE, _BIG, "DefCpuPerGPU=2", ""),
}  # fmt: skip


COUNTED = "NodeName=n[1-2] Name=gpu Type=a Count=2\nNodeName=n[3-4] Name=gpu Type=b Count=4"
"""gres.conf of the recordings: no device had a file."""


def _recorded(name: str) -> dict[str, list[list[str]]]:
    """Cases by section: what was asked, what was given, and what slurmsim gives if that is something else."""
    found: dict[str, list[list[str]]] = {}
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            section.append(line.split(" | "))
    return found


RECORDED, NEWER = _recorded("gpu_placements.txt"), _recorded("gpu_placements_newer.txt")


def _given(world: World, name: str) -> dict[str, str]:
    alloc, table = world[name].alloc, world.controller.state.table
    assert alloc is not None
    found = {}
    for at, node in enumerate(alloc.indices().tolist()):
        cpus, mem, *gpus = (
            v if isinstance(v, int) else int(v[at]) for v in (alloc.cpus, alloc.mem, *dict(alloc.gres).values())
        )
        found[table.names[node]] = f"{cpus}/{mem}/{sum(gpus)}"
    return found


def _shares(given: str) -> dict[str, str] | str:
    shares = (word.split("=") for word in given.split() if "=" in word)
    return {node: share for nodes, share in shares for node in expand(nodes)} or given


def _all_as_recorded(world: World, cases: list[list[str]]) -> None:
    differ = []
    for case, (asked, *given) in enumerate(cases):
        names = []
        for k, line in enumerate(asked.split(" ;; ")):
            names.append(f"j{case}.{k}")
            world.sbatch(f"-J {names[-1]} {line.replace('=1G', '=1024')}", run=None)
            world.until(world.now + 60)
        name = names[-1]
        if name in world.refused:
            ours: object = "refused"
        elif world[name].alloc is None:
            ours = "waits"
        else:
            ours = _given(world, name)
        if ours != _shares(given[-1]):
            differ.append(f"{asked}: {ours}, not {given[-1]}")
        for one in names:
            world.scancel(one)
        world.until(world.now + 60)
    assert not differ, "\n".join(differ)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_gpus_bring_cpus_and_memory(cluster: str) -> None:
    _all_as_recorded(World(CLUSTERS[cluster], gres=COUNTED), RECORDED[cluster])


@pytest.mark.parametrize("section", NEWER)
def test_newer_releases(section: str) -> None:
    cluster, release = section.split()
    _all_as_recorded(World(CLUSTERS[cluster], release=release, gres=COUNTED), NEWER[section])


def test_memory_that_is_not_there_is_not_promised() -> None:
    world = World(CLUSTERS["plain"])
    world.sbatch("-J first -w n3 -n1 --mem=13000", run=1000)
    world.until(60)
    world.sbatch("-J second --gpus=b:6 --mem-per-gpu=1500", run=1000)
    world.until(120)
    assert _given(world, "second") == {"n3": "1/3000/2", "n4": "1/6000/4"}


def test_counts_per_job_and_task() -> None:
    """Cases beside the recording: which node, by how many GPUs all tasks can use."""
    world = World(CLUSTERS["plain"])
    world.sbatch("-J one --gpus-per-task=1 -n1 --mem=10", run=1000)
    world.until(60)
    assert _given(world, "one") == {"n1": "1/10/1"}


def test_gpus_of_whole_nodes() -> None:
    """A job that has a node to itself has its GPUs, one that needs all CPUs of it has not."""
    world = World(CLUSTERS["plain"])
    world.sbatch("-J alone -w n1 -n1 --mem=10 --exclusive", run=1000)
    world.sbatch("-J large -w n2 -n8 --mem=10", run=1000)
    world.until(60)
    assert _given(world, "alone") == {"n1": "8/10/2"}
    assert world["large"].alloc is not None and not world["large"].alloc.gres


@pytest.mark.parametrize("parameters", ["CR_Socket", "CR_Core"])
@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_gpus_beside_whole_sockets_and_cores(parameters: str, release: str) -> None:
    """A job with one task a node has the whole socket, or the whole core, whether it asks for GPUs or not."""
    world = World(CLUSTERS["plain"].replace("CR_Core_Memory", parameters).replace(_ONE, _THREADS), release=release)
    for line in ("-J with -w n1 -N1 --ntasks-per-node=1 --gres=gpu:2", "-J without -w n2 -N1 --ntasks-per-node=1"):
        world.sbatch(line, run=1000)
    world.until(60)
    assert world.shares("with") == world.shares("without") == ("16" if parameters == "CR_Socket" else "2")
