"""The answer as text, as JSON and as a picture of P(U > x)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.papers.titan.strategy.categories import estimates
from slurmsim.papers.titan.strategy.check import Check
from slurmsim.papers.titan.strategy.ranking import Candidate, above, curve
from slurmsim.papers.titan.strategy.run import Answer
from slurmsim.report.text import number, table

SHOWN = 12
CHANCE = 0.001


def as_text(answer: Answer) -> str:
    """Tables for people."""
    goal = answer.goal
    lines = [
        f"{len(answer.history):,} jobs, {len(answer.categories)} categories"
        + (f" ({answer.few} with too few jobs)" if answer.few else "")
        + f"; more than {goal.target:,.0f} node-hours in {goal.period_h:,.0f} h?",
        "",
        table([
            ["way of submitting", "P(U > U0)", "5-95 % by weeks", "with renewal spread", "E[U]", "waits", "heed"],
            *[_row(one) for one in (answer.ranked[0], answer.drawn[0], *answer.ranked[1:SHOWN])],
        ]),
    ]  # fmt: skip
    if len(answer.ranked) > SHOWN:
        lines.append(f"… and {len(answer.ranked) - SHOWN} more (--json has all)")
    lines += ["", hypothesis(answer)]
    if (told := out_of_reach(answer)) is not None:
        lines += ["", told]
    if answer.checks:
        lines += ["", f"tried in a closed loop beside the log's jobs, under {answer.policy}:", "", table([
            ["way of submitting", "P by the log's waits", "P by waits seen", "mean wait h", "starts", "use", "formula"],
            *[_checked(one) for one in answer.checks],
        ])]  # fmt: skip
    return "\n".join(lines)


def hypothesis(answer: Answer) -> str:
    """Whether fixed categories are better than the random strategy, in two sentences."""
    best, (more, same, less) = answer.drawn[0], above(answer.ranked, answer.drawn)
    streams = f", {best.streams} streams" if best.streams > 1 else ""
    return (f"Random, a category drawn anew for each job, next on {best.scheme}{streams}: P = "
            f"{best.probability:.3f}, the best fixed way: {answer.ranked[0].probability:.3f}. "
            f"Of {more + same + less} fixed ways {more} are above drawing anew in the same way, {same} equal, "
            f"{less} below.")  # fmt: skip


def out_of_reach(answer: Answer) -> str | None:
    """One line where no way of submitting has a chance; None where some has."""
    best = max((one for one in answer.ranked if one.feasible), key=lambda one: one.expected, default=None)
    if best is not None and max(one.probability for one in answer.ranked if one.feasible) >= CHANCE:
        return None
    goal = answer.goal
    most = "every one would use more than the machine has" if best is None else (
        f"{best.name} would use {best.expected:,.0f} on average"
    )  # fmt: skip
    return (f"warning: no way of submitting is likely to use {goal.target:,.0f} node-hours in {goal.period_h:,.0f} h: "
            f"{most}; try more --streams, more --months or a smaller --allocation")  # fmt: skip


def _row(one: Candidate) -> list[str]:
    interval = "–" if one.low is None or one.high is None else f"{one.low:.3f}-{one.high:.3f}"
    flags = "; ".join(one.flags)
    return [one.name, f"{one.probability:.3f}", interval, f"{one.renewal:.3f}", f"{one.expected:,.0f}",
            "simulated" if one.seen else "log", flags]  # fmt: skip


def _checked(one: Check) -> list[str]:
    return [
        one.before.name, f"{one.before.probability:.3f}", f"{one.after.probability:.3f}", number(one.wait_h),
        f"{one.starts:,}", f"{one.use:,.0f}", "disagrees" if one.disagrees else "agrees",
    ]  # fmt: skip


def as_dict(answer: Answer) -> dict[str, Any]:
    goal = answer.goal
    return {
        "allocation_node_h": goal.target, "period_h": goal.period_h, "nodes": goal.n_nodes, "jobs": len(answer.history),
        "warning": out_of_reach(answer), "policy": answer.policy, "by": answer.wanted.by,
        "categories_with_too_few_jobs": answer.few,
        "categories": [_category(answer, k) for k in range(len(answer.categories))],
        "ranked": [_candidate(one) for one in answer.ranked],
        "drawn_anew": [_candidate(one) for one in answer.drawn],
        "fixed_above_equal_below": list(above(answer.ranked, answer.drawn)),
        "checks": [
            {"before": _candidate(one.before), "after": _candidate(one.after), "use_node_h": one.use,
             "starts": one.starts, "mean_wait_h": one.wait_h, "disagrees": one.disagrees}
            for one in answer.checks
        ],
    }  # fmt: skip


def _category(answer: Answer, k: int) -> dict[str, Any]:
    category = answer.categories[k]
    found = estimates(category.weeks.sum(axis=0))
    return {
        "name": category.name, "jobs": int(found.n), "wait_h": [float(found.wait), float(np.sqrt(found.wait_var))],
        "run_h": [float(found.run), float(np.sqrt(found.run_var))],
        "use_node_h": [float(found.use), float(np.sqrt(found.use_var))],
    }  # fmt: skip


def _candidate(one: Candidate) -> dict[str, Any]:
    return {
        "scheme": one.scheme, "category": one.category.name, "streams": one.streams, "probability": one.probability,
        "low": one.low, "high": one.high, "renewal": one.renewal, "expected_node_h": one.expected, "sd_node_h": one.sd,
        "flags": list(one.flags), "waits": "simulated" if one.seen else "log",
    }  # fmt: skip


def plot(answer: Answer, file: Path) -> Path:
    """P(U > x) of the best, and the use of those that were tried. Raises OutputError."""
    from matplotlib.figure import Figure

    from slurmsim.experiments.results import render, write_file

    best = answer.ranked[: max(3, len(answer.checks))]
    most = max([answer.goal.target, *(one.expected + 3 * one.sd for one in best)])
    targets = np.linspace(0, most, 400)
    figure = Figure(figsize=(8, 4.5))
    axes = figure.subplots()
    for k, one in enumerate(best):
        axes.plot(targets, curve(one, targets), color=f"C{k}", label=one.name)
        for tried in answer.checks:
            if tried.before.name == one.name:
                axes.axvline(tried.use, color=f"C{k}", linestyle=":", linewidth=1)
    axes.axvline(answer.goal.target, color="black", linewidth=1)
    axes.set(xlabel="node-hours x", ylabel="P(U > x)", ylim=(0, 1.02), xlim=(0, most))
    axes.set_title("line: the allocation; dotted: use in simulation", fontsize=9)
    axes.legend(fontsize=8)
    figure.tight_layout()
    return write_file(file, render(figure, file.suffix.removeprefix(".") or "png"))
