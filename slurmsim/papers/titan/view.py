"""The Titan experiment as tables, verdicts, a picture and files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.experiments.claims import MISSING, Claim, claims_table, verdict
from slurmsim.experiments.results import estimate_facts, write_results
from slurmsim.papers.titan.allocation import (
    Moments,
    expected_use,
    normal_probability,
    probability,
    spread_of_use,
    use_per_job,
)
from slurmsim.papers.titan.cells import BASE, PROJECTS, RULES, SHORTER, VARIANTS, bin_ranges, hours_of
from slurmsim.papers.titan.run import PERIOD_H, Result
from slurmsim.report.text import table

QUARTER_H = 2190
LOAD_LOW, LOAD_HIGH = 0.85, 0.93
SKEW_LOW, SKEW_HIGH = 2.0, 5.0
DISTANCE = 0.14
NEAR = 0.1  # of the mean wait
SHORT = ("titan", RULES, BASE)
TARGETS = np.geomspace(1e2, 1e7, 150)


def claims(found: Result) -> list[Claim]:
    """Return the paper's numbers, and those of the specification, beside ours."""
    return [*_model(found), *_validation(found), *_queue(found), *_year(found), *_slurm(found), *_project(found),
            Claim("waits on Titan's own log", "30.51 ± 97.34 h", "–", "–", MISSING)]  # fmt: skip


def _model(found: Result) -> list[Claim]:
    if not found.model:
        return []
    m = found.model
    use, variance, check = m["expected_use"], m["use_variance"], m["check"]
    return [
        Claim("node-hours of validation 1", "13,824,000", f"{use:,.1f}", f"{use / 13_824_000:.6f}",
              verdict(abs(use - 13_824_000) <= 1)),
        Claim("variance of use, Poisson(8) x normal(4, 2), corrected", "416", f"{variance:.1f}",
              f"{variance / 416:.3f}", verdict(abs(variance - 416) < 1e-6)),
        Claim("P(U > 900) with counts from 1", "0.8295", f"{check:.4f}", f"{check / 0.8295:.4f}",
              verdict(abs(check - 0.8295) < 5e-5)),
    ]  # fmt: skip


def _validation(found: Result) -> list[Claim]:
    if not found.use:
        return []
    rows = []
    for variant, what, mean in (("A", "overlapping jobs", 5000), ("B", "one node", 2500)):
        use, model, distance = np.array(found.use[variant]), found.spread(variant), found.distance(variant)
        rows += [
            Claim(f"validation 2 {variant}, {what}: mean use in {PERIOD_H:,} h", f"{mean:,}", f"{use.mean():,.1f}",
                  f"{use.mean() / mean:.3f}", verdict(abs(use.mean() - mean) < 3 * model.sd / len(use) ** 0.5)),
            Claim(f"validation 2 {variant}: standard deviation", f"{model.sd:.1f} (renewal)",
                  f"{use.std(ddof=1):.1f}", f"{use.std(ddof=1) / model.sd:.2f}",
                  verdict(0.75 < use.std(ddof=1) / model.sd < 1.25)),
            Claim(f"validation 2 {variant}: largest distance of the two curves", f"at most {DISTANCE}",
                  f"{distance:.3f}", "–", verdict(distance <= DISTANCE)),
        ]  # fmt: skip
    return rows


def _queue(found: Result) -> list[Claim]:
    if found.estimate("titan", "load") is None:
        return []
    load, skew = found.estimate("titan", "load"), float(np.median(found.values("titan", "skew")))
    through, wait = found.estimate("titan", "throughput"), found.estimate("titan", "wait_h")
    assert load and through and wait
    early, late = (found.estimate("titan", f"waiting_{half}_half") for half in ("first", "second"))
    assert early and late
    rows = [
        Claim("load of the synthetic Titan", "88.2 %", f"{100 * load.mean:.1f} %", f"{load.mean / 0.882:.2f}",
              verdict(LOAD_LOW <= load.mean <= LOAD_HIGH)),
        Claim("jobs that ended per job that came", "1", through.text(3), f"{through.mean:.3f}",
              verdict(abs(through.mean - 1) < 0.03)),
        Claim("jobs waiting, first and second half", "bounded", f"{early.mean:,.0f}, {late.mean:,.0f}",
              f"{late.mean / max(early.mean, 1e-9):.2f}", verdict(late.mean < 3 * early.mean)),
        Claim("std / mean of waits, median of seeds", "3.2", f"{skew:.1f}", f"{skew / 3.2:.2f}",
              verdict(SKEW_LOW <= skew <= SKEW_HIGH)),
        Claim("mean wait (paper: on the real log)", "30.51 h", f"{wait.text(2)} h", f"{wait.mean / 30.51:.2f}",
              verdict(False, wait.mean > 6.21)),
    ]  # fmt: skip
    for variant in ("no boosts", "no limit"):
        change = found.change(variant, "large_wait_h")
        if change is not None:
            sure = change.half is not None and abs(change.mean) > change.half
            text = f"{change.text(2, signed=True)} h"
            rows.append(Claim(f"{variant}: mean wait of bins 1 and 2", "changes most", text, "–", verdict(sure)))
        ratio = found.ratio(variant, "large_wait_h")
        if ratio is not None:
            middle, low, high = ratio
            rows.append(Claim(f"{variant}: the same, times Titan's", "not 1", f"{low:.2f} to {high:.2f}",
                              f"{middle:.2f}", verdict(not low <= 1 <= high)))  # fmt: skip
    for figure, paper in (("free_mean", 732), ("free_median", 22), ("free_p90", 1791)):
        e = found.estimate("titan", figure)
        assert e is not None
        rows.append(Claim(f"free nodes, {figure.removeprefix('free_')} (Titan's backfill log)", f"{paper:,}", e.text(0),
                          f"{e.mean / paper:.2f}", verdict(False, 0.2 < e.mean / paper < 5)))  # fmt: skip
    return rows


def _year(found: Result) -> list[Claim]:
    year = found.run("year", "titan", 1)
    if not year:
        return []
    early, late = year["waiting_first_half"], year["waiting_second_half"]
    return [
        Claim("one year: load", "88.2 %", f"{100 * year['load']:.1f} %", f"{year['load'] / 0.882:.2f}",
              verdict(LOAD_LOW <= year["load"] <= LOAD_HIGH)),
        Claim("one year: jobs waiting, first and second half", "bounded", f"{early:,.0f}, {late:,.0f}",
              f"{late / max(early, 1e-9):.2f}", verdict(late < 3 * early)),
        Claim("one year: std / mean of waits", "3.2", f"{year['skew']:.1f}", f"{year['skew'] / 3.2:.2f}",
              verdict(SKEW_LOW <= year["skew"] <= SKEW_HIGH)),
        Claim("one year: mean wait", "30.51 h", f"{year['wait_h']:.2f} h", f"{year['wait_h'] / 30.51:.2f}",
              verdict(False, year["wait_h"] > 6.21)),
    ]  # fmt: skip


def _slurm(found: Result) -> list[Claim]:
    """How near Slurm's own rules come: the same order of bins, and what they change, paired by seed."""
    rows = []
    theirs = found.estimate("titan", "wait_h", "slurm")
    for name in (RULES, BASE):
        change = found.change(name, "wait_h", "slurm")
        if change is not None and theirs is not None:
            ratio = (theirs.mean + change.mean) / theirs.mean if theirs.mean else 1.0
            rows.append(Claim(f"{name}: what that adds to the mean wait", f"{theirs.text(2)} h under titan",
                              f"{change.text(2, signed=True)} h", f"{ratio:.2f}",
                              verdict(abs(ratio - 1) <= NEAR)))  # fmt: skip
    return rows


def _project(found: Result) -> list[Claim]:
    """Return the stand-in for HEP110: what it used, beside the formula fed with the waits it had."""
    rows = []
    for name in PROJECTS:
        used = found.estimate(name, "use_node_h", "project")
        if used is not None:
            model = project_model(found, name)
            near = abs(used.mean - model.mean) <= 3 * model.sd / used.n**0.5
            rows.append(Claim(f"a project like HEP110, next {name}: node-hours in {hours_of(found.jobs // SHORTER)} h",
                              f"{model.mean:,.0f} ± {model.sd:,.0f} (model)", used.text(0),
                              f"{used.mean / model.mean:.3f}", verdict(near)))  # fmt: skip
    return rows


def project_model(found: Result, name: str, waits: str = "own") -> Moments:
    """Use of the project by the model, with the project's own waits or those of others' small jobs."""
    own, seen = (found.moments("project", name, key) for key in ("own", waits))
    assert own is not None and seen is not None
    follows, chains = PROJECTS[name]
    wait, run, nodes, use = Moments(*seen["wait"]), Moments(*own["run"]), Moments(*own["nodes"]), Moments(*own["use"])
    return spread_of_use(chains * hours_of(found.jobs // SHORTER), wait, run, nodes, use, after_end=follows == "end")


def bins_table(found: Result) -> list[list[str]]:
    """Mean waits by bin and variant; the first row is a header."""
    short = {"Titan": "titan", **{name: name for name in (RULES, BASE)}}
    long = [name for name in VARIANTS if found.estimate(name, "wait_h") is not None]
    brief = [title for title, name in short.items() if found.estimate(name, "wait_h", "slurm") is not None]
    rows = [
        ["bin", "nodes", *(f"wait h, {name}" for name in long), *(f"{name}, a ninth of the jobs" for name in brief)]
    ]
    for number, (low, high) in enumerate(bin_ranges(), 1):
        key = f"bin{number}_wait_h"
        waits = [found.estimate(name, key) for name in long]
        waits += [found.estimate(short[title], key, "slurm") for title in brief]
        rows.append([str(number), f"{low:,}-{high:,}", *("–" if e is None else e.text(2) for e in waits)])
    return rows


BASES = {
    ("start", "measured"): ("wait", False), ("start", "independent"): ("wait", True),
    ("end", "measured"): ("cycle", False), ("end", "independent"): ("cycle", True),
}  # fmt: skip
"""Curves of the bins: what the next job follows, and how node-hours of a job are known; by what is between starts."""


def bases_table(found: Result) -> list[list[str]]:
    """E[U] in a quarter and P(U > x) of each bin on every base; the first row is a header."""
    rows = [["bin", "next on", "node-hours of a job", "E[U]", "P(U > 0.1M)", "P(U > 1M)"]]
    for number in range(1, len(bin_ranges()) + 1):
        for base in BASES:
            fed = _fed(found, number, base)
            if fed is not None:
                chances = (f"{probability(x, QUARTER_H, **fed):.3f}" for x in (1e5, 1e6))
                rows.append([str(number), *base, f"{expected_use(QUARTER_H, **fed):,.0f}", *chances])
    return rows


def _fed(found: Result, number: int, base: tuple[str, str]) -> dict[str, Any] | None:
    """Return the model's input for a bin; None where no job waited."""
    kept = found.moments("queue", "titan", f"bin{number}")
    between, independent = BASES[base]
    if kept is None or kept[between][0] < 1e-3:
        return None
    use = Moments(*kept["use"])
    if independent:
        use = use_per_job(Moments(*kept["nodes"]), Moments(*kept["run"]))
    return {"wait_h": tuple(kept[between]), "per_job": (use.mean, use.sd)}


def curve(found: Result, number: int, base: tuple[str, str], targets: Any) -> Any:
    """Return P(U > x) in a quarter for jobs of a bin; None where no job waited."""
    fed = _fed(found, number, base)
    return None if fed is None else probability(targets, QUARTER_H, **fed)


def as_text(found: Result) -> str:
    """All tables for a terminal."""
    blocks = [table(claims_table(claims(found)))]
    if found.runs:
        blocks.append(f"synthetic Titan: {found.seeds} seeds of {found.jobs:,} jobs; ± is the 95 % interval")
        blocks.append(table(bins_table(found)))
    if found.estimate("titan", "load") is not None:
        blocks += [f"by the model, in {QUARTER_H:,} h:", table(bases_table(found))]
    for name in PROJECTS:
        if found.estimate(name, "use_node_h", "project") is not None:
            others = project_model(found, name, "others")
            blocks.append(f"a project like HEP110, next {name}: by the model with the waits of others' jobs of up to "
                          f"125 nodes {others.mean:,.0f} ± {others.sd:,.0f} node-hours")  # fmt: skip
    return "\n\n".join(blocks)


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
        "seeds": found.seeds, "jobs": found.jobs, "claims": [asdict(claim) for claim in claims(found)],
        "model": found.model, "use": found.use,
        "queue": {name: {key: estimate_facts(found.estimate(name, key)) for key in figures} for name in VARIANTS},
        "changes": {name: {key: estimate_facts(found.change(name, key)) for key in figures} for name in VARIANTS},
        "slurm": {name: {key: estimate_facts(found.estimate(name, key, "slurm")) for key in figures} for name in SHORT},
        "bases": _bases_facts(found),
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
    """Draw validation 2; P(U > x) in three months, a curve a bin, for both ways of submitting; waits under Slurm."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(11, 7))
    (left, *curves), waits = (grid := fig.subplots(2, 2)).flat[:3], grid.flat[3]
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
        for base, (_, independent) in BASES.items():
            if base[0] == follows:
                _curves(axes, found, base, ":" if independent else "-", labelled=not independent)
        axes.set(xlabel="node-hours x in three months", ylabel="P(U > x)")
        axes.set_title(f"next on {follows}; dotted: nodes and hours independent", fontsize=9)
    _bars(waits, found)
    for axes in (left, *curves, waits):
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
