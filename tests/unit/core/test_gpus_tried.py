"""What real slurmctld tries first for ``--gpus``: GPUs with the CPUs of their tasks, and one node after the other."""

from __future__ import annotations

import pytest
from test_gpu_placements import _given
from world import World

CONF = """ClusterName=gpus
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=5,bf_resolution=60
GresTypes=gpu
DefMemPerCPU=100
NodeName=n[1-4] Sockets=2 CoresPerSocket=4 RealMemory=16000 Gres=gpu:a100:4
PartitionName=main Nodes=ALL Default=YES
"""
GRES = "NodeName=n[1-4] Name=gpu Type=a100 File=/dev/tty[1-4]"
RECORDED = {  # of 24.11.5 and 26.05.5, beside a job that has a core of each node
    "-n8 --gpus=2": {"n1": "4/400/1", "n2": "4/400/1"},
    "-n8 --gpus=8": {"n1": "4/400/4", "n2": "4/400/4"},
    "-n8": {"n1": "7/700/0", "n2": "1/100/0"},
    "-n10 --gpus=4": {"n1": "7/700/3", "n2": "3/300/1"},
    "-n12 --gpus=4": {"n1": "6/600/2", "n2": "6/600/2"},
    "-n4 -c2 --gpus=4": {"n1": "6/600/3", "n2": "2/200/1"},
    "-n15 --gpus=4": {"n1": "7/700/2", "n2": "7/700/1", "n3": "1/100/1"},
    "-n8 -N2 --gpus=4": {"n1": "6/600/3", "n2": "2/200/1"},
}


def _world(release: str) -> World:
    world = World(CONF, gres=GRES, release=release)
    world.sbatch("-J all -t 30 -N4 --ntasks-per-node=1", run=1700)
    world.until(world.now + 5)
    return world


@pytest.mark.parametrize("release", ["24.11", "26.05"])
@pytest.mark.parametrize("asked", RECORDED)
def test_tasks_go_with_their_gpus(asked: str, release: str) -> None:
    world = _world(release)
    world.sbatch(f"-J one -t 20 {asked}", run=1000)
    world.until(world.now + 10)
    assert _given(world, "one") == RECORDED[asked]


def test_before_23_11_the_first_node_gives_what_it_has() -> None:
    world = _world("22.05")
    world.sbatch("-J one -t 20 -n8 -N2 --gpus=4", run=1000)
    world.until(world.now + 10)
    assert _given(world, "one") == {"n1": "7/700/3", "n2": "1/100/1"}


@pytest.mark.parametrize(("release", "where"), [("24.11", "n3"), ("26.05", None)])
def test_a_node_that_completes_the_count_is_not_passed_over(release: str, where: str | None) -> None:
    """26.05.5: a GPU of n1 and three of n2 make the four of a job with one node, which n2 cannot give."""
    world = _world(release)
    world.sbatch("-J some -t 20 -n8 --gpus=4", run=300)
    world.until(world.now + 10)
    world.sbatch("-J one -t 19 -N1 --ntasks-per-node=1 --gpus=4", run=60)
    world.until(world.now + 30)
    started = world["one"].alloc
    assert (None if started is None else next(iter(_given(world, "one")))) == where
    world.until(world.now + 300)  # n1 has its GPUs back
    assert next(iter(_given(world, "one"))) == (where or "n1")


PLAIN = """ClusterName=gpus
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
NodeName=n[1-2] Sockets=1 CoresPerSocket=8 RealMemory=8000 Gres=gpu:4
NodeName=n3 Sockets=1 CoresPerSocket=8 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES
"""
MORE_THAN_A_NODE_HAS = {  # what n1 and n2 gave on 22.05.8 and 24.11.5, and on 26.05.5; refused is {}
    "-N1 --gpus=5": ({}, {"n2": 4}),
    "-N1 --gpus=8": ({}, {"n2": 4}),
    "-N1 --gpus=9": ({}, {}),
    "-N2 --gpus=9": ({}, {}),
    "--gpus=9": ({}, {}),
    "-N1-2 --gpus=5": ({"n1": 4, "n2": 1}, {"n1": 4, "n2": 1}),
    "-N1 -n2 --gpus=5": ({}, {"n2": 4}),
    "-n1 -N1 --gpus=5": ({}, {"n2": 4}),
    "-n2 --gpus=5": ({"n1": 4, "n2": 1}, {"n1": 4, "n2": 1}),
    "-w n1 --gpus=5": ({"n1": 4, "n2": 1}, {"n1": 4, "n2": 1}),
    "-w n1 -N1 --gpus=5": ({}, {}),
    "-N1 --gpus-per-node=5": ({}, {}),
    "-N1 -n5 --gpus-per-task=1": ({}, {}),
    "-N1 --gpus=5 --cpus-per-gpu=1": ({}, {}),
    "-N1 -n1 --gpus-per-task=5": ({}, {}),
    "-N1 --exclusive --gpus=5": ({}, {"n2": 4}),
    "-x n2 --gpus=5": ({}, {}),
    "-N1 --ntasks-per-node=1 --gpus=5": ({}, {"n2": 4}),
    "-N1 --ntasks-per-gpu=1 --gpus=5": ({}, {}),
}


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
@pytest.mark.parametrize("asked", MORE_THAN_A_NODE_HAS)
def test_more_gpus_than_a_node_has(asked: str, release: str) -> None:
    world = World(PLAIN, gres="NodeName=n[1-2] Name=gpu File=/dev/tty[0-3]", release=release)
    world.sbatch(f"-J one -t 20 {asked}", run=1000)
    world.until(10)
    given = MORE_THAN_A_NODE_HAS[asked][release == "26.05"]
    assert ("one" in world.refused) == (not given)
    if given:
        alloc = world["one"].alloc
        assert alloc is not None
        assert dict(zip(["n1", "n2"][2 - alloc.n_nodes :], dict(alloc.gres)[0].tolist(), strict=True)) == given


def test_one_node_with_too_few_devices_that_are_told_apart_is_waited_for() -> None:
    """26.05.5 accepts the job, and never starts it; of devices with neither types nor Cores it got those there were."""
    world = World(PLAIN.replace("gpu:4", "gpu:a:4"), gres="Name=gpu Type=a File=/dev/tty[0-3]", release="26.05")
    world.sbatch("-J one -t 20 -N1 --gpus=5", run=1000)
    world.until(100)
    assert ("one" in world.refused, world.start("one")) == (False, None)
