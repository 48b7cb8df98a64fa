"""Choosing nodes on rings and in tori, by what real Slurm 26.05 chose and against what must hold of any choice."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.core.placement.best_fit import Ask, Evaluator, Segments, choose
from slurmsim.core.placement.rings import RingTopology
from slurmsim.core.placement.torus import TorusTopology
from slurmsim.hostlist import compress, expand
from slurmsim.model.topology import PlacementSpec, RingSpec, TorusSpec

NAMES = expand("n[01-24]")
INDEX = {name: i for i, name in enumerate(NAMES)}
RINGS = RingTopology([RingSpec("r1", tuple(NAMES[:8])), RingSpec("r2", tuple(NAMES[15:7:-1]))], INDEX)
"""Two rings of eight nodes, the second one from its last node to its first; eight nodes are in none."""
SHAPES = (PlacementSpec((2, 2, 1)), PlacementSpec((2, 1, 1)), PlacementSpec((2, 2, 2), spacing=(1, 2, 1)),
          PlacementSpec((4, 2, 3)))  # fmt: skip
POD = TorusSpec("pod1", (4, 2, 3), tuple(NAMES), SHAPES)
TORUS = TorusTopology([POD], INDEX)


def pick(
    network: Evaluator, free: Sequence[str], nodes: int, segment: int = 0, required: str = "",
    weights: dict[str, int] | None = None,
) -> str:  # fmt: skip
    """The nodes of a job alone on its nodes, of the `free` ones; "" for none."""
    usable = sorted(INDEX[name] for name in free)
    ask = Ask(nodes, nodes, 99, nodes, True, 1, 1, False, 1, False)
    ask.segments = Segments(segment) if segment else None
    heavy = {INDEX[name]: weight for name, weight in (weights or {}).items()}
    needed = {INDEX[name] for name in expand(required)} if required else set()
    found = choose(ask, usable, [4] * len(usable), [heavy.get(i, 1) for i in usable], needed, tree=network)
    return compress([NAMES[i] for i in sorted(found)]) if found else ""


def in_turn(network: Evaluator, jobs: Sequence[tuple[str, int, int]]) -> None:
    """Each job on what those before it left."""
    free = set(NAMES)
    for expected, nodes, segment in jobs:
        found = pick(network, sorted(free), nodes, segment)
        assert found == expected
        free -= set(expand(found)) if found else set()


def test_rings_real_slurm_chose() -> None:
    in_turn(RINGS, [("n[01-03]", 3, 0), ("n[11-16]", 6, 0), ("n[09-10]", 2, 0), ("n[04-07]", 4, 0)])
    in_turn(RINGS, [("n[01-04]", 4, 0), ("n05", 1, 0), ("n[06-07,15-16]", 4, 2), ("n[13-14]", 2, 0)])


def test_boxes_real_slurm_chose() -> None:
    in_turn(TORUS, [("n[01-02,05-06]", 4, 0), ("n[09-10]", 2, 0), ("n[03-04,07-08,11-12,15-16]", 8, 0),
                    ("n[17-24]", 8, 4), ("", 24, 0)])  # fmt: skip


def test_a_run_goes_round_the_ring() -> None:
    assert pick(RINGS, expand("n[01,03,05,07-08]"), 3) == "n[01,07-08]"
    assert pick(RINGS, expand("n[01,03,05,07]"), 2) == ""
    assert pick(RINGS, expand("n[01-08,17-24]"), 8) == "n[01-08]"


def test_weights_come_before_the_fuller_ring() -> None:
    assert pick(RINGS, expand("n[01-08,15-16]"), 2) == "n[15-16]"
    assert pick(RINGS, expand("n[01-08,15-16]"), 2, weights={"n16": 5}) == "n[01-02]"
    assert pick(RINGS, expand("n[01-08]"), 2, weights={"n01": 5, "n02": 5}) == "n[03-04]"


def test_required_nodes() -> None:
    assert pick(RINGS, NAMES, 2, required="n[05-06]") == "n[05-06]"
    assert pick(RINGS, NAMES, 2, required="n[02,04]") == ""
    assert pick(RINGS, NAMES, 3, required="n[05-06]") == ""  # all of them, or none
    assert pick(TORUS, NAMES, 4, required="n07") == "n[03-04,07-08]"
    assert RINGS.refused(3, 0, 2)
    assert not RINGS.refused(2, 0, 2)


def test_what_no_network_gives() -> None:
    assert RINGS.refused(4, 3, 0)
    assert not RINGS.refused(4, 8, 0)  # larger than the job: none
    assert pick(RINGS, NAMES, 9) == ""
    assert pick(RINGS, NAMES, 9, segment=3) == ""  # as many rings as segments
    assert TORUS.refused(3, 0, 0)
    assert TORUS.refused(12, 8, 0)
    assert not TORUS.refused(12, 4, 0)


def test_nodes_in_no_ring() -> None:
    """They are chosen as if there were none, where no node of a ring is usable."""
    assert pick(RINGS, expand("n[17-24]"), 9) == ""
    assert pick(RINGS, expand("n[17-20,22]"), 5) == "n[17-20,22]"
    assert pick(RINGS, expand("n[08,17-20,22]"), 2) == ""


@pytest.mark.parametrize("segments", [1, 2])
@given(free=st.sets(st.sampled_from(NAMES[:16]), min_size=1), size=st.integers(1, 8))
def test_runs_are_neighbours_on_one_ring(segments: int, free: set[str], size: int) -> None:
    found = expand(pick(RINGS, sorted(free), size * segments, segment=size if segments > 1 else 0) or "n01")
    rings = [NAMES[:8], NAMES[15:7:-1]]
    fits = [any({(*ring, *ring)[s + k] for k in range(size)} <= free for s in range(8)) for ring in rings]
    if len(found) < size * segments or not set(found) <= free:
        assert sum(fits) < segments
        return
    for ring in rings:
        mine = {ring.index(name) for name in found if name in ring}
        assert len(mine) in (0, size)
        assert not mine or any({(s + k) % 8 for k in range(size)} == mine for s in range(8))


@given(free=st.sets(st.sampled_from(NAMES), min_size=2), shape=st.sampled_from(SHAPES))
def test_boxes_are_those_of_the_file(free: set[str], shape: PlacementSpec) -> None:
    boxes = []
    for x in shape.starts(POD.dims)[0]:
        for y in shape.starts(POD.dims)[1]:
            for z in shape.starts(POD.dims)[2]:
                places = [((x + i) % 4, (y + j) % 2, (z + k) % 3) for i in range(shape.dims[0])
                          for j in range(shape.dims[1]) for k in range(shape.dims[2])]  # fmt: skip
                boxes.append({NAMES[a + 4 * b + 8 * c] for a, b, c in places})
    found = pick(TORUS, sorted(free), shape.size)
    if found:
        assert set(expand(found)) in boxes
        assert set(expand(found)) <= free
    else:
        assert not any(box <= free for box in boxes)
