"""Rows of nodes and the intervals hostlist expressions cover."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.hostlist import HostlistError, compress, expand
from slurmsim.report.noderows import NodeRows, spans


@pytest.mark.parametrize(
    ("expr", "found"),
    [
        ("", []),
        ("n7", [("n", 7, 7)]),
        ("n007", [("n", 7, 7)]),
        ("login", [("login", -1, -1)]),
        ("n[1-4,7]", [("n", 1, 4), ("n", 7, 7)]),
        ("n[1-4,7],g1", [("n", 1, 4), ("n", 7, 7), ("g", 1, 1)]),
        ("a[08-11],b[1,3]", [("a", 8, 11), ("b", 1, 1), ("b", 3, 3)]),
        ("r[1-2]n[1-2]", [("r1n", 1, 1), ("r1n", 2, 2), ("r2n", 1, 1), ("r2n", 2, 2)]),
        ("n[1-2]-ib", [("n1-ib", -1, -1), ("n2-ib", -1, -1)]),
    ],
)
def test_spans(expr, found):
    assert spans(expr) == found


@pytest.mark.parametrize("expr", ["n[1-", "n[a]", "n[1-2]]"])
def test_what_is_no_hostlist_is_refused(expr):
    with pytest.raises(HostlistError):
        spans(expr)


NAMES = st.sets(
    st.builds("{}{}".format, st.sampled_from(["n", "gpu", "r1n"]), st.integers(0, 60))
    | st.sampled_from(["login", "io"]),
    min_size=1,
)


@given(NAMES, st.data())
def test_intervals_cover_the_rows_of_the_nodes_and_no_others(names, data):
    some = data.draw(st.sets(st.sampled_from(sorted(names))))
    rows = NodeRows([compress(names)])
    assert rows.n == len(names)
    row_of = {rows.name(i): i for i in range(rows.n)}
    assert set(row_of) == names
    covered = [row for low, high in rows.intervals(compress(some)) for row in range(low, high)]
    assert sorted(covered) == sorted(row_of[name] for name in some)


def test_rows_follow_the_cluster_or_else_the_natural_order():
    expressions = ["n[2-3]", "gpu[1-2]", "n10", "n1"]
    in_order = NodeRows(expressions, in_order=True)
    assert [in_order.name(i) for i in range(6)] == ["n1", "n2", "n3", "n10", "gpu1", "gpu2"]
    natural = NodeRows(["r10n1", "r2n1"])
    assert [natural.name(i) for i in range(2)] == ["r2n1", "r10n1"]


def test_zero_padding_is_kept_in_names():
    in_order = NodeRows(["n[001-100]", "gpu[1-2]"], in_order=True)
    assert [in_order.name(i) for i in (0, 99, 100)] == ["n001", "n100", "gpu1"]
    assert in_order.intervals("n[002-005]") == [(1, 5)]


def test_nodes_that_have_no_row_are_left_out():
    rows = NodeRows(["n[1-4]"])
    assert rows.intervals("n[3-9],other[1-2]") == [(2, 4)]
    assert rows.intervals("n[7-9]") == []


def test_flat_says_whose_interval_is_whose():
    owner, first, last = NodeRows(["n[1-9]"]).flat(["n[1-2,5]", "", "n9"])
    assert (owner.tolist(), first.tolist(), last.tolist()) == ([0, 0, 2], [0, 4, 8], [2, 5, 9])


def test_many_nodes_are_ranges_not_names():
    rows = NodeRows(["n[1-100000]"])
    assert rows.n == 100_000 and rows.intervals("n[5-90000]") == [(4, 90_000)]
    assert len(expand("n[1-3]")) == 3 and rows.name(99_999) == "n100000"
