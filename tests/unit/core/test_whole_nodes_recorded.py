"""How many whole nodes of 8 CPUs a job with --exclusive got of a real Slurm, and which."""

from __future__ import annotations

import pytest
from unit.core.world import World

CONSUMED, ONLY_CORES = "SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=10", "SelectTypeParameters=CR_Core"
LINEAR = ""


def world(parameters: str, release: str = "22.05") -> World:
    plugin = "cons_tres" if parameters else "linear"
    return World(
        f"ClusterName=x\nSelectType=select/{plugin}\n{parameters}\nGresTypes=bw\n"
        "NodeName=n[1-20] Sockets=1 CoresPerSocket=8 RealMemory=1000 Gres=bw:2\n"
        "PartitionName=all Nodes=ALL Default=YES MaxTime=1-0\n",
        "backfill",
        release=release,
    )


@pytest.mark.parametrize(
    ("parameters", "asked", "nodes"),
    [
        # with memory per CPU, or GRES, CPUs count in whole tasks
        (CONSUMED, "-n8 -c3", 4), (CONSUMED, "-n8 -c3 --mem=50", 3), (CONSUMED, "-n8 -c3 --mem=0", 3),
        (CONSUMED, "-n8 -c3 --mem-per-cpu=5", 4), (CONSUMED, "-n4 -c5", 4), (CONSUMED, "-c3 -N2", 2),
        (CONSUMED, "-n8 -c3 --mem-per-cpu=120", 4), (CONSUMED, "-n8 -c3 --ntasks-per-node=2", 4),
        (CONSUMED, "-n8 -c3 --mem=50 --gres=bw:1", 4), (ONLY_CORES, "-n8 -c3 --gres=bw:1", 4),
        (ONLY_CORES, "-n8 -c3", 3), (ONLY_CORES, "-n8 -c3 --mem-per-cpu=120", 3), (ONLY_CORES, "-n4 -c5", 3),
        (ONLY_CORES, "-n8 -c3 --ntasks-per-node=2", 4), (ONLY_CORES, "-N2 -c3 -n5", 2),
        (LINEAR, "-n8 -c3 --mem=0", 3), (LINEAR, "-n4 -c5", 3),
        # a range takes what there is, but no node without a task
        (CONSUMED, "-N1-6 -n8 -c3", 6), (ONLY_CORES, "-N1-6 -n3", 3), (ONLY_CORES, "-N2-6 -n3 -c3", 3),
        (ONLY_CORES, "-N3-5 -n10 -c3", 5), (ONLY_CORES, "-N3-5 -n18", 5), (LINEAR, "-N1-6 -n3", 3),
        (LINEAR, "-N3-5 -n18", 5),
    ],
)  # fmt: skip
def test_how_many(parameters: str, asked: str, nodes: int) -> None:
    w = world(parameters)
    w.sbatch(f"-J a --exclusive -t 10 {asked}", run=60)
    w.until(20)
    assert w.nodes("a") == f"n[1-{nodes}]"


@pytest.mark.parametrize("release", ["24.11", "26.05"])
@pytest.mark.parametrize(
    ("parameters", "asked", "nodes"),
    [
        (CONSUMED, "-n8 -c3", 4), (CONSUMED, "-n8 -c3 --mem=50", 4), (CONSUMED, "-n8 -c3 --mem=0", 4),
        (CONSUMED, "-n4 -c5", 4), (CONSUMED, "-c3 -N2", 2), (ONLY_CORES, "-n8 -c3", 4), (ONLY_CORES, "-n4 -c5", 4),
        (ONLY_CORES, "-n8 -c3 --mem=50 --gres=bw:1", 4), (LINEAR, "-n8 -c3", 3), (LINEAR, "-n4 -c5", 3),
        (LINEAR, "-n8 -c3 --mem=50 --gres=bw:1", 3), (ONLY_CORES, "-N1-6 -n3", 3), (ONLY_CORES, "-N3-5 -n10 -c3", 5),
    ],
)  # fmt: skip
def test_how_many_of_newer_releases(release: str, parameters: str, asked: str, nodes: int) -> None:
    w = world(parameters, release)
    w.sbatch(f"-J a --exclusive -t 10 {asked}", run=60)
    w.until(20)
    assert w.nodes("a") == f"n[1-{nodes}]"


@pytest.mark.parametrize("parameters", [ONLY_CORES, LINEAR])
def test_a_range_takes_short_runs_first(parameters: str) -> None:
    """Of idle runs of 4, 1 and 11 nodes ``-N3-5`` gets the first two: three nodes would do, so four are enough."""
    w = world(parameters)
    for name, where in (("a", "n1"), ("b", "n6"), ("c", "n8,n9")):
        w.sbatch(f"-J {name} --exclusive -t 10 -w {where}", run=600)
    w.until(5)
    w.sbatch("-J d --exclusive -t 5 -N3-5", run=300)
    w.sbatch("-J e --exclusive -t 5 -N6", run=300)
    w.until(20)
    assert w.nodes("d") == "n[2-5,7]"
    assert w.nodes("e") == "n[10-15]"
