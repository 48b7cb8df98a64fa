"""Durations and dates as Slurm's commands print them.

Mirrors the printing of squeue and sinfo (22.05) and ``slurm_make_time_str``: the *clock* form drops leading zero
fields, the *long* form never does, dates follow SLURM_TIME_FORMAT.
"""

from __future__ import annotations

import time

from slurmsim.duration import long_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


YEAR_S = 365 * 86400
_LONGEST = 31  # characters of a date: the buffers of 22.05


def clock(seconds: int) -> str:
    """``[D-][H:]MM:SS`` without leading zeros.

    >>> clock(6), clock(600), clock(3600), clock(183845)
    ('0:06', '10:00', '1:00:00', '2-03:04:05')
    """
    minutes, second = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}:{second:02d}"
    hours, minute = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}:{minute:02d}:{second:02d}"
    days, hour = divmod(hours, 24)
    return f"{days}-{hour:02d}:{minute:02d}:{second:02d}"


def bounded_clock(seconds: int) -> str:
    """Return the clock form as squeue prints it: negative or above a year is INVALID.

    >>> bounded_clock(-1), bounded_clock(365 * 86400), bounded_clock(365 * 86400 + 1)
    ('INVALID', '365-00:00:00', 'INVALID')
    """
    return clock(seconds) if 0 <= seconds <= YEAR_S else "INVALID"


def long_clock(seconds: int | None) -> str:
    """``[D-]HH:MM:SS``; None is UNLIMITED.

    >>> long_clock(600), long_clock(93784), long_clock(None)
    ('00:10:00', '1-02:03:04', 'UNLIMITED')
    """
    return "UNLIMITED" if seconds is None else long_form(seconds)


def date_line(now: int) -> str:
    """Return the line squeue -l and sinfo -l begin with."""
    return time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(now))


class Dates:
    """Dates as SLURM_TIME_FORMAT asks; call it with epoch seconds. 0 is `unset`.

    Parameters
    ----------
    environ
        Where SLURM_TIME_FORMAT is looked up.
    now
        Epoch seconds; the relative form needs the day.
    unset
        What no date looks like.
    """

    __slots__ = ("_format", "_known", "_today", "_wrong", "problem", "unset")

    def __init__(self, environ: Mapping[str, str], now: int, unset: str = "N/A") -> None:
        # problem: what is wrong with the format, or "". It is then ignored, as Slurm does, who also says so only when a
        # date is printed: "" until then.
        self.unset, self.problem, self._wrong = unset, "", ""
        self._format = "%Y-%m-%dT%H:%M:%S"
        self._today: int | None = None
        self._known: dict[int, str] = {0: unset}
        asked = environ.get("SLURM_TIME_FORMAT", "")
        if asked == "relative":
            self._today = _day(time.localtime(now))
        elif asked and asked != "standard":
            if "%" not in asked or len(asked) > _LONGEST:
                self._wrong = f"invalid SLURM_TIME_FORMAT = '{asked}'"
            else:
                self._format = asked

    def __call__(self, when: int | None) -> str:
        text = self._known.get(when or 0)
        if text is None:
            assert when is not None
            self.problem = self._wrong
            local = time.localtime(when)
            form = self._format if self._today is None else _relative(_day(local) - self._today)
            text = self._known[when] = time.strftime(form, local)
            if len(text) > _LONGEST:
                text = self._known[when] = "#" * _LONGEST
        return text


def _day(local: time.struct_time) -> int:
    return 1000 * local.tm_year + local.tm_yday


def _relative(distance: int) -> str:
    """Return the format for a day that far away, in days (1,000 a year, as Slurm counts)."""
    if distance == -1:
        return "Ystday %H:%M"
    if distance == 0:
        return "%H:%M:%S"
    if distance == 1:
        return "Tomorr %H:%M"
    if abs(distance) > 365:
        return "%-d %b %Y"
    if distance < -1 or distance > 6:
        return "%-d %b %H:%M"
    return "%a %H:%M"
