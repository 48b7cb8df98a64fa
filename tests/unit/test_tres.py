"""TRES lists, memory sizes, GRES specifications."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.tres import (
    GresItem,
    TresError,
    format_memory,
    format_tres,
    parse_count,
    parse_gres,
    parse_memory,
    parse_tres,
    parse_weights,
)


@pytest.mark.parametrize(
    ("text", "mib"),
    [("4000", 4000), ("4000M", 4000), ("4g", 4096), ("62.50G", 64_000), ("1T", 1_048_576), ("1K", 1), ("1024K", 1),
     ("1025K", 2), ("0", 0), ("16GB", 16_384), ("2GiB", 2048), (".5G", 512)],
)  # fmt: skip
def test_memory(text: str, mib: int) -> None:
    assert parse_memory(text) == mib


def test_memory_with_another_unit() -> None:
    assert parse_memory("2", unit="G") == 2048


@pytest.mark.parametrize("text", ["", "G", "-1", "1X", "1 2", "0x10", "1e3"])
def test_bad_memory_is_quoted(text: str) -> None:
    with pytest.raises(TresError) as caught:
        parse_memory(text)
    assert str(caught.value) == f"{text!r} is not a memory size (expected a number with K, M, G or T)"


@pytest.mark.parametrize(
    ("mib", "text"), [(1000, "1000M"), (4000, "4000M"), (4096, "4G"), (1_048_576, "1T"), (0, "0"), (1_049_600, "1025G")]
)
def test_memory_out(mib: int, text: str) -> None:
    assert format_memory(mib) == text


@given(st.integers(0, 2**50))
def test_memory_round_trip(mib: int) -> None:
    assert parse_memory(format_memory(mib)) == mib


def test_tres_list() -> None:
    text = "cpu=4,mem=1000M,node=2,billing=4,gres/gpu=2,gres/gpu:a100=2"
    parsed = parse_tres(text)
    assert parsed == {"cpu": 4, "mem": 1000, "node": 2, "billing": 4, "gres/gpu": 2, "gres/gpu:a100": 2}
    assert format_tres(parsed) == text
    assert parse_tres("CPU=4,Mem=4G") == {"cpu": 4, "mem": 4096}
    assert parse_tres("") == parse_tres("(null)") == parse_tres("N/A") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cpu", "'cpu' is not a TRES (expected NAME=COUNT)"),
        ("cpu=4,,node=1", "'' is not a TRES (expected NAME=COUNT)"),
        ("=4", "'=4' is not a TRES (expected NAME=COUNT)"),
        ("cpu=x", "'x' is not a count (expected a whole number)"),
        ("cpu=1,CPU=2", "TRES 'CPU' is given twice in 'cpu=1,CPU=2'"),
        ("mem=4Q", "'4Q' is not a memory size (expected a number with K, M, G or T)"),
    ],
)
def test_bad_tres(text: str, message: str) -> None:
    with pytest.raises(TresError) as caught:
        parse_tres(text)
    assert str(caught.value) == message


@given(
    st.dictionaries(
        st.sampled_from(["cpu", "mem", "energy", "node", "billing", "gres/gpu", "gres/shard", "license/x"]),
        st.integers(0, 2**40),
    )
)
def test_tres_round_trip(counts: dict[str, int]) -> None:
    assert parse_tres(format_tres(counts)) == counts


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("gpu", [("gpu", "", 1)]),
        ("gpu:2", [("gpu", "", 2)]),
        ("gpu:a100", [("gpu", "a100", 1)]),
        ("gpu:a100:2", [("gpu", "a100", 2)]),
        ("gpu:2(S:0-1)", [("gpu", "", 2)]),
        ("gpu:a100:4(IDX:0,2-3)", [("gpu", "a100", 4)]),
        ("gres:gpu:2", [("gpu", "", 2)]),
        ("gres/gpu:2", [("gpu", "", 2)]),
        ("gres/gpu:a100=2", [("gpu", "a100", 2)]),
        ("gpu:a:2,gpu:b:1,shard:16", [("gpu", "a", 2), ("gpu", "b", 1), ("shard", "", 16)]),
        ("bandwidth:no_consume:4G", [("bandwidth", "", 4 * 1024**3)]),
        ("gpu:7g.80gb:1", [("gpu", "7g.80gb", 1)]),
        ("(null)", []),
        ("", []),
    ],
)
def test_gres(text: str, items: list[tuple[str, str, int]]) -> None:
    assert parse_gres(text) == tuple(GresItem(*item) for item in items)


@pytest.mark.parametrize("text", ["gpu:a:b:2", ":2", "gpu:", "gpu:a100:", "gpu:2(S:0", "gpu:1,,x:1"])
def test_bad_gres(text: str) -> None:
    with pytest.raises(TresError, match="is not a GRES"):
        parse_gres(text)


def test_gres_count_must_be_a_number() -> None:
    with pytest.raises(TresError, match="'many' is not a count"):
        parse_gres("gpu:a100:many")


def test_counts_with_units() -> None:
    assert [parse_count(text) for text in ("7", "2k", "1M")] == [7, 2048, 1_048_576]


def test_billing_weights_are_per_mib() -> None:
    assert parse_weights("CPU=1.0,Mem=0.25G,GRES/gpu=2") == (("cpu", 1.0), ("mem", 0.25 / 1024), ("gres/gpu", 2.0))
    assert parse_weights("") == ()
    with pytest.raises(TresError, match="'CPU' is not a TRES weight"):
        parse_weights("CPU")


@pytest.mark.parametrize("text", ["9" * 17 + "G", "9" * 18 + "M", "9" * 14 + "T"])
def test_amounts_beyond_all_bounds(text: str) -> None:
    for parse in (parse_memory, parse_count):
        with pytest.raises(TresError, match="is too large"):
            parse(text)
