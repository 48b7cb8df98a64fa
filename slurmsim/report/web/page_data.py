"""What the page of a run works on: its jobs, who was on which nodes, the reasons they showed, and use over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.metrics.columns import IntArray
from slurmsim.metrics.timelines import COLUMNS, JobEvents, rows_of, timelines
from slurmsim.report.breakdown import by_class
from slurmsim.report.occupancy import SIZE, color_labels
from slurmsim.report.rundata import MOST_STEPS, RunData
from slurmsim.report.series import bin_edges, bin_means
from slurmsim.report.web.packing import pack
from slurmsim.trace.columns import NULL
from slurmsim.trace.staging import STAGING

MOST_JOBS = 100_000  # a page of more jobs holds a sample of this many
KEPT_LONGEST = 1_000  # of a sample: the jobs that waited longest are always in it
BINS = 20_000  # of use over time where there are more than `MOST_STEPS` steps
_MOST_CLASSES = 5_000  # rows of the table of users

_INTS = ("job_id", "nodes", "cpus", "gpus", "mem_mib", "priority", "restarts")
_TEXTS = ("user", "account", "partition", "qos", "state", "name", "scheduler", "reason")
_CLASSES = ("user", "account", "partition", "qos")
_USAGE = ("alloc_gpus", "alloc_mem_mib", "off_nodes")
_POWER = ("drawn_mw", "idle_mw", "charged_mw", "budget_mw")


Columns = dict[str, npt.NDArray[Any]]


def page_data(data: RunData) -> tuple[dict[str, Any], str]:
    """Return what ``report.js`` reads: a JSON object, and the packed columns its ``places`` point into."""
    found, columns = facts_and_columns(data)
    return packed(found, columns)


def packed(found: dict[str, Any], columns: Columns) -> tuple[dict[str, Any], str]:
    """Return the object with the places of its columns, and the columns."""
    places, text = pack(columns)
    return found | {"places": places}, text


def facts_and_columns(data: RunData) -> tuple[dict[str, Any], Columns]:
    """Return the object, and its columns before they are packed.

    Times of jobs and series are seconds since ``begin``; -1 is null. Rows of jobs are in order of submission.
    """
    rows = chosen(data)
    columns = _jobs(data, rows)
    texts: dict[str, list[str]] = {}
    for name in _TEXTS:
        columns[name], texts[name] = _text(data, name, rows)
    past, columns["past_job"] = _past(data, columns["job_id"])
    columns["past_start"], columns["past_run"], columns["past_state"], texts["past_state"] = _past_columns(data, past)
    columns |= _places(data, rows, past) | _spells(data) | _usage(data)
    told, reasons = _reasons(data, rows, columns)
    columns |= told
    cluster, over = data.cluster, data.interval
    color = color_labels(data).what if len(data.jobs) else "partition"
    return {
        "epoch": data.epoch, "begin": over.begin, "end": over.end, "jobs": len(data.jobs), "shown": len(rows),
        "thinned": bool(len(data.usage.time) > MOST_STEPS),
        "cluster": asdict(cluster) | {"node_lists": None} if cluster is not None else None,
        "folder": _name(data.trace.path),
        "nodes": [data.rows.name(i) for i in range(data.rows.n)], "color": "size" if color == SIZE else color,
        "texts": texts, "reasons": reasons,
        "classes": {what: [row._asdict() for row in by_class(data, data.labels(what), _MOST_CLASSES)]
                    for what in _CLASSES},
    }, columns  # fmt: skip


def _name(folder: Path) -> str:
    """Of a trace's folder; the report of a run is made before the trace is in its place."""
    return folder.parent.name if folder.name == STAGING else folder.name


def chosen(data: RunData) -> IntArray:
    """Rows of the jobs table the page shows, in order of submission: all, or a sample that is always the same.

    Of more than `MOST_JOBS` jobs: the `KEPT_LONGEST` that waited longest (those that never started by how long they
    have waited), the rest drawn evenly.
    """
    jobs, n = data.jobs, len(data.jobs)
    rows = np.arange(n)
    if n > MOST_JOBS:
        left = np.where(jobs.started, jobs.start, np.where(jobs.ended, jobs.end, data.interval.end))
        longest = np.lexsort((data.job_id, jobs.submit - left))[:KEPT_LONGEST]
        others = np.setdiff1d(rows, longest, assume_unique=True)
        drawn = np.random.default_rng(0).choice(others, MOST_JOBS - len(longest), replace=False)
        rows = np.concatenate([longest, drawn])
    return rows[np.lexsort((data.job_id[rows], jobs.submit[rows]))]


def _jobs(data: RunData, rows: IntArray) -> dict[str, npt.NDArray[Any]]:
    """Columns of jobs; instants as ``submit`` since the begin, ``wait`` and ``run`` as lengths, -1 for none.

    ``last`` is how long after its submission a job that never started ended, or the trace did.
    """
    jobs = data.jobs
    found: dict[str, npt.NDArray[Any]] = {
        name: values[rows] for name, values in zip(_INTS, data.trace.ints("jobs", *_INTS, null=-1), strict=True)
    }
    started = jobs.started[rows]
    submit = jobs.submit[rows]
    found["submit"] = submit - data.interval.begin
    found["wait"] = np.where(started, jobs.start[rows] - submit, -1)
    found["run"] = np.where(started, data.ends[rows] - jobs.start[rows], -1)
    found["ended"] = jobs.ended[rows].astype(np.int64)
    found["limit"] = data.trace.ints("jobs", "time_limit_s", null=-1)[0][rows]
    array, task = data.trace.ints("jobs", "array_job_id", "array_task_id", null=-1)
    if (array >= 0).any():
        found["array"], found["task"] = array[rows], task[rows]
    return found


def _text(data: RunData, name: str, rows: IntArray) -> tuple[npt.NDArray[Any], list[str]]:
    """Return a text column of the rows as codes, and the texts that are in it, ascending."""
    codes, names = data.trace.text("jobs", name)
    codes = codes[rows]
    there = np.zeros(len(names), np.bool_)
    there[codes] = True
    order = sorted(np.flatnonzero(there).tolist(), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], [names[code] for code in order]


def _past(data: RunData, job_id: IntArray) -> tuple[IntArray, IntArray]:
    """Rows of earlier runs (and sizes) of the jobs, in order of their starts, and which job of the page each is of."""
    ids, start = data.trace.ints("requeued", "job_id", "start")
    owner = rows_of(job_id, ids)
    rows = np.flatnonzero((owner >= 0) & (start != NULL))
    rows = rows[np.lexsort((ids[rows], start[rows]))]
    return rows, owner[rows]


def _past_columns(data: RunData, past: IntArray) -> tuple[IntArray, IntArray, npt.NDArray[Any], list[str]]:
    """Start, length and how each earlier run ended: codes and the texts they point into."""
    start, end = (values[past] for values in data.trace.ints("requeued", "start", "end"))
    codes, names = data.trace.text("requeued", "state")
    return start - data.interval.begin, np.where(end == NULL, data.interval.end, end) - start, codes[past], names


def _places(data: RunData, rows: IntArray, past: IntArray) -> dict[str, npt.NDArray[Any]]:
    """Node rows of jobs, then of earlier runs: how many intervals each has, first row and length of each of these."""
    started = np.flatnonzero(data.jobs.started[rows])
    names = data.trace.texts_at("jobs", "node_list", rows[started])
    names += data.trace.texts_at("requeued", "node_list", past)
    owner, first, last = data.rows.flat(names)
    counts = np.zeros(len(rows) + len(past), np.int64)
    counts[np.append(started, len(rows) + np.arange(len(past)))] = np.bincount(owner, minlength=len(names))
    return {"on_count": counts, "on_first": first, "on_length": last - first}


def _spells(data: RunData) -> dict[str, npt.NDArray[Any]]:
    row, begin, end = data.down_spells
    return {"down_row": row, "down_begin": begin - data.interval.begin, "down_end": end - data.interval.begin}


def _reasons(
    data: RunData, rows: IntArray, columns: dict[str, npt.NDArray[Any]]
) -> tuple[dict[str, npt.NDArray[Any]], list[list[Any]]]:
    """Spans of each job (how many; length and reason of each), what it overtook, its first plan; and reasons.

    Of each reason its text, its rule, and whether who shows it stands in line (1), or is first in it (2).
    """
    from slurmsim.why.rules import FIRST_IN_LINE, IN_LINE, rule

    ids = columns["job_id"] if len(rows) < len(data.jobs) else None
    events = JobEvents.of(data.trace.groups("events", [*COLUMNS, "value"]), "PLAN", ids)
    found = timelines(events, columns["job_id"], columns["submit"] + data.interval.begin, data.interval.end)
    used, codes = np.unique(found.reason, return_inverse=True)
    starts, plans = events.of_kind("START"), events.of_kind("PLAN")[::-1]  # the last start, the first plan
    planned = _value_of(events, plans, columns["job_id"])
    return {
        "span_count": np.bincount(found.job, minlength=len(rows)),
        "span_s": found.end - found.begin,
        "span_reason": codes,
        "overtook": _value_of(events, starts, columns["job_id"]),
        "planned": np.where(planned < 0, -1, planned - data.interval.begin),
    }, [
        [text, rule(text), (text in IN_LINE) + (text in FIRST_IN_LINE)]
        for text in (found.reasons[i] for i in used.tolist())
    ]


def _value_of(events: JobEvents, rows: IntArray, ids: IntArray) -> IntArray:
    """Return the value of each job's last event in `rows`, -1 where it has none."""
    found = np.full(len(ids), -1, np.int64)
    rows = rows[events.value[rows] != NULL]
    at = rows_of(ids, events.job[rows])
    found[at[at >= 0]] = events.value[rows[at >= 0]]
    return found


def _usage(data: RunData) -> dict[str, npt.NDArray[Any]]:
    """Return the step series of the whole cluster; very long ones are thinned.

    They are read one at a time, since each is as long as the run.
    """
    time, over = data.usage.time, data.interval
    edges = bin_edges(over.begin, over.end, BINS) if len(time) > MOST_STEPS else None
    found: dict[str, npt.NDArray[Any]] = {}
    for name, values in _series(data):
        if len(values) == len(time) and len(values) and values.max() > 0:
            found[f"use_{name}"] = values if edges is None else bin_means(time, values, edges)
    at = time if edges is None else edges[:-1].astype(np.int64)
    return {"use_time": at - over.begin} | found


def _series(data: RunData) -> Iterator[tuple[str, IntArray]]:
    """Names and values of what the page shows of use over time; of what only the trace may have, as far as it does."""
    for name in ("alloc_nodes", "idle_nodes", "down_nodes", "alloc_cpus", "running", "pending"):
        yield name, getattr(data.usage, name)
    power = (data.trace.path / "phases.parquet").exists()
    for name in (*_USAGE, *(_POWER if power else ())):
        yield name, data.trace.ints_where("usage", (name,), "partition", "", null=-1)[0]
