"""Choosing nodes under blocks, by what real Slurm chose and against what must hold of any choice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.core.placement.best_fit import Ask, Segments, choose
from slurmsim.core.placement.blocks import BlockTopology
from slurmsim.hostlist import compress, expand
from slurmsim.model.block import BlockSpec, BlockTopologySpec

NAMES = expand("n[01-18]")
INDEX = {name: i for i, name in enumerate(NAMES)}
SPEC = BlockTopologySpec(tuple(BlockSpec(f"b{k + 1}", tuple(NAMES[4 * k : 4 * k + 4])) for k in range(4)), 4, (0, 1, 2))
"""Four base blocks of four nodes, two of which are a block, and all four; two nodes are in none."""


def network(release: str = "26.05", spec: BlockTopologySpec = SPEC) -> BlockTopology:
    return BlockTopology(spec, INDEX, any_segment=release == "26.05")


def pick(
    blocks: BlockTopology, free: str, nodes: int, *flags: str, segment: int = 0, most: int = 99, required: str = "",
    weights: dict[str, int] | None = None,
) -> str:  # fmt: skip
    """The nodes of a job alone on its nodes, of the `free` ones; "" for none."""
    usable = sorted(INDEX[name] for name in expand(free))
    segments = Segments(segment, "consolidated" in flags, "spread" in flags) if segment else None
    ask = Ask(nodes, nodes, most, nodes, True, 1, 1, False, 1, False)
    ask.segments = segments
    heavy = {INDEX[name]: weight for name, weight in (weights or {}).items()}
    found = choose(ask, usable, [4] * len(usable), [heavy.get(i, 1) for i in usable],
                   {INDEX[name] for name in expand(required)} if required else set(), tree=blocks)  # fmt: skip
    return compress([NAMES[i] for i in sorted(found)]) if found else ""


RECORDED = (
    # in turn, each on what those before it left
    (("n13", 1), ("n[14-15]", 2), ("n[09-11]", 3), ("n[05-06]", 2)),
    (("n[09-10,13-16]", 6), ("n[05-08]", 4), ("n[01-03]", 3), ("", 3)),
    (("n[09-16]", 8, 2), ("n[01-03,05-07]", 6, 3), ("", 2)),
)


@pytest.mark.parametrize("jobs", RECORDED)
@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_nodes_real_slurm_chose(release: str, jobs: tuple[tuple[str, int] | tuple[str, int, int], ...]) -> None:
    free = set(NAMES)
    for expected, nodes, *segment in jobs:
        found = pick(network(release), compress(sorted(free)), nodes, segment=segment[0] if segment else 0)
        assert found == expected
        free -= set(expand(found)) if found else set()


def test_segments_of_26_05_as_recorded() -> None:
    blocks = network()
    every = compress(NAMES)
    assert pick(blocks, every, 12, "consolidated", segment=3) == "n[01-03,05-07,09-11,13-15]"
    assert pick(blocks, every, 6, "spread", segment=2) == "n[05-06,09-10,13-14]"
    left = "n[01-04,07-08,11-12,15-18]"
    assert pick(blocks, left, 6, "consolidated", segment=2) == "n[01-04,07-08]"
    assert pick(blocks, "n[11-12,15-18]", 4, "consolidated", "spread", segment=2) == "n[11-12,15-16]"
    assert pick(blocks, every, 8, segment=8) == "n[09-16]"
    assert pick(network("24.11"), every, 8, segment=8) == ""  # larger than a base block
    assert pick(blocks, "n[01-08,17-18]", 2, segment=4) == "n[05-06]"  # larger than the job: not one


def test_a_larger_block_is_tried_after_another() -> None:
    """The tighter pair of base blocks has six nodes, but no two segments of three; the other pair has."""
    found = pick(network(), "n[01-02,05-08,09-11,13-16]", 6, "consolidated", segment=3)
    assert found == "n[09-11,13-15]"


def test_required_and_light_nodes() -> None:
    blocks = network()
    assert pick(blocks, compress(NAMES), 3, required="n11") == "n[09-11]"
    assert pick(blocks, compress(NAMES), 2, required="n[04-05]") == ""  # no block of one level holds both
    assert pick(blocks, compress(NAMES), 6, required="n[04-05]") == "n[01,04-08]"
    assert pick(blocks, compress(NAMES), 2, weights=dict.fromkeys(NAMES[4:], 9)) == "n[01-02]"
    assert pick(blocks, "n[17-18]", 2) == "n[17-18]"  # in no block, where no node of a block is free
    assert pick(blocks, "n[16-18]", 2) == ""


@given(
    st.sets(st.integers(0, 15), min_size=1), st.integers(1, 16), st.sampled_from(["24.11", "26.05"]),
    st.sampled_from([(0,), (0, 1), (0, 1, 2), (0, 2)]),
)  # fmt: skip
def test_a_job_is_in_one_block_of_the_lowest_level_that_holds_it(
    free: set[int], nodes: int, release: str, levels: tuple[int, ...]
) -> None:
    blocks = network(release, BlockTopologySpec(SPEC.blocks, 4, levels))
    found = pick(blocks, compress([NAMES[i] for i in sorted(free)]), nodes)
    level = blocks.level_of(nodes)
    size = 16 if level < 0 else 4 << level
    rooms = [len([i for i in free if i // size == k]) for k in range(16 // size)]
    assert bool(found) <= (max(rooms) >= nodes)
    if level == 0:
        assert bool(found) == (max(rooms) >= nodes)
    if found:
        chosen = [INDEX[name] for name in expand(found)]
        assert len(chosen) == nodes and set(chosen) <= free
        assert len({i // size for i in chosen}) == 1


@given(
    st.sets(st.integers(0, 15), min_size=4), st.integers(1, 4), st.integers(2, 4),
    st.sets(st.sampled_from(["consolidated", "spread"])),
)  # fmt: skip
def test_no_segment_straddles(free: set[int], segment: int, times: int, flags: set[str]) -> None:
    found = pick(network(), compress([NAMES[i] for i in sorted(free)]), segment * times, *flags, segment=segment)
    rooms = [len([i for i in free if i // 4 == k]) for k in range(4)]
    each = [min(room // segment, 1) if "spread" in flags else room // segment for room in rooms]
    if "consolidated" not in flags:
        assert bool(found) == (sum(each) >= times)
    if found:
        counts = [len([name for name in expand(found) if INDEX[name] // 4 == k]) for k in range(4)]
        assert sum(counts) == segment * times and all(count % segment == 0 for count in counts)
        assert all(count <= segment for count in counts) or "spread" not in flags
