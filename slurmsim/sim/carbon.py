"""A series of carbon intensity and price, as a CSV file has it.

The file has the columns ``time,g_per_kwh`` and perhaps ``forecast`` and ``price``, in any order: grams of CO2 a kWh
as they were and as they were expected, and money a kWh. A row counts from its time until the next one; before the
first row the first one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from slurmsim.csv_rows import Row, csv_rows
from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError

FIELD = "--carbon"
NEEDED, OPTIONAL = ("time", "g_per_kwh"), ("forecast", "price")
MOST_ROWS, MOST = 1_000_000, 1e6


@dataclass(frozen=True, slots=True)
class Signal:
    """A series: from which second on, grams a kWh, those that were expected, and money a kWh (none: no price)."""

    times: tuple[int, ...]
    grams: tuple[float, ...]
    expected: tuple[float, ...]
    prices: tuple[float, ...] = ()

    @property
    def forecast(self) -> tuple[tuple[int, int], ...]:
        """What policies are shown: (second, milligrams a kWh)."""
        return tuple([(at, round(1000 * grams)) for at, grams in zip(self.times, self.expected, strict=True)])


def parse_signal(text: str, file: str, moment: Callable[[str], int]) -> Signal:
    """Return the series in a file's text, with times as `moment` reads them. Raises ConfigError with file and line."""
    given, rows = csv_rows(text, file, FIELD)
    names = [name.strip() for name in given]
    if not set(NEEDED) <= set(names) <= {*NEEDED, *OPTIONAL} or len(set(names)) < len(names):
        raise ConfigError(f"columns {', '.join(names)[:80] or 'none'}", file=file, line=1,
                          expected="time,g_per_kwh and perhaps forecast, price")  # fmt: skip
    written = dict(zip(names, given, strict=True))
    columns: dict[str, list[float]] = {name: [] for name in names if name != "time"}
    times: list[int] = []
    for number, (line, row) in enumerate(rows):
        _check_row(number, line, row, file)
        try:
            time = moment((row[written["time"]] or "").strip())
        except ConfigError as error:
            raise ConfigError(error.message, file=file, line=line, field="time", expected=error.expected) from None
        if times and time <= times[-1]:
            raise ConfigError(f"{time} is not after {times[-1]}", file=file, line=line, field="time",
                              expected="ascending times")  # fmt: skip
        times.append(time)
        for name, column in columns.items():
            column.append(_number(row[written[name]], name, file, line))
    if not times:
        raise ConfigError("has no row", file=file, field=FIELD, expected="time,g_per_kwh")
    grams = tuple(columns["g_per_kwh"])
    return Signal(tuple(times), grams, tuple(columns.get("forecast", grams)), tuple(columns.get("price", ())))


def _check_row(number: int, line: int, row: Row, path: str) -> None:
    if number >= MOST_ROWS:
        raise ConfigError(f"more than {MOST_ROWS:,} rows", file=path, field=FIELD, expected="fewer")
    if None in row:
        raise ConfigError("too many cells", file=path, line=line, expected="as in the first line")


def _number(cell: str | None, name: str, path: str, line: int) -> float:
    try:
        found = float((cell or "").strip())
    except ValueError:
        found = float("nan")
    least = -MOST if name == "price" else 0.0
    if not (isfinite(found) and least <= found <= MOST):
        raise ConfigError(f"{(cell or '')[:40]!r}", file=path, line=line, field=name,
                          expected=f"a number from {least:g} to {MOST:g}")  # fmt: skip
    return found
