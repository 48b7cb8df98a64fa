"""Points in time as users write them: ``now+1hour``, ``16:00``, ``tomorrow``, ``2026-01-05T08:00``, ``uts1767600000``.

Mirrors what ``--begin``, ``--deadline``, ``-S`` and ``starttime=`` accept (22.05), quirks included: words need not be
separated, a capital ``T`` and dashes between parts mean nothing, a bare time of day that is past means tomorrow.
"""

from __future__ import annotations

import time

from slurmsim.numerals import MOST_DIGITS, is_number

_DAY = 24 * 3600
_UNITS = (
    ("seconds", 1),
    ("second", 1),
    ("minutes", 60),
    ("minute", 60),
    ("hours", 3600),
    ("hour", 3600),
    ("days", _DAY),
    ("day", _DAY),
    ("weeks", 7 * _DAY),
    ("week", 7 * _DAY),
)
_HOURS = {"midnight": 0, "noon": 12, "fika": 15, "teatime": 16}
_LEAST_EPOCH = 1_000_000
_BLANKS = " \t"
_SPACES = " \t\n\v\f\r"


class BadDate(Exception):
    """Not a time; `line` is what Slurm's commands print, without a prefix."""

    def __init__(self, position: int, text: str) -> None:
        self.line = f"Invalid time specification (pos={position}): {text}"
        super().__init__(self.line)


class _Wrong(Exception):
    """Reading stopped at `position`."""

    def __init__(self, position: int) -> None:
        self.position = position


def parse_date(text: str, now: int, past: bool = False) -> int:
    """Epoch second `text` stands for; 0 when it says nothing at all (empty or blank).

    Parameters
    ----------
    now
        Epoch second words such as ``today`` are relative to.
    past
        A time without a date is today's and a date without a year is never in the future (``sacct -S``).

    Raises
    ------
    BadDate
        Not one of the formats.
    """
    try:
        return _Reader(text, now).read(past)
    except _Wrong as wrong:
        raise BadDate(wrong.position, text) from None
    except (OverflowError, ValueError, OSError):  # a day that no calendar has
        raise BadDate(len(text), text) from None


class _Reader:
    """One text on its way to a time. Fields are -1 until they are known; months count from 1."""

    def __init__(self, text: str, now: int) -> None:
        self.text = text.partition("\n")[0]
        self.lower = self.text.lower()
        self.now = now
        self.hour = self.minute = self.month = self.day = self.year = -1
        self.second = 0

    def read(self, past: bool) -> int:
        if self.lower.startswith("uts"):
            return self._epoch()
        position = 0
        while position < len(self.text):
            if self.text[position] in " \t-T":
                position += 1
            else:
                position = self._part(position)
        if self.hour == -1 and self.month == -1:
            return 0
        self._complete(past)
        try:
            return int(time.mktime((self.year, self.month, self.day, self.hour, self.minute, self.second, 0, 0, -1)))
        except (OverflowError, ValueError):
            raise _Wrong(position) from None

    def _epoch(self) -> int:
        digits = self.text[3:].lstrip(_SPACES)
        sign = digits[:1] if digits[:1] in ("+", "-") else ""
        if not is_number(digits[len(sign) :]) or not _LEAST_EPOCH <= int(digits) < 2**63 - 1:
            raise _Wrong(0)
        return int(digits)

    def _part(self, at: int) -> int:
        """Read one part; where the next begins."""
        if self.lower.startswith("today", at):
            self._date_of(self.now)
            return at + len("today")
        if self.lower.startswith("tomorrow", at):
            self._date_of(self.now + _DAY)
            return at + len("tomorrow")
        for word, hour in _HOURS.items():
            if self.lower.startswith(word, at):
                self.hour, self.minute, self.second = hour, 0, 0
                return at + len(word)
        if self.lower.startswith("now", at):
            return self._now(at)
        if not self._digit(at):
            raise _Wrong(at)
        if self.text[at + 1 : at + 2] == ":" or self.text[at + 2 : at + 3] == ":":
            return self._time(at)
        return self._date(at)

    def _now(self, at: int) -> int:
        after = at + 3
        while self.text[after : after + 1] in (" ", "\t"):
            after += 1
        delta = 0
        sign = self.text[after : after + 1]
        if sign in ("+", "-") and sign:
            delta, end = self._delta(after, at + after)
            delta = delta if sign == "+" else -delta
        elif sign:
            raise _Wrong(at + after)
        else:
            end = after
        later = time.localtime(self.now + delta)
        self.year, self.month, self.day, self.hour, self.minute, self.second = later[:6]
        return end

    def _delta(self, sign_at: int, reported: int) -> tuple[int, int]:
        """Seconds after the sign, and where they end."""
        shift = reported - sign_at
        count = digits = 0
        at = sign_at + 1
        while at < len(self.text):
            if self.text[at] in _SPACES:
                at += 1
                continue
            unit = next(((name, factor) for name, factor in _UNITS if self.lower.startswith(name, at)), None)
            if unit is not None:
                count *= unit[1]
                at += len(unit[0])
                break
            if not self._digit(at):
                raise _Wrong(at - 1 + shift)
            count = count * 10 + int(self.text[at])
            digits += 1
            at += 1
            if digits > MOST_DIGITS:
                raise _Wrong(at - 1 + shift)
        if not digits:
            raise _Wrong(reported)
        return count, at

    def _time(self, at: int) -> int:
        hour, at = self._number(at, 1, 2)
        if hour > 23:
            raise _Wrong(at - 2)
        if self.text[at : at + 1] != ":":
            raise _Wrong(at)
        minute, at = self._two(at + 1)
        second = 0
        if self.text[at : at + 1] == ":":
            second, at = self._two(at + 1)
        while self.text[at : at + 1] and self.text[at] in _SPACES:
            at += 1
        half = self.lower[at : at + 2]
        if half == "pm":
            hour += 12
            hour = 12 if hour == 24 else hour
        elif half == "am" and hour > 11:
            hour = 0 if hour == 12 else 24
        if hour > 23:
            raise _Wrong(at)
        self.hour, self.minute, self.second = hour, minute, second
        return at + 2 if half in ("am", "pm") else at

    def _date(self, at: int) -> int:
        if self.text[at + 4 : at + 5] == "-" and self.text[at + 7 : at + 8] == "-":
            year, at = self._number(at, 4, 4)
            month, at = self._limited(at + 1, 12)
            day, at = self._limited(at + 1, 31)
            self.year, self.month, self.day = year, month, day
            return at
        month, at = self._limited(at, 12)
        at += self.text[at : at + 1] in (".", "/") and bool(self.text[at : at + 1])
        day, at = self._limited(at, 31)
        at += self.text[at : at + 1] in (".", "/") and bool(self.text[at : at + 1])
        year = 0
        if self._digit(at):
            year, at = self._number(at, 2, 2)
        self.month, self.day = month, day
        if year:
            self.year = 2000 + year
        return at

    def _limited(self, at: int, most: int) -> tuple[int, int]:
        value, end = self._number(at, 1, 2)
        if not 1 <= value <= most:
            raise _Wrong(end - 2)
        return value, end

    def _two(self, at: int) -> tuple[int, int]:
        value, end = self._number(at, 2, 2)
        if value > 59:
            raise _Wrong(end - 2)
        return value, end

    def _number(self, at: int, least: int, most: int) -> tuple[int, int]:
        value = 0
        for taken in range(most):
            if not self._digit(at):
                if taken < least:
                    raise _Wrong(at)
                break
            value = value * 10 + int(self.text[at])
            at += 1
        return value, at

    def _digit(self, at: int) -> bool:
        return "0" <= self.text[at : at + 1] <= "9"

    def _date_of(self, moment: int) -> None:
        self.year, self.month, self.day = time.localtime(moment)[:3]

    def _complete(self, past: bool) -> None:
        """Fill in what the text left out."""
        now = time.localtime(self.now)
        if self.hour == -1:
            self.hour = self.minute = 0
        elif self.month == -1:
            soon = past or (self.hour, self.minute) > (now.tm_hour, now.tm_min)
            self._date_of(self.now if soon else self.now + _DAY)
        if self.year == -1:
            if past:
                self.year = now.tm_year - (self.month > now.tm_mon)
            else:
                asked = (self.month, self.day, self.hour, self.minute)
                self.year = now.tm_year + (asked <= (now.tm_mon, now.tm_mday, now.tm_hour, now.tm_min))
