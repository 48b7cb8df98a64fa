"""Times of scrontab: as real Slurm 24.11 reads them, and against a minute-by-minute search."""

from __future__ import annotations

import calendar
import json
import lzma
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.cron import Cron, CronError, of, parse

RECORDED = Path(__file__).parents[1] / "conformance" / "asked" / "cronspec-24.11.session.xz"
BEGAN = calendar.timegm((2026, 1, 5, 8, 0, 0))
_LINE = re.compile(r'(.*?): (\d) (.*?) (\S+)\s+CronJob=Yes CrontabSpec="(.*)"')
_COMPLAINT = re.compile(r"error: ((?:bad|invalid).*?)~")


def recorded() -> Iterator[tuple[str, str, str | None, int | None]]:
    """What was asked of real Slurm: the times, its complaint; or else how it shows them, and when they come next."""
    for step in json.loads(lzma.decompress(RECORDED.read_bytes()))["recording"]["steps"]:
        for line in step.get("stdout", "").splitlines():
            match = _LINE.fullmatch(line)
            assert match is not None, line
            times, code, said, start, spec = match.groups()
            complaint = _COMPLAINT.search(said)
            if code == "0":
                yield times, "", spec, int(datetime.fromisoformat(start).replace(tzinfo=UTC).timestamp())
            else:
                yield times, complaint[1] if complaint else "", None, None


def test_real_slurm_reads_them_so() -> None:
    asked = list(recorded())
    assert len(asked) == 118
    for times, complaint, spec, start in asked:
        if spec is None:
            with pytest.raises(CronError) as wrong:
                parse(f"{times} true")
            assert wrong.value.complaint == complaint, times
        else:
            found, command = parse(f"{times} true")
            assert (found.text, found.next_after(BEGAN + 4), command) == (spec, start, "true"), times


@pytest.mark.parametrize("line", ["* * * * *", "@daily", "hallo", "", "1-2/30 * * * * x", "9999999999 * * * * x"])
def test_what_is_no_line(line: str) -> None:
    with pytest.raises(CronError):
        parse(line)


@pytest.mark.parametrize(
    ("line", "command"), [("* * * * * ", ""), ("@hourly\ta  b ", "a  b "), (" 0  0 * * sun  x", "x")]
)
def test_the_command_is_what_follows(line: str, command: str) -> None:
    assert parse(line)[1] == command


def _field(least: int, most: int) -> st.SearchStrategy[frozenset[int] | None]:
    return st.none() | st.frozensets(st.integers(least, most), min_size=1, max_size=4)


CRONS = st.builds(Cron, _field(0, 59), _field(0, 23), _field(1, 31), _field(1, 12), _field(0, 6))
INSTANTS = st.integers(0, 4_000_000_000)


def fits(times: Cron, instant: int) -> bool:
    """Whether a full minute is one of them, as crontab(5) says it."""
    at = datetime.fromtimestamp(instant, UTC)
    in_month = times.days is None or at.day in times.days
    in_week = times.weekdays is None or (at.weekday() + 1) % 7 in times.weekdays
    either = times.days is not None and times.weekdays is not None
    return (
        (times.minutes is None or at.minute in times.minutes)
        and (times.hours is None or at.hour in times.hours)
        and (times.months is None or at.month in times.months)
        and (in_month or in_week if either else in_month and in_week)
    )


@given(CRONS, INSTANTS)
def test_next_against_a_search(times: Cron, now: int) -> None:
    following = times.next_after(now)
    minutes = range(now - now % 60 + 60, now - now % 60 + 60 + 40 * 86_400, 60)
    first = next((instant for instant in minutes if fits(times, instant)), None)
    if first is None:
        assert following is None or (following > minutes[-1] and fits(times, following))
    else:
        assert following == first


@given(CRONS)
def test_the_text_says_all(times: Cron) -> None:
    again = of(times.text)
    assert again.text == times.text and again.next_after(BEGAN) == times.next_after(BEGAN)


def test_a_leap_day_may_be_eight_years_away_and_the_thirtieth_of_february_never_comes() -> None:
    leap = of("0 0 29 2 *")
    assert leap.next_after(calendar.timegm((2096, 3, 1, 0, 0, 0))) == calendar.timegm((2104, 2, 29, 0, 0, 0))
    assert of("0 0 30 2 *").next_after(BEGAN) is None
