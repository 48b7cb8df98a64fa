"""Sets of nodes as ints against Python sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.bitmap import (
    by_integers,
    from_ascending,
    from_bools,
    from_indices,
    lowest,
    runs,
    span,
    to_bools,
    to_indices,
)
from slurmsim.kernel.picking import Picker

members = st.sets(st.integers(0, 300), max_size=120)


@given(members)
def test_indices_round_trip(wanted: set[int]) -> None:
    mask = from_indices(sorted(wanted))
    assert {i for i in range(301) if mask >> i & 1} == wanted
    assert to_indices(mask).tolist() == sorted(wanted)


@given(members)
def test_indices_from_an_array_are_those_from_a_list(wanted: set[int]) -> None:
    assert from_indices(np.array(sorted(wanted), np.int64)) == from_indices(sorted(wanted))


@given(st.sets(st.integers(0, 300), min_size=1, max_size=120))
def test_ascending_ones_are_the_same_set(wanted: set[int]) -> None:
    assert from_ascending(sorted(wanted)) == from_indices(sorted(wanted))


@given(st.lists(st.booleans(), max_size=100))
def test_bools_round_trip(flags: list[bool]) -> None:
    mask = from_bools(np.array(flags, np.bool_))
    assert mask == sum(1 << i for i, flag in enumerate(flags) if flag)
    assert to_bools(mask, len(flags)).tolist() == flags


def by_bytes(mask: int) -> list[tuple[int, int]]:
    return Picker().runs(mask.to_bytes((mask.bit_length() + 7) >> 3, "little"))


@pytest.mark.parametrize("find", [runs, by_integers, by_bytes])
@given(members)
def test_runs_are_maximal_and_cover_exactly(find: Callable[[int], list[tuple[int, int]]], wanted: set[int]) -> None:
    found = find(from_indices(sorted(wanted)))
    assert {i for first, length in found for i in range(first, first + length)} == wanted
    for first, length in found:
        assert length > 0
        assert first - 1 not in wanted and first + length not in wanted
    assert [first for first, _ in found] == sorted(first for first, _ in found)


@given(st.integers(0, 200), st.integers(0, 200))
def test_span_is_that_run(first: int, length: int) -> None:
    assert to_indices(span(first, length)).tolist() == list(range(first, first + length))


@given(members, st.data())
def test_lowest_takes_the_first_k(wanted: set[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(0, len(wanted)))
    assert to_indices(lowest(from_indices(sorted(wanted)), k)).tolist() == sorted(wanted)[:k]


def test_wide_sets() -> None:
    wanted = list(range(0, 40_000, 3))
    assert to_indices(from_indices(wanted)).tolist() == wanted
    assert len(runs(from_indices(wanted))) == len(wanted)
