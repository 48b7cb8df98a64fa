"""Numbers as people read them, and plain text tables."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from slurmsim.shown import cell

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def duration(seconds: float | None) -> str:
    """Seconds in the two largest units: ``2 d 3 h``, ``5 min 12 s``, ``-40 s``; a dash for None."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    sign = "-" if seconds < 0 else ""
    rest = abs(seconds)
    if rest < 60:
        return f"{sign}{rest:.0f} s" if rest == int(rest) or rest >= 10 else f"{sign}{rest:.1f} s"
    rest = round(rest)
    for (size, unit), (small, small_unit) in pairwise(_UNITS):
        if rest >= size:
            tail = (rest % size) // small
            return f"{sign}{rest // size} {unit}" + (f" {tail} {small_unit}" if tail else "")
    raise AssertionError("unreachable")


def signed(seconds: float) -> str:
    """Return a difference of times: a `duration` with its sign."""
    return ("+" if seconds > 0 else "") + duration(seconds)


def number(value: float | None, digits: int = 2) -> str:
    """Return a count with thousands separators, a fraction with `digits` decimals; a dash for None."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """Return a share as per cent with one decimal."""
    return "–" if value is None else f"{100 * value:.1f} %"


def size(n_bytes: float | None) -> str:
    """Bytes in binary units: ``310 MiB``."""
    if n_bytes is None:
        return "–"
    value = float(n_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


# How a summary value is shown: by its key's unit suffix, by the table, or as a number.
_SHARES = frozenset(
    {"utilization", "utilization_central", "goodput", "useful_share", "gpu_utilization", "gpu_stranded"}
)


_MOMENTS = frozenset({"first_submit", "last_end"})

LABELS = {
    "mean_wait_s": "mean wait", "median_wait_s": "median wait", "p95_wait_s": "95 % waited at most",
    "max_wait_s": "longest wait", "mean_wait_so_far_s": "mean wait, waiting jobs too",
    "mean_buffer_s": "mean time in a stream's buffer", "mean_turnaround_s": "mean turnaround",
    "makespan_s": "makespan", "utilization": "utilization", "utilization_central": "utilization, central",
    "node_fail": "ended by a node", "dropped": "left out of the log", "requeued_cpu_s": "CPU time of requeued runs",
    "cancelled_waiting": "cancelled while waiting", "ended_waiting": "ended while waiting", "waiting": "still waiting",
    "first_submit": "first submission", "backfilled": "started by backfill", "stopped": "stopped early",
    "mean_unfair_wait_s": "mean unfair wait", "passes": "scheduling passes", "wall_s": "simulated in",
    "energy_j": "energy, J", "co2_kg": "CO2, kg", "energy_cost": "cost of energy",
    "node_cost": "cost of nodes", "idle_node_cost": "cost of idle nodes", "gpu_utilization": "GPUs in use",
    "gpu_stranded": "GPUs stranded",
    "lost_cpu_s": "CPU time lost", "useful_share": "useful, of allocated CPU time",
    "checkpoint_cpu_s": "CPU time of checkpoints", "jain_users": "fairness of users (Jain)",
    "users_slowdown_spread": "slowdowns of users apart",
    "jobs_per_s": "jobs simulated a second", "peak_rss_bytes": "memory of the simulator",
}  # fmt: skip
"""Words for the keys of a summary; the others are their keys with blanks."""
_FIRST = (
    "mean_wait_s", "median_wait_s", "p95_wait_s", "max_wait_s", "mean_bounded_slowdown", "utilization", "makespan_s",
    "jobs", "completed",
)  # fmt: skip
_LAST = ("policy", "seed", "passes", "wall_s", "jobs_per_s", "peak_rss_bytes")


def summary_label(key: str) -> str:
    """Return what a summary key is called where people read it.

    >>> summary_label("mean_wait_s"), summary_label("never_started")
    ('mean wait', 'never started')
    """
    return LABELS.get(key) or key.removesuffix("_s").replace("_", " ")


def in_reading_order(keys: Iterable[str]) -> list[str]:
    """Return the keys of a summary, results first and the simulator's own figures last."""
    found = list(keys)
    middle = [key for key in found if key not in _FIRST and key not in _LAST]
    return [*(key for key in _FIRST if key in found), *middle, *(key for key in _LAST if key in found)]


def summary_value(key: str, value: object, epoch: int | None = None) -> str:
    """Return the value of a summary key as text, with the unit its name implies.

    An instant is a date (UTC) where the Unix time of second 0 is known.
    """
    if value is None:
        return "–"
    if key in _MOMENTS and epoch is not None and isinstance(value, int):
        return f"{dt.datetime.fromtimestamp(epoch + value, dt.UTC):%Y-%m-%d %H:%M:%S}"
    if isinstance(value, Mapping):
        return by_reason(value) or "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    if key in _SHARES:
        return percent(value)
    if key == "seed":
        return str(value)
    if key.endswith("_bytes"):
        return size(value)
    if key == "wall_s":
        return f"{value:.2f} s"
    if key == "jobs_per_s":
        return f"{value:,.0f}"
    if key.endswith("_s"):
        return duration(value)
    return number(value)


def by_reason(counts: Mapping[str, int]) -> str:
    """``PartitionTimeLimit 9, Priority 3``."""
    return ", ".join(f"{reason} {n:,}" for reason, n in counts.items())


def table(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Rows of cells, a header first, as aligned text; the first `left` columns flush left, the others right.

    Each row is one line, whatever its texts hold (`slurmsim.shown`).
    """
    rows = [[cell(text) for text in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if i < left else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
