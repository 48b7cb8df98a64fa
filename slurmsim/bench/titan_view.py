"""The Titan experiment as tables, verdicts, a picture and files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.allocation import probability
from slurmsim.bench.claims import CLAIM_TITLES, MISSING, Claim, verdict
from slurmsim.bench.output import estimate_facts, write_results
from slurmsim.bench.titan import BIN_LOWS, NODES, PERIOD_H, VARIANTS, Result
from slurmsim.report.text import table

QUARTER_H = 2190
LOAD_LOW, LOAD_HIGH = 0.85, 0.93
SKEW_LOW, SKEW_HIGH = 2.0, 5.0
DISTANCE = 0.14


def claims(found: Result) -> list[Claim]:
    """The paper's numbers, and those of the specification, beside ours."""
    return [*_model(found), *_validation(found), *_queue(found),
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
    if not found.runs:
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
    for figure, paper in (("free_mean", 732), ("free_median", 22), ("free_p90", 1791)):
        e = found.estimate("titan", figure)
        assert e is not None
        rows.append(Claim(f"free nodes, {figure.removeprefix('free_')} (Titan's backfill log)", f"{paper:,}", e.text(0),
                          f"{e.mean / paper:.2f}", verdict(False, 0.2 < e.mean / paper < 5)))  # fmt: skip
    return rows


def bins_table(found: Result) -> list[list[str]]:
    """Mean waits by bin and variant, and P(U > x) in a quarter by the model; the first row is a header."""
    rows = [["bin", "nodes", *(f"wait h, {name}" for name in VARIANTS), "P(U > 0.1M) in 3 months", "P(U > 1M)"]]
    highs = (NODES, *(low - 1 for low in BIN_LOWS))
    for number, (low, high) in enumerate(zip(BIN_LOWS, highs, strict=False), 1):
        waits = [found.estimate(name, f"bin{number}_wait_h") for name in VARIANTS]
        chances = curve(found, number, np.array([1e5, 1e6]))
        rows.append([
            str(number), f"{low:,}-{high:,}", *("–" if e is None else e.text(2) for e in waits),
            *(("–", "–") if chances is None else (f"{one:.3f}" for one in chances)),
        ])  # fmt: skip
    return rows


def curve(found: Result, number: int, targets: Any) -> Any:
    """P(U > x) for jobs of a bin, the next queued when the last left the queue; None where nobody waited."""
    kept = [found.runs[f"queue-titan-{k}"].get(f"bin{number}") for k in range(1, found.seeds + 1)]
    ones: list[dict[str, Any]] = [one for one in kept if one]
    if not ones:
        return None
    wait, use = (np.mean([one[key] for one in ones], axis=0) for key in ("wait", "use"))
    if wait[0] < 1e-3:
        return None
    return probability(targets, QUARTER_H, tuple(wait.tolist()), per_job=tuple(use.tolist()))


def as_text(found: Result) -> str:
    """All tables for a terminal."""
    blocks = [table([list(CLAIM_TITLES), *[[c.what, c.paper, c.ours, c.ratio, c.verdict] for c in claims(found)]])]
    if found.runs:
        blocks.append(f"synthetic Titan: {found.seeds} seeds of {found.jobs:,} jobs; ± is the 95 % interval")
        blocks.append(table(bins_table(found)))
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
        "runs": found.runs,
    }  # fmt: skip


def write(found: Result, folder: Path) -> list[Path]:
    """Write ``results.txt``, ``results.json`` and ``titan.png``. Raises OutputError."""
    return write_results(folder, as_text(found), as_dict(found), {"titan.png": figure(found)})


def figure(found: Result) -> Any:
    """Left: validation 2, model and projects. Right: P(U > x) in three months, a curve a bin."""
    from matplotlib.figure import Figure

    from slurmsim.allocation import normal_probability

    fig = Figure(figsize=(10, 4))
    left, right = fig.subplots(1, 2)
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
    targets = np.geomspace(1e3, 1e7, 120)
    for number in range(1, len(BIN_LOWS) + 1):
        chances = curve(found, number, targets) if found.runs else None
        if chances is not None:
            right.semilogx(targets, chances, label=f"bin {number}")
    right.set(xlabel="node-hours x in three months", ylabel="P(U > x)")
    for axes in (left, right):
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8)
    fig.tight_layout()
    return fig
