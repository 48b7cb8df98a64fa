"""What a job uses, put against all it counts in: one amount of each kind, in each of a few rows.

Plain Python as its siblings, on arrays; NumPy takes ten times as long to find some forty places of a table.
"""

from __future__ import annotations

from typing import Any


def add(amounts: Any, rows: Any, rate: Any, times: float) -> None:
    """Add `rate` (n_kinds, 1), so many `times`, to the columns `rows` of `amounts` (n_kinds, n_rows), all float64."""
    for kind in range(len(rate)):
        amount = rate[kind, 0] * times
        for k in range(len(rows)):
            amounts[kind, rows[k]] += amount


def begin(rates: Any, running: Any, rows: Any, rate: Any) -> None:
    """One more, at this `rate`, runs in the columns `rows` of `rates`; `running` (n_rows,) int64 says how many do."""
    add(rates, rows, rate, 1.0)
    for k in range(len(rows)):
        running[rows[k]] += 1


def end(rates: Any, running: Any, rows: Any, rate: Any) -> None:
    """Take a job that has ended out of `rows`. A row without jobs is set to zero, so that no rounding is left."""
    add(rates, rows, rate, -1.0)
    for k in range(len(rows)):
        row = rows[k]
        running[row] -= 1
        if running[row] == 0:
            for kind in range(len(rate)):
                rates[kind, row] = 0.0
