"""Jobs on one node beside suspended ones, and on CPUs of others: what real slurmctld 22.05.8 did.

Each case was typed on a private cluster of one or two nodes (22.05.8, and 24.11.5, where it did the same but where a
test says so). Times are seconds from the first submission.
"""

from __future__ import annotations

import pytest
from properties.verdict import approve
from unit.core.world import HEAD, World

from slurmsim.core.records.messages import Suspend
from slurmsim.states import FINAL_STATES

GANG = "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\nSchedulerTimeSlice=30\n"


def world(partitions: str, more: str = GANG, nodes: str = "n1 CoresPerSocket=8 RealMemory=8000") -> World:
    """A cluster of the nodes `nodes`; `partitions` are lines of ``NAME options``, the first is the default."""
    lines = [f"{HEAD}{more}SchedulerParameters=bf_interval=10\nNodeName={nodes} Sockets=1"]
    for number, line in enumerate(partitions.split("\n")):
        lines.append(f"PartitionName={line} Nodes=ALL MaxTime=INFINITE Default={'NO' if number else 'YES'}")
    return World("\n".join(lines) + "\n", "backfill", plan_all=True)


def states(w: World, names: str) -> str:
    """The first letter of the state of each job."""
    return "".join(w.state(name)[0] for name in names.split())


def judge(w: World) -> None:
    """Let all jobs end, and ask the independent validator."""
    w.until(w.now + 20_000)
    approve(w.controller, [j for j in w.all.values() if j.state in FINAL_STATES], w.controller.state.events)


# -- GPUs ---------------------------------------------------------------------------------------------------------

GPU_NODE = "n1 CoresPerSocket=8 RealMemory=8000 Gres=gpu:4"
GPU_PARTITIONS = "p PriorityTier=1\nq PriorityTier=2\nf PriorityTier=2 OverSubscribe=FORCE:2\npf OverSubscribe=FORCE:2"


@pytest.mark.parametrize(
    ("first", "second", "seen"),
    [
        ("-p p -n1 --gres=gpu:1", "-p q -n1 --exclusive --gres=gpu:2", "RP"),  # its node must have all GPUs free
        ("-p p -n1 --gres=gpu:1", "-p q -n1 --exclusive", "RP"),  # also if it asks for none
        ("-p pf -n1 --gres=gpu:1", "-p f -n1 --exclusive --gres=gpu:2", "RP"),
        ("-p p -n1", "-p q -n1 --exclusive --gres=gpu:2", "SR"),
        ("-p p -n8 --gres=gpu:1", "-p q -n8 --gres=gpu:3", "SR"),
        ("-p p -n8 --gres=gpu:2", "-p q -n8 --gres=gpu:3", "RP"),  # who is suspended keeps GPUs
    ],
)
def test_whole_nodes_are_taken_only_with_all_their_gpus(first: str, second: str, seen: str) -> None:
    w = world(GPU_PARTITIONS, f"{GANG}GresTypes=gpu\n", GPU_NODE)
    w.sbatch(f"-J a {first} -t 20", 300, at=0)
    w.sbatch(f"-J b {second} -t 20", 300, at=5)
    w.until(25)
    assert states(w, "a b") == seen
    judge(w)


def test_whole_nodes_are_taken_with_all_their_gpus_also_in_turns() -> None:
    w = world(GPU_PARTITIONS, f"{GANG}GresTypes=gpu\n", GPU_NODE)
    w.sbatch("-J f1 -p f -n8 -t 20", 300, at=0)
    w.sbatch("-J f2 -p f -n1 --exclusive --gres=gpu:2 -t 20", 300, at=5)
    w.sbatch("-J f3 -p f -n8 --gres=gpu:2 -t 20", 300, at=31)  # the row has room for it, the GPUs have not
    w.until(56)
    assert states(w, "f1 f2 f3")[2] == "P" and sorted(states(w, "f1 f2")) == ["R", "S"]
    alloc = w["f2"].alloc
    assert alloc is not None and w.controller.state.cluster.gres_per_node(alloc) == "gpu:4"
    judge(w)


def test_whole_nodes_beside_a_job_suspended_by_hand() -> None:
    w = world(GPU_PARTITIONS, f"{GANG}GresTypes=gpu\n", GPU_NODE)
    w.sbatch("-J h1 -p p -n8 --gres=gpu:1 -t 20", 300, at=0)
    w.until(4)
    w.tell(Suspend(w.id("h1")), 5)
    w.sbatch("-J h2 -p q -n1 --exclusive -t 20", 300, at=6)
    w.sbatch("-J h3 -p p -n8 --gres=gpu:3 -t 20", 300, at=30)
    w.until(55)
    assert states(w, "h1 h2 h3") == "SPR"


# -- CPUs without turns -------------------------------------------------------------------------------------------


def test_partitions_of_force_share_cpus_with_each_other() -> None:
    """Each has as many jobs on a CPU as it says, whatever the others have there."""
    w = world("p OverSubscribe=FORCE:2\nq OverSubscribe=FORCE:2", "", "n1 CoresPerSocket=4")
    for name, partition in zip("abcde", "ppqqp", strict=True):
        w.sbatch(f"-J {name} -p {partition} -n4 -t 20", 300, at=0)
    w.until(25)
    assert states(w, "a b c d e") == "RRRRP"
    judge(w)
