"""The free-capacity profile and the node space against per-second tables."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.capacity import CapacityProfile, NodeSpace

HORIZON = 60  # seconds the naive table knows; later ones equal its last
UNITS = 8
ALL = (1 << UNITS) - 1

taking = st.tuples(st.integers(0, 50), st.integers(1, 20), st.integers(1, 4))


def naive(taken: list[tuple[int, int | None, int]], free: int) -> list[int]:
    levels = [free] * (HORIZON * 2)
    for begin, end, units in taken:
        for t in range(max(begin, 0), len(levels) if end is None else min(end, len(levels))):
            levels[t] += units
    return levels


def build(steps: list[tuple[int, int, int]]) -> tuple[CapacityProfile, list[int]]:
    changes: list[tuple[int, int | None, int]] = [(begin, begin + length, -units) for begin, length, units in steps]
    free = 4 * len(steps) + 1  # never below zero
    profile = CapacityProfile(0, free)
    for begin, end, units in changes:
        profile.add(begin, end, units)
    return profile, naive(changes, free)


steps = st.lists(taking, max_size=8)


@given(steps)
def test_profile_levels_are_those_of_the_table(taken: list[tuple[int, int, int]]) -> None:
    profile, table = build(taken)
    profile.check()
    for t in range(HORIZON * 2):
        assert profile.least(t, t + 1) == table[t]


@given(steps)
def test_giving_everything_back_leaves_one_segment(taken: list[tuple[int, int, int]]) -> None:
    profile, _ = build(taken)
    for begin, length, units in reversed(taken):
        profile.add(begin, begin + length, units)
    profile.check()
    assert profile.times == [0] and profile.free == [4 * len(taken) + 1]


@given(steps, st.integers(0, 30), st.integers(1, 30))
def test_profile_least_and_most(taken: list[tuple[int, int, int]], begin: int, length: int) -> None:
    profile, table = build(taken)
    assert profile.least(begin, begin + length) == min(table[begin : begin + length])
    assert profile.most(begin, begin + length) == max(table[begin : begin + length])


@given(steps, st.integers(0, 30), st.integers(1, 30), st.integers(1, 40))
def test_profile_earliest(taken: list[tuple[int, int, int]], after: int, duration: int, units: int) -> None:
    profile, table = build(taken)
    wanted = next((t for t in range(after, 75) if min(table[t : t + duration]) >= units), None)
    assert profile.earliest(units, duration, after) == wanted


@given(steps, st.integers(0, 60))
def test_profile_advance_forgets_only_the_past(taken: list[tuple[int, int, int]], now: int) -> None:
    profile, table = build(taken)
    profile.advance(now)
    profile.check()
    assert profile.times[0] == now
    for t in range(now, HORIZON * 2):
        assert profile.least(t, t + 1) == table[t]


def test_profile_for_ever_and_before_its_beginning() -> None:
    profile = CapacityProfile(100, 4)
    profile.add(0, 110, -1)
    profile.add(120, None, 3)
    assert (profile.times, profile.free) == ([100, 110, 120], [3, 4, 7])
    profile.add(50, 90, -2)  # wholly in the past
    assert profile.least(100, 101) == 3
    assert profile.earliest(8, 1, 100) is None


def test_profile_check_finds_what_must_not_be() -> None:
    profile = CapacityProfile(0, 1)
    profile.add(0, 10, -2)
    with pytest.raises(AssertionError):
        profile.check()


def test_profile_meeting_intervals_are_half_open() -> None:
    profile = CapacityProfile(0, 2)
    profile.add(0, 10, -2)
    assert profile.earliest(2, 5, 0) == 10
    profile.add(10, 20, -1)
    assert profile.earliest(1, 10, 0) == 10
    assert profile.earliest(2, 1, 0) == 20


takes = st.lists(st.tuples(st.integers(0, 70), st.integers(1, 25), st.integers(1, ALL)), max_size=10)


def space_and_table(taken: list[tuple[int, int, int]]) -> tuple[NodeSpace, dict[int, int]]:
    space = NodeSpace(0, HORIZON, ALL)
    table = dict.fromkeys(range(HORIZON), ALL)
    for begin, length, nodes in taken:
        space.take(begin, begin + length, nodes)
        for t in range(begin, min(begin + length, HORIZON)):
            table[t] &= ~nodes
    return space, table


@given(takes)
def test_space_is_the_table(taken: list[tuple[int, int, int]]) -> None:
    space, table = space_and_table(taken)
    ends = [*space.times[1:], space.end]
    assert space.times[0] == 0 and all(a < b for a, b in zip(space.times, ends, strict=True))
    for begin, end, nodes in zip(space.times, ends, space.nodes, strict=True):
        assert all(table[t] == nodes for t in range(begin, end))


@given(takes, st.integers(0, HORIZON - 1), st.integers(0, 30))
def test_space_free_over_has_an_inclusive_end(taken: list[tuple[int, int, int]], begin: int, length: int) -> None:
    space, table = space_and_table(taken)
    free = ALL
    for t in range(begin, min(begin + length + 1, HORIZON)):
        free &= table[t]
    assert space.free_over(begin, begin + length) == free


@given(takes, st.integers(0, HORIZON - 1), st.integers(1, 40))
def test_space_windows_are_all_from_which_some_node_stays_free(
    taken: list[tuple[int, int, int]], begin: int, length: int
) -> None:
    space, _ = space_and_table(taken)
    first, *others = [(t, space.free_over(t, t + length - 1)) for t in (begin, *(t for t in space.times if t > begin))]
    assert list(space.windows(begin, length)) == [first, *(window for window in others if window[1])]


def tries(space: NodeSpace, base: int, begin: int, length: int, goes_on: bool) -> list[tuple[int, int, int]]:
    """backfill.c's walk over its slots, one start after another: the same as `openings`, without its short cuts."""
    found = []
    ends = [*space.times[1:], space.end]
    while True:
        free, following = base, 0
        for k, (first, end) in enumerate(zip(space.times, ends, strict=True)):
            more = k + 1 < len(ends) and base & space.nodes[k + 1] & ~(free & space.nodes[k])
            if end > begin and more and not following:
                following = end
            if end <= begin:
                continue
            if first > begin + length:
                if goes_on and not following and k + 2 < len(ends):
                    following = ends[k + 1]
                break
            free &= space.nodes[k]
        found.append((begin, following, free))
        if not following:
            return found
        begin = following


@given(
    takes, st.integers(1, ALL), st.integers(0, HORIZON - 1), st.integers(0, 30), st.integers(0, UNITS), st.booleans()
)
def test_space_openings(
    taken: list[tuple[int, int, int]], base: int, begin: int, length: int, need: int, goes_on: bool
) -> None:
    space, _ = space_and_table(taken)
    usual = tries(space, base, begin, length, goes_on)
    found = list(space.openings(base, begin, length, need, 0, goes_on=goes_on))
    assert [x for x in found if x[2].bit_count() >= need] == [x for x in usual if x[2].bit_count() >= need]
    assert list(space.openings(base, begin, length, 0, 0, goes_on=goes_on)) == usual
    if not goes_on:
        assert list(space.openings(base, begin, length, 0, 30)) == [x for x in usual if not 0 < x[1] < 30]


@given(takes)
def test_space_says_when_it_leaves_equal_neighbours(taken: list[tuple[int, int, int]]) -> None:
    space = NodeSpace(0, HORIZON, ALL)
    for begin, length, nodes in taken:
        before = space.copy()
        kept = before.times.copy(), before.nodes.copy()
        space.take(begin, begin + length, nodes)
        assert (before.times, before.nodes) == kept
        pairs = sum(a == b for a, b in pairwise(space.nodes))
        assert space.ragged or pairs == 0


def test_space_merges_one_pair_a_take() -> None:
    space = NodeSpace(0, 90, 0b11)
    space.take(0, 30, 0b01)
    space.take(60, 90, 0b01)
    space.take(30, 60, 0b01)
    assert (space.times, space.ragged) == ([0, 60], True)
    space.take(0, 90, 0b01)
    assert space.times == [0]


def test_space_openings_beyond_its_end() -> None:
    assert list(NodeSpace(0, 60, 0b11).openings(0b10, 60, 5, 1, 0)) == [(60, 0, 0b10)]


def test_space_knows_nothing_beyond_its_end() -> None:
    space = NodeSpace(0, 60, 0b11)
    space.take(0, 100, 0b01)
    assert space.free_over(59, 200) == 0b10
    assert space.free_over(60, 200) & 0b11 == 0b11
    space.take(60, 70, 0b10)
    assert space.times == [0]


def test_space_merges_one_pair_only() -> None:
    space = NodeSpace(0, 60, 0b11)
    space.take(10, 20, 0b00)  # cuts in two places, changes nothing: one of the two equal pairs is merged
    assert space.times == [0, 20]


def test_space_is_full() -> None:
    space = NodeSpace(0, 60, 0b11, max_segments=3)
    assert not space.full
    space.take(10, 20, 0b01)
    assert space.full


def test_space_counts_a_slot_that_begins_at_the_very_end() -> None:
    space = NodeSpace(0, 60, 0b11)
    space.take(10, 20, 0b01)
    assert space.free_over(0, 9) == 0b11
    assert space.free_over(0, 10) == 0b10
    assert space.free_over(20, 30) == 0b11
