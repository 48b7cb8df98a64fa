"""Rules that unseen commands and workloads showed: what sbatch's own test says, releases, tasks and memory."""

from __future__ import annotations

import pytest
from unit.core.world import HEAD, World, simple

from slurmsim.core.records.messages import Hold, Release

CORES = (
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\n"
    "NodeName=n[1-4] CPUs=8 Sockets=2 CoresPerSocket=4 RealMemory=16000\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED\n"
)


def watched() -> World:
    """A cluster somebody looks at between passes."""
    w = World(simple(4, 8), "backfill", plan_all=True)
    w.controller.state.triggers.ticks = True
    return w


def test_nodes_nobody_may_share_are_told_at_once_whoever_is_ahead() -> None:
    w = watched()
    w.sbatch("-J run -N4 --exclusive -t 60", 3000, at=0)
    w.sbatch("-J first -N4 --exclusive -t 60", 60, at=20)
    w.sbatch("-J second -n1 -t 5", 60, at=40)
    w.until(40)
    assert w.reason("second") == "Resources"


def test_nodes_that_others_share_are_no_reason_yet() -> None:
    w = watched()
    w.sbatch("-J run -n4 -t 60", 3000, at=0)
    w.sbatch("-J first -N4 --exclusive -t 60", 60, at=20)
    w.until(39)
    w.sbatch("-J second -n1 -t 5", 60, at=40)
    w.until(40)
    assert w.reason("second") == "Priority"


def test_nodes_side_by_side_must_be_left_by_jobs_that_share_with_nobody() -> None:
    w = watched()
    w.sbatch("-J run -w n2 --exclusive -t 60", 3000, at=0)
    w.sbatch("-J beside -N3 -n24 -t 60", 3000, at=0)
    w.sbatch("-J first -N4 -n32 -t 60", 60, at=20)
    w.sbatch("-J three -N3 --contiguous -t 5", 60, at=40)
    w.sbatch("-J two -N2 --contiguous -t 5", 60, at=40)
    w.sbatch("-J anywhere -N3 -t 5", 60, at=40)
    w.until(40)
    assert w.reasons("three two anywhere") == {"three": "Resources", "two": "Priority", "anywhere": "Priority"}


def test_a_node_that_is_named_and_closed_is_busy_however_many_others_are_free() -> None:
    w = watched()
    w.sbatch("-J run -w n2 --exclusive -t 60", 3000, at=0)
    w.sbatch("-J named -w n2 -d afterany:1 -t 5", 60, at=20)
    w.sbatch("-J later -d afterany:1 -t 5", 60, at=20)
    w.until(20)
    assert (w.reason("named"), w.reason("later")) == ("Resources", "Dependency")


def test_a_job_that_waits_for_another_says_so_from_the_next_pass_on() -> None:
    w = watched()
    w.sbatch("-J run -N4 --exclusive -t 60", 3000, at=0)
    w.sbatch("-J other -n1 -t 5", 60, at=20)
    w.sbatch("-J after -n1 -t 5 -d afterany:1", 60, at=40)
    w.until(40)
    assert w.reason("after") == "Resources"
    w.until(50)
    assert w.reason("after") == "Dependency"


def test_a_release_ranks_a_job_as_if_it_came_now_held_or_not() -> None:
    w = World(simple(1, 1), "backfill")
    w.sbatch("-J run -n1 -t 60", 3000, at=0)
    for at, name in enumerate(("a", "b", "c")):
        w.sbatch(f"-J {name} -n1 -t 5", 60, at=10 + at)
    w.until(20)
    w.tell(Release(w.id("a")), 21)
    w.tell(Hold(w.id("b")), 22)
    w.tell(Release(w.id("b")), 23)
    w.until(30)
    assert w["c"].priority > w["a"].priority > w["b"].priority > 0


@pytest.mark.parametrize(("memory", "nodes"), [("--mem 4000", 3), ("--mem-per-cpu 200", 4), ("", 4)])
def test_cpus_count_in_whole_tasks_only_beside_memory_per_cpu(memory: str, nodes: int) -> None:
    w = World(HEAD + CORES, "backfill")
    w.sbatch(f"-J a -n8 -c3 -t 5 {memory}", 60, at=0)
    w.until(5)
    assert w.start("a") is not None
    assert w["a"].alloc.n_nodes == nodes  # type: ignore[union-attr]
