"""Host lists: the corpus of bracket expressions, errors that quote the bad part, and a naive model."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.errors import SlurmSimError
from slurmsim.hostlist import MAX_HOSTS, HostlistError, compress, expand, natural_key


@pytest.mark.parametrize(
    ("expr", "names"),
    [
        ("", []),
        (" , ", []),
        ("n1", ["n1"]),
        ("n1,n2", ["n1", "n2"]),
        ("n1 n2\tn3", ["n1", "n2", "n3"]),
        ("n[1-3,5]", ["n1", "n2", "n3", "n5"]),
        ("n[01-03,7]", ["n01", "n02", "n03", "n7"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("n[8-011]", ["n8", "n9", "n10", "n11"]),
        ("n[1,3,2,07-08]", ["n1", "n3", "n2", "n07", "n08"]),
        ("n[1-1]", ["n1"]),
        ("n[2,2]", ["n2", "n2"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("r[1-2]n[01-02]-ib,g1", ["r1n01-ib", "r1n02-ib", "r2n01-ib", "r2n02-ib", "g1"]),
        ("[1-2]", ["1", "2"]),
        ("n[ 1 , 3 ]", ["n1", "n3"]),
    ],
)
def test_expand(expr: str, names: list[str]) -> None:
    assert expand(expr) == names


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        ("n[1-3", "'[' without ']' in hostlist 'n[1-3'"),
        ("n1-3]", "']' without '[' in hostlist 'n1-3]'"),
        ("g1,n1]", "']' without '[' in hostlist 'n1]'"),
        ("n[1-[2]]", "nested '[' in hostlist 'n[1-['"),
        ("n[]", "bad range '' in hostlist 'n[]' (expected a number or FIRST-LAST)"),
        ("n[1,,2]", "bad range '' in hostlist 'n[1,,2]' (expected a number or FIRST-LAST)"),
        ("n[a-b]", "bad range 'a-b' in hostlist 'n[a-b]' (expected a number or FIRST-LAST)"),
        ("n[1-2-3]", "bad range '1-2-3' in hostlist 'n[1-2-3]' (expected a number or FIRST-LAST)"),
        ("n[-3]", "bad range '-3' in hostlist 'n[-3]' (expected a number or FIRST-LAST)"),
        ("n[5-3]", "range '5-3' in hostlist 'n[5-3]' runs backwards"),
        ("n[0-99999999]", f"hostlist 'n[0-99999999]' stands for more than {MAX_HOSTS} names"),
        ("a[1-2000]b[1-2000]", f"hostlist 'a[1-2000]b[1-2000]' stands for more than {MAX_HOSTS} names"),
        ("n[1111111111111111111]", "number too long in range '1111111111111111111' of hostlist "
                                   "'n[1111111111111111111]'"),
    ],
)  # fmt: skip
def test_bad_expressions_quote_the_part(expr: str, message: str) -> None:
    with pytest.raises(HostlistError) as caught:
        expand(expr)
    assert isinstance(caught.value, SlurmSimError)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("names", "expr"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n1", "n2"], "n[1-2]"),
        (["n2", "n1", "n2"], "n[1-2]"),
        (["n01", "n02", "n03", "n7"], "n[7,01-03]"),
        (["n07", "n08"], "n[07-08]"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n09", "n10", "n99", "n100"], "n[09-10,99-100]"),
        (["n099", "n100"], "n[099-100]"),
        (["n1", "g2", "g1", "n2"], "g[1-2],n[1-2]"),
        (["a1b", "a2b"], "a1b,a2b"),
        (["r1n1", "r1n2", "r2n1", "r2n2"], "r1n[1-2],r2n[1-2]"),
        (["r10n1", "r9n1"], "r9n1,r10n1"),
        (["login", "n1", "n"], "login,n,n1"),
        (["n1", "n3", "n5"], "n[1,3,5]"),
    ],
)
def test_compress(names: list[str], expr: str) -> None:
    assert compress(names) == expr


def test_natural_order_is_the_node_tables() -> None:
    assert sorted(["n10", "n9", "n2", "g1", "r10n1", "r2n1", "r2n10", "r2n9"], key=natural_key) == [
        "g1", "n2", "n9", "n10", "r2n1", "r2n9", "r2n10", "r10n1"]  # fmt: skip
    # leading zeros compare like a fraction, so before every number without
    assert sorted(["n7", "n10", "n07", "n010"], key=natural_key) == ["n010", "n07", "n7", "n10"]


NAMES = st.from_regex(r"[a-c]{1,2}[0-9]{0,4}[a-b]?", fullmatch=True)


@given(st.lists(NAMES, max_size=60))
def test_round_trip(names: list[str]) -> None:
    expr = compress(names)
    back = expand(expr)
    assert len(back) == len(set(back))
    assert set(back) == set(names)
    assert compress(reversed(names)) == expr


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 4)), min_size=1, max_size=60))
def test_ranges_are_as_long_as_can_be(numbers: list[tuple[int, int]]) -> None:
    """Naive model: the ranges partition the names, and none could be joined with what follows it."""
    digits = {f"{value:0{width}d}" for value, width in numbers}
    parts = [part.partition("-") for part in compress(f"n{d}" for d in digits).removeprefix("n").strip("[]").split(",")]
    covered = [f"{i:0{len(low)}d}" for low, _, high in parts for i in range(int(low), int(high or low) + 1)]
    assert sorted(covered) == sorted(digits)
    firsts = {low for low, _, _ in parts}
    for low, _, high in parts:
        assert f"{int(high or low) + 1:0{len(low)}d}" not in firsts


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), min_size=1, max_size=5),
       st.lists(st.integers(0, 30), min_size=1, max_size=5))  # fmt: skip
def test_expand_against_nested_loops(left: list[tuple[int, int]], right: list[int]) -> None:
    ranges = [(low, low + more) for low, more in left]
    expr = f"r[{','.join(f'{a}-{b}' for a, b in ranges)}]n[{','.join(map(str, right))}]"
    naive = [f"r{i}n{j}" for a, b in ranges for i in range(a, b + 1) for j in right]
    assert expand(expr) == naive


@given(st.text(alphabet="n12[]-, ", max_size=20))
def test_any_text_expands_or_is_refused_cleanly(text: str) -> None:
    try:
        names = expand(text)
    except HostlistError as error:
        assert "\n" not in str(error)
    else:
        assert all(names) and not any(set(name) & set("[], ") for name in names)


def test_twenty_thousand_nodes_are_quick() -> None:
    start = time.process_time()
    names = expand("n[00001-20000]")
    assert compress(names) == "n[00001-20000]"
    assert time.process_time() - start < 0.5  # measured 0.04 s; the margin is for a busy machine
