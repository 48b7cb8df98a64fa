"""Choosing nodes under a tree of switches, by hand-worked cases and against what must hold of any choice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slurmsim.bitmap import from_indices
from slurmsim.core.placement.best_fit import Ask, choose
from slurmsim.core.placement.topology import SwitchTree
from slurmsim.model.switch import SwitchSpec

INDEX = {f"n{i}": i for i in range(12)}


def leaf(name: str, *nodes: int) -> SwitchSpec:
    return SwitchSpec(name, tuple(f"n{i}" for i in nodes))


# two racks of two leaves each: 2 + 3 and 4 + 3 nodes
SWITCHES = [
    leaf("a", 0, 1), leaf("b", 2, 3, 4), leaf("c", 5, 6, 7, 8), leaf("d", 9, 10, 11),
    SwitchSpec("r1", (), ("a", "b")), SwitchSpec("r2", (), ("c", "d")), SwitchSpec("top", (), ("r1", "r2")),
]  # fmt: skip
TREE = SwitchTree(SWITCHES, INDEX)


def ask(nodes: int, cpus: int = 0, *, exclusive: bool = True, most: int = 99) -> Ask:
    return Ask(nodes, nodes, most, cpus or nodes, exclusive, 1, 1, False, 1, False)


def pick(nodes: int, free: str, weights: dict[int, int] | None = None, required: tuple[int, ...] = ()) -> list[int]:
    usable = [i for i, c in enumerate(free) if c != "."]
    found = choose(ask(nodes), usable, [1] * len(usable), [(weights or {}).get(i, 1) for i in usable], set(required),
                   tree=TREE)  # fmt: skip
    return sorted(found) if found is not None else []


def test_distances_and_leaves() -> None:
    assert TREE.level == [0, 0, 0, 0, 1, 1, 2]
    assert TREE.distance[0][:4] == [0, 2, 4, 4]
    assert TREE.leaves_of(from_indices([1, 4, 9])) == 3


def test_the_tightest_leaf_that_holds_the_job() -> None:
    assert pick(2, "oooooooooooo") == [0, 1]
    assert pick(3, "oooooooooooo") == [2, 3, 4]
    assert pick(4, "oooooooooooo") == [5, 6, 7, 8]
    assert pick(2, "oo.o.ooooooo") == [0, 1]
    assert pick(1, "ooooo....oo.") == [0]


def test_leaves_next_to_each_other() -> None:
    assert pick(5, "oooooooooooo") == [0, 1, 2, 3, 4]  # rack 1 holds it tightly; its larger leaf first
    # rack 2 holds it, so its larger leaf; then leaf a, because it fits tighter than the nearer leaf d
    assert pick(6, "oooooooooooo") == [0, 1, 5, 6, 7, 8]
    assert pick(4, "oooooo.oo.o.") == [5, 7, 8, 10]  # no leaf holds four, rack 2 just does


def test_lighter_nodes_first_and_required_ones() -> None:
    assert pick(2, "oooooooooooo", dict.fromkeys(range(5), 5)) == [9, 10]
    assert pick(2, "oooooooooooo", required=(7,)) == [5, 7]
    assert pick(3, "oo...o......", required=(0,)) == [0, 1, 5]
    assert pick(4, "oo..........") == []


@given(st.lists(st.integers(0, 4), min_size=12, max_size=12), st.integers(1, 12), st.integers(1, 24))
def test_a_choice_is_what_was_asked_for(cpus: list[int], nodes: int, total: int) -> None:
    usable = [i for i, n in enumerate(cpus) if n]
    offers = [cpus[i] for i in usable]
    found = choose(ask(nodes, max(nodes, total), exclusive=False), usable, offers, [1] * len(usable), set(), tree=TREE)
    possible = len(usable) >= nodes and sum(offers) >= max(nodes, total)
    assert (found is not None) == possible
    if found is not None:
        assert len(found) >= nodes and sum(found.values()) >= max(nodes, total)
        assert all(0 < n <= cpus[i] for i, n in found.items())


def racks(*, counts_cpus: bool) -> SwitchTree:
    """Two leaves of four and two nodes under one switch."""
    switches = [leaf("a", 0, 1, 2, 3), leaf("b", 4, 5), SwitchSpec("top", (), ("a", "b"))]
    return SwitchTree(switches, INDEX, counts_cpus=counts_cpus)


def test_a_leaf_has_to_hold_the_cpus_since_23_02() -> None:
    """16 CPUs, of nodes with eight: the leaf with one free node fits one node tightest, but not the CPUs."""
    offered = [0, 1, 2, 3, 4], [8] * 5, [1] * 5
    wanted = Ask(1, 1, 99, 16, False, 1, 1, False, 1, False)
    found = {counts: choose(wanted, *offered, set(), tree=racks(counts_cpus=counts)) for counts in (False, True)}
    assert found == {False: {4: 8, 0: 8}, True: {0: 8, 1: 8}}


@given(st.lists(st.integers(0, 4), min_size=12, max_size=12), st.integers(1, 12), st.integers(1, 24))
def test_where_cpus_count_a_choice_is_what_was_asked_for(cpus: list[int], nodes: int, total: int) -> None:
    usable = [i for i, n in enumerate(cpus) if n]
    offers = [cpus[i] for i in usable]
    tree = SwitchTree(SWITCHES, INDEX, counts_cpus=True)
    found = choose(ask(nodes, max(nodes, total), exclusive=False), usable, offers, [1] * len(usable), set(), tree=tree)
    assert (found is not None) == (len(usable) >= nodes and sum(offers) >= max(nodes, total))
    if found is not None:
        assert len(found) >= nodes and sum(found.values()) >= max(nodes, total)
