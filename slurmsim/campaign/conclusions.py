"""Which policy was better, by how much, and how sure that is: paired by what the cells have in common.

Cells that differ in their policy alone had the same jobs at the same times (common random numbers), so their
difference is the policy's. Pairs of one workload, load and setting, over its windows and seeds, are compared together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import asdict, dataclass
from slurmsim.metrics.classes import CLASSES
from slurmsim.metrics.paired import Paired, fewest, holm, paired

if TYPE_CHECKING:
    import pandas as pd

MEASURES = {"mean_wait_central_s": -1, "mean_bounded_slowdown_central": -1, "utilization_central": 1}
"""What is compared, and whether less (-1) or more (1) is better: all three without warm-up and cool-down, see
`slurmsim.metrics.utilization.central_window`. docs/metrics.md."""
ALSO = (
    "jain_users", "users_slowdown_spread", "unfair_share", "mean_unfair_wait_s", "goodput", "lost_cpu_s", "energy_j",
    "gpu_utilization", "gpu_stranded", "co2_kg", "energy_cost", "node_cost", "idle_node_cost",
)  # fmt: skip
"""What is shown beside, where there is some: fairness, losses, energy, GPUs, emissions, money."""
WAIT = next(iter(MEASURES))
ADDED = {WAIT: 60.0}  # what is added before logarithms are taken: waits far below a minute are alike
LEVEL = 0.05
MISSED = 0.01
"""A policy that left more than this share of jobs unstarted than another did stands behind those that did not."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OfClass:
    """How jobs of one class fared under a policy: their number, their mean wait, its difference from the baseline.

    The difference is None for the baseline, and where a class is empty.
    """

    jobs: int
    wait: float | None
    against: Paired | None


@dataclass(frozen=True, slots=True)
class Row:
    """One policy of a ranking."""

    # policy, rank: its name, and its place; policies that no test tells apart from the first of them share a place.
    # None where there are too few cells for any test (`too_few`).
    policy: str
    rank: int | None
    # cells, jobs: its cells that have a counterpart of every other policy, and the jobs in them
    cells: int
    jobs: int
    # refused, never_started, cancelled_waiting, dropped: jobs that no mean shows; those that the log cancels while they
    # wait never started, too
    refused: int
    never_started: int
    cancelled_waiting: int
    dropped: int
    means: Mapping[str, float | None]  # mean over its cells, by measure
    against: Mapping[str, Paired]  # its differences from the baseline, by measure; empty for the baseline
    p: Mapping[str, float | None]  # those differences' p, corrected by Holm over the pairs with the baseline
    complete: bool  # False where it left more than 1 % more jobs unstarted than another
    # those before it that a test tells apart from it, or that started their jobs where it did not
    beaten_by: tuple[str, ...]
    classes: Mapping[str, OfClass]  # its jobs by class (`slurmsim.metrics.classes`)
    also: Mapping[str, float | None]  # means over its cells of `ALSO`; None of what there is none


@dataclass(frozen=True, slots=True)
class Ranking:
    """The policies on one workload under one load and setting, best first."""

    workload: str
    load: float
    settings: str
    baseline: str
    rows: Sequence[Row]  # best first
    left_out: int  # cells that had no counterpart of every policy
    by: str = WAIT  # the measure that ranks
    # True over all workloads: means and differences are of logarithms then (with `ADDED`), so that each workload counts
    # alike, long waits or short
    ratio: bool = False

    @property
    def title(self) -> str:
        """``kth, load 1.2``."""
        load = "" if self.load == 1 else f"load {self.load:g}"
        return ", ".join(filter(None, (self.workload, load, self.settings)))


def rankings(frame: pd.DataFrame, baseline: str, by: str = WAIT) -> list[Ranking]:
    """One ranking for each workload, load and setting in `frame` (summaries of cells) with at least two policies."""
    found = []
    groups: Any = frame.groupby(["workload", "load", "settings"], sort=True)
    for (workload, load, settings), group in groups:
        rows, left_out = _compared(group, ["window", "seed"], baseline, by)
        if rows:
            found.append(Ranking(workload, float(load), settings, baseline, rows, left_out, by))
    return found


def overall(frame: pd.DataFrame, baseline: str, by: str = WAIT) -> Ranking | None:
    """Return the policies over all workloads, loads and settings, by ratios; None where there is but one of these."""
    where = ["workload", "load", "settings"]
    if len(frame[where].drop_duplicates()) < 2:
        return None
    with np.errstate(divide="ignore"):
        logs = {name: np.log(frame[name] + ADDED.get(name, 0.0)) for name in MEASURES}
        logs |= {f"{name}_wait_s": np.log(frame[f"{name}_wait_s"] + ADDED[WAIT]) for name in CLASSES}
    table = frame.assign(**{name: values.replace(-np.inf, np.nan) for name, values in logs.items()})
    rows, left_out = _compared(table, [*where, "window", "seed"], baseline, by)
    return Ranking("all", 1.0, "", baseline, rows, left_out, by, True) if rows else None


def _compared(group: Any, blocks: list[str], baseline: str, by: str) -> tuple[list[Row], int]:
    """Rows of the policies over the blocks that all of them have, and how many cells lie in others."""
    policies = sorted(group["policy"].unique())
    wide = group.pivot(index=blocks, columns="policy")
    whole = wide["jobs"].notna().all(axis=1)
    if len(policies) < 2 or not whole.any() or baseline not in policies:
        return [], 0
    return _rows(wide[whole], policies, baseline, by), len(group) - len(policies) * int(whole.sum())


def _rows(wide: Any, policies: Sequence[str], baseline: str, measure: str) -> list[Row]:
    """`wide`: a row a block, columns (figure, policy)."""
    values = {name: {one: wide[name][one].to_numpy(np.float64) for one in policies} for name in MEASURES}
    pairs = list(combinations(policies, 2))
    tests = {name: _tests(values[name], [pair for pair in pairs if baseline in pair]) for name in MEASURES}
    share = {one: _missed(wide, one) for one in policies}
    complete = {one: share[one] <= min(share.values()) + MISSED for one in policies}
    means = {name: {one: _mean(values[name][one]) for one in policies} for name in MEASURES}

    def place(one: str) -> tuple[bool, float, str]:
        mean = means[measure][one]
        return not complete[one], np.inf if mean is None else -MEASURES[measure] * mean, one

    order = sorted(policies, key=place)
    chances = {pair: p for pair, (_, p) in (_tests(values[measure], pairs) | tests[measure]).items()}
    chances |= {(b, a): p for (a, b), p in chances.items()}
    told = len(wide) >= fewest(len(policies) - 1)
    ranks = _ranks(order, complete, chances) if told else dict.fromkeys(order)
    rows: list[Row] = []
    for i, one in enumerate(order):
        before = [other for other in order[:i] if _apart(chances, other, one) or complete[other] != complete[one]]
        against = {name: _turned(tests[name], one, baseline) for name in MEASURES if one != baseline}
        rows.append(Row(
            one, ranks[one], len(wide), int(wide["jobs"][one].sum()), int(wide["refused"][one].sum()),
            int(wide["never_started"][one].sum()),
            int(wide["cancelled_waiting"][one].sum()) if "cancelled_waiting" in wide else 0,  # older cells lack it
            int(wide["dropped"][one].sum()),
            {name: means[name][one] for name in MEASURES},
            {name: found for name, (found, _) in against.items() if found is not None},
            {name: p for name, (_, p) in against.items()}, complete[one], tuple(before),
            _classes(wide, one, baseline), {name: _mean(wide[name][one].to_numpy(np.float64)) for name in ALSO},
        ))  # fmt: skip
    return rows


def _missed(wide: Any, one: str) -> float:
    """Return the share of jobs that a policy never started."""
    missed = wide["never_started"][one] + wide["refused"][one]
    jobs = wide["jobs"][one] + wide["refused"][one]
    return float(missed.sum() / max(1, jobs.sum()))


def _classes(wide: Any, one: str, baseline: str) -> dict[str, OfClass]:
    """Return the waits by class; pairs in which the class is empty are left out."""
    found = {}
    for name in CLASSES:
        own, other = (wide[f"{name}_wait_s"][policy].to_numpy(np.float64) for policy in (one, baseline))
        both = ~np.isnan(own) & ~np.isnan(other)
        against = _paired((own - other)[both]) if one != baseline and both.any() else None
        found[name] = OfClass(int(wide[f"{name}_jobs"][one].sum()), _mean(own), against)
    return found


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _paired(differences: Floats) -> Paired:
    """`paired`; the tables, the page and a leaderboard ask for the same differences."""
    return _paired_bytes(differences.tobytes())


@lru_cache(maxsize=2**15)
def _paired_bytes(differences: bytes) -> Paired:
    return paired(np.frombuffer(differences, np.float64))


def _tests(
    values: Mapping[str, Floats], pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], tuple[Paired | None, float | None]]:
    """(first, second) -> differences second - first, and p corrected over all of `pairs`."""
    found: dict[tuple[str, str], Paired | None] = {}
    for a, b in pairs:
        both = ~np.isnan(values[a]) & ~np.isnan(values[b])
        found[a, b] = _paired((values[b] - values[a])[both]) if both.any() else None
    corrected = holm([None if one is None else one.p for one in found.values()])
    return {pair: (one, p) for (pair, one), p in zip(found.items(), corrected, strict=True)}


def _turned(
    tests: Mapping[tuple[str, str], tuple[Paired | None, float | None]], one: str, baseline: str
) -> tuple[Paired | None, float | None]:
    """Differences `one` - `baseline`, whichever way round they were tested."""
    if (baseline, one) in tests:
        return tests[baseline, one]
    found, p = tests[one, baseline]
    if found is None:
        return None, p
    low, high = (None, None) if found.low is None or found.high is None else (-found.high, -found.low)
    return Paired(found.n, -found.mean, low, high, found.p, None if found.g is None else -found.g, 1 - found.above), p


def _ranks(
    order: Sequence[str], complete: Mapping[str, bool], p: Mapping[tuple[str, str], float | None]
) -> dict[str, int]:
    """Return the places in `order`; policies that no test tells apart from the first of a place share that place.

    `p` has each pair both ways round.
    """
    ranks: dict[str, int] = {}
    first = order[0]
    for i, one in enumerate(order, 1):
        if one == first or complete[one] != complete[first] or _apart(p, first, one):
            first, ranks[one] = one, i
        else:
            ranks[one] = ranks[first]
    return ranks


def _apart(p: Mapping[tuple[str, str], float | None], one: str, other: str) -> bool:
    """Return True if the test tells them apart."""
    chance = p.get((one, other))
    return chance is not None and chance < LEVEL


def too_few(pairs: int, policies: int) -> str:
    """Return what so many pairs cannot tell about so many policies, in a sentence; empty where they are enough."""
    if policies < 2:
        return ""
    some, every = fewest(policies - 1), fewest(policies * (policies - 1) // 2)
    with_pairs = f"With {pairs} {'pair' if pairs == 1 else 'pairs'} of runs"
    if pairs < some:
        others = f", {every} from each other" if every > some else ""
        return (f"{with_pairs} no test can tell {policies} policies apart, so there are no places: {some} tell them "
                f"from the baseline{others}.")  # fmt: skip
    if pairs < every:
        return f"{with_pairs} tests tell policies from the baseline; {every} are needed to tell all from each other."
    return ""


def as_dict(ranking: Ranking) -> dict[str, Any]:
    """For JSON."""
    return asdict(ranking)
