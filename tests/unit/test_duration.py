"""Slurm's time formats."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.duration import LONGEST_S, DurationError, format_duration, parse_duration, parse_time_limit


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 1800), ("0", 0), ("1:30", 90), ("90:00", 5400), ("1:00:00", 3600), ("100:00:00", 360_000),
        ("1-0", 86_400), ("1-12", 129_600), ("2-03:04", 183_840), ("2-03:04:05", 183_845), ("7-00:00:00", 604_800),
        (" 10 ", 600), ("UNLIMITED", None), ("infinite", None), ("-1", None),
    ],
)  # fmt: skip
def test_parse(text: str, seconds: int | None) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "abc", "1:", ":30", "1:2:3:4", "1-", "-5", "1-2:3:4:5", "1.5", "1h", "2-x", "１"])
def test_bad_times_are_quoted(text: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value) == (
        f"{text!r} is not a time (expected minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S or UNLIMITED)"
    )


def test_limits_are_whole_minutes_rounded_up() -> None:
    assert [parse_time_limit(text) for text in ("1:30", "2:00", "0:01", "UNLIMITED")] == [120, 120, 60, None]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "00:00:00"), (600, "00:10:00"), (86_399, "23:59:59"), (86_400, "1-00:00:00"), (31_536_000, "365-00:00:00"),
     (None, "UNLIMITED")],
)  # fmt: skip
def test_format(seconds: int | None, text: str) -> None:
    assert format_duration(seconds) == text


def test_negative_durations_do_not_exist() -> None:
    with pytest.raises(DurationError, match="-1 s is negative"):
        format_duration(-1)


@given(st.none() | st.integers(0, 10**9))
def test_round_trip(seconds: int | None) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize("text", ["9" * 18, "9999999999-0", f"1:{'9' * 18}:0", f"{'9' * 18}:0"])
def test_a_time_longer_than_slurm_can_hold(text: str) -> None:
    with pytest.raises(DurationError, match=r"is too long \(expected at most 2,982,616 days\)"):
        parse_duration(text)


def test_the_longest_time() -> None:
    assert parse_duration("4294967294") == LONGEST_S == (2**32 - 2) * 60
