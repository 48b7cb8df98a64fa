"""The experiment on PARM's testbed as tables, verdicts and a picture."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from slurmsim.experiments.claims import MISSING, NOT, REPRODUCED, Claim, claims_table, verdict
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.parm.large.view import step_rows, waterfalls
from slurmsim.papers.parm.testbed.run import GAMMAS, SETS, STEPS, SYSTEMS, Result
from slurmsim.report.text import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOW, HIGH = "SetL", "SetH"
NEAR = 0.2  # a ratio within a fifth of the paper's counts as its number
_FIGURES = (
    ("mean_s", "mean, min", 60.0, 1), ("max_s", "max, min", 60.0, 1), ("node_weighted_s", "by nodes, min", 60.0, 1),
    ("nodes", "nodes", 1.0, 1), ("watts", "W charged", 1.0, 0), ("energy_j", "MJ", 1e6, 1),
    ("resizes", "resizes", 1.0, 1),
)  # fmt: skip


def claims(found: Result) -> list[Claim]:
    """Return the paper's statements on its testbed beside ours; the first pace unless said."""
    best = max((found.speedup(jobs, gamma, "wSE") for jobs in SETS for gamma in GAMMAS), key=lambda e: e.mean)
    listed = [
        Claim("best speed-up of wSE over the baseline", "1.7", best.text(2), f"{best.mean / 1.7:.2f}",
              verdict(abs(best.mean / 1.7 - 1) <= NEAR, best.mean > 1)),
    ]  # fmt: skip
    for jobs in (LOW, HIGH):
        for one, other in (("noMM", "baseline"), ("noSE", "noMM"), ("wSE", "noSE")):
            gain = found.gain(jobs, GAMMAS[0], one, other)
            listed.append(Claim(f"{jobs}: {one} completes sooner than {other}", "yes", _percent(gain), "–",
                                verdict(gain.sign > 0)))  # fmt: skip
    for one, paper in (("noSE", 7.5), ("wSE", 13.9)):
        gain = found.gain(LOW, GAMMAS[0], one, "noMM")
        listed.append(Claim(f"SetL: {one} over noMM", f"{paper} %", _percent(gain), f"{gain.mean / paper:.2f}",
                            verdict(abs(gain.mean / paper - 1) <= NEAR, gain.sign > 0)))  # fmt: skip
    more = _differences(found.values(LOW, GAMMAS[0], "wSE", "nodes"), found.values(LOW, GAMMAS[0], "noSE", "nodes"))
    low, high = (found.values(jobs, GAMMAS[0], "wSE", "mean_s") for jobs in (LOW, HIGH))
    base_low, base_high = (found.values(jobs, GAMMAS[0], "baseline", "mean_s") for jobs in (LOW, HIGH))
    benefit = _differences([b / a for a, b in zip(low, base_low, strict=True)],
                           [b / a for a, b in zip(high, base_high, strict=True)])  # fmt: skip
    faster = _differences(
        *([b / a for a, b in found.pairs(HIGH, gamma, "wSE", "baseline", "mean_s")] for gamma in GAMMAS[::-1])
    )
    overhead = max(found.estimate(jobs, gamma, "wSE", "overhead").mean for jobs in SETS for gamma in GAMMAS)
    listed += [
        Claim("SetL: wSE uses more nodes than noSE", "36 over 33", more.text(1, signed=True), f"{more.mean / 3:.2f}",
              verdict(abs(more.mean / 3 - 1) <= NEAR, more.sign > 0)),
        Claim("speed-up of SetL over that of SetH", "larger", benefit.text(2, signed=True), "–",
              verdict(benefit.sign > 0)),
        Claim("SetH: speed-up at twice the pace", "larger", faster.text(2, signed=True), "–", verdict(faster.sign > 0)),
        Claim("time lost in changes of size (the worst part)", "< 1 %", f"{100 * overhead:.2f} %", "–",
              REPRODUCED if overhead < 0.01 else NOT),
        *(Claim(what, "–", "–", "–", MISSING) for what in
          ("Table V (large machine, Intrepid)", "Table VI (over uniform caps, large machine)")),
    ]  # fmt: skip
    return listed


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
        "seeds": found.seeds, "claims": [asdict(claim) for claim in claims(found)],
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
