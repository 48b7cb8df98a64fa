"""The summary against the jobs and usage tables, with arithmetic of its own (equations: ``docs/metrics.md``)."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from slurmsim.states import FINAL_STATES, REFUSED, RESIZING, JobState
from slurmsim.validate.columns import NULL, BoolArray, IntArray, Table, Texts
from slurmsim.validate.facts import ClusterFacts
from slurmsim.validate.report import ValidationReport

TAU_S = 10
_RELATIVE = 1e-6
_ABSOLUTE = 1e-6


def check_summary(
    report: ValidationReport,
    summary: Mapping[str, Any],
    jobs: Table,
    requeued: Table | None,
    usage: Table | None,
    cluster: ClusterFacts,
    further: Mapping[str, float],
) -> None:
    """Each figure that follows from the tables. Figures of the run itself (wall time, passes, …) are not judged.

    `further` are figures of tables that only some runs have.
    """
    expected = job_figures(jobs) | dict(further)
    if requeued is not None:
        lost = ~requeued.texts["state"].mask([RESIZING])
        taken = requeued.ints["cpus"] * _run_times(requeued)
        expected |= {"requeues": int(lost.sum()), "requeued_cpu_s": int(taken[lost].sum())}
    if usage is not None:
        expected["utilization"] = _utilization(expected, usage, cluster)
    check = report.new("summary", len(expected))
    for name, value in expected.items():
        if name not in summary:
            check.add(f"{name} is missing")
        elif not _equal(summary[name], value):
            check.add(f"{name} is {summary[name]!r}, recomputed {value!r}")


def _run_times(jobs: Table) -> IntArray:
    """Seconds each ran: what the row says, where it says it, for that leaves out the time it was suspended."""
    held = jobs.ints["end"] - jobs.ints["start"]
    told = jobs.ints.get("run_time_s")
    return held if told is None else np.where(told != NULL, told, held)


def job_figures(jobs: Table) -> dict[str, float | None]:
    """Return counts and means over the jobs table, None where there is nothing to take a mean of."""
    accepted = ~jobs.texts["state"].mask([REFUSED])
    submit, start, end = (jobs.ints[name][accepted] for name in ("submit", "start", "end"))
    state = Texts(jobs.texts["state"].codes[accepted], jobs.texts["state"].values)
    n = len(submit)
    started, ended = start != NULL, end != NULL
    done = started & ended & state.mask(FINAL_STATES)
    final = {s: int(state.mask([s]).sum()) for s in FINAL_STATES}
    named = [JobState.COMPLETED, JobState.TIMEOUT, JobState.CANCELLED, JobState.NODE_FAIL]
    waits = np.sort(start[started] - submit[started])
    turnaround, run = (end - submit)[done], _run_times(jobs)[accepted][done]
    longer = np.maximum(run, TAU_S)
    first = int(submit.min()) if n else None
    last = int(end[ended].max()) if ended.any() else None
    return {
        "jobs": n,
        "refused": jobs.n - n,
        "completed": final[JobState.COMPLETED],
        "timeout": final[JobState.TIMEOUT],
        "cancelled": final[JobState.CANCELLED],
        "failed": sum(n for s, n in final.items() if s not in named),
        "node_fail": final[JobState.NODE_FAIL],
        "never_started": int((~started).sum()),
        "first_submit": first,
        "last_end": last,
        "makespan_s": last - first if last is not None and first is not None else None,
        "mean_wait_s": _mean(waits),
        "median_wait_s": _quantile(waits, 0.5),
        "p95_wait_s": _quantile(waits, 0.95),
        "max_wait_s": int(waits[-1]) if len(waits) else None,
        **_buffered(jobs, accepted),
        "mean_turnaround_s": _mean(turnaround),
        "mean_slowdown": _mean(turnaround[run > 0] / run[run > 0]),
        "mean_bounded_slowdown": _mean(np.where(turnaround > longer, turnaround / longer, 1.0)),
    }


def _buffered(jobs: Table, accepted: BoolArray) -> dict[str, float | None]:
    """Mean time between a stream's coming to a job and its submission, where there are streams."""
    arrived = jobs.ints.get("arrived")
    known = accepted & (arrived != NULL) if arrived is not None else None
    if arrived is None or known is None or not known.any():
        return {}
    return {"mean_buffer_s": _mean((jobs.ints["submit"] - arrived)[known])}


def _utilization(figures: dict[str, float | None], usage: Table, cluster: ClusterFacts) -> float | None:
    """Allocated CPU-seconds over available ones, from first submit to last end.

    Nodes that are down are not available; the usage table counts them in nodes, each taken for an average one.
    """
    first, last = figures["first_submit"], figures["last_end"]
    if first is None or last is None or last <= first:
        return None
    rows = np.flatnonzero(usage.texts["partition"].mask([""]))
    edges = np.clip(np.append(usage.ints["time"][rows], int(last)), int(first), int(last))
    seconds = np.diff(edges)
    cpus = int(cluster.cpus.sum())
    lost = usage.ints["down_nodes"][rows] * cpus // cluster.n
    available = cpus * (last - first) - int((lost * seconds).sum())
    return int((usage.ints["alloc_cpus"][rows] * seconds).sum()) / available if available > 0 else None


def _mean(values: Any) -> float | None:
    return math.fsum(values.tolist()) / len(values) if len(values) else None


def _quantile(ordered: IntArray, p: float) -> float | None:
    """Linear between order statistics (Hyndman and Fan 1996, definition 7)."""
    if not len(ordered):
        return None
    place = (len(ordered) - 1) * p
    k = int(place)
    low, high = int(ordered[k]), int(ordered[min(k + 1, len(ordered) - 1)])
    return low + (place - k) * (high - low)


def _equal(told: Any, value: float | None) -> bool:
    if told is None or value is None:
        return told is None and value is None
    if isinstance(told, bool) or not isinstance(told, (int, float)):
        return False
    return math.isclose(told, value, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
