"""Rankings as text, what no mean shows first."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from slurmsim.campaign.conclusions import ADDED, ALSO, MEASURES, Ranking, Row, too_few
from slurmsim.metrics.classes import CLASSES
from slurmsim.metrics.paired import Paired, confidence
from slurmsim.report.shortfall import SHORT_OF, shortfall, starved
from slurmsim.report.text import duration, number, signed, table

if TYPE_CHECKING:
    import pandas as pd

WAIT, SLOWDOWN, USE = MEASURES
_ALSO: Mapping[str, tuple[str, Callable[[float], str], str]] = {
    "jain_users": ("Jain", lambda x: number(x, 2), "Jain: of the users' mean slowdowns, 1 if all are alike."),
    "users_slowdown_spread": (
        "users apart",
        lambda x: number(x, 1),
        "Users apart: the 90th percentile of the users' mean slowdowns over the 10th.",
    ),
    "unfair_share": (
        "unfair",
        lambda x: f"{100 * x:.1f} %",
        "Unfair: jobs that started later than they would have if no job had come after them.",
    ),
    "mean_unfair_wait_s": ("later by", duration, "Later by: how much, over all jobs asked about."),
    "goodput": ("goodput", lambda x: f"{100 * x:.1f} %", "Goodput: the share of the machine for jobs that completed."),
    "lost_cpu_s": ("lost CPU h", lambda x: f"{x / 3600:,.1f}", "Lost: by runs that completed nothing."),
    "energy_j": ("energy kWh", lambda x: f"{x / 3.6e6:,.1f}", ""),
    "gpu_utilization": ("GPU use", lambda x: f"{100 * x:.1f} %", ""),
    "gpu_stranded": (
        "stranded",
        lambda x: f"{100 * x:.1f} %",
        "Stranded: the share of the GPUs that was free while a job waited for no more GPUs than that.",
    ),
    "co2_kg": ("CO2 kg", lambda x: f"{x:,.1f}", ""),
    "node_cost": ("cost of nodes", lambda x: f"{x:,.2f}", ""),
    "idle_node_cost": ("cost of idle nodes", lambda x: f"{x:,.2f}", ""),
    "energy_cost": ("energy cost", lambda x: f"{x:,.2f}", ""),
}
"""Head and form of what is shown beside the measures that are compared, and what it is."""
WIDTH = 118  # of the notes, characters
PLACES = "p: by Holm over the pairs with the baseline. Equal places: no test tells them from the first of them."
"""Said where there are pairs enough for all tests; else `too_few` says what there is."""


def as_text(rankings: Sequence[Ranking]) -> str:
    """Return a table for each ranking, and how to read it."""
    return "\n\n".join([*map(_one, rankings), "\n".join(reading(rankings))])


def reading(rankings: Sequence[Ranking]) -> list[str]:
    """How to read the tables, and whether anything can be told from them."""
    shown = {name for ranking in rankings for name in _there(ranking)}
    pairs, policies = min((ranking.rows[0].cells, len(ranking.rows)) for ranking in rankings)
    level, few = f"{100 * confidence(pairs):.3g}", too_few(pairs, policies)
    notes = [
        "Warm-up and cool-down are cut: wait, slowdown, use and classes are of jobs submitted after the first tenth of "
        f"all and before the last tenth. Waits of jobs that never started are those so far. In brackets: {level} % "
        "interval of the mean difference from the baseline, paired by window and seed; *: one without 0, and of "
        "many some are chance." + ("" if few else f" {PLACES}"),
        "Classes: short asks for at most an hour, narrow for at most 2 % of the CPUs.",
        " ".join(_ALSO[name][2] for name in ALSO if name in shown).strip(),
    ]
    notes.append(few)
    return [textwrap.fill(note, WIDTH) for note in filter(None, notes)]


def title(ranking: Ranking) -> str:
    return "all of these: geometric means, differences as ratios" if ranking.ratio else ranking.title


def warnings(ranking: Ranking) -> list[str]:
    """Return what no mean of the ranking shows."""
    lines = []
    for row in ranking.rows:
        missing = shortfall({name: getattr(row, name) for name in SHORT_OF})
        if missing:
            behind = "" if row.complete else " It stands behind those that started more."
            lines.append(f"{row.policy}: {missing}{behind}")
    if ranking.left_out:
        lines.append(f"{ranking.left_out:,} cells have no counterpart of every policy and are left out.")
    return lines


def _one(ranking: Ranking) -> str:
    lines = [title(ranking), *warnings(ranking)]
    lines.append(table([head(ranking), *(cells(row, ranking) for row in ranking.rows)], left=2))
    if len(by_class := class_rows(ranking)) > 1:
        lines += ["", table([["", *row] for row in by_class], left=2)]
    if also := also_rows(ranking):
        lines += ["", table([["", *row] for row in also], left=2)]
    return "\n".join(lines)


def class_rows(ranking: Ranking) -> list[list[str]]:
    """Mean waits by class, a policy a row under a header; nothing where all jobs are of one class.

    A star: the interval of the difference from the baseline is without zero.
    """
    there = [name for name in CLASSES if any(row.classes[name].jobs for row in ranking.rows)]
    if len(there) < 2:
        return []
    titles = [f"{name.replace('_', ' ')} ({ranking.rows[0].classes[name].jobs:,})" for name in there]
    rows = [["wait by class", *titles]]
    for row in ranking.rows:
        waits = [duration(_mean(WAIT, row.classes[name].wait, ranking.ratio)) for name in there]
        clear = [(found := row.classes[name].against) is not None and found.clear for name in there]
        rows.append([row.policy, *(wait + "*" * sure for wait, sure in zip(waits, clear, strict=True))])
    return rows


def also_rows(ranking: Ranking) -> list[list[str]]:
    """Fairness, losses and energy, a policy a row under a header: what any of them has some of."""
    there = _there(ranking)
    if not there:
        return []
    rows = [["fairness, losses", *(_ALSO[name][0] for name in there)]]
    for row in ranking.rows:
        known = ((_ALSO[name][1], row.also[name]) for name in there)
        rows.append([row.policy, *("–" if value is None else form(value) for form, value in known)])
    return rows


def _there(ranking: Ranking) -> list[str]:
    return [name for name in ALSO if any(row.also[name] for row in ranking.rows)]


def head(ranking: Ranking) -> list[str]:
    """Names of `cells`."""
    return ["place", "policy", "wait", f"against {ranking.baseline}", "p", "effect", "slowdown", "use"]


def place(row: Row) -> str:
    """Return the place of a policy, for a table."""
    return "–" if row.rank is None else str(row.rank)


def cells(row: Row, ranking: Ranking) -> list[str]:
    found, p = row.against.get(ranking.by), row.p.get(ranking.by)
    if found is None:
        against = ["–", "–", "–"]
    else:
        against = [difference(found, ranking), "–" if p is None else f"{p:.3f}", number(found.g)]
    means = {name: _mean(name, value, ranking.ratio) for name, value in row.means.items()}
    use = means[USE]
    return [
        place(row), row.policy, duration(means[WAIT]), *against, number(means[SLOWDOWN], 1),
        "–" if use is None else f"{100 * use:.1f} %",
    ]  # fmt: skip


def _mean(measure: str, value: float | None, ratio: bool) -> float | None:
    """As it is, or the geometric mean."""
    return value if value is None or not ratio else math.exp(value) - ADDED.get(measure, 0.0)


def difference(found: Paired, ranking: Ranking) -> str:
    """``+3 min 15 s (-55 s to +10 min 31 s)``; of ratios ``+12 % (-3 % to +29 %)``."""
    if ranking.ratio:
        mean, low, high = (None if one is None else f"{100 * (math.exp(one) - 1):+,.1f} %"
                           for one in (found.mean, found.low, found.high))  # fmt: skip
    elif ranking.by == WAIT:
        mean, low, high = (None if one is None else signed(one) for one in (found.mean, found.low, found.high))
    else:
        mean, low, high = (None if one is None else f"{one:+,.3g}" for one in (found.mean, found.low, found.high))
    return f"{mean}" if low is None else f"{mean} ({low} to {high})"


def headline(frame: pd.DataFrame) -> list[str]:
    """Return a line for each policy of which there are cells in which most jobs never started."""
    starving = frame[np.array(starved_cells(frame), bool)]
    return [
        f"{policy}: in {len(cells):,} of its cells most jobs never started: no mean says anything about them"
        for policy, cells in starving.groupby("policy", sort=True)
    ]  # fmt: skip


def starved_cells(frame: pd.DataFrame) -> list[bool]:
    counts = frame.reindex(columns=list(SHORT_OF)).fillna(0).to_dict("records")
    return [starved({str(key): value for key, value in one.items()}) for one in counts]
