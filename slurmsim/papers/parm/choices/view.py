"""The testbed under other choices of ours: what the paper's numbers depend on, and which of them it determines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slurmsim.experiments.claims import Claim, Goal, claim_facts, claims_table
from slurmsim.experiments.results import estimate_facts
from slurmsim.experiments.verdicts import NOT, REPRODUCED, VERDICTS
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.parm.choices.run import GAMMA, RATIOS, SET, SHAPES, ChoiceResult
from slurmsim.papers.parm.data import FEWEST, MOST
from slurmsim.papers.parm.goals import FOUR
from slurmsim.report.text import table

DRAWN = "drawn"
OPEN = "not determined by the paper"


def figures(found: ChoiceResult, ratio: float, shape: str) -> dict[str, Estimate]:
    """Return what `FOUR` compares, and noMM over both baselines, paired by seed."""

    def over(one: str, other: str) -> list[tuple[float, float]]:
        return list(zip(found.values(ratio, shape, one), found.values(ratio, shape, other), strict=True))

    def sooner(one: str, other: str) -> Estimate:
        return Estimate.of([100 * (b - a) / b for a, b in over(one, other)])

    def faster(one: str, other: str) -> Estimate:
        return Estimate.of([b / a for a, b in over(one, other)])

    nodes = (found.values(ratio, shape, system, "nodes") for system in ("wSE", "noSE"))
    return {
        "noMM over the baseline": sooner("noMM", MOST),
        "noMM over the baseline on fewest nodes": sooner("noMM", FEWEST),
        "wSE over the baseline": faster("wSE", MOST),
        "wSE over the baseline on fewest nodes": faster("wSE", FEWEST),
        "noSE over noMM": sooner("noSE", "noMM"),
        "wSE over noMM": sooner("wSE", "noMM"),
        "wSE's nodes over noSE's": Estimate.of([a - b for a, b in zip(*nodes, strict=True)]),
    }


def claims(found: ChoiceResult) -> list[Claim]:
    """Return the paper's numbers beside ours at each ratio, parallelism and variation drawn."""
    listed = []
    for ratio in RATIOS:
        measured = figures(found, ratio, DRAWN)
        for what, goal in FOUR.items():
            e = measured[what]
            text = f"{e.text(goal.digits)}{goal.unit and ' ' + goal.unit}"
            listed.append(goal.called(f"ratio {ratio:g}: {what}").measured(e, text))
    return listed


def choices_table(found: ChoiceResult) -> list[list[str]]:
    """Return a row a choice; the first row is a header, the second the paper."""
    names = list(figures(found, RATIOS[0], DRAWN))
    rows = [["most by fewest nodes", "parallelism and variation", *names]]
    rows.append(["paper", "–", *(FOUR[name].paper if name in FOUR else "sooner" for name in names)])
    for ratio in RATIOS:
        for shape in SHAPES:
            measured = figures(found, ratio, shape)
            texts = (e.text(FOUR[name].digits if name in FOUR else 1) for name, e in measured.items())
            rows.append([f"{ratio:g}", shape, *texts])
    return rows


def decided_table(found: ChoiceResult) -> list[list[str]]:
    """Return what all choices together say of each number of the paper; the first row is a header."""
    return decided(FOUR, {f"ratio {ratio:g}": [figures(found, ratio, shape) for shape in SHAPES] for ratio in RATIOS})


def decided(
    numbers: Mapping[str, Goal], measured: Mapping[str, Sequence[Mapping[str, Estimate]]]
) -> list[list[str]]:  # fmt: skip
    """Return a row for each number of the paper; `measured` has what some choices gave, by a column's title."""
    rows = [["of the paper", "paper", *measured, "decided"]]
    for what, goal in numbers.items():
        cells, inside = [], []
        for choices in measured.values():
            found = [one[what] for one in choices]
            verdicts = [goal.measured(e).verdict for e in found]
            cells.append("; ".join(f"{verdicts.count(word)} {word}" for word in VERDICTS if word in verdicts))
            inside += [goal.value is not None and _holds(e, goal.value) for e in found]
        rows.append([what, goal.paper, *cells, decision(inside)])
    return rows


def decision(inside: list[bool]) -> str:
    """Return the word for a number that so many choices have inside their interval."""
    if all(inside):
        return REPRODUCED
    return OPEN if any(inside) else NOT


def _holds(e: Estimate, value: float) -> bool:
    return e.half is None or abs(e.mean - value) <= e.half


def as_text(found: ChoiceResult) -> str:
    """All tables for a terminal."""
    return "\n\n".join([
        f"{SET}, gaps times {GAMMA:g}, what the paper leaves open varied: {found.seeds} replicates; ± is the 95 % "
        "interval",
        table(choices_table(found)), table(decided_table(found)), table(claims_table(claims(found))),
    ])  # fmt: skip


def as_dict(found: ChoiceResult) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "seeds": found.seeds, "claims": claim_facts(claims(found)),
        "figures": {f"{ratio:g}, {shape}": {name: estimate_facts(e) for name, e in figures(found, ratio, shape).items()}
                    for ratio in RATIOS for shape in SHAPES},
    }  # fmt: skip
