"""A comparison as text, as pictures and as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from slurmsim.metrics.classes import CLASSES, NARROW
from slurmsim.metrics.utilization import Interval
from slurmsim.report import page, style
from slurmsim.report.compare import Comparison, JobDifferences, Mover, other_log
from slurmsim.report.efficiency import TITLES, figure
from slurmsim.report.series import bin_edges, bin_means, ecdf
from slurmsim.report.shortfall import shortfalls
from slurmsim.report.text import duration, in_reading_order, number, summary_label, summary_value, table
from slurmsim.report.web.assets import WORKBENCH_SCRIPTS, WORKBENCH_STYLES
from slurmsim.report.web.comparison import comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BINS = 400
_MOMENTS = frozenset({"first_submit", "last_end"})  # points in time: a percentage means nothing


def as_text(found: Comparison) -> str:
    """Summaries side by side, then what moved, for a terminal."""
    lines = [*other_log(found), *shortfalls(found.names, found.summaries)]
    parts = ["\n".join(lines)] if lines else []
    parts.append(table([_header(found), *_common_rows(found), *_summary_rows(found)]))
    if waits := _class_rows(found):
        parts.append(f"{_CLASSES}\n" + table([["mean wait", *found.names], *waits]))
    if found.losses:
        parts.append(_slots(found) + "\n" + table([_header(found), *_loss_rows(found)]))
    for name, diff in zip(found.names[1:], found.differences, strict=True):
        parts.append(f"Jobs of {found.names[0]} in {name}\n" + table([("", "jobs"), *_counts(diff)]))
        for title, movers in (("earlier", diff.most_earlier), ("later", diff.most_later)):
            if movers:
                rows = [_MOVER_HEADER, *map(_mover, movers)]
                parts.append(f"Moved most, {title} in {name}\n" + table(rows, left=3))
    return "\n\n".join(parts)


def compare_page(found: Comparison, figures: Sequence[tuple[str, bytes]]) -> str:
    """Return the comparison as one HTML document; `figures` are captions and PNGs."""
    title = " against ".join(found.names) if len(found.names) == 2 else f"{len(found.names)} runs compared"
    blocks = [page.heading(title, "Differences are to the first run, " + found.names[0] + ".")]
    blocks += [
        page.banner(f"{name} was interrupted: its trace ends before the run did.")
        for name, run in zip(found.names, found.runs, strict=True)
        if run.trace.partial
    ]
    blocks += [page.banner(line) for line in (*other_log(found), *shortfalls(found.names, found.summaries))]
    blocks.append(page.section("Summary", page.table(_header(found), [*_common_rows(found), *_summary_rows(found)])))
    if of_classes := _class_rows(found):
        classes = page.table(["mean wait", *found.names], of_classes)
        blocks.append(page.more("By class", page.paragraph(_CLASSES), classes))
    if found.losses:
        rows = page.table(_header(found), _loss_rows(found))
        blocks.append(page.more("Packing losses", page.paragraph(_slots(found)), rows))
    parts = comparison(found)
    blocks += [parts, page.more("Pictures", *page.figures(figures))]
    for name, diff in zip(found.names[1:], found.differences, strict=True):
        blocks.append(
            page.more(
                f"Job by job: {name}",
                page.table(("", "jobs"), _counts(diff)),
                *(
                    page.subsection(
                        f"Moved most, {what}", page.table(_MOVER_HEADER, map(_mover, movers), left=(0, 1, 2))
                    )
                    for what, movers in (("earlier", diff.most_earlier), ("later", diff.most_later))
                    if movers
                ),
            )
        )
    return page.page(title, blocks, styles=WORKBENCH_STYLES, scripts=WORKBENCH_SCRIPTS if parts else ())


def figures(found: Comparison) -> Iterator[tuple[str, str, Figure]]:
    """File name, caption and figure of each overlaid picture."""
    yield "compare-waits", "Share of the jobs that waited no longer than x.", waits(found)
    yield "compare-usage", "CPUs in use and pending jobs over time (means of 400 bins).", usage(found)
    if found.losses and len(found.losses[0].slots) > 1:
        yield "compare-losses", "Packing losses of each day: 0 is best, 1 worst.", figure(
            found.losses, found.names, found.runs[0].epoch
        )  # fmt: skip
    if any(diff.earlier or diff.later for diff in found.differences):
        yield "compare-shifts", "How far start times moved against the first run.", shifts(found)


@style.styled
def waits(found: Comparison) -> Figure:
    """Distributions of the wait of the jobs that started, one curve a run."""
    fig = style.figure(11, 4)
    ax = fig.subplots()
    fig.subplots_adjust(left=0.07, right=0.985, top=0.9, bottom=0.14)
    ax.set_title("Wait")
    longest = 10.0
    for name, run, color in zip(found.names, found.runs, style.colors(found.names), strict=True):
        values = run.waits[run.jobs.started]
        if len(values):
            x, share = ecdf(np.maximum(values, 1))
            longest = max(longest, float(x[-1]))
            ax.step(np.append(1.0, x), 100 * np.append(0.0, share), where="post", color=color, label=name)
    style.duration_axis(ax.xaxis, 1, longest * 1.3)
    ax.set_ylim(0, 101)
    ax.set_xlabel("wait (those that started at once count as 1 s)")
    ax.set_ylabel("jobs that waited no longer, %")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="lower right", **style.CLEAR)
    return fig


@style.styled
def usage(found: Comparison) -> Figure:
    """CPUs in use and pending jobs over time, one line a run, over the time all runs cover together."""
    fig = style.figure(11, 5.2)
    top, bottom = fig.subplots(2, 1, sharex=True)
    fig.subplots_adjust(left=0.07, right=0.985, top=0.93, bottom=0.13, hspace=0.24)
    spans = [run.interval for run in found.runs]
    over = Interval(min(s.begin for s in spans), max(s.end for s in spans))
    edges = bin_edges(over.begin, over.end, _BINS)
    for name, run, color in zip(found.names, found.runs, style.colors(found.names), strict=True):
        series = run.usage
        cpus = run.n_cpus or int(series.alloc_cpus.max(initial=1))
        share = 100 * bin_means(series.time, series.alloc_cpus, edges) / cpus
        style.steps(top, edges, share, color=color, linewidth=1.2, label=name)
        pending = bin_means(series.time, series.pending, edges)
        style.steps(bottom, edges, pending, color=color, linewidth=1.2, label=name)
    top.set_ylim(0, 101)
    top.set_title("Utilization")
    top.set_ylabel("CPUs allocated, %")
    bottom.set_ylim(bottom=0)
    bottom.set_title("Queue")
    bottom.set_ylabel("pending jobs")
    style.thousands(bottom.yaxis)
    top.legend(loc="lower right", bbox_to_anchor=(1.005, 0.97), ncols=len(found.names), handlelength=1.4)
    style.time_axis(bottom, over, found.runs[0].epoch, over.begin)
    return fig


@style.styled
def shifts(found: Comparison) -> Figure:
    """How far starts moved, as distributions on both sides of zero."""
    fig = style.figure(11, 3.6)
    left, right = fig.subplots(1, 2, sharey=True)
    fig.subplots_adjust(left=0.07, right=0.985, top=0.89, bottom=0.16, wspace=0.06)
    colors = style.colors(found.names)
    first = found.runs[0]
    longest = max(diff.max_abs_shift_s or 0 for diff in found.differences)
    for i, run in enumerate(found.runs[1:], 1):
        _, a, b = np.intersect1d(first.job_id, run.job_id, assume_unique=True, return_indices=True)
        both = first.jobs.started[a] & run.jobs.started[b]
        shift = run.jobs.start[b[both]] - first.jobs.start[a[both]]
        for ax, moved in ((left, -shift[shift < 0]), (right, shift[shift > 0])):
            if len(moved):
                x, share = ecdf(moved)
                still_further = 100 * len(moved) / len(shift) * (1 - np.append(0.0, share[:-1]))
                ax.step(x, still_further, where="pre", color=colors[i], label=f"{found.names[i]} ({len(moved):,} jobs)")
    for ax, what in ((left, "earlier"), (right, "later")):
        ax.set_title(f"Jobs that start {what} by at least x")
        style.duration_axis(ax.xaxis, 1, max(longest, 10) * 1.3)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("x, time the start moved")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="best", **style.CLEAR)
    left.set_ylabel("of jobs started in both runs, %")
    return fig


def write_comparison(found: Comparison, folder: Path) -> list[Path]:
    """Write ``compare.html``, ``compare.json`` and ``plots/compare-*.png``; returns the files, page first.

    Raises OutputError.
    """
    from slurmsim.report.build import render, write_file
    from slurmsim.trace.jsonfile import to_json

    drawn = [(name, caption, render(figure, "png")) for name, caption, figure in figures(found)]
    pictures = [(caption, png) for name, caption, png in drawn if name != "compare-usage"]  # the page draws it itself
    document = compare_page(found, pictures)
    files = [
        write_file(folder / "compare.html", document.encode()),
        write_file(folder / "compare.json", to_json(found.as_dict()).encode()),
    ]
    return files + [write_file(folder / "plots" / f"{name}.png", png) for name, _, png in drawn]


_MOVER_HEADER = ("job", "user", "partition", "nodes", "wait in the first", "wait", "start moved by")


def _mover(job: Mover) -> tuple[str, ...]:
    shift = ("+" if job.shift_s > 0 else "") + duration(job.shift_s)
    waits = duration(job.wait_first_s), duration(job.wait_s)
    return (job.shown_id, job.user, job.partition, number(job.nodes), *waits, shift)


def _counts(diff: JobDifferences) -> list[tuple[str, str]]:
    rows = [
        ("in both runs", number(diff.common)),
        ("only in the first", number(diff.only_first)),
        ("only in the other", number(diff.only_other)),
        ("started only in the first", number(diff.started_only_first)),
        ("started only in the other", number(diff.started_only_other)),
        ("started at the same time", number(diff.same)),
        ("started earlier", number(diff.earlier)),
        ("started later", number(diff.later)),
        ("submitted at another time", number(diff.other_submit)),
        ("of another user or size", number(diff.other_job)),
        ("ran on other nodes", number(diff.other_nodes)),
        ("in another state", number(diff.other_state)),
        ("refused only in the first", number(diff.refused_only_first)),
        ("refused only in the other", number(diff.refused_only_other)),
    ]
    rows = [row for i, row in enumerate(rows) if i in (0, 5, 6, 7) or row[1] != "0"]
    return [
        *rows,
        ("start moved by, mean", duration(diff.mean_shift_s)),
        ("start moved by, median of the size", duration(diff.median_abs_shift_s)),
        ("start moved by, 95 % at most", duration(diff.p95_abs_shift_s)),
        ("start moved by, most", duration(diff.max_abs_shift_s)),
    ]


def _header(found: Comparison) -> list[str]:
    header = ["measure", found.names[0]]
    for name in found.names[1:]:
        header += [name, "difference"]
    return header


def _summary_rows(found: Comparison) -> list[list[str]]:
    rows = []
    for key in in_reading_order(found.keys):
        row = [summary_label(key), summary_value(key, found.summary(0).get(key), found.runs[0].epoch)]
        for i in range(1, len(found.runs)):
            row += [summary_value(key, found.summary(i).get(key), found.runs[i].epoch), _delta(found, key, i)]
        rows.append(row)
    return rows


_CLASSES = f"By class: short asks for at most an hour, narrow for at most {100 * NARROW:g} % of the CPUs"


def _class_rows(found: Comparison) -> list[list[str]]:
    """Mean waits of the classes that have jobs, in each run; nothing where a run does not say its CPUs."""
    classes = [run.by_class for run in found.runs]
    if not all(classes):
        return []
    there = [name for name in CLASSES if any(one[f"{name}_jobs"] for one in classes)]
    return [[name.replace("_", " "), *(duration(one[f"{name}_wait_s"]) for one in classes)] for name in there]


def _slots(found: Comparison) -> str:
    """Over what the losses are taken."""
    slots = found.losses[0].slots
    length = duration(slots[0].slot.length_s)
    return f"Packing losses (0 best, 1 worst), mean of {number(len(slots))} slots of {length}"


def _loss_rows(found: Comparison) -> list[list[str]]:
    means = [series.means for series in found.losses]
    rows = []
    for key, title in TITLES.items():
        row = [title, f"{means[0][key]:.4f}"]
        for other in means[1:]:
            delta = other[key] - means[0][key]
            row += [f"{other[key]:.4f}", f"{delta:+.4f}" if delta else "="]
        rows.append(row)
    return rows


def _common_rows(found: Comparison) -> list[list[str]]:
    """How many jobs all runs started, and their mean waits: the waits that can be compared."""
    n, means = found.common_waits
    count, waits = ["jobs all started", number(n)], ["their mean wait", summary_value("mean_wait_s", means[0])]
    for mean in means[1:]:
        count += [number(n), "="]
        waits += [summary_value("mean_wait_s", mean), _difference("mean_wait_s", means[0], mean)]
    return [count, waits]


def _delta(found: Comparison, key: str, run: int) -> str:
    if found.delta(key, run) is None:
        return ""
    return _difference(key, found.summary(0)[key], found.summary(run)[key])


def _difference(key: str, first: float | None, other: float | None) -> str:
    if first is None or other is None:
        return ""
    delta = other - first
    if delta == 0:
        return "="
    if key.startswith("utilization"):
        return f"{100 * delta:+.1f} points"
    text = summary_value(key, abs(delta))
    share = f" ({100 * delta / abs(first):+.1f} %)" if first and key not in _MOMENTS else ""
    return f"{'-' if delta < 0 else '+'}{text}{share}"
