"""``--constraint``: what nodes pass, counts and kinds, what is refused."""

from __future__ import annotations

import pytest

from slurmsim.core.placement.constraints import parse_constraint
from slurmsim.errors import SubmitError

KNOWN = frozenset("abc")
NODES = [frozenset(s) for s in ("", "a", "b", "c", "ab", "abc")]


def passing(test: object) -> list[str]:
    assert callable(test)
    return ["".join(sorted(n)) for n in NODES if test(n)]


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("a", ["a", "ab", "abc"]),
        ("a&b", ["ab", "abc"]),
        ("a,b", ["ab", "abc"]),
        ("b|c", ["b", "c", "ab", "abc"]),
        ("a&(b|c)", ["ab", "abc"]),
        ("c|a&b", ["c", "ab", "abc"]),
        ("[a]", ["a", "ab", "abc"]),
    ],
)
def test_every_node(text: str, nodes: list[str]) -> None:
    found = parse_constraint(text, KNOWN)
    assert passing(found.test) == nodes
    assert found.kinds == found.counts == ()


def test_kinds() -> None:
    found = parse_constraint("[a|(b&c)|c]", KNOWN)
    assert [passing(kind) for kind in found.kinds] == [["a", "ab", "abc"], ["abc"], ["c", "abc"]]
    assert passing(found.test) == ["", "a", "b", "c", "ab", "abc"]


def test_counts() -> None:
    found = parse_constraint("[a*1&(b|c)*2]", KNOWN)
    assert [(passing(test), n) for test, n in found.counts] == [
        (["a", "ab", "abc"], 1), (["b", "c", "ab", "abc"], 2),
    ]  # fmt: skip
    assert found.apart
    found = parse_constraint("c&a*3", KNOWN)
    assert (passing(found.test), len(found.counts), found.counts[0][1], found.apart) == (["c", "abc"], 1, 3, False)


@pytest.mark.parametrize(
    "text",
    ["z", "a&", "&a", "a b", "(a", "a)", "[a", "a]", "a*", "a*0", "a*x", "[a*1|b*2]", "[a|b*2]", "[a&b]", "[a*1&b]",
     "((a)", "*2", "[]", "[z]&a"],
)  # fmt: skip
def test_bad(text: str) -> None:
    with pytest.raises(SubmitError, match="Invalid feature specification"):
        parse_constraint(text, KNOWN)


def test_brackets_beside_something_are_refused_by_name() -> None:
    with pytest.raises(SubmitError, match=r"slurmsim models .* only around all of it: a&.b.c."):
        parse_constraint("a&[b|c]", KNOWN)
