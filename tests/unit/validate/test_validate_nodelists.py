"""Reading many hostlists at once gives the nodes `hostlist.expand` gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.hostlist import compress, expand
from slurmsim.validate.nodelists import NodeIndex

# Gaps, padding, two widths of one prefix, a number before the last, a suffix, an order that is not numeric, no number.
NAMES = [*expand("n[001-012,14,20-30]"), "x1", "x01", *expand("r[1-2]c[8-11]"), "r1-ib", "z3", "z2", "z1", "login"]


def nodes(index: NodeIndex, text: str) -> tuple[list[int], str | None]:
    runs = index.runs(["", text, "n003"])
    assert runs.text[-1] == 2 and runs.count[[0, 2]].tolist() == [0, 1]
    here = runs.text == 1
    found = [i for a, b in zip(runs.low[here], runs.high[here], strict=True) for i in range(a, b + 1)]
    assert len(found) == runs.count[1]
    return found, runs.bad.get(1)


@given(st.lists(st.sampled_from(NAMES), unique=True, max_size=len(NAMES)), st.booleans())
def test_equals_expand(names: list[str], compressed: bool) -> None:
    text = compress(names) if compressed else ",".join(names)
    assert nodes(NodeIndex(NAMES), text) == ([NAMES.index(name) for name in expand(text)], None)


@pytest.mark.parametrize(
    ("text", "good", "message"),
    [
        ("n[001-003],n13", 3, "unknown node n13"),
        ("n[011-015]", 2, "unknown node n013"),
        ("n1", 0, "unknown node n1"),
        ("n[1-3]", 0, "unknown node n1"),
        ("q[1-2]", 0, "unknown node q1"),
        ("n[003-001]", 0, "runs backwards"),
        ("n[001", 0, "without ']'"),
        ("n001,n[,]", 1, "bad range"),
        ("n9999999999", 0, "unknown node n9999999999"),
    ],
)
def test_names_what_is_wrong(text: str, good: int, message: str) -> None:
    found, bad = nodes(NodeIndex(NAMES), text)
    assert len(found) == good
    assert bad is not None and message in bad


def test_large_numbers_are_looked_up_by_name() -> None:
    names = ["n1", "n999999999", "ip-10-0-0-99999999"]
    assert nodes(NodeIndex([*names, "n003"]), "n[1,999999999],ip-10-0-0-99999999") == ([0, 1, 2], None)
