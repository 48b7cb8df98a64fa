"""The times of a line of ``scrontab``: five fields or a word for them, and when they come next.

Fields are read as Slurm's own parser does (24.11, 26.05), which is not cron's. A step stands only at the end, behind a
range or a star. It keeps what is a multiple of it, counted from the field's least value. Names stand alone.

Day of month and day of week each suffice where neither is a star. Times are UTC, as everywhere in the core.

>>> times, command = parse("*/20 8-10 * * mon echo hello")
>>> times.text, command
('0,20,40 8-10 * * 1', 'echo hello')
"""

from __future__ import annotations

from slurmsim.fast_imports import NamedTuple, remembered
from slurmsim.numerals import ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MINUTE_S, DAY_S = 60, 86_400
LONGEST_DAYS = 8 * 366 + 7  # 29 February may be eight years away; what does not come within so many days never comes
_BLANKS = " \t"
_WORDS = {
    "hourly": "0 0-23 * * *", "daily": "0 0 * * *", "midnight": "0 0 * * *", "weekly": "0 0 * * 0",
    "monthly": "0 0 1 * *", "yearly": "0 0 1 1 *", "annually": "0 0 1 1 *", "elevenses": "0 11 * * *",
    "fika": "0 15 * * *", "teatime": "0 16 * * *",
}  # fmt: skip
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


class CronError(ValueError):
    """A line has no times; `complaint` is what is said of the part that is wrong, empty where nothing is."""

    def __init__(self, complaint: str = "") -> None:
        super().__init__(complaint)
        self.complaint = complaint


class _Field(NamedTuple):
    """What may stand in one field."""

    # least, most: values a star stands for, and from which steps count
    least: int
    most: int
    zero: bool = False  # whether 0 may be written although `least` is 1
    folded: bool = False  # `most` means 0
    # names, name: words for values, and what they are called; those begin with `first`
    names: Sequence[str] = ()
    name: str = ""
    first: int = 0

    def takes(self, value: int) -> bool:
        return (0 if self.zero else self.least) <= value <= self.most

    def folds(self, values: set[int]) -> frozenset[int]:
        return frozenset(0 if self.folded and value == self.most else value for value in values)


_FIELDS = (
    _Field(0, 60, folded=True),
    _Field(0, 24, folded=True),
    _Field(1, 31),
    _Field(1, 12, names=_MONTHS, name="month", first=1),
    _Field(1, 7, zero=True, folded=True, names=_DAYS, name="day"),
)


class Cron(NamedTuple):
    """When something recurs: values of each field, None for a star."""

    minutes: frozenset[int] | None
    hours: frozenset[int] | None
    days: frozenset[int] | None
    months: frozenset[int] | None
    weekdays: frozenset[int] | None

    @property
    def text(self) -> str:
        """As Slurm shows it; `parse` of it gives the same."""
        fields = (self.minutes, self.hours, self.days, self.months, self.weekdays)
        return " ".join("*" if field is None else ranges(sorted(field)) for field in fields)

    def next_after(self, now: int) -> int | None:
        """Return the first full minute behind `now`, seconds since the epoch, that fits; None: there is none."""
        today, second = divmod(now - now % MINUTE_S + MINUTE_S, DAY_S)
        earliest = second // MINUTE_S
        for day in range(today, today + LONGEST_DAYS):
            if self._on(day):
                minute = self._minute_from(earliest)
                if minute is not None:
                    return day * DAY_S + minute * MINUTE_S
            earliest = 0
        return None

    def _on(self, day: int) -> bool:
        """Return True if it recurs on a day, counted from the epoch, which was a Thursday."""
        month, day_of_month = _month_and_day(day)
        if self.months is not None and month not in self.months:
            return False
        in_month = self.days is None or day_of_month in self.days
        in_week = self.weekdays is None or (day + 4) % 7 in self.weekdays
        if self.days is not None and self.weekdays is not None:
            return in_month or in_week
        return in_month and in_week

    def _minute_from(self, earliest: int) -> int | None:
        """Return the first minute of a day that fits, not before `earliest`."""
        for hour in range(earliest // 60, 24):
            if self.hours is not None and hour not in self.hours:
                continue
            first = max(earliest - 60 * hour, 0)
            found = first if self.minutes is None else min((m for m in self.minutes if m >= first), default=None)
            if found is not None:
                return 60 * hour + found
        return None


def _month_and_day(day: int) -> tuple[int, int]:
    """Of a day counted from the epoch. Years begin with March here, so that a leap day is the last of its year.

    >>> _month_and_day(0), _month_and_day(20512)
    ((1, 1), (2, 28))
    """
    since = (day + 719_468) % 146_097  # days of four centuries
    year = (since - since // 1_460 + since // 36_524 - since // 146_096) // 365
    of_year = since - 365 * year - year // 4 + year // 100
    month = (5 * of_year + 2) // 153
    return (month + 2) % 12 + 1, of_year - (153 * month + 2) // 5 + 1


def parse(line: str) -> tuple[Cron, str]:
    """Return the times a line of a table begins with, and the command behind them. Raises CronError."""
    rest = line.lstrip(_BLANKS)
    if rest.startswith("@"):
        word = next((word for word in _WORDS if rest[1:].lower().startswith(word)), None)
        if word is None:
            raise CronError("invalid @ line")
        rest = rest[1 + len(word) :]
        _blank(rest)
        return of(_WORDS[word]), rest.lstrip(_BLANKS)
    found = []
    for field in _FIELDS:
        values, rest = _read(field, rest)
        _blank(rest)
        rest = rest.lstrip(_BLANKS)
        found.append(values)
    return Cron(*found), rest


@remembered
def of(text: str) -> Cron:
    """Return the times `Cron.text` tells. Raises CronError."""
    return parse(f"{text} -")[0]


def _blank(rest: str) -> None:
    if rest[:1] not in _BLANKS or not rest:
        raise CronError


def _read(field: _Field, text: str) -> tuple[frozenset[int] | None, str]:
    """Return the values of one field, None for a star, and what follows it. Raises CronError."""
    if text.startswith("*"):
        if not text.startswith("*/"):
            return None, text[1:]
        step, rest = _step(field, text[2:])
        return _stepped(field, set(range(field.least, field.most + 1)), step), rest
    if field.names and text[:1].isalpha():
        name = text[:3].lower()
        if name not in field.names:
            raise CronError(f"bad {field.name} specification")
        return frozenset({field.names.index(name) + field.first}), text[3:]
    return _listed(field, text)


def _listed(field: _Field, text: str) -> tuple[frozenset[int], str]:
    """Numbers and ranges between commas, a step at the end; a number that is missing is 0. Raises CronError."""
    values: set[int] = set()
    if text.startswith(","):
        raise CronError
    first: int | None = None
    while True:
        number, text = _number(text)
        sign = text[:1]
        if sign == "-":  # of several in a row the last counts
            first, text = number, text[1:]
            continue
        begin = number if first is None else first
        if begin > number or not (field.takes(begin) and field.takes(number)):
            raise CronError
        values.update(range(begin, number + 1))
        if sign == "/" and first is not None:
            step, text = _step(field, text[1:])
            return _stepped(field, values, step), text
        if sign != ",":
            return field.folds(values), text
        first, text = None, text[1:]


def _number(text: str) -> tuple[int, str]:
    digits = len(text) - len(text.lstrip("0123456789"))
    if digits > 9:
        raise CronError
    return int(text[:digits] or 0), text[digits:]


def _step(field: _Field, text: str) -> tuple[int, str]:
    step, rest = _number(text)
    if not 2 <= step <= field.most:
        raise CronError("bad step value")
    return step, rest


def _stepped(field: _Field, values: set[int], step: int) -> frozenset[int]:
    found = field.folds({value for value in values if value >= field.least and (value - field.least) % step == 0})
    if not found:
        raise CronError
    return found
