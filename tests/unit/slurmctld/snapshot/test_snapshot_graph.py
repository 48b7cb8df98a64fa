"""Any graph of records and containers comes back as it was, and shared where it was shared."""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.errors import InvariantError, WorkloadError
from slurmsim.slurmctld.snapshot.graph import Decoder, Encoder, Kind, Special


@dataclass(frozen=True, slots=True)
class Point:
    x: Any
    y: Any


class Node:
    __slots__ = ("cache", "left", "right", "tag")

    def __init__(self, left: Any, right: Any, tag: Any) -> None:
        self.left, self.right, self.tag, self.cache = left, right, tag, object()

    def call(self) -> Any:
        return self.tag


class Compiled:
    """Something made of a key that cannot be written down."""

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key, self.function = key, lambda: key


KINDS = (Kind("point", Point, ("x", "y")), Kind("node", Node, ("left", "right", "tag"), {"cache": list}))
PART = Node(None, None, "part")
SPECIALS = [Special("compiled", Compiled, lambda one: one.key, lambda *key: Compiled(key))]


def back(value: Any) -> Any:
    encoder = Encoder(KINDS, {"part": PART}, SPECIALS)
    first = encoder.value(value)
    coded, chunks = json.loads(json.dumps([first, list(encoder.chunks())]))
    decoder = Decoder(KINDS, {"part": PART}, SPECIALS)
    for chunk in chunks:
        decoder.add(chunk)
    decoder.fill()
    found = decoder.value(coded)
    decoder.finish()
    return found


plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
keys = st.text() | st.integers() | st.tuples(st.integers(), st.text()) | st.builds(Point, st.integers(), st.text())
values = st.recursive(
    plain | st.frozensets(st.integers() | st.text()),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(keys, inner) | st.sets(keys)
        | st.builds(deque, st.lists(inner), st.none() | st.integers(0, 3)) | st.builds(Point, inner, inner)
        | st.dictionaries(st.sampled_from(["a", "b"]), inner, min_size=2)
    ),
    max_leaves=40,
)  # fmt: skip


@given(values)
def test_values_come_back(value: Any) -> None:
    found = back(value)
    assert found == value
    assert type(found) is type(value)


@given(st.integers(200, 20_000))
def test_node_sets_of_any_width_come_back(bits: int) -> None:
    assert back([1 << bits]) == [1 << bits]


def test_what_is_shared_stays_shared() -> None:
    shared, point = [1], Point(1, 2)
    node = Node(shared, point, "t")
    found = back([node, shared, point, {"n": node}, PART])
    assert found[0].left is found[1]
    assert found[0].right is found[2]
    assert found[3]["n"] is found[0]
    assert found[4] is PART
    assert found[0].cache == []


def test_circles_come_back() -> None:
    one, other = Node(None, None, 1), Node(None, None, 2)
    one.left, other.left = other, one
    found = back(one)
    assert found.left.left is found


def test_equal_is_not_the_same() -> None:
    found = back([Point(1, 2), Point(1, 2)])
    assert found[0] == found[1]
    assert found[0] is not found[1]


def test_methods_find_their_owners() -> None:
    node = Node(None, None, 7)
    assert back((PART.call, node.call, [node]))[0]() == "part"
    call, owner = back([node.call, node])
    assert call() == 7
    assert call.__self__ is owner


def test_special_things_are_made_again_of_their_keys() -> None:
    found = back(Node(Compiled((1, "a")), None, None))
    assert found.left.key == (1, "a")


def test_slots_nobody_filled_stay_so() -> None:
    node = Node.__new__(Node)
    node.left = 1
    found = back([node, Node(1, 2, 3)])
    assert found[0].left == 1
    assert not hasattr(found[0], "tag")


def test_containers_keep_their_kind() -> None:
    counted, grouped = Counter("aab"), defaultdict(list, {"x": [1]})
    found = back([counted, grouped, np.arange(6, dtype=np.int16).reshape(2, 3), np.float64(0.1), np.zeros(0)])
    assert type(found[0]) is Counter
    assert found[0] == counted
    assert found[1]["new"] == []
    assert found[2].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found[2].dtype == np.int16
    found[2][0, 0] = 9  # not read-only
    assert found[3] == np.float64(0.1)
    assert found[4].shape == (0,)


def test_present_containers_are_filled_where_they_are() -> None:
    encoder = Encoder(KINDS, {})
    coded = [encoder.value([1, 2]), encoder.value({"a": 1}), encoder.value(np.arange(3))]
    decoder = Decoder(KINDS, {})
    for chunk in json.loads(json.dumps(list(encoder.chunks()))):
        decoder.add(chunk)
    present: list[Any] = [[7], {"b": 2}, np.zeros(3, np.int64)]
    for value, here in zip(coded, present, strict=True):
        decoder.bind(value, here)
    decoder.fill()
    assert [decoder.value(value) is here for value, here in zip(coded, present, strict=True)] == [True] * 3
    assert present[:2] == [[1, 2], {"a": 1}]
    assert present[2].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "value",
    [object(), lambda: 0, {1: object()}, np.array([object()])],
    ids=["object", "function", "in a dict", "in an array"],
)
def test_what_cannot_be_written_is_said(value: Any) -> None:
    with pytest.raises(InvariantError, match="a snapshot cannot hold"):
        back([value])


def test_words_and_kinds_nobody_knows_are_said() -> None:
    decoder = Decoder(KINDS, {})
    with pytest.raises(WorkloadError, match="a word this version knows"):
        decoder.value(["?", 1])
    with pytest.raises(WorkloadError, match="a kind this version knows"):
        decoder.add({"kind": "of later", "n": 1, "items": [None]})


MODELS = (Kind("point", Point, ("x", "y"), {}, {"y": 7}),)


@pytest.mark.parametrize(
    ("columns", "found"), [({"x": {"v": [1]}, "y": {"v": [2]}}, (1, 2)), ({"x": {"v": [1]}}, (1, 7))]
)
def test_an_attribute_younger_than_the_snapshot_has_its_default(
    columns: dict[str, Any], found: tuple[int, int]
) -> None:
    decoder = Decoder(MODELS, {})
    decoder.add({"kind": "point", "n": 1, "columns": columns})
    decoder.fill()
    assert decoder.records("point") == [Point(*found)]


def test_an_attribute_that_is_not_known_is_refused() -> None:
    decoder = Decoder(MODELS, {})
    decoder.add({"kind": "point", "n": 1, "columns": {"x": {"v": [1]}, "z": {"v": [2]}}})
    with pytest.raises(WorkloadError, match="the snapshot has z of a point"):
        decoder.fill()
