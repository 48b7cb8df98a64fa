"""What is asked for: options, period, and how amounts and tables are printed."""

from __future__ import annotations

import time

from slurmsim.commands.text.dashed_table import Head, Style, heading, line
from slurmsim.commands.text.messages import Stop
from slurmsim.fast_imports import dataclass, field
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from slurmsim.commands.io import Io

_RULE = "-" * 80
TIMES = {"secper": "Seconds/Percentage of Total", "minper": "Minutes/Percentage of Total",
         "hourper": "Hours/Percentage of Total", "seconds": "Seconds", "minutes": "Minutes", "hours": "Hours",
         "percent": "Percentage of Total"}  # fmt: skip
_LEAST = {"secper": 6, "minper": 6, "hourper": 6}
_HOUR = 3600
_WIDEST = 100_000_000  # seconds that a column of eight characters shows; each digit more makes it wider
INFINITE = 0xFFFFFFFF


@dataclass
class Report:
    """The options of one sreport, and the words of one report."""

    io: Io
    release: str
    style: Style = field(default_factory=Style)
    time: str = "minutes"
    tres: list[str] = field(default_factory=lambda: ["cpu"])
    tres_text: str | None = None
    by_name: bool = False
    quiet: int = 0
    clusters: list[str] = field(default_factory=list)
    code: int = 0
    start: int = 0
    end: int = 0
    now: int = 0
    words: dict[str, list[str]] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)

    def wrong(self, text: str) -> None:
        """Say it, and end with exit code 1."""
        self.code = 1
        self.io.error(text)

    # -- what the daemon is asked for ---------------------------------------------------------------------------------

    def ask(self, kind: str, **more: Any) -> Mapping[str, Any]:
        """Return the usage of the period: names of TRES, totals and the rows of `kind`. Raises Refusal, Unreachable."""
        return self.io.client.call("usage", start=self.start, end=self.end, kind=kind, **more)

    def here(self, found: Mapping[str, Any]) -> bool:
        """Return True if the clusters that were asked for are, or have, the one there is."""
        wanted = self.clusters + self.words.get("clusters", [])
        return not wanted or str(found["name"]).lower() in wanted

    def set_time(self, text: str) -> None:
        """Take a time format; a wrong one is only said, without an end of the line."""
        for name in TIMES:
            if len(text) >= _LEAST.get(name, 1) and name.startswith(text.lower()):
                self.time = name
                return
        self.io.stderr.write(f"unknown time format {text}")

    def set_sort(self, text: str) -> None:
        """Take an order of users; a wrong one is only said, without an end of the line."""
        if text and "name".startswith(text.lower()):
            self.by_name = True
        elif text.lower() == "time"[: max(len(text), 6)] and len(text) >= 4:
            self.by_name = False
        else:
            self.io.stderr.write(f"unknown timesort format {text}")

    def set_period(self) -> None:
        """Take whole hours: yesterday, unless dates are given. An end that is rounded up takes in an hour of today."""
        begun, now = since(self.release, "hours_begun"), self.now
        local = time.localtime(now)
        today = int(time.mktime((*local[:3], 0, 0, 0, 0, 0, -1)))
        start = int(time.mktime((local[0], local[1], local[2] - 1, 0, 0, 0, 0, 0, -1)))
        end = today + (_HOUR if begun and (local.tm_min or local.tm_sec) else 0)
        if self.end:
            end = (self.end + (_HOUR - 1 if begun else _HOUR // 2)) // _HOUR * _HOUR
        if self.start:
            start = (self.start + (0 if begun else _HOUR // 2)) // _HOUR * _HOUR
        self.start, self.end = start, end if end - start >= _HOUR else start + _HOUR

    # -- printing -----------------------------------------------------------------------------------------------------

    @property
    def per(self) -> bool:
        """True if amounts are followed by percentages."""
        return self.time.endswith("per")

    def amount(self, seconds: int, total: int) -> str:
        """Return usage in the unit that was asked for."""
        percent = f"{100 * (seconds / (total or 1)):.2f}%"
        if self.time == "percent":
            return percent
        unit = {"s": 1, "m": 60, "h": 3600}[self.time[0]]
        text = str(seconds) if unit == 1 else f"{seconds / unit:.0f}"
        return f"{text}({percent})" if self.per else text

    def width(self, seconds: int) -> int:
        """Return the width of a column with this largest amount (sreport_set_usage_col_width)."""
        found, order = 8, _WIDEST
        while seconds >= order:
            found, order = found + 1, order * 10
        return found + (9 if self.per else 0)

    def period(self) -> str:
        """Return the first and the last second."""
        dates = (time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at)) for at in (self.start, self.end - 1))
        return " - ".join(dates)

    def title(self, name: str, *more: str, seconds: bool = True) -> None:
        """Print the lines above a table; without `more` the last says what usage is counted in."""
        if not self.style.header:
            return
        length = f" ({self.end - self.start} secs)" if seconds else ""
        if not more:
            kinds = "CPU" if self.tres_text is None else "TRES"
            unit = TIMES[self.time]
            more = (f"Usage reported in {unit}" if self.time == "percent" else f"Usage reported in {kinds} {unit}",)
        self.io.out("\n".join((_RULE, f"{name} {self.period()}{length}", *more, _RULE)) + "\n")

    def table(self, heads: Sequence[Head], rows: Sequence[Sequence[str | None]]) -> None:
        """Print the heading and all rows."""
        above = heading(list(heads), self.style)
        if not heads and self.style.header:
            above = "\n" if self.style.parsable else "\n\n"
        self.io.out(above + "".join(line(heads, row, self.style) for row in rows))

    def read_tres(self, names: Sequence[str]) -> None:
        """Find the TRES that were asked for among all `names`. Raises Stop."""
        if self.tres_text is None:
            return
        asked = [word.lower() for word in self.tres_text.split(",") if word]
        found: list[str] = []
        for word in asked:
            if word == "all":
                found = list(names)
                break
            if word in names:
                if word == "node" and (self.per or self.time == "percent"):
                    raise self.fatal("TRES node usage is no longer reported in percent format reports.  "
                                     "Please use TRES CPU instead.")  # fmt: skip
                found.append(word)
        if not found:
            raise self.fatal("No valid TRES given")
        self.tres = found

    def fatal(self, text: str) -> Stop:
        """Say it; return the end of the command."""
        self.io.error(f"sreport: fatal: {text}")
        return Stop(1)


def sorted_as_qsort(rows: Sequence[Any], compare: Callable[[Any, Any], int]) -> list[Any]:
    """Return `rows` in the order glibc's qsort gives them, a merge sort, also where `compare` is no order."""
    if len(rows) < 2:
        return list(rows)
    half = len(rows) // 2
    left, right = sorted_as_qsort(rows[:half], compare), sorted_as_qsort(rows[half:], compare)
    found: list[Any] = []
    while left and right:
        found.append(left.pop(0) if compare(left[0], right[0]) <= 0 else right.pop(0))
    return found + left + right


def by_usage(report: Report, tres: str) -> Callable[[Any, Any], int]:
    """Return the order of rows ``(name, …, TRES seconds)``: by what they used, then by name (sort_user_dec)."""

    def compare(a: Any, b: Any) -> int:
        if not report.by_name:
            if tres not in a[-1]:
                return 1
            if tres not in b[-1]:
                return -1
            if a[-1][tres] != b[-1][tres]:
                return -1 if a[-1][tres] > b[-1][tres] else 1
        return int(a[0] > b[0]) - int(a[0] < b[0])

    return compare


def number(text: str) -> int:
    """Return the number a text begins with, as C's atoi."""
    digits = text.strip()
    sign = digits[:1] if digits[:1] in ("+", "-") else ""
    digits = digits[len(sign) :]
    count = len(digits) - len(digits.lstrip("0123456789"))
    return int(sign + digits[:count]) if count else 0
