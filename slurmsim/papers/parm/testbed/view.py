"""The experiment on PARM's testbed as tables, verdicts and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmsim.experiments.claims import Claim, claim_facts, claims_table
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.parm import goals
from slurmsim.papers.parm.data import FEWEST, PAIRS
from slurmsim.papers.parm.large.view import step_rows, waterfalls
from slurmsim.papers.parm.testbed.run import GAMMAS, SETS, STEPS, SYSTEMS, Result
from slurmsim.report.text import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOW, HIGH = "SetL", "SetH"
_FIGURES = (
    ("mean_s", "mean, min", 60.0, 1), ("max_s", "max, min", 60.0, 1), ("node_weighted_s", "by nodes, min", 60.0, 1),
    ("nodes", "nodes", 1.0, 1), ("watts", "W charged", 1.0, 0), ("energy_j", "MJ", 1e6, 1),
    ("resizes", "resizes", 1.0, 1),
)  # fmt: skip


def claims(found: Result) -> list[Claim]:
    """Return the paper's statements on its testbed beside ours; the first pace unless said."""
    pace = GAMMAS[0]
    best = max((found.speedup(jobs, gamma, "wSE") for jobs in SETS for gamma in GAMMAS), key=lambda e: e.mean)
    over_fewest = (
        Estimate.of([b / a for a, b in found.pairs(jobs, gamma, "wSE", FEWEST, "mean_s")])
        for jobs in SETS for gamma in GAMMAS
    )  # fmt: skip
    listed = [goals.BEST_TESTBED.measured(best),
              goals.BEST_FEWEST.measured(max(over_fewest, key=lambda e: e.mean))]  # fmt: skip
    for jobs in (LOW, HIGH):
        for one, other in PAIRS:
            gain = found.gain(jobs, pace, one, other)
            listed.append(goals.sooner(jobs, one, other).measured(gain, _percent(gain)))
    for name, goal in goals.OVER_NOMM.items():
        gain = found.gain(LOW, pace, name, "noMM")
        listed.append(goal.measured(gain, _percent(gain)))
    more = _differences(found.values(LOW, pace, "wSE", "nodes"), found.values(LOW, pace, "noSE", "nodes"))
    low, high = ([b / a for a, b in found.pairs(jobs, pace, "wSE", "baseline", "mean_s")] for jobs in (LOW, HIGH))
    faster = _differences(
        *([b / a for a, b in found.pairs(HIGH, gamma, "wSE", "baseline", "mean_s")] for gamma in GAMMAS[::-1])
    )
    benefit = _differences(low, high)
    overhead = max(found.estimate(jobs, gamma, "wSE", "overhead").mean for jobs in SETS for gamma in GAMMAS)
    return [
        *listed,
        goals.NODES_SETL.measured(more, more.text(1, signed=True)),
        goals.LOW_OVER_HIGH.measured(benefit, benefit.text(2, signed=True)),
        goals.HIGH_FASTER.measured(faster, faster.text(2, signed=True)),
        goals.OVERHEAD.measured(100 * overhead),
    ]  # fmt: skip


def _differences(one: list[float], other: list[float]) -> Estimate:
    return Estimate.of([a - b for a, b in zip(one, other, strict=True)])


def _percent(e: Estimate) -> str:
    return f"{e.text(1, signed=True)} %"


def figures_table(found: Result, jobs: str, gamma: float) -> list[list[str]]:
    """Return a row a system; the first row is a header."""
    rows = [["system", "speed-up", *(title for _, title, _, _ in _FIGURES)]]
    for system in SYSTEMS:
        cells = [found.speedup(jobs, gamma, system).text(2)]
        for name, _, scale, digits in _FIGURES:
            e = found.estimate(jobs, gamma, system, name)
            cells.append(Estimate(e.mean / scale, None if e.half is None else e.half / scale, e.n).text(digits))
        rows.append([system, *cells])
    return rows


def steps_table(found: Result) -> list[list[str]]:
    """Log contributions of each step; the last column is their sum, the logarithm of the whole speed-up."""
    return step_rows("part", _steps(found))


def tables(found: Result) -> dict[str, list[list[str]]]:
    """Return the tables for the page, but for claims."""
    figures = {f"testbed {jobs} {gamma:g}": figures_table(found, jobs, gamma) for jobs in SETS for gamma in GAMMAS}
    return {"steps": steps_table(found), **figures}


def as_text(found: Result) -> str:
    """All tables for a terminal."""
    blocks = [
        f"PARM on a testbed of 38 nodes under 3,300 W: {found.seeds} replicates of ten jobs; ± is the 95 % interval",
        table(claims_table(claims(found))),
        "What each step adds to the logarithm of the speed-up:",
        table(steps_table(found)),
    ]
    for jobs in SETS:
        for gamma in GAMMAS:
            blocks += [f"{jobs}, gaps times {gamma:g}", table(figures_table(found, jobs, gamma))]
    return "\n\n".join(blocks)


def as_dict(found: Result) -> dict[str, Any]:
    """Everything for programs: claims, contributions and every run."""
    return {
        "seeds": found.seeds, "claims": claim_facts(claims(found)),
        "log_contributions": {
            f"{jobs}-{gamma:g}": {step: e.mean for step, e in zip(STEPS[1:], found.steps(jobs, gamma), strict=True)}
            for jobs in SETS for gamma in GAMMAS
        },
        "runs": found.runs,
    }  # fmt: skip


def figure(found: Result) -> Figure:
    """Return the waterfall of log contributions, a panel a part."""
    return waterfalls(_steps(found))


def _steps(found: Result) -> dict[str, list[Estimate]]:
    return {f"{jobs}, γ = {gamma:g}": found.steps(jobs, gamma) for jobs in SETS for gamma in GAMMAS}
