"""The answer as text, as JSON, and as one page of pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slurmsim.report import page, style
from slurmsim.report.compare import Comparison, compare
from slurmsim.report.compare_view import usage, waits
from slurmsim.report.text import duration, number, percent, signed, summary_label, summary_value, table
from slurmsim.report.web.assets import WORKBENCH_SCRIPTS, WORKBENCH_STYLES
from slurmsim.report.web.comparison import comparison
from slurmsim.whatif.effect import Effect
from slurmsim.whatif.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = ("partition", "nodes")
"""Classes of jobs with open tables."""
DRAWN_BY_THE_PAGE = ("whatif-waits", "whatif-usage")
_HEADER = ("", "jobs", "mean wait before", "after", "difference", "band", "start earlier", "start later")
_SHARED = ("mean_wait_s", "median_wait_s", "p95_wait_s", "max_wait_s")  # of the jobs that started in both
_KEYS = (
    "refused", "never_started", "cancelled_waiting", "ended_waiting", "waiting", "dropped",
    "mean_wait_so_far_s", "utilization", "makespan_s", "completed", "timeout",
    "backfilled", "energy_cost", "node_cost", "idle_node_cost",
)  # fmt: skip
_IF_THERE = frozenset({"energy_cost", "node_cost", "idle_node_cost"})
"""Keys of runs that were told prices."""


def as_text(found: Study) -> str:
    """Return the answer for a terminal: fit, conclusion, tables."""
    blocks = ["\n".join([found.title, found.asked.of, *found.missing]), found.fit.sentence, found.conclusion]
    if found.interrupted:
        blocks.append(f"Interrupted: the band rests on {found.replicates} replicates.")
    blocks.append(table([("measure", "before", "after"), *_summary_rows(found)]))
    for what, effects in found.by.items():
        if effects:
            blocks.append(f"By {what}\n" + table([_HEADER, *map(_row, effects)]))
    return "\n\n".join(blocks)


def as_dict(found: Study) -> dict[str, Any]:
    """Return the answer for programs."""
    return {
        "title": found.title,
        "question": {**asdict(found.asked), "sentence": found.asked.sentence},
        "missing": found.missing,
        "conclusion": found.conclusion,
        "fit": {**asdict(found.fit), "sentence": found.fit.sentence},
        "overall": _effect(found.overall) if found.overall is not None else None,
        "by": {what: [_effect(e) for e in effects] for what, effects in found.by.items()},
        "both_started": {"before": found.shared[0], "after": found.shared[1]},
        "baseline": found.summaries[0],
        "changed": found.summaries[1],
        "replicates": found.replicates,
        "jitter_s": found.jitter_s,
        "interrupted": found.interrupted,
    }


def write(found: Study, folder: Path) -> list[Path]:
    """Write ``whatif.html``, ``whatif.json`` and ``plots/whatif-*.png``; returns the files, page first."""
    from slurmsim.report.build import render, write_file
    from slurmsim.trace.jsonfile import to_json

    both = compare([found.baseline.path, found.changed.path])
    drawn = [(name, caption, render(figure, "png")) for name, caption, figure in figures(found, both)]
    blocks = [page.heading(found.title, found.asked.of, *found.missing, found.fit.sentence, found.conclusion)]
    if found.fit.verdict == "poor":
        blocks.append(page.banner("The baseline does not fit the log: nothing below says anything about this site."))
    if found.interrupted:
        blocks.append(page.banner(f"Interrupted: the band rests on {found.replicates} replicates."))
    closed = []
    for what, effects in found.by.items():
        if effects:
            bands = page.intervals(f"Change of the mean wait by {what}", map(_band, effects))
            inside = page.table(_HEADER, map(_row, effects)), bands
            if what in FIRST:
                blocks.append(page.section(f"By {what}", *inside))
            else:
                closed.append(page.more(f"By {what}", *inside))
    parts = comparison(both)
    pictures = [(caption, png) for name, caption, png in drawn if name not in DRAWN_BY_THE_PAGE]
    numbers = page.table(("measure", "before", "after"), _summary_rows(found))
    blocks += [parts, *closed, page.more("All numbers", numbers), page.more("Pictures", *page.figures(pictures))]
    document = page.page(found.title, blocks, styles=WORKBENCH_STYLES, scripts=WORKBENCH_SCRIPTS if parts else ())
    files = [
        write_file(folder / "whatif.html", document.encode()),
        write_file(folder / "whatif.json", to_json(as_dict(found)).encode()),
    ]
    return files + [write_file(folder / "plots" / f"{name}.png", png) for name, _, png in drawn]


def figures(found: Study, both: Comparison) -> Iterator[tuple[str, str, Figure]]:
    """File name, caption and figure of each picture; `both` are the two replays."""
    shown = {what: effects for what, effects in found.by.items() if effects and what != "user"}
    yield "whatif-waits", f"Mean wait before and after, by class of jobs{_whiskers(shown)}.", classes(shown)
    yield (
        "whatif-moved",
        "Share of each account's and user's jobs that start more than a minute earlier or later.",
        moved({what: found.by[what] for what in ("account", "user") if found.by.get(what)}),
    )
    yield "whatif-distribution", "Share of the jobs that waited no longer than x.", waits(both)
    yield "whatif-usage", "CPUs in use and pending jobs over time (means of 400 bins).", usage(both)


def _whiskers(shown: dict[str, list[Effect]]) -> str:
    """Return what the whiskers are: a class without jobs in some replicates has fewer pairs and a lower level."""
    levels = sorted({100 * e.level for effects in shown.values() for e in effects if e.level is not None})
    if not levels:
        return ""
    of = f"{levels[0]:.3g}" if levels[0] == levels[-1] else f"{levels[0]:.3g} to {levels[-1]:.3g}"
    return f"; whiskers: {of} % interval of the change"


@style.styled
def classes(shown: dict[str, list[Effect]]) -> Figure:
    """Mean waits before and after as pairs of bars, a panel for each way to divide the jobs."""
    fig = style.figure(11, 3.6)
    panels = fig.subplots(1, max(len(shown), 1), squeeze=False)[0]
    fig.subplots_adjust(left=0.07, right=0.985, top=0.9, bottom=0.24, wspace=0.22)
    for ax, (what, effects) in zip(panels, shown.items(), strict=False):
        at = np.arange(len(effects))
        before, after = (np.array([getattr(e, name) for e in effects]) / 3600 for name in ("baseline_s", "changed_s"))
        ax.bar(at - 0.2, before, 0.38, color=style.OTHER, label="before")
        ax.bar(at + 0.2, after, 0.38, color=style.ACCENT, label="after")
        banded = [i for i, e in enumerate(effects) if e.low is not None]
        if banded:
            low, high = ([(effects[i].baseline_s + getattr(effects[i], end)) / 3600 for i in banded]
                         for end in ("low", "high"))  # fmt: skip
            ax.vlines(at[banded] + 0.2, np.maximum(low, 0), np.maximum(high, 0), color=style.INK, linewidth=1.4)
        ax.set_title(f"by {what}")
        style.categories(ax.xaxis, [e.name for e in effects])
        ax.set_ylim(bottom=0)
    panels[0].set_ylabel("mean wait, hours")
    if shown:
        panels[0].legend(loc="best", **style.CLEAR)
    return fig


@style.styled
def moved(shown: dict[str, list[Effect]]) -> Figure:
    """Who gains and who loses: shares of jobs that start earlier (up) and later (down)."""
    fig = style.figure(11, 3.4)
    panels = fig.subplots(1, max(len(shown), 1), squeeze=False, sharey=True)[0]
    fig.subplots_adjust(left=0.07, right=0.985, top=0.9, bottom=0.24, wspace=0.08)
    for ax, (what, effects) in zip(panels, shown.items(), strict=False):
        at = np.arange(len(effects))
        ax.bar(at, [100 * e.gain for e in effects], 0.7, color=style.PALETTE[2], label="earlier")
        ax.bar(at, [-100 * e.lose for e in effects], 0.7, color=style.PALETTE[3], label="later")
        ax.axhline(0, color=style.INK, linewidth=0.8)
        ax.set_title(f"by {what}")
        style.categories(ax.xaxis, [e.name for e in effects])
    panels[0].set_ylabel("jobs that start later | earlier, %")
    if shown:
        panels[0].legend(loc="best", **style.CLEAR)
    return fig


def _summary_rows(found: Study) -> list[Sequence[str]]:
    before, after = found.summaries
    rows: list[Sequence[str]] = [
        (f"{summary_label(key)}, jobs of both", *(summary_value(key, one.get(key)) for one in found.shared))
        for key in _SHARED
    ]
    rows += [
        (summary_label(key), summary_value(key, before.get(key)), summary_value(key, after.get(key)))
        for key in _KEYS if key not in _IF_THERE or key in before
    ]  # fmt: skip
    return rows


def _row(e: Effect) -> tuple[str, ...]:
    band = "–" if e.low is None or e.high is None else f"{signed(e.low)} to {signed(e.high)}"
    return (
        e.name, number(e.jobs), duration(e.baseline_s), duration(e.changed_s), signed(e.difference_s), band,
        percent(e.gain), percent(e.lose),
    )  # fmt: skip


def _band(e: Effect) -> tuple[str, float, float | None, float | None, str]:
    return e.name, e.difference_s, e.low, e.high, _row(e)[4] + ("" if e.low is None else f" ({_row(e)[5]})")


def _effect(e: Effect) -> dict[str, Any]:
    return {**asdict(e), "difference_s": e.difference_s, "clear": e.clear}
