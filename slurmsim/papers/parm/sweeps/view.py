"""The sweeps of PARM's parameters as tables, verdicts and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmsim.experiments.claims import Claim, Goal, claim_facts, claims_table
from slurmsim.experiments.results import estimate_facts
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.parm.large.run import MACHINES, LargeResult
from slurmsim.papers.parm.large.view import FIGURES, signed
from slurmsim.papers.parm.sweeps.run import (
    ALPHAS,
    GAMMA,
    MACHINE,
    STEP_W,
    alpha_name,
    level_name,
    points,
    replicates,
)
from slurmsim.report import style
from slurmsim.report.text import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOTH = (("mean_s", "mean"), ("max_s", "longest"))
FEWEST, PAPERS, MOST = min(STEP_W), 6, max(STEP_W)


def claims(found: LargeResult) -> list[Claim]:
    """Return the paper's statements beside ours, in logarithms."""
    first, last = alpha_name(ALPHAS[0]), alpha_name(ALPHAS[-1])
    few, papers, most = level_name(FEWEST), level_name(PAPERS), level_name(MOST)
    later = Goal.positive(f"alpha {ALPHAS[-1]:g} for {ALPHAS[0]:g}: mean completion later", "Figure 6")
    longest = Goal.positive("the same: longest completion sooner", "Figure 6")
    listed = [signed(later, found.gain(GAMMA, first, last)), signed(longest, found.gain(GAMMA, last, first, "max_s"))]
    for figure, name in BOTH:
        goal = Goal.positive(f"{PAPERS} levels for {FEWEST}: {name} completion sooner", "Figure 7")
        listed.append(signed(goal, Estimate.of(gains(found, papers, few, figure))))
    more, beyond = (gains(found, *pair) for pair in ((papers, few), (most, papers)))
    little = Goal.positive(f"{MOST} levels for {PAPERS}: less more than {PAPERS} for {FEWEST}, in the mean", "Figure 7",
                           "little beyond")  # fmt: skip
    less = Estimate.of([a - b for a, b in zip(more, beyond, strict=True)])
    return [*listed, little.measured(less, f"{Estimate.of(beyond).text(3, signed=True)} more")]


def gains(found: LargeResult, one: str, other: str, figure: str = "mean_s") -> list[float]:
    """Return the logarithm by which a point is lower than another, over the seeds that both have."""
    seeds = min(replicates(found, one), replicates(found, other))
    return found.gains(GAMMA, one, other, figure, seeds)


def figures_table(found: LargeResult) -> list[list[str]]:
    """Return a row a point; the first row is a header."""
    rows = [["wSE with", *(title for _, title, _, _ in FIGURES)]]
    for point in points():
        seeds = replicates(found, point)
        cells = [
            Estimate.of([one / scale for one in found.values(GAMMA, point, name, seeds)]).text(digits)
            for name, _, scale, digits in FIGURES
        ]
        rows.append([point, *cells])
    return rows


def as_text(found: LargeResult) -> str:
    """All tables for a terminal."""
    return "\n\n".join([
        f"PARM's parameters on {MACHINE}, {MACHINES[MACHINE].nodes:,} nodes' worth of watts, γ = {GAMMA:g}: "
        f"three windows of {found.count} jobs, {found.seeds} seed{'s' * (found.seeds > 1)}; ± is the 95 % interval",
        table(claims_table(claims(found))),
        table(figures_table(found)),
    ])  # fmt: skip


def as_dict(found: LargeResult) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "jobs": found.count, "seeds": found.seeds, "gamma": GAMMA,
        "claims": claim_facts(claims(found)),
        "points": {point: {name: estimate_facts(found.estimate(GAMMA, point, name)) for name, *_ in FIGURES}
                   for point in points()},
        "runs": found.runs,
    }  # fmt: skip


@style.styled
def figure(found: LargeResult) -> Figure:
    """Mean and longest completion over alpha, and over the number of levels, relative to the paper's choice."""
    fig = style.figure(9, 3.4)
    panels = fig.subplots(1, 2, sharey=True)
    fig.subplots_adjust(left=0.1, right=0.985, top=0.9, bottom=0.16, wspace=0.08)
    sides: tuple[tuple[list[tuple[float, str]], str, str], ...] = (
        ([(alpha, alpha_name(alpha)) for alpha in ALPHAS], alpha_name(ALPHAS[0]), "alpha"),
        ([(count, level_name(count)) for count in STEP_W], level_name(PAPERS), "levels of power"),
    )
    colors = style.colors([name for _, name in BOTH])
    for ax, (values, against, title) in zip(panels, sides, strict=True):
        for (name, label), color in zip(BOTH, colors, strict=True):
            sooner = [Estimate.of(gains(found, against, point, name)) for _, point in values]
            halves = [e.half or 0 for e in sooner]
            ax.errorbar([x for x, _ in values], [e.mean for e in sooner], yerr=halves, label=label, color=color,
                        marker="o", capsize=3)  # fmt: skip
        ax.axhline(0, color=style.INK, linewidth=0.8)
        ax.set_xlabel(title)
    panels[0].set_ylabel("log of completion")
    panels[0].legend()
    return fig
