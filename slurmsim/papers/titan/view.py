"""The Titan experiment as tables, verdicts, a picture and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.experiments.claims import claim_facts, claims_table, list_of_claims
from slurmsim.experiments.results import estimate_facts, write_results
from slurmsim.papers.titan import goals
from slurmsim.papers.titan.allocation import (
    Moments,
    expected_use,
    normal_probability,
    probability,
    use_per_job,
)
from slurmsim.papers.titan.cells import BASE, PROJECTS, QUARTER_H, RULES, SHORTER, VARIANTS, bin_ranges, hours_of
from slurmsim.papers.titan.claims import FIGURES, claims, claims_by_part, project_model
from slurmsim.papers.titan.goals import LISTED
from slurmsim.papers.titan.hypothesis import RANDOM
from slurmsim.papers.titan.run import Result
from slurmsim.report.text import table

SHORT = ("titan", RULES, BASE)
TARGETS = np.geomspace(1e2, 1e7, 150)


def bins_table(found: Result, part: str, names: Sequence[str]) -> list[list[str]]:
    """Mean waits by bin and variant of a part; only a header where that was not run."""
    known = [name for name in names if found.estimate(name, "wait_h", part) is not None]
    rows = [["bin", "nodes", *(f"wait h, {name}" for name in known)]]
    for number, (low, high) in enumerate(bin_ranges(), 1) if known else ():
        waits = [found.estimate(name, f"bin{number}_wait_h", part) for name in known]
        rows.append([str(number), f"{low:,}-{high:,}", *("–" if e is None else e.text(2) for e in waits)])
    return rows


def _tables(found: Result) -> dict[str, list[list[str]]]:
    """All tables beside that of the claims, by name; the first row of each is a header."""
    return {
        "bins": bins_table(found, "queue", list(VARIANTS)), "bins slurm": bins_table(found, "slurm", SHORT),
        "bases": bases_table(found), "project": project_table(found), "hypothesis": hypothesis_table(found),
    }  # fmt: skip


BASES = {
    ("start", "measured"): ("wait", "use"), ("start", "requested"): ("wait", "asked_use"),
    ("start", "independent"): ("wait", ""), ("end", "measured"): ("cycle", "use"),
    ("end", "requested"): ("cycle", "asked_use"), ("end", "independent"): ("cycle", ""),
}  # fmt: skip
"""Curves of the bins: what the next job follows, and how node-hours of a job are known; by what is between starts.

They are measured, counted by the requested wall time, or made of nodes and hours as if those were independent.
"""
KNOWN = ("measured", "requested", "independent")
STYLES = dict(zip(KNOWN, ("-", "--", ":"), strict=True))


def bases_table(found: Result) -> list[list[str]]:
    """E[U] in a quarter and P(U > x) of each bin on every base; the first row is a header."""
    rows = [["bin", "next on", *(f"{title}, {how}" for how in KNOWN for title in ("E[U]", "P(U > 0.1M)", "P(U > 1M)"))]]
    for number in range(1, len(bin_ranges()) + 1):
        for follows in ("start", "end"):
            row = [str(number), follows]
            for how in KNOWN:
                fed = _fed(found, number, (follows, how))
                if fed is not None:
                    chances = (f"{probability(x, QUARTER_H, **fed):.3f}" for x in (1e5, 1e6))
                    row += [f"{expected_use(QUARTER_H, **fed):,.0f}", *chances]
            if len(row) > 2:
                rows.append(row)
    return rows


def project_table(found: Result) -> list[list[str]]:
    """Node-hours of the project in simulation and by the model, on both bases; the first row is a header."""
    rows = [["node-hours", "next on", "simulated", "model, the project's own waits",
             "model, waits of others' jobs of up to 125 nodes"]]  # fmt: skip
    for figure, (measure, _) in FIGURES.items():
        for name, (follows, chains) in PROJECTS.items():
            used = found.estimate(name, measure, "project")
            if used is not None:
                models = (project_model(found, name, waits, figure) for waits in ("own", "others"))
                rows.append([goals.BASES[figure], f"{follows}, {chains} chain{'s' * (chains > 1)}", used.text(0),
                             *(f"{one.mean:,.0f} ± {one.sd:,.0f}" for one in models)])  # fmt: skip
    return rows


def hypothesis_table(found: Result) -> list[list[str]]:
    """P(U > allocation) of the random strategy and of the best bin, a row a case; the first row is a header."""
    rows = [["next on", "streams", "allocation", "random", "random, formula", "best bin", "P", "P, formula",
             "bins above, equal, below"]]  # fmt: skip
    for case in found.tried.cases() if found.tried is not None else ():
        formula = [f"{case.formula[b]:.2f}" if b in case.formula else "–" for b in (RANDOM, case.best)]
        rows.append([case.follows, str(case.streams), f"{case.target:,.0f}", f"{case.chances[RANDOM]:.2f}", formula[0],
                     str(case.best), f"{case.chances[case.best]:.2f}", formula[1],
                     ", ".join(map(str, case.above()))])  # fmt: skip
    return rows


def _fed(found: Result, number: int, base: tuple[str, str]) -> dict[str, Any] | None:
    """Return the model's input for a bin; None where no job waited."""
    kept = found.moments("queue", "titan", f"bin{number}")
    between, each = BASES[base]
    if kept is None or kept[between][0] < 1e-3:
        return None
    use = Moments(*kept[each]) if each else use_per_job(Moments(*kept["nodes"]), Moments(*kept["run"]))
    return {"wait_h": tuple(kept[between]), "per_job": (use.mean, use.sd)}


def curve(found: Result, number: int, base: tuple[str, str], targets: Any) -> Any:
    """Return P(U > x) in a quarter for jobs of a bin; None where no job waited."""
    fed = _fed(found, number, base)
    return None if fed is None else probability(targets, QUARTER_H, **fed)


def as_text(found: Result) -> str:
    """All tables for a terminal."""
    blocks = [table(claims_table(claims(found)))]
    hours = found.tried.hours if found.tried is not None else 0
    titles = {
        "bins": f"synthetic Titan: {found.seeds} seeds of {found.jobs:,} jobs; ± is the 95 % interval",
        "bins slurm": f"under Slurm's rules: {found.jobs // SHORTER:,} jobs",
        "bases": f"by the model, in {QUARTER_H:,} h:",
        "project": f"a project like HEP110, node-hours in {hours_of(found.jobs // SHORTER):,} h:",
        "hypothesis": f"hypothesis, in {hours:,} h; random: a bin drawn anew for each job; P: shares of {found.seeds} "
        "seeds; formula: fed with their waits",
    }  # fmt: skip
    for name, rows in _tables(found).items():
        if len(rows) > 1:
            blocks += [titles[name], table(rows)]
    return "\n\n".join([*blocks, table(list_of_claims(LISTED, claims(found)))])


def as_dict(found: Result) -> dict[str, Any]:
    """Everything for programs."""
    figures = (
        "load",
        "throughput",
        "wait_h",
        "wait_sd_h",
        "skew",
        "large_wait_h",
        "free_mean",
        "free_median",
        "free_p90",
    )
    return {
        "seeds": found.seeds, "jobs": found.jobs,
        "parts": {part: {"claims": claim_facts(one)} for part, one in claims_by_part(found).items()},
        "model": found.model, "use": found.use,
        "queue": {name: {key: estimate_facts(found.estimate(name, key)) for key in figures} for name in VARIANTS},
        "changes": {name: {key: estimate_facts(found.change(name, key)) for key in figures} for name in VARIANTS},
        "slurm": {name: {key: estimate_facts(found.estimate(name, key, "slurm")) for key in figures} for name in SHORT},
        "bases": _bases_facts(found),
        "tables": {name: rows for name, rows in _tables(found).items() if len(rows) > 1},
        "runs": found.runs,
    }  # fmt: skip


def write(found: Result, folder: Path) -> list[Path]:
    """Write ``results.txt``, ``results.json`` and ``titan.png``. Raises OutputError."""
    return write_results(folder, as_text(found), as_dict(found), {"titan.png": figure(found)})


def _bases_facts(found: Result) -> dict[str, Any]:
    """Curves of P(U > x), by base and bin."""
    facts: dict[str, Any] = {"node_h": TARGETS.tolist()}
    for base in BASES:
        curves = {number: curve(found, number, base, TARGETS) for number in range(1, len(bin_ranges()) + 1)}
        facts[f"next on {base[0]}, {base[1]}"] = {
            f"bin{number}": one.tolist() for number, one in curves.items() if one is not None
        }
    return facts


def figure(found: Result) -> Any:
    """Draw validation 2, P(U > x) of the bins and of the project, waits under Slurm, and random beside fixed bins."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(15, 7))
    (left, *curves, waits, project, tried) = fig.subplots(2, 3).flat
    for variant, color in (("A", "C0"), ("B", "C1")):
        if found.use:
            use = np.sort(found.use[variant])
            left.step(
                use, 1 - np.arange(1, len(use) + 1) / len(use), color=color, where="post", label=f"{variant}, 100 runs"
            )
            x = np.linspace(use[0], use[-1], 200)
            left.plot(
                x, normal_probability(x, found.spread(variant)), color=color, linestyle=":", label=f"{variant}, model"
            )
    left.set(xlabel="node-hours x in 5,000 h", ylabel="P(U > x)")
    for axes, follows in zip(curves, ("start", "end"), strict=True):
        for base in BASES:
            if base[0] == follows:
                _curves(axes, found, base, STYLES[base[1]], labelled=base[1] == "measured")
        axes.set(xlabel="node-hours x in three months", ylabel="P(U > x)")
        axes.set_title(f"next on {follows}; dashed: requested wall time; dotted: independent", fontsize=9)
    _bars(waits, found)
    _project(project, found)
    _hypothesis(tried, found)
    for axes in (left, *curves, waits, project, tried):
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8)
    fig.tight_layout()
    return fig


def _bars(axes: Any, found: Result) -> None:
    """Mean waits by bin under Titan's policy and under Slurm's rules."""
    known = [name for name in SHORT if found.estimate(name, "wait_h", "slurm") is not None]
    for k, name in enumerate(known):
        means = [found.estimate(name, f"bin{number}_wait_h", "slurm") for number in range(1, len(bin_ranges()) + 1)]
        places = np.arange(1, len(means) + 1) + (k - (len(known) - 1) / 2) * 0.25
        axes.bar(places, [e.mean if e is not None else 0.0 for e in means], 0.25, label=name)
    axes.margins(y=0.3)  # room for the legend
    axes.set(xlabel="bin", ylabel="mean wait, h")


def _curves(axes: Any, found: Result, base: tuple[str, str], style: str, *, labelled: bool) -> None:
    for number in range(1, len(bin_ranges()) + 1):
        chances = curve(found, number, base, TARGETS)
        if chances is not None:
            axes.semilogx(TARGETS, chances, f"C{number - 1}{style}", label=f"bin {number}" if labelled else None)


def _project(axes: Any, found: Result) -> None:
    """Figure 11: the model's curves on both bases, and what the simulated projects have."""
    for k, name in enumerate(PROJECTS):
        for figure, (measure, _) in FIGURES.items():
            values = np.sort(found.values(name, measure, "project"))
            if len(values):
                style = "-" if figure == "a" else "--"
                model = project_model(found, name, figure=figure)
                axes.semilogx(TARGETS, normal_probability(TARGETS, model), f"C{k}{style}",
                              label=f"next {name}, {goals.BASES[figure]}")  # fmt: skip
                above = 1 - np.arange(1, len(values) + 1) / (len(values) + 1)
                axes.plot(values, above, f"C{k}{'o' if figure == 'a' else 'x'}", markersize=4)
    axes.set(xlabel="node-hours x", ylabel="P(U > x)")
    axes.set_title("a project like HEP110; points: simulated", fontsize=9)


def _hypothesis(axes: Any, found: Result) -> None:
    """Mean use of each strategy in simulation, by way of submitting."""
    if found.tried is not None:
        for (follows, streams), use in found.tried.use.items():
            mean = use.mean(axis=0)
            axes.semilogy(range(use.shape[1]), np.maximum(mean, 1), "o-", markersize=4,
                          label=f"next on {follows}, {streams} stream{'s' * (streams > 1)}")  # fmt: skip
        axes.set_xticks(range(use.shape[1]), ["random", *(f"bin {b}" for b in range(1, use.shape[1]))])
    axes.set(ylabel="node-hours used")
