"""The PCP'20 experiment's tables and verdicts."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from slurmsim.experiments.claims import Claim
from slurmsim.experiments.verdicts import Interval
from slurmsim.metrics.estimate import Share
from slurmsim.papers.pcp20 import goals
from slurmsim.papers.pcp20.cells import MEAN_MS, PERCENTILES, PREDICTORS
from slurmsim.papers.pcp20.run import DISPATCHERS, Result, schedulers
from slurmsim_policies.cp.cold import SEARCHES

SPREAD = (0, 25, 50, 75, 100)
"""Percentiles of the ratio of variables."""


def _share(found: Sequence[dict[str, Any]], holds: Callable[[dict[str, Any]], bool]) -> float:
    return sum(map(holds, found)) / len(found)


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-5 * max(1.0, abs(b))


def instance_claims(found: Sequence[dict[str, Any]]) -> list[Claim]:
    """Return what the paper says of single instances: those that are contested."""
    contested = [one for one in found if one["pcp19_asked"]]
    return [*_size_claims(contested), *_time_claims(contested)] if contested else []


def _size_claims(found: Sequence[dict[str, Any]]) -> list[Claim]:
    ratios = sorted(one["pcp20_variables"] / one["pcp19_variables"] for one in found)
    below = _below(ratios)
    tenfold = _share(found, lambda one: one["pcp20_variables"] == one["pcp20_variables_tenfold"])
    equal = [_same(one["pcp20_objective"], one["pcp19_objective"]) for one in found]
    return [
        goals.VARIABLES.measured(statistics.median(ratios)),
        goals.ALL_BELOW.measured(below, f"{below:.0f} % of {len(ratios)} ({ratios[0]:.3f} to {ratios[-1]:.3f})"),
        goals.TENFOLD.measured(100 * tenfold),
        goals.EQUAL.measured(Share.of(equal)),
    ]


def _time_claims(found: Sequence[dict[str, Any]]) -> list[Claim]:
    """Less CPU to one objective: both with the paper's search, both with CP-SAT's, and against PCP'19's quicker one.

    The first three are of the instances that one of the two solved, the ratio of those that both did.
    """
    claims = []
    for goal, mine, theirs in goals.LESS_CPU:
        pairs = [(_time(one, [mine]), _time(one, theirs)) for one in found]
        claims.append(goal.measured(Share.of(ours < other for ours, other in pairs if min(ours, other) < inf)))
    times = [one["pcp20_paper_s"] / one["pcp19_paper_s"] for one in found
             if one["pcp20_paper_reached"] and one["pcp19_paper_reached"]]  # fmt: skip
    return [*claims, goals.BETWEEN.measured(Share.of(0.01 <= time <= 1 for time in times))]


def _time(one: dict[str, Any], names: Sequence[str]) -> float:
    """CPU seconds of the quickest of these; those that gave up never came."""
    return min(one[f"{name}_s"] if one[f"{name}_reached"] else inf for name in names)


def instance_table(found: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Each model with each search over the contested instances; the first row is a header."""
    rows = [["model", "search", "target reached", "CPU to it, s", "of that building", "median, ms",
             "dispatch with hint, s", "proven optimal", "better than the list"]]  # fmt: skip
    contested = [one for one in found if one["pcp19_asked"]]
    for name in DISPATCHERS if contested else ():
        better = _share(contested, lambda one: one[f"{name}_objective"] < one["list_objective"] - 1e-5)  # noqa: B023
        for search in SEARCHES:
            key = f"{name}_{search}"
            cold = [one[f"{key}_s"] for one in contested]
            rows.append([
                name, search, f"{_share(contested, lambda one: one[f'{key}_reached']):.0%}",  # noqa: B023
                f"{sum(cold):.2f}", f"{sum(one[f'{key}_build_s'] for one in contested):.2f}",
                f"{1000 * statistics.median(cold):.1f}", f"{sum(one[f'{name}_dispatch_s'] for one in contested):.2f}",
                f"{_share(contested, lambda one: one[f'{name}_status'] == 'optimal'):.0%}",  # noqa: B023
                f"{better:.0%}" if name != "hcp19" else "–",
            ])  # fmt: skip
    return rows


def variables_table(found: Result, part: str) -> list[list[str]]:
    """Return how the ratio of variables is spread at each pace of arrivals; the first row is a header."""
    rows = [
        [
            "arrivals",
            "cores wanted, of all",
            "instances",
            "waiting jobs in them, mean",
            *(f"{at} %" for at in SPREAD),
            "below 0.1",
        ]
    ]
    for pace, one in found.of(part).items():
        ratios = _ratios(one)
        jobs = [waiting for waiting, _, _ in one["sizes"]]
        rows.append([
            f"× {pace}", f"{one['offered_load']:.0%}", f"{len(ratios):,}",
            f"{statistics.fmean(jobs):.1f}" if jobs else "–",
            *(f"{np.percentile(ratios, at):.3f}" if ratios else "–" for at in SPREAD),
            f"{_below(ratios):.0f} %" if ratios else "–",
        ])  # fmt: skip
    return rows


def variables_claims(found: Result, part: str) -> list[Claim]:
    """Return what the paper says of all instances, at each pace at which there were any."""
    system = part.split("-")[1]
    ratios = {pace: _ratios(one) for pace, one in found.of(part).items()}
    return [goals.small_at(system, float(pace)).measured(_below(those)) for pace, those in ratios.items() if those]


def _ratios(one: dict[str, Any]) -> list[float]:
    return [small / large for _, small, large in one["sizes"]]


def _below(ratios: Sequence[float]) -> float:
    """Return the per cent of ratios that the paper's figure has."""
    return 100 * sum(map(goals.VARIABLES.target.holds, map(Interval.of, ratios))) / len(ratios)


def system_table(found: Result, part: str) -> list[list[str]]:
    """CPU time of a dispatch as ratios to HCP'19, beside the paper's; the first row is a header."""
    system = part.split("-")[1]
    cells = found.of(part)
    rows = [["durations", "dispatcher", "activations", "solves", "ratio to HCP'19", "paper", "wait, s",
             "bounded slowdown", "verdict"]]  # fmt: skip
    for letter in PREDICTORS:
        ending = f".{letter}" if letter else ""
        base = cells.get(f"hcp19{ending}")
        for name in DISPATCHERS if base else ():
            one = cells[f"{name}{ending}"]
            ratio = _per_activation(one) / _per_activation(base or one)
            goal = goals.of_ratio(system, letter, name)
            claim = None if goal is None else goal.measured(ratio)
            last = "" if name == "hcp19" else "no number in the paper" if claim is None else claim.outcome
            rows.append([
                letter or "requested", name, f"{one['activations']:,}", f"{one['solves']:,}", f"{ratio:.2f}",
                "–" if claim is None else claim.paper, f"{one['mean_wait_s']:.0f}",
                f"{one['bounded_slowdown']:.2f}", last,
            ])  # fmt: skip
    return rows


def times_table(found: Result, part: str) -> list[list[str]]:
    """Return percentiles of the CPU time of a dispatch, beside the paper's mean; the first row is a header."""
    system = part.split("-")[1]
    rows = [["durations", "dispatcher", "mean, ms", *(f"{at} %, ms" for at in PERCENTILES),
             f"below {MEAN_MS} ms", "paper's mean, ms"]]  # fmt: skip
    for name, one in found.of(part).items():
        policy, _, letter = name.partition(".")
        times, paper = one["times_ms"], goals.TABLES_1_2.get((system, letter), {}).get(policy)
        rows.append([
            letter or "requested", policy, f"{times['mean']:.1f}", *(f"{times[str(at)]:,.1f}" for at in PERCENTILES),
            f"{times['below']:.1f} %", "–" if paper is None else str(paper),
        ])  # fmt: skip
    return rows


def _per_activation(one: dict[str, Any]) -> float:
    return float(one["dispatch_s"]) / max(1, int(one["activations"]))


FASTER = {"eurora": (("PCP'20", "HCP'19"), ("PCP'20", "PCP'19")), "kit": (("HCP'19", "PCP'20"),)}
"""Which dispatcher takes less time than which, by system, as the paper has it."""


def system_claims(found: Result, part: str) -> list[Claim]:
    """Return the order of the dispatchers that the specification expects, on the durations there are."""
    cells = found.of(part)
    letter = next((f".{letter}" for letter in ("R", "D", "L2") if f"hcp19.{letter}" in cells), "")
    time = {name: _per_activation(cells[name + letter]) for name in DISPATCHERS}
    system = part.split("-")[1]
    claims = [goals.faster(a, b).measured(time[_policy(a)] / time[_policy(b)]) for a, b in FASTER.get(system, ())]
    if system == "eurora":
        claims.append(goals.BELOW.measured(cells[f"pcp20{letter}"]["times_ms"]["below"]))
    claims += _whole_claims(system, cells)
    return [*claims, goals.budget(system).measured(cells[f"pcp20{letter}"]["cpu_s"])]


def _whole_claims(system: str, cells: dict[str, dict[str, Any]]) -> list[Claim]:
    """Return the time of all dispatches of a run beside HCP'19's, and whether PCP'19 comes to an end."""
    claims = []
    for (name, letter), paper in goals.WHOLE_S.items():
        base = cells.get(f"hcp19.{letter}") if name == system else None
        for policy, seconds in paper.items() if base else ():
            one = cells[f"{policy}.{letter}"]
            if seconds is None:
                claims.append(goals.stalls(system, letter).measured(one["cpu_s"]))
            elif policy != "hcp19":
                ratio = one["dispatch_s"] / (base or one)["dispatch_s"]
                claims.append(goals.whole_run(system, letter, policy).measured(ratio))
    return claims


def _policy(name: str) -> str:
    return name.lower().replace("'", "")


MEASURES = (
    ("slowdown", 2), ("bounded_slowdown", 2), ("mean_wait_s", 0), ("longest_wait_h", 1), ("queue", 2)
)  # fmt: skip


def quality_table(found: Result, part: str) -> list[list[str]]:
    """Every scheduler's figures with intervals; the first row is a header."""
    rows = [["scheduler", "slowdown", "bounded slowdown", "mean wait, s", "longest wait, h", "mean queue",
             "wait less list's, s", "of PCP'20's gain over EASY"]]  # fmt: skip
    wait = {name: found.estimate(part, name, "mean_wait_s").mean for name in schedulers(part)}
    gain = wait["easy"] - wait["pcp20"]
    for name in schedulers(part):
        change = found.change(part, name, "list", "mean_wait_s")
        rows.append([name, *(found.estimate(part, name, measure).text(digits) for measure, digits in MEASURES),
                     "–" if name == "list" else change.text(0, signed=True),
                     f"{(wait['easy'] - wait[name]) / gain:.0%}" if gain > 0 else "–"])  # fmt: skip
    return rows


def gain_sentence(found: Result, part: str) -> str:
    """How much of the dispatcher's gain over EASY list scheduling has already."""
    wait = {name: found.estimate(part, name, "mean_wait_s").mean for name in ("easy", "list", "pcp20")}
    gain = wait["easy"] - wait["pcp20"]
    if gain <= 0:
        return f"PCP'20 waits no less than EASY ({wait['pcp20']:.0f} s against {wait['easy']:.0f} s)."
    share = (wait["easy"] - wait["list"]) / gain
    return f"Of PCP'20's {gain:.0f} s less wait than EASY plain list scheduling has {share:.0%}."
