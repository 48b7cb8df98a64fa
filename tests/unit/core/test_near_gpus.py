"""Cores and GPUs of jobs where gres.conf says which cores are beside which GPUs, as real slurmctld gave them.

near_gpus.txt has what was asked and what each job got: CPUs and GPUs of every node by their numbers.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from world import World

from slurmsim.hostlist import expand
from slurmsim.slurmctld.base.live_job import task_ranges

HEAD = """ClusterName=near
SlurmctldHost=head
SelectType=select/cons_tres
GresTypes=gpu
"""
CLUSTERS = {
    "cores": (
        "SelectTypeParameters=CR_Core_Memory\n"
        "NodeName=n[1-2] Sockets=2 CoresPerSocket=4 RealMemory=8000 Gres=gpu:4\n"
        "NodeName=n3 Sockets=2 CoresPerSocket=4 RealMemory=8000\n"
        "PartitionName=main Nodes=ALL Default=YES DefMemPerCPU=100\n",
        "NodeName=n[1-2] Name=gpu File=/dev/gpu[0-1] Cores=0-3\nNodeName=n[1-2] Name=gpu File=/dev/gpu[2-3] Cores=4-7",
    ),
    "threads": (
        "SelectTypeParameters=CR_Core\n"
        "NodeName=n[1-2] Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=8000 Gres=gpu:6\n"
        "PartitionName=main Nodes=ALL Default=YES\n",
        "NodeName=n[1-2] Name=gpu File=/dev/gpu[0-2] Cores=0-7\nNodeName=n[1-2] Name=gpu File=/dev/gpu[3-5] Cores=8-15",
    ),
    "typed": (
        "SelectTypeParameters=CR_Core\n"
        "NodeName=n1 Sockets=2 CoresPerSocket=4 RealMemory=8000 Gres=gpu:a:2,gpu:b:2\n"
        "NodeName=n2 Sockets=2 CoresPerSocket=4 RealMemory=8000 Gres=gpu:a:4\n"
        "NodeName=n3 Sockets=2 CoresPerSocket=4 RealMemory=8000 Gres=gpu:a:2\n"
        "PartitionName=main Nodes=ALL Default=YES\n",
        "NodeName=n1 Name=gpu Type=a File=/dev/gpu[0-1] Cores=0-3\n"
        "NodeName=n1 Name=gpu Type=b File=/dev/gpu[2-3] Cores=4-7\n"
        "NodeName=n2 Name=gpu Type=a File=/dev/gpu[0-3]\nNodeName=n3 Name=gpu Type=a File=/dev/gpu[0-1] Cores=4-7",
    ),
}  # fmt: skip


def _recorded() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for line in Path(__file__).with_name("near_gpus.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            asked, given = line.split(" | ")
            section.append((asked, given))
    return found


RECORDED = _recorded()


def _world(cluster: str, release: str) -> World:
    conf, gres = CLUSTERS[cluster]
    return World(HEAD + conf, release=release, gres=gres)


def _given(world: World, name: str) -> dict[str, str] | str:
    """CPUs and GPUs of each node, or why there are none."""
    if name in world.refused:
        return "refused"
    alloc, table = world[name].alloc, world.controller.state.table
    if alloc is None:
        return "waits"
    assert table.local is not None
    found = {}
    for node, held in (alloc.held or {}).items():
        layout = table.local.layouts[node]
        cpus = [
            core * layout.threads + k
            for core in range(layout.cores.bit_length()) if held.cores >> core & 1 for k in range(layout.threads)
        ]  # fmt: skip
        mine = sum(bits for _, bits in held.devices)
        gpus = [k for k, device in enumerate(layout.of_name("gpu")) if device.bit & mine]
        found[table.names[node]] = f"{task_ranges(cpus)}/{task_ranges(gpus)}"
    return found


def _told(given: str) -> dict[str, str] | str:
    shares = [word.split("=") for word in given.split() if "=" in word]
    return {node: share for nodes, share in shares for node in expand(nodes)} or given


@pytest.mark.parametrize("section", RECORDED)
def test_jobs_get_the_cores_and_gpus_that_were_recorded(section: str) -> None:
    cluster, release = section.split()
    world = _world(cluster, release)
    differ = []
    for case, (asked, given) in enumerate(RECORDED[section]):
        names = [f"j{case}.{k}" for k in range(asked.count(";;") + 1)]
        for name, line in zip(names, asked.split(" ;; "), strict=True):
            world.sbatch(f"-J {name} {line}", run=None)
            world.until(world.now + 60)
        ours = [_given(world, name) for name in names]
        if ours != [_told(one) for one in given.split(" ;; ")]:
            differ.append(f"{asked}: {ours}, not {given}")
        for name in names:
            world.scancel(name)
        world.until(world.now + 60)
    assert not differ, "\n".join(differ)


def test_a_job_that_ends_leaves_the_cores_beside_its_gpus() -> None:
    world = _world("cores", "26.05")
    world.sbatch("-J first -w n1 -n4 -m block:block", run=100)
    world.sbatch("-J other -w n2 -n4 -m block:block", run=1000)
    world.sbatch("-J near -w n1 -n3 --gres=gpu:2 --gres-flags=enforce-binding", run=1000)
    world.sbatch("-J next -w n1 -n1 --gres=gpu:2 --gres-flags=enforce-binding", run=1000)
    world.until(50)
    assert (_given(world, "near"), _given(world, "next")) == ({"n1": "4-6/2-3"}, "waits")
    world.until(150)
    assert (world.start("next"), _given(world, "next")) == (100, {"n1": "0/0-1"})


@pytest.mark.parametrize("policy", ["easy", "conservative", "backfill"])
def test_plans_wait_for_the_cores_beside_the_gpus(policy: str) -> None:
    conf, gres = CLUSTERS["cores"]
    world = World(HEAD + conf, policy, release="26.05", gres=gres, plan_all=policy == "backfill")
    for node in ("n1", "n2"):  # free: cores of the second socket, GPUs beside the first
        world.sbatch(f"-J cores-{node} -w {node} -n4 -m block:block -t 10", run=600)
        world.sbatch(f"-J gpus-{node} -w {node} -n1 --gres=gpu:2 --gres-flags=enforce-binding -t 30", run=1800)
    world.until(1)
    world.sbatch("-J wants -n1 --gres=gpu:2 --gres-flags=enforce-binding -t 10", run=60)
    world.until(700)
    assert 600 <= (world.start("wants") or 0) <= 660
    assert _given(world, "wants") in ({"n1": "0/0-1"}, {"n2": "0/0-1"})
