"""Jobs on one node beside suspended ones, and on CPUs of others: what real slurmctld 22.05.8 did.

Each case was typed on a private cluster of one or two nodes (22.05.8, and 24.11.5, where it did the same but where a
test says so). Times are seconds from the first submission.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from properties.verdict import approve
from unit.core.world import HEAD, World

from slurmsim.core.records.messages import AlterPartition, Cancel, DeletePartition, Submit, Suspend
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


# -- CPUs: two jobs that want all of the node -----------------------------------------------------------------------

KINDS = """l PriorityTier=1 OverSubscribe=FORCE:2
h PriorityTier=2 OverSubscribe=FORCE:2
f PriorityTier=1 OverSubscribe=FORCE:1
g PriorityTier=2 OverSubscribe=FORCE:1
y PriorityTier=1 OverSubscribe=YES:2
z PriorityTier=2 OverSubscribe=YES:2
n PriorityTier=1
o PriorityTier=1
p PriorityTier=2
q PriorityTier=2
off PriorityTier=1 OverSubscribe=FORCE:1 PreemptMode=OFF"""
ONLY_TURNS = "PreemptMode=GANG\nSchedulerTimeSlice=30\n"
SEEN = {
    # first letters of the states of both: Running, Suspended, Pending. By partition, `+` for -s
    ONLY_TURNS: """l h SR, h l RS, n p SR, p n RS, p q RR, g h RR, h g RR, g p RR, p g RP, p p RP, l p RP, n h RP""",
    GANG: """l h SR, h l RP, n p SR, p n RP, p q RR, g h RR, h g RR, g p RR, p g RP, p p RP, l p RP, n h RP,
        y y RS, y+ y+ RS, y+ y RS, y y+ RP, y n RP, y+ n RP, n y RR, n y+ RP, y l RP, y+ l RR, l y RP, l y+ RR,
        y z RP, y+ z+ SR, y h RP, y+ h SR, y+ p RP, y p RP""",
    "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n": """g f RP, f g RR, h l RP, l h RR, off f RP,
        off g RP, f off RR, f p PR, n g PR, p f RP, g n RP, l p PR, n h PR, f l RR, g l RP""",
    "": "f g RR, g f RR, f l RR, l h RR, f n RP, l y+ RR, n f RP, l n RP",
}
CASES = [(more, case.split()) for more, cases in SEEN.items() for case in cases.split(",")]


@pytest.mark.parametrize(("more", "case"), CASES)
def test_two_jobs_that_want_all_cpus(more: str, case: list[str]) -> None:
    """The second comes 13 s after the first; looked at 13 s later. 22.05.8."""
    w = world(KINDS, more)
    for number, partition in enumerate(case[:2]):
        share = "-s" if "+" in partition else ""
        w.sbatch(f"-J j{number} -p {partition.strip('+')} -n8 {share} -t 20", 300, at=1 + 13 * number)
    w.until(39)
    assert states(w, "j0 j1") == case[2]
    judge(w)


WHOLE = """n:-n1+-x p:-n8 SR, n:-n1+-x p:-n1 SR, n:-n1+-x p:-n1+-x SR, l:-n1+-x h:-n8 SR, l:-n1+-x h:-n1+-x SR,
    l:-n1+-x l:-n8 RS, l:-n1+-x l:-n1+-x RS, n:-n1 o:-n1+-x RR, n:-n1+-x o:-n8 RP, n:-n1 p:-n1+-x SR, p:-n1+-x n:-n8 RP,
    l:-n1 l:-n1+-x RS, l:-n1 h:-n1+-x SR, y:-n1+-x y:-n1 RP, y:-n8 y:-n8+-x RS, y:-n8+-x y:-n8 RP"""


@pytest.mark.parametrize("case", [case.split() for case in WHOLE.split(",")])
def test_whole_nodes_in_turns(case: list[str]) -> None:
    """The same with --exclusive, here -x. 22.05.8."""
    w = world(KINDS)
    for number, job in enumerate(case[:2]):
        partition, _, options = job.partition(":")
        line = options.replace("+", " ").replace("-x", "--exclusive")
        w.sbatch(f"-J j{number} -p {partition} {line} -t 20", 300, at=1 + 13 * number)
    w.until(39)
    assert states(w, "j0 j1") == case[2]
    judge(w)


def test_partitions_of_force_share_cpus_with_each_other() -> None:
    """Each has as many jobs on a CPU as it says, whatever the others have there; also while they take turns."""
    for more, seen in (("", ["RRRRP"] * 2), (ONLY_TURNS, ["RSRSP", "SRSRP"])):
        w = world("p OverSubscribe=FORCE:2\nq OverSubscribe=FORCE:2", more, "n1 CoresPerSocket=4")
        for name, partition in zip("abcde", "ppqqp", strict=True):
            w.sbatch(f"-J {name} -p {partition} -n4 -t 20", 300, at=8)
        for time, expected in zip((46, 66), seen, strict=True):
            w.until(time)
            assert states(w, "a b c d e") == expected
        judge(w)


# -- CPUs in turns: who is left out at the end of a slice ------------------------------------------------------------

TIERS = "lo PriorityTier=1 OverSubscribe=FORCE:2\nhi PriorityTier=2 OverSubscribe=FORCE:2"


def test_a_larger_job_of_a_higher_tier_takes_its_turn_beside_a_lower_one() -> None:
    """12 of 8 CPUs run: in place of one shadow there is one, so the row of the lower tier is not built anew."""
    w = world(TIERS)
    w.sbatch("-J A -p hi -n4 -t 20", 300, at=4)
    w.sbatch("-J C -p lo -n4 -t 20", 300, at=7)
    w.sbatch("-J B -p hi -n8 -t 20", 300, at=10)
    w.until(31)
    assert states(w, "A C B") == "RRS"
    w.until(62)
    assert states(w, "A C B") == "SRR"
    w.until(92)
    assert states(w, "A C B") == "RRS"
    judge(w)


def test_a_row_that_was_left_out_is_built_anew_when_a_job_starts() -> None:
    """The start of any job does it, also on another node."""
    w = world(TIERS, nodes="n[1-2] CoresPerSocket=8 RealMemory=8000")
    w.sbatch("-J A -p hi -n4 -N1 -w n1 -t 20", 300, at=4)
    w.sbatch("-J C -p lo -n4 -N1 -w n1 -t 20", 300, at=7)
    w.sbatch("-J B -p hi -n8 -N1 -w n1 -t 20", 300, at=10)
    w.until(62)
    assert states(w, "A C B") == "SRR"
    w.sbatch("-J D -p lo -n1 -w n2 -t 20", 300, at=65)
    w.until(66)
    assert states(w, "A C B D") == "SSRR"
    judge(w)


def test_two_shadows_in_place_of_one_stop_a_lower_job() -> None:
    """One job on two nodes takes turns with one on each of them: the lower row had fewer jobs, so it is built anew."""
    w = world(TIERS, nodes="n[1-2] CoresPerSocket=8 RealMemory=8000")
    w.sbatch("-J A -p hi -N2 -n8 --ntasks-per-node=4 -t 20", 300, at=4)
    w.sbatch("-J C -p lo -n4 -w n1 -t 20", 300, at=7)
    w.sbatch("-J B1 -p hi -n8 -N1 -w n1 -t 20", 300, at=10)
    w.sbatch("-J B2 -p hi -n8 -N1 -w n2 -t 20", 300, at=10)
    w.until(31)
    assert states(w, "A C B1 B2") == "RRSS"
    w.until(62)
    assert states(w, "A C B1 B2") == "SSRR"
    judge(w)


def overlapping() -> World:
    """A and C have 5 of the 4 CPUs of n1: as A and B took turns on n2, the row of C was left out."""
    tiers = "lo PriorityTier=1 OverSubscribe=FORCE:2\nhi PriorityTier=5 OverSubscribe=FORCE:2\nold"
    w = world(tiers, "PreemptMode=GANG\nSchedulerTimeSlice=10\n", "n[1-3] CoresPerSocket=4")
    w.sbatch("-J C -p lo -N1 -n3 -w n1 -t 20", 600, at=1)
    w.sbatch("-J A -p hi -N2 -n4 --ntasks-per-node=2 -w n[1-2] -t 20", 600, at=2)
    w.sbatch("-J B -p hi -N1 -n4 -w n2 -t 20", 600, at=3)
    for time, seen in ((6, "SRS"), (21, "RSR"), (31, "RRS")):
        w.until(time)
        assert states(w, "C A B") == seen
    return w


def test_a_row_that_was_left_out_is_built_anew_when_the_only_suspended_job_ends() -> None:
    w = overlapping()
    w.tell(Cancel(w.id("B")), 32)
    for time in (34, 59):
        w.until(time)
        assert states(w, "C A B") == "SRC"
    judge(w)


def altered(w: World, name: str, **changes: object) -> None:
    """``scontrol update`` or ``create partition``."""
    known = w.controller.state.cluster.by_name
    w.tell(AlterPartition(replace(known.get(name, known["lo"]).spec, name=name, **changes)))  # type: ignore[arg-type]
    w.until(w.now + 3)


def test_rows_are_built_anew_when_a_partition_is_made_changed_or_deleted() -> None:
    w = overlapping()
    altered(w, "new", nodes=("n3",))
    assert states(w, "C A B") == "SRS"
    w = overlapping()
    altered(w, "lo", max_time_s=86400)
    assert states(w, "C A B") == "SRS"
    w = overlapping()
    w.tell(DeletePartition("old"))
    w.until(34)
    assert states(w, "C A B") == "SRS"
    judge(w)


def test_turns_follow_the_tier_that_a_partition_has_now() -> None:
    w = world(TIERS, "PreemptMode=GANG\nSchedulerTimeSlice=10\n", "n1 CoresPerSocket=4")
    w.sbatch("-J C -p lo -n3 -t 20", 600, at=1)
    w.sbatch("-J A -p hi -n2 -t 20", 600, at=2)
    w.until(4)
    assert states(w, "C A") == "SR"
    altered(w, "lo", priority_tier=9)
    assert states(w, "C A") == "RS"
    altered(w, "lo", priority_tier=1)
    assert states(w, "C A") == "SR"
    judge(w)


@pytest.mark.parametrize("partition", ["lo", "hi"])
def test_components_of_a_heterogeneous_job_take_no_turns(partition: str) -> None:
    """They stop for nobody, and nobody stops for them: 12 of 8 CPUs run."""
    w = world(TIERS, nodes="n[1-2] CoresPerSocket=8 RealMemory=8000")
    leader = w.sbatch(f"-J H0 -p {partition} -n4 -w n1 -t 20", 300, at=1)
    w.sbatch(f"-J H1 -p {partition} -n4 -w n2 -t 20", 300, at=1)
    for _, _, fact in w._future:
        assert isinstance(fact, Submit)
        fact.sub.het = leader, 2
    w.sbatch("-J B -p hi -n8 -N1 -w n1 -t 20", 300, at=20)
    w.until(60)
    assert states(w, "H0 H1 B") == "RRR"
    w.until(1000)
    assert states(w, "H0 H1 B") == "CCC"


def test_a_plan_is_made_anew_when_a_job_ends_early() -> None:
    """With turns and preemption, a plan of an earlier cycle was taken for the present one: `b` began at 120."""
    more = "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL,GANG\n"
    parameters = "SchedulerParameters=bf_interval=30,sched_interval=-1"
    partition = "PartitionName=z Nodes=ALL Default=YES OverSubscribe=YES MaxTime=INFINITE"
    w = World(f"{HEAD}{more}{parameters}\nNodeName=n1 CoresPerSocket=4 RealMemory=8000\n{partition}\n",
              "backfill", plan_all=True)  # fmt: skip
    w.sbatch("-J a --exclusive -t 3", 60, at=1)
    w.sbatch("-J b --exclusive -t 3", 60, at=32)
    w.until(400)
    assert w.starts("a b") == {"a": 30, "b": w["a"].end_time}
    judge(w)
