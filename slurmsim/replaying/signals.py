"""What a run emitted and cost by a series of carbon intensity and price (``--carbon FILE``).

Energy is that of all nodes, as `slurmsim.metrics.work` has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from slurmsim.errors import ConfigError
from slurmsim.input_file import read_text
from slurmsim.replaying.until import parse_moment
from slurmsim.sim.carbon import FIELD, Signal, parse_signal
from slurmsim.trace.reader import Trace
from slurmsim.workload import Workload

J_PER_KWH = 3_600_000.0


def read_signal(path: Path, moment: Callable[[str], int]) -> Signal:
    """Return the series of a file, with times as `moment` reads them. Raises ConfigError with file and line."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{path}: {what}", field=FIELD, expected="a CSV file") from None
    return parse_signal(text, str(path), moment)


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
