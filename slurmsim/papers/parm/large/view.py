"""PARM on one large machine as tables, verdicts and a waterfall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from slurmsim.experiments.claims import Claim, Goal, claim_facts, claims_table
from slurmsim.experiments.results import estimate_facts
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.parm import goals
from slurmsim.papers.parm.data import FEWEST, MOST, PAIRS
from slurmsim.papers.parm.large.run import CAPS_W, MACHINES, LargeResult, cap_name, systems
from slurmsim.papers.parm.testbed.run import STEPS
from slurmsim.report import style
from slurmsim.report.text import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERSIONS = ("noMM", "noSE", "wSE")
FIGURES = (
    ("mean_s", "mean, min", 60.0, 1), ("max_s", "max, min", 60.0, 0), ("node_weighted_s", "by nodes, min", 60.0, 1),
    ("nodes", "nodes", 1.0, 0), ("resizes", "resizes", 1.0, 1),
)  # fmt: skip


def claims(found: LargeResult) -> list[Claim]:
    """Return the paper's statements beside ours; comparisons at the slowest and the fastest arrivals."""
    on = partial(goals.on_machine, found.machine)
    listed = []
    for goal, over in ((goals.BEST_LARGE, MOST), (goals.BEST_LARGE_FEWEST, FEWEST)):
        best = max((found.speedup(gamma, "wSE", over) for gamma in found.gammas), key=lambda e: e.mean)
        listed.append(on(goal).measured(best))
    listed.append(signed(on(goals.GROWS), found.grows))
    for gamma in dict.fromkeys((found.gammas[0], found.gammas[-1])):
        for one, other in PAIRS:
            listed.append(signed(on(goals.sooner_at(gamma, one, other)), found.sooner(gamma, one, other)))
        for cap in map(cap_name, CAPS_W):
            listed.append(signed(on(goals.over_cap(gamma, cap)), found.gain(gamma, "wSE", cap)))
        more, fewer = (found.values(gamma, system, "nodes") for system in ("wSE", "noSE"))
        nodes = Estimate.of([a - b for a, b in zip(more, fewer, strict=True)])
        listed.append(signed(on(goals.more_nodes(gamma)), nodes))
    overhead = max(found.estimate(gamma, "wSE", "overhead").mean for gamma in found.gammas)
    return [*listed, on(goals.OVERHEAD).measured(100 * overhead)]


def signed(goal: Goal, e: Estimate) -> Claim:
    """Return the claim on a difference, shown with its sign."""
    return goal.measured(e, e.text(goal.digits, signed=True))


def speedup_table(found: LargeResult, over: str = MOST) -> list[list[str]]:
    """Return a row a system, a column a γ."""
    rows = [["system", *(f"γ = {gamma:g}" for gamma in found.gammas)]]
    for system in systems(MACHINES[found.machine]):
        rows.append([system, *(found.speedup(gamma, system, over).text(2) for gamma in found.gammas)])
    return rows


def sets_table(found: LargeResult) -> list[list[str]]:
    """Return speed-ups over the baseline by window and γ, as the paper's Table V has them."""
    rows = [["window", "γ", *VERSIONS]]
    for jobs in found.windows:
        for gamma in found.gammas:
            rows.append([jobs, f"{gamma:g}", *(f"{found.of_set(gamma, jobs, name):.2f}" for name in VERSIONS)])
    return rows


def steps_table(found: LargeResult) -> list[list[str]]:
    """Log contributions of each step; the last column is their sum."""
    return step_rows("γ", {f"{gamma:g}": found.steps(gamma) for gamma in found.gammas})


def step_rows(title: str, parts: Mapping[str, Sequence[Estimate]]) -> list[list[str]]:
    """Return a row for each part; the first row is a header that begins with `title`."""
    rows = [[title, *(f"{a} → {b}" for a, b in pairwise(STEPS)), "sum"]]
    for part, steps in parts.items():
        rows.append([part, *(e.text(2, signed=True) for e in steps), f"{sum(e.mean for e in steps):+.2f}"])
    return rows


def figures_table(found: LargeResult, gamma: float) -> list[list[str]]:
    """Return a row a system; the first row is a header."""
    rows = [["system", *(title for _, title, _, _ in FIGURES)]]
    for system in systems(MACHINES[found.machine]):
        cells = []
        for name, _, scale, digits in FIGURES:
            cells.append(Estimate.of([one / scale for one in found.values(gamma, system, name)]).text(digits))
        rows.append([system, *cells])
    return rows


def as_text(found: LargeResult) -> str:
    """All tables for a terminal."""
    machine = MACHINES[found.machine]
    blocks = [
        f"PARM on {found.machine}, {machine.nodes:,} nodes' worth of watts: three windows of {found.count} jobs, "
        f"{found.seeds} seed{'s' * (found.seeds > 1)}; ± is the 95 % interval",
        table(claims_table(claims(found))),
        "Speed-up of the mean completion over the baseline:",
        table(speedup_table(found)),
        "The same over the baseline on fewest nodes:",
        table(speedup_table(found, FEWEST)),
        "Speed-up over the baseline by window:",
        table(sets_table(found)),
        "What each step adds to the logarithm of the speed-up:",
        table(steps_table(found)),
    ]
    for gamma in (found.gammas[0], found.gammas[-1]):
        blocks += [f"γ = {gamma:g}:", table(figures_table(found, gamma))]
    return "\n\n".join(blocks)


def as_dict(found: LargeResult) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "jobs": found.count, "seeds": found.seeds, "claims": claim_facts(claims(found)),
        "speedup": {f"{gamma:g}": {system: estimate_facts(found.speedup(gamma, system))
                                   for system in systems(MACHINES[found.machine])} for gamma in found.gammas},
        "log_contributions": {
            f"{gamma:g}": {step: e.mean for step, e in zip(STEPS[1:], found.steps(gamma), strict=True)}
            for gamma in found.gammas
        },
        "runs": found.runs,
    }  # fmt: skip


def figure(found: LargeResult) -> Figure:
    """Return the waterfall of log contributions, a panel a γ."""
    return waterfalls({f"{found.machine}, γ = {gamma:g}": found.steps(gamma) for gamma in found.gammas})


@style.styled
def waterfalls(parts: Mapping[str, Sequence[Estimate]]) -> Figure:
    """Contributions of `STEPS`, each from where the one before ended; a panel for each title."""
    fig = style.figure(11, 3.6)
    panels = fig.subplots(1, len(parts), squeeze=False, sharey=True)[0]
    fig.subplots_adjust(left=0.07, right=0.985, top=0.9, bottom=0.25, wspace=0.1)
    colors = style.colors(list(STEPS[1:]))
    for ax, (title, steps) in zip(panels, parts.items(), strict=True):
        means = [e.mean for e in steps]
        ax.bar(range(len(means)), means, bottom=[0, *accumulate(means[:-1])], color=colors, width=0.7)
        ax.axhline(0, color=style.INK, linewidth=0.8)
        ax.set_xticks(range(len(means)), STEPS[1:], rotation=45)
        ax.set_title(title)
    panels[0].set_ylabel("log of the speed-up")
    return fig
