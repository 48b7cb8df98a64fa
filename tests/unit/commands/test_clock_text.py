"""Durations and dates as squeue and sinfo print them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from slurmsim.commands.text.clock_text import Dates, bounded_clock, clock, date_line, long_clock

NOW = 1767600000  # Mon 2026-01-05 08:00:00 UTC


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00"), (59, "0:59"), (60, "1:00"), (599, "9:59"), (3599, "59:59"), (3600, "1:00:00"),
        (86399, "23:59:59"), (86400, "1-00:00:00"), (183845, "2-03:04:05"), (365 * 86400, "365-00:00:00"),
    ],
)  # fmt: skip
def test_clock(seconds: int, text: str) -> None:
    assert clock(seconds) == bounded_clock(seconds) == text


def test_beyond_a_year_only_squeue_gives_up() -> None:
    assert bounded_clock(365 * 86400 + 1) == bounded_clock(-1) == "INVALID"
    assert clock(400 * 86400) == "400-00:00:00"


def test_long_clock() -> None:
    assert [long_clock(s) for s in (0, 600, 86400, None)] == ["00:00:00", "00:10:00", "1-00:00:00", "UNLIMITED"]


def test_date_line_pads_the_day() -> None:
    assert date_line(NOW) == "Mon Jan 05 08:00:00 2026"


@pytest.mark.parametrize("environ", [{}, {"SLURM_TIME_FORMAT": "standard"}, {"SLURM_TIME_FORMAT": ""}])
def test_standard(environ: dict[str, str]) -> None:
    dates = Dates(environ, NOW)
    assert [dates(when) for when in (NOW, 0, None)] == ["2026-01-05T08:00:00", "N/A", "N/A"]
    assert dates.problem == ""


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (0, "08:00:00"), (-1, "Ystday 08:00"), (1, "Tomorr 08:00"), (2, "Wed 08:00"), (6, "Sun 08:00"),
        (7, "12 Jan 08:00"), (-2, "3 Jan 08:00"), (200, "24 Jul 08:00"), (400, "9 Feb 2027"),
    ],
)  # fmt: skip
def test_relative(days: int, text: str) -> None:
    assert Dates({"SLURM_TIME_FORMAT": "relative"}, NOW)(NOW + days * 86400) == text


def test_the_year_counts_a_thousand_days() -> None:
    """Ten days ago, but another year: printed as far away."""
    dates = Dates({"SLURM_TIME_FORMAT": "relative"}, NOW)
    assert dates(NOW - 10 * 86400) == "26 Dec 2025"


def test_own_format() -> None:
    assert Dates({"SLURM_TIME_FORMAT": "%d.%m. %H Uhr"}, NOW)(NOW) == "05.01. 08 Uhr"
    assert Dates({"SLURM_TIME_FORMAT": "%s"}, NOW)(NOW) == str(NOW)


@pytest.mark.parametrize("text", ["words", "%A-%B-%Y-%A-%B-%Y-%A-%B-%Y-%A-%B"])
def test_a_bad_format_is_told_when_a_date_is_printed(text: str) -> None:
    dates = Dates({"SLURM_TIME_FORMAT": text}, NOW)
    assert dates(0) == "N/A" and dates.problem == ""
    assert dates(NOW) == "2026-01-05T08:00:00"
    assert dates.problem == f"invalid SLURM_TIME_FORMAT = '{text}'"


def test_too_long_a_date_is_filled_with_signs() -> None:
    assert Dates({"SLURM_TIME_FORMAT": "%A %A %A %A %A %A"}, NOW)(NOW) == "#" * 31
