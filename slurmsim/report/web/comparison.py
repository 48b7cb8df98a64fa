"""The part of a comparison's page one can work in: each run's charts and jobs, and beside them what the others did."""

from __future__ import annotations

from typing import Any

import numpy as np

from slurmsim.metrics.timelines import rows_of
from slurmsim.report import style
from slurmsim.report.compare import Comparison
from slurmsim.report.rundata import MOST_STEPS
from slurmsim.report.series import bin_edges, bin_means
from slurmsim.report.web.page_data import BINS, Columns, facts_and_columns, packed
from slurmsim.report.web.workbench import drawn


def comparison(found: Comparison) -> str:
    """Return the workbench of each run, one at a time; nothing where a run has no jobs.

    The use of all runs is in one chart, and the waits of all are in one table.
    """
    if not all(len(run.jobs) for run in found.runs):
        return ""
    return drawn([_of(found, i) for i in range(len(found.runs))])


def _of(found: Comparison, which: int) -> tuple[dict[str, Any], str]:
    facts, columns = facts_and_columns(found.runs[which])
    columns = {name: values for name, values in columns.items() if not name.startswith("use_")}
    use, thinned = _use(found, facts["begin"])
    columns |= use
    others = [i for i in range(len(found.runs)) if i != which]
    for i in others:
        columns |= _beside(found, which, i, columns)
    end = max(run.interval.end for run in found.runs)
    return packed(
        facts | {"end": end, "thinned": thinned, "runs": found.names, "which": which, "others": others,
                 "series": _series(found)},
        columns,
    )  # fmt: skip


def _series(found: Comparison) -> list[dict[str, Any]]:
    """Charts over time: a line a run."""

    def chart(title: str, what: str, **more: Any) -> dict[str, Any]:
        lines = [
            {"name": f"{what}_{i}", "label": name, "color": color}
            for i, (name, color) in enumerate(zip(found.names, style.colors(found.names), strict=True))
        ]
        return {"title": title, "lines": lines, **more}

    sizes = [run.n_cpus for run in found.runs]
    top = {"top": sizes[0]} if sizes[0] and len(set(sizes)) == 1 else {}
    return [chart("CPUs in use", "cpus", **top), chart("Pending jobs", "pending"), chart("Running jobs", "running")]


def _use(found: Comparison, begin: int) -> tuple[Columns, bool]:
    """Return the use of all runs at the instants at which any of them changes, and False.

    Where these are many, return means of bins, and True.
    """
    usages = [run.usage for run in found.runs]
    time = np.unique(np.concatenate([usage.time for usage in usages]))
    edges = None
    if len(time) > MOST_STEPS:
        edges = bin_edges(int(time[0]), int(time[-1]) + 1, BINS)
        time = edges[:-1].astype(np.int64)
    columns: Columns = {"use_time": time - begin}
    for i, usage in enumerate(usages):
        at = np.searchsorted(usage.time, time, "right") - 1
        for name, values in (("cpus", usage.alloc_cpus), ("pending", usage.pending), ("running", usage.running)):
            if edges is not None:
                columns[f"use_{name}_{i}"] = bin_means(usage.time, values, edges)
            else:
                columns[f"use_{name}_{i}"] = np.where(at < 0, 0, values[np.maximum(at, 0)])
    return columns, edges is not None


def _beside(found: Comparison, which: int, other: int, columns: Columns) -> Columns:
    """Of each job on the page its wait in another run, and how much later or earlier it starts there; -1 for none."""
    run = found.runs[other]
    at = rows_of(run.job_id, columns["job_id"])
    there = (at >= 0) & run.jobs.started[np.maximum(at, 0)]
    start = run.jobs.start[np.maximum(at, 0)]
    mine = columns["submit"] + columns["wait"] + found.runs[which].interval.begin
    both = there & (columns["wait"] >= 0)
    shift = np.where(both, start - mine, 0)
    return {
        f"wait_{other}": np.where(there, run.waits[np.maximum(at, 0)], -1),
        f"later_{other}": np.where(both & (shift > 0), shift, -1),
        f"earlier_{other}": np.where(both & (shift < 0), -shift, -1),
    }
