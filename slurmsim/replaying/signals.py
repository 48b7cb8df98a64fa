"""Carbon intensity and price over time (``--carbon FILE``), and what a run emitted and cost by them.

A CSV file has the columns ``time,g_per_kwh`` and perhaps ``forecast`` and ``price``, in any order: grams of CO2 a kWh
as they were and as they were expected, and money a kWh. A row counts from its time until the next one; before the
first row the first one counts. Energy is that of all nodes, as `slurmsim.metrics.work` has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from pathlib import Path

import numpy as np

from slurmsim.csv_rows import Row, csv_rows
from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.input_file import read_text
from slurmsim.replaying.until import parse_moment
from slurmsim.trace.reader import Trace
from slurmsim.workload import Workload

FIELD = "--carbon"
NEEDED, OPTIONAL = ("time", "g_per_kwh"), ("forecast", "price")
MOST_ROWS, MOST = 1_000_000, 1e6
J_PER_KWH = 3_600_000.0


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


def read_signal(path: Path, moment: Callable[[str], int]) -> Signal:
    """Return the series of a file, with times as `moment` reads them. Raises ConfigError with file and line."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{path}: {what}", field=FIELD, expected="a CSV file") from None
    given, rows = csv_rows(text, str(path), FIELD)
    names = [name.strip() for name in given]
    if not set(NEEDED) <= set(names) <= {*NEEDED, *OPTIONAL} or len(set(names)) < len(names):
        raise ConfigError(f"columns {', '.join(names)[:80] or 'none'}", file=str(path), line=1,
                          expected="time,g_per_kwh and perhaps forecast, price")  # fmt: skip
    written = dict(zip(names, given, strict=True))
    columns: dict[str, list[float]] = {name: [] for name in names if name != "time"}
    times: list[int] = []
    for number, (line, row) in enumerate(rows):
        _check_row(number, line, row, path)
        try:
            time = moment((row[written["time"]] or "").strip())
        except ConfigError as error:
            raise ConfigError(error.message, file=str(path), line=line, field="time", expected=error.expected) from None
        if times and time <= times[-1]:
            raise ConfigError(f"{time} is not after {times[-1]}", file=str(path), line=line, field="time",
                              expected="ascending times")  # fmt: skip
        times.append(time)
        for name, column in columns.items():
            column.append(_number(row[written[name]], name, path, line))
    if not times:
        raise ConfigError("has no row", file=str(path), field=FIELD, expected="time,g_per_kwh")
    grams = tuple(columns["g_per_kwh"])
    return Signal(tuple(times), grams, tuple(columns.get("forecast", grams)), tuple(columns.get("price", ())))


def _check_row(number: int, line: int, row: Row, path: Path) -> None:
    if number >= MOST_ROWS:
        raise ConfigError(f"more than {MOST_ROWS:,} rows", file=str(path), field=FIELD, expected="fewer")
    if None in row:
        raise ConfigError("too many cells", file=str(path), line=line, expected="as in the first line")


def _number(cell: str | None, name: str, path: Path, line: int) -> float:
    try:
        found = float((cell or "").strip())
    except ValueError:
        found = float("nan")
    least = -MOST if name == "price" else 0.0
    if not (isfinite(found) and least <= found <= MOST):
        raise ConfigError(f"{(cell or '')[:40]!r}", file=str(path), line=line, field=name,
                          expected=f"a number from {least:g} to {MOST:g}")  # fmt: skip
    return found


def of_signal(trace: Trace, file: str, workload: Workload) -> dict[str, float | None]:
    """Return ``co2_kg`` of a run and, where the file has prices, ``energy_cost``."""
    signal = read_signal(Path(file), lambda moment: parse_moment(moment, workload))
    time, drawn, idle = trace.ints_where("usage", ("time", "drawn_mw", "idle_mw"), "partition", "", null=0)
    found: dict[str, float | None] = {
        "co2_kg": round(_weighted(time, drawn + idle, signal.times, signal.grams) / 1000, 6)
    }
    if signal.prices:
        found["energy_cost"] = round(_weighted(time, drawn + idle, signal.times, signal.prices), 6)
    return found


def _weighted(time: np.ndarray, power_mw: np.ndarray, times: Iterable[int], values: Iterable[float]) -> float:
    """Return the integral of kWh times values, from the first to the last row of the usage series."""
    if len(time) < 2:
        return 0.0
    ends = np.fromiter(times, np.int64)
    edges = np.unique(np.concatenate([time, ends[(ends > time[0]) & (ends < time[-1])]]))
    power = power_mw[np.searchsorted(time, edges[:-1], "right") - 1]
    at = np.maximum(np.searchsorted(ends, edges[:-1], "right") - 1, 0)
    value = np.fromiter(values, np.float64)[at]
    return float((power / 1000 * np.diff(edges) * value).sum() / J_PER_KWH)
