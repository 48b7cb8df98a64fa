"""Which nodes a job gets: the rules alone, then recorded choices of slurmctld 22.05.8."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.core.world import HEAD, World
from unit.kernel_forms import NEEDS_EXTENSIONS, kernel

from slurmsim.bitmap import from_indices, to_indices
from slurmsim.core.placement import best_fit
from slurmsim.core.placement.best_fit import Ask, choose, distribute, pick_equal, runs_mask
from slurmsim.core.records.messages import AlterNodes

CONFIGURATION = "Requested node configuration is not available"


def ask(nodes: int = 1, cpus: int = 0, *, high: int = 0, exclusive: bool = False, contiguous: bool = False,
        tasks_per_node: int = 0, cpus_per_task: int = 1) -> Ask:  # fmt: skip
    """What ``-N nodes[-high] -n cpus`` asks for."""
    least = max(cpus_per_task, cpus_per_task * tasks_per_node)
    return Ask(nodes, high or nodes, high or (nodes if cpus == 0 else 500_000), cpus or nodes, exclusive, least, 1,
               contiguous, least, False)  # fmt: skip


def take(
    wanted: Ask, free: dict[int, int], weight: dict[int, int] | None = None, required: set[int] | None = None
) -> dict[int, int] | None:
    nodes = sorted(free)
    weights = [(weight or {}).get(n, 1) for n in nodes]
    return choose(wanted, nodes, [free[n] for n in nodes], weights, required or set())


@pytest.mark.parametrize("picker", ["none", "python", pytest.param("extension", marks=NEEDS_EXTENSIONS)])
@given(
    free=st.sets(st.integers(0, 60), min_size=1), nodes=st.integers(1, 30), more=st.integers(0, 8),
    cpus=st.integers(1, 4), wanted=st.integers(0, 100),
)  # fmt: skip
def test_equal_whole_nodes_need_only_be_counted(
    picker: str, free: set[int], nodes: int, more: int, cpus: int, wanted: int
) -> None:
    """`pick_equal` is the short way to what the general rule chooses, also for who takes more nodes where it can."""
    wanted = max(wanted, nodes)
    least = max(nodes, -(-wanted // cpus))
    need = max(least, min(nodes + more, len(free)))
    with mock.patch.object(best_fit, "_PICKER", None if picker == "none" else kernel("picking", picker).Picker()):
        runs = pick_equal(from_indices(sorted(free)), need, least)
    general = take(ask(nodes, wanted, high=nodes + more, exclusive=True), dict.fromkeys(free, cpus))
    if runs is None or need > nodes + more:
        assert general is None
    else:
        assert general is not None
        assert to_indices(runs_mask(runs)).tolist() == sorted(general)


@pytest.mark.parametrize("picker", ["python", pytest.param("extension", marks=NEEDS_EXTENSIONS)])
@pytest.mark.parametrize(("need", "least"), [(1, 1), (3, 3), (700, 700), (700, 2), (1_300, 1_300)])
def test_of_very_many_runs_the_same_are_taken(picker: str, need: int, least: int) -> None:
    free = from_indices([node for node in range(2_001) if node % 3])  # 667 pairs
    with mock.patch.object(best_fit, "_PICKER", None):
        wanted = pick_equal(free, need, least)
    with mock.patch.object(best_fit, "_PICKER", kernel("picking", picker).Picker()):
        assert pick_equal(free, need, least) == wanted is not None


@given(
    st.dictionaries(st.integers(0, 12), st.integers(1, 8), min_size=1),
    st.integers(1, 4), st.integers(1, 30), st.booleans(),
)  # fmt: skip
def test_a_choice_satisfies_the_request(free: dict[int, int], nodes: int, cpus: int, exclusive: bool) -> None:
    taken = take(ask(nodes, cpus, exclusive=exclusive), free)
    if taken is None:
        return
    assert len(taken) >= nodes
    assert sum(taken.values()) >= cpus
    assert all(0 < taken[n] <= free[n] for n in taken)


@given(st.dictionaries(st.integers(0, 12), st.integers(1, 8), min_size=1), st.integers(1, 4), st.integers(1, 30))
def test_nothing_is_found_only_where_nothing_is(free: dict[int, int], nodes: int, cpus: int) -> None:
    if take(ask(nodes, cpus), free) is None:
        assert len(free) < nodes or sum(free.values()) < cpus


@pytest.mark.parametrize(
    ("wanted", "free", "taken"),
    [
        (ask(1, 16), {0: 8, 1: 8, 2: 8}, {0: 8, 1: 8}),  # -n16 on empty nodes of 8
        (ask(1, 8), {0: 7, 1: 8}, {1: 8}),  # the single node that holds all
        (ask(1, 8), {0: 7, 1: 7}, {0: 7, 1: 1}),
        (ask(3), {0: 8, 1: 8, 2: 8, 3: 8}, {0: 1, 1: 1, 2: 1}),  # -N3
        (ask(2, 3), {0: 8, 1: 8, 2: 8}, {0: 2, 1: 1}),  # -N2 -n3
        (ask(3, 16), {0: 8, 1: 8, 2: 8}, {0: 8, 1: 7, 2: 1}),  # -N3 -n16
        (ask(1, 4, high=4), {0: 3, 1: 3, 2: 1, 3: 4}, {0: 3, 1: 1, 2: 1, 3: 1}),  # -N1-4 -n4: all four
        (ask(1, 3), {0: 8, 1: 5, 2: 3, 3: 3}, {2: 3}),  # the tightest node, first on ties
        (ask(1, 2), {0: 4, 1: 4, 5: 4}, {5: 2}),  # the tightest set
        (ask(2, 2), {0: 4, 2: 4, 3: 4, 4: 4, 6: 4, 7: 4}, {6: 1, 7: 1}),  # the tightest sufficient set
        (ask(1, 5), {0: 2, 3: 4}, {3: 4, 0: 1}),  # none sufficient: the largest set first
        (ask(2, exclusive=True), {0: 4, 2: 4}, {0: 4, 2: 4}),
    ],
)
def test_hand_examples(wanted: Ask, free: dict[int, int], taken: dict[int, int]) -> None:
    assert take(wanted, free) == taken


def test_lighter_nodes_first() -> None:
    assert take(ask(1, 2), {0: 2, 1: 8}, {0: 5, 1: 1}) == {1: 2}
    assert take(ask(2, 4, exclusive=True), {0: 2, 1: 2, 2: 2}, {0: 9, 1: 9, 2: 1}) == {2: 2, 0: 2}


def test_weight_parts_neighbours_unless_contiguous() -> None:
    """Nodes 0 and 1 differ in weight: two sets. --contiguous sees one, which counts with the weight of its last."""
    free, weight = {0: 4, 1: 4, 3: 4}, {0: 1, 1: 5, 3: 1}
    assert take(ask(2, exclusive=True), free, weight) == {0: 4, 3: 4}
    assert take(ask(2, exclusive=True, contiguous=True), free, {0: 5, 1: 1, 3: 1}) == {0: 4, 1: 4}
    assert take(ask(2, exclusive=True, contiguous=True), free, weight) is None, "node 3 is lighter, and alone"
    assert take(ask(2, exclusive=True, contiguous=True), {0: 4, 2: 4}) is None


def test_required_nodes_first_then_their_neighbours_upwards() -> None:
    free = dict.fromkeys(range(6), 4)
    assert take(ask(2, 2), free, required={3}) == {3: 1, 4: 1}
    assert take(ask(2, 2), free, required={5}) == {5: 1, 4: 1}
    assert take(ask(1, 2), free, required={3}) == {3: 2}
    assert take(ask(1, 2), {0: 4}, required={3}) is None


@pytest.mark.parametrize(
    ("free", "weight", "required", "second"),
    [
        ((0, 2, 3), {0: 1, 2: 5, 3: 9}, 2, 3),  # its heavier neighbour, and not the lightest node
        ((0, 1, 2), {0: 1, 1: 5, 2: 9}, 1, 0),  # behind a node of another weight it marks no set
        ((0, 2, 3), {0: 1, 2: 5, 3: 5}, 2, 3),
        ((0, 1, 3), {0: 1, 1: 1, 3: 1}, 1, 0),
    ],
)
def test_the_neighbours_of_a_required_node(
    free: tuple[int, ...], weight: dict[int, int], required: int, second: int
) -> None:
    assert set(take(ask(2, 2), dict.fromkeys(free, 4), weight, {required}) or ()) == {required, second}


def test_too_few_nodes_or_cpus() -> None:
    assert take(ask(3), {0: 8, 1: 8}) is None
    assert take(ask(1, 17), {0: 8, 1: 8}) is None


def test_in_a_given_order() -> None:
    """LLN and its like: no neighbours, the order alone."""
    wanted = ask(1, 5)
    assert choose(wanted, [0, 1, 2], [4, 4, 2], [1, 1, 1], set(), [2, 1, 0]) == {2: 2, 1: 3}
    assert choose(wanted, [0, 1, 2], [4, 4, 2], [1, 1, 1], {0}, [2, 1, 0]) == {0: 4, 2: 1}
    assert choose(ask(4), [0, 1, 2], [4, 4, 2], [1, 1, 1], set(), [2, 1, 0]) is None


@pytest.mark.parametrize(
    ("wanted", "taken", "cpus_per_task", "per_node", "grain", "given"),
    [
        (ask(1, 16), [8, 8], 1, 0, 1, [8, 8]),
        (ask(2, 3), [2, 1], 1, 0, 1, [2, 1]),
        (ask(3, 16), [8, 7, 1], 1, 0, 1, [8, 7, 1]),
        (ask(2, 3), [2, 1], 1, 0, 2, [2, 2]),  # whole cores of two threads
        (ask(1, 1), [1], 1, 0, 4, [4]),  # whole sockets
        (ask(2, 8, cpus_per_task=2), [6, 2], 2, 0, 1, [6, 2]),
        (ask(2, 8, cpus_per_task=4), [4, 4], 4, 0, 1, [4, 4]),
        (ask(2, 6, tasks_per_node=3), [3, 3], 1, 3, 1, [3, 3]),
        # CPUs for all tasks, but not in threes on every node: the first nodes get the tasks that are left
        (ask(5, 36, cpus_per_task=3), [8, 8, 8, 8, 4], 3, 0, 1, [8, 8, 8, 6, 3]),
        (ask(2, 12, cpus_per_task=3), [8, 4], 3, 0, 1, [8, 3]),
        (ask(2, 5), [4, 4], 1, 0, 1, [3, 2]),  # more taken than asked: dealt out in rounds
    ],
)
def test_distribute(
    wanted: Ask, taken: list[int], cpus_per_task: int, per_node: int, grain: int, given: list[int]
) -> None:
    found = distribute(wanted.min_cpus, wanted.pn_min_cpus, taken, cpus_per_task, per_node, [grain] * len(taken))
    assert found == given


@given(st.lists(st.integers(1, 16), min_size=1, max_size=6), st.integers(1, 60))
def test_distribute_gives_each_node_something_and_no_more_than_taken(taken: list[int], cpus: int) -> None:
    cpus = min(max(cpus, len(taken)), sum(taken))
    given_cpus = distribute(cpus, 1, taken, 1, 0, [1] * len(taken))
    assert sum(given_cpus) == cpus
    assert all(1 <= g <= t for g, t in zip(given_cpus, taken, strict=True))


# -- recorded choices

PLACEMENT = f"""{HEAD}SchedulerParameters=bf_interval=10
NodeName=n[1-3] Sockets=1 CoresPerSocket=4 RealMemory=4000 Feature=a,slow
NodeName=n[4-6] Sockets=1 CoresPerSocket=4 RealMemory=4000 Feature=b,fast Weight=5
NodeName=n[7-8] Sockets=1 CoresPerSocket=4 RealMemory=4000 Feature=a,fast
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
PartitionName=lln Nodes=ALL LLN=YES MaxTime=INFINITE
"""


def chosen(w: World, lines: str, at: int) -> dict[str, str]:
    """Submit one job a line, wait a minute's first seconds, and say where they run."""
    names = []
    for line in lines.strip().splitlines():
        names.append(line.split("-J ")[1].split()[0])
        w.sbatch(line, 40, at=at)
    w.until(at + 8)
    return {name: w.nodes(name) for name in names}


def test_recorded_neighbours_and_weights() -> None:
    """placement: w goes to the smaller of two runs of equal weight, not to n1."""
    w = World(PLACEMENT, "backfill")
    lines = """-J w -n1 -t 5
-J x -n6 -t 5
-J y -N2 -n2 -x n[1-2] -t 5
-J z -w n5 -N2 -n2 -t 5"""
    assert chosen(w, lines, 6) == {"w": "n7", "x": "n[7-8]", "y": "n[3,8]", "z": "n[5-6]"}


def test_recorded_features() -> None:
    w = World(PLACEMENT, "backfill")
    lines = """-J f1 -C fast -N1 -n1 -t 5
-J f2 -C a&fast -N1 -n1 -t 5
-C b|slow -J f3 -N3 -n12 -t 5"""
    assert chosen(w, lines, 44) == {"f1": "n7", "f2": "n7", "f3": "n[1-3]"}
    w.sbatch("-J f6 -C nosuch -n1 -t 5", at=60)
    w.until(60)
    assert w.refused == {"f6": "Invalid feature specification"}


def test_recorded_contiguous_job_waits_and_the_plain_one_starts() -> None:
    w = World(PLACEMENT, "backfill")
    w.sbatch("-J h -w n3 -n1 -t 5", 200, at=134)
    w.sbatch("-J i -w n6 --exclusive -t 5", 200, at=134)
    w.sbatch("--contiguous -J j -N3 --exclusive -t 5", 30, at=140)
    w.sbatch("-J k -N3 --exclusive -t 5", 30, at=140)
    w.until(150)
    assert (w.nodes("h"), w.nodes("i"), w.nodes("k")) == ("n3", "n6", "n[4,7-8]")
    assert (w.state("j"), w.reason("j"), w["k"].scheduler) == ("PENDING", "Resources", "Backfill")


def test_recorded_least_loaded_nodes() -> None:
    """LLN: the emptiest of the lightest nodes, first on ties. One CPU is taken on n1, n2, n7, two on n3; n6 whole."""
    w = World(PLACEMENT, "backfill")
    for node in ("n1", "n2", "n3", "n3", "n7"):
        w.sbatch(f"-J b{w._next_id} -w {node} -n1 -t 5", 200, at=134)
    w.sbatch("-J i -w n6 --exclusive -t 5", 200, at=134)
    lines = "-p lln -J m -n1 -t 5\n-p lln -J n -n2 -t 5\n-p lln -J o -n1 -t 5"
    assert chosen(w, lines, 190) == {"m": "n8", "n": "n1", "o": "n2"}


def test_one_cpu_jobs_at_the_end() -> None:
    """pack_serial_at_end: from the last of the lightest nodes on."""
    w = World(PLACEMENT.replace("bf_interval=10", "pack_serial_at_end"), "backfill")
    lines = "-J s1 -n1 -t 5\n-J s2 -n1 -t 5\n-J p -n2 -t 5"
    assert chosen(w, lines, 6) == {"s1": "n8", "s2": "n8", "p": "n8"}


GRES = f"""{HEAD}GresTypes=gpu
SchedulerParameters=bf_interval=10,bf_resolution=60
NodeName=n[1-2] Sockets=1 CoresPerSocket=8 RealMemory=8000 Gres=gpu:a:2
NodeName=n[3-4] Sockets=1 CoresPerSocket=8 RealMemory=8000 Gres=gpu:b:4
NodeName=n5 Sockets=1 CoresPerSocket=8 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
"""


def test_recorded_gpus() -> None:
    w = World(GRES, "backfill", plan_all=True)
    for line, run in (
        ("--gres=gpu:1 -J g1 -n1 -t 5", 60), ("--gres=gpu:a:2 -J g2 -n1 -t 10", 200),
        ("--gres=gpu:b:3 -J g3 -n1 -t 10", 100), ("--gpus=4 -J g4 -t 10", 100), ("--gres=gpu:1 -N2 -J g5 -t 10", 100),
        ("-n2 -J c1 -t 10", 100),
    ):  # fmt: skip
        w.sbatch(line, run, at=8)
    w.until(16)
    assert {n: w.nodes(n) for n in ("g1", "g2", "g3", "g4", "g5", "c1")} == {
        "g1": "n1", "g2": "n2", "g3": "n3", "g4": "n4", "g5": "n[1,3]", "c1": "n1",
    }  # fmt: skip
    for line in (
        "--gres=gpu:a:1 -J w1 -n1 -t 5", "--gres=gpu:2 -J w2 -n1 -t 5", "--gpus=6 -J w3 -t 5",
        "--gres=gpu:a:3 -J x1 -t 5", "--gres=gpu:zz:1 -J x2 -t 5", "--gpus=99 -J x3 -t 5",
        "-N3 --gres=gpu:a:1 -J x4 -t 5", "-J c2 -n20 -t 5",
    ):  # fmt: skip
        w.sbatch(line, 30, at=17)
    w.until(33)
    assert w.refused == {"x1": CONFIGURATION, "x2": CONFIGURATION, "x3": CONFIGURATION, "x4": CONFIGURATION}
    assert w.reasons("w1 w2 w3") == {"w1": "Resources", "w2": "Priority", "w3": "Priority"}
    assert (w.nodes("c2"), w["c2"].n_cpus) == ("n[2-4]", 20)  # CPUs only: it passes
    planned = {n: w.planned(n)[0] for n in ("w1", "w2", "w3")}
    assert w.start("c2") == 20  # recorded: at 22
    assert planned == {"w1": 320, "w2": 608, "w3": 608}  # w1: when c2's own limit ends
    w.until(130)
    assert {n: w.nodes(n) for n in ("w1", "w2", "w3")} == {"w1": "n1", "w2": "n1", "w3": "n[3-4]"}
    assert w.start("w1") == w["g1"].end_time and w.shares("w3") == "1(x2)"


def test_weights_an_operator_gives_decide_from_then_on() -> None:
    """As 22.05.8 decided: n11 alone is the tighter set once it weighs as little as n[04-07]."""
    w = World(
        "ClusterName=c\nSlurmctldHost=h\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
        "DefMemPerCPU=100\nNodeName=DEFAULT Sockets=2 CoresPerSocket=4 RealMemory=16000\nNodeName=n[01-08]\n"
        "NodeName=n[09-10] Weight=10\nNodeName=n[11-12] Weight=20\nPartitionName=b Nodes=ALL Default=YES\n",
        "backfill",
    )
    w.sbatch("-J a -w n[01-03,08,10] --exclusive -N5 -t 30", run=900)
    w.sbatch("-J b -w n06 -n 2 -t 30", run=900)
    w.until(5)
    w.sbatch("-J c -n 1 -t 30", run=900)
    w.until(10)
    w.tell(AlterNodes(("n10", "n11"), 1))
    for name in "de":
        w.sbatch(f"-J {name} -n 4 -t 30", run=900)
        w.until(w.now + 10)
    assert [w.nodes(name) for name in "cde"] == ["n06", "n11", "n11"]


SOCKETS = HEAD.replace("CR_Core", "CR_Socket_Memory")


@pytest.mark.parametrize(
    ("sockets", "memory", "line", "starts"),
    [
        (1, "4000 MemSpecLimit=200", "--mem-per-cpu=1000", False),
        (1, "3800", "--mem-per-cpu=1000", False),
        (1, "3800", "-n3 --mem-per-cpu=1000", False),
        (1, "3800", "--mem-per-cpu=950", True),
        (2, "3800", "--mem-per-cpu=1000", False),
        (2, "3800", "--mem-per-cpu=950", True),
    ],
)
def test_memory_must_suffice_for_whole_sockets(sockets: int, memory: str, line: str, starts: bool) -> None:
    """22.05.8, CR_Socket_Memory, four cores a socket: a node of one socket is no exception."""
    conf = f"""{SOCKETS}NodeName=n[1-2] Sockets={sockets} CoresPerSocket=4 RealMemory={memory}
PartitionName=p Nodes=ALL Default=YES
"""
    w = World(conf, "backfill")
    w.sbatch(f"{line} -J j -t 5", 60, at=1)
    w.until(30)
    assert w.refused == ({} if starts else {"j": CONFIGURATION})
