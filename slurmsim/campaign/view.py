"""Rankings as text, what no mean shows first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slurmsim.campaign.conclusions import MEASURES, Ranking, Row
from slurmsim.metrics.paired import FEWEST
from slurmsim.report.shortfall import shortfall, starved
from slurmsim.report.text import duration, number, table

if TYPE_CHECKING:
    import pandas as pd

WAIT, SLOWDOWN, USE = MEASURES


def as_text(rankings: Sequence[Ranking]) -> str:
    """A table for each ranking, and how to read it."""
    parts = [_one(ranking) for ranking in rankings]
    notes = [
        "Wait: mean of all jobs, of those that never started so far. ±: 95 % interval of the mean difference from the "
        "baseline,\npaired by window and seed. p: by Holm over all pairs of policies. Equal places: no test tells them "
        "apart."
    ]
    pairs = min(ranking.rows[0].cells for ranking in rankings)
    if pairs < FEWEST:
        pair = "pair" if pairs == 1 else "pairs"
        notes.append(f"With {pairs} {pair} no test can tell policies apart; {FEWEST} is the fewest.")
    return "\n\n".join([*parts, "\n".join(notes)])


def _one(ranking: Ranking) -> str:
    lines = [ranking.title]
    for row in ranking.rows:
        missing = shortfall({"jobs": row.jobs, "refused": row.refused, "never_started": row.never_started,
                             "dropped": row.dropped})  # fmt: skip
        if missing:
            behind = "" if row.complete else " It stands behind those that started more."
            lines.append(f"{row.policy}: {missing}{behind}")
    if ranking.left_out:
        lines.append(f"{ranking.left_out:,} cells have no counterpart of every policy and are left out.")
    head = ["place", "policy", "wait", f"against {ranking.baseline}", "p", "effect", "slowdown", "use"]
    return "\n".join([*lines, table([head, *map(_cells, ranking.rows)], left=2)])


def _cells(row: Row) -> list[str]:
    found, p = row.against.get(WAIT), row.p.get(WAIT)
    if found is None:
        against = ["–", "–", "–"]
    else:
        band = "" if found.low is None else f" ({_signed(found.low)} to {_signed(found.high)})"
        against = [_signed(found.mean) + band, "–" if p is None else f"{p:.3f}", number(found.g)]
    use = row.means[USE]
    return [
        str(row.rank), row.policy, duration(row.means[WAIT]), *against, number(row.means[SLOWDOWN], 1),
        "–" if use is None else f"{100 * use:.1f} %",
    ]  # fmt: skip


def _signed(seconds: float | None) -> str:
    return "–" if seconds is None else ("+" if seconds > 0 else "") + duration(seconds)


def headline(frame: pd.DataFrame) -> list[str]:
    """A line for each policy of which there are cells in which most jobs never started."""
    starving = frame[starved_cells(frame)]
    return [
        f"{policy}: in {len(cells):,} of its cells most jobs never started: no mean says anything about them"
        for policy, cells in starving.groupby("policy", sort=True)
    ]  # fmt: skip


def starved_cells(frame: pd.DataFrame) -> list[bool]:
    """Whether each cell is `starved`."""
    counts = frame[["jobs", "refused", "never_started"]].to_dict("records")
    return [starved({str(key): value for key, value in one.items()}) for one in counts]
