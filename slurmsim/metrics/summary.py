"""The part of ``summary.json`` that follows from the jobs of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from slurmsim.metrics.columns import ARRIVED, NEEDED, RUN_TIME, IntArray, JobColumns
from slurmsim.metrics.slowdown import TAU_S, bounded_slowdown, slowdown
from slurmsim.metrics.utilization import StepSeries, central_window, utilization, whole_interval
from slurmsim.metrics.wait import mean, percentile, turnaround, wait
from slurmsim.states import FINAL_STATES, RESIZING, JobState

# Final states with a count of their own; every other final state counts as failed.
COUNTED = {
    "completed": JobState.COMPLETED,
    "timeout": JobState.TIMEOUT,
    "cancelled": JobState.CANCELLED,
    "node_fail": JobState.NODE_FAIL,
}


_USAGE = ("time", "alloc_cpus", "alloc_nodes", "idle_nodes", "down_nodes")


def summarize(
    jobs: Any,
    *,
    cpus: int,
    allocated: StepSeries | None = None,
    down: StepSeries | None = None,
    requeued: Any = None,
    tau_s: int = TAU_S,
) -> dict[str, int | float | None]:
    """Return counts, waits, slowdowns and utilization of a run.

    Parameters
    ----------
    jobs
        What `JobColumns.of` takes: a ``pyarrow.Table`` of jobs, or columns by name.
    cpus
        CPUs of the cluster.
    allocated, down
        Step series of CPUs in use and of CPUs on unusable nodes, see `utilization`.
    requeued
        Runs that ended in a requeue, in the form of `jobs`; none if not given.
    tau_s
        Threshold of the bounded slowdown, seconds.

    Returns
    -------
    dict
        The keys of `slurmsim.trace.schema.SUMMARY_KEYS` from ``jobs`` to ``requeued_cpu_s``, in that order
        (``mean_buffer_s`` only where there are jobs of streams);
        ``unfinished`` are jobs pending or running when the run stopped. Means of nothing are None. The counts of states
        and ``unfinished`` add up to ``jobs``; refused submissions are in ``refused`` and in nothing else.

    Notes
    -----
    Waits are of the jobs that started (but for ``mean_wait_so_far_s``, see `waits_so_far`), turnaround and slowdowns of
    those that also finished; a run time of zero has no slowdown and is left out of that mean only. Linear in the number
    of jobs but for three partial sorts.
    """
    everything = JobColumns.of(jobs)
    columns = everything.where(everything.accepted)
    counts = {key: int(columns.in_state(state).sum()) for key, state in COUNTED.items()}
    final = int(columns.in_state(*FINAL_STATES).sum())
    whole = whole_interval(columns)
    waits = wait(columns.submit, columns.start)[columns.started]
    done = columns.finished
    turnarounds = turnaround(columns.submit, columns.end)[done]
    run_times = columns.run[done]
    slowdowns = slowdown(turnarounds, run_times)
    n = len(columns)
    logged = int(allocated.time[-1]) if allocated is not None and len(allocated.time) else None
    return {
        "jobs": n,
        "completed": counts["completed"],
        "timeout": counts["timeout"],
        "cancelled": counts["cancelled"],
        "failed": final - sum(counts.values()),
        "node_fail": counts["node_fail"],
        "never_started": n - int(columns.started.sum()),
        "first_submit": int(columns.submit.min()) if n else None,
        "last_end": whole.end if whole else None,
        "makespan_s": whole.length_s if whole else None,
        "utilization": utilization(columns, whole, cpus, allocated=allocated, down=down),
        "utilization_central": utilization(columns, central_window(columns), cpus, allocated=allocated, down=down),
        "mean_wait_s": mean(waits),
        "median_wait_s": percentile(waits, 50),
        "p95_wait_s": percentile(waits, 95),
        "max_wait_s": int(waits.max()) if len(waits) else None,
        "mean_wait_so_far_s": mean(waits_so_far(columns, logged)),
        **_buffered(columns.buffered[columns.buffered >= 0]),
        "mean_turnaround_s": mean(turnarounds),
        "mean_slowdown": mean(slowdowns[~np.isnan(slowdowns)]),
        "mean_bounded_slowdown": mean(bounded_slowdown(turnarounds, run_times, tau_s)),
        "unfinished": n - final,
        "refused": len(everything) - n,
        **_lost(JobColumns.of(requeued) if requeued is not None else None),
    }


def _buffered(seconds: IntArray) -> dict[str, float | None]:
    """Mean time in buffers of streams, where there are any."""
    return {"mean_buffer_s": mean(seconds)} if len(seconds) else {}


def waits_so_far(columns: JobColumns, logged: int | None = None) -> IntArray:
    """Return the waits of all `columns`, seconds: of a job that never started what it has waited so far.

    That is until it was over, or until the last thing that happened in the run (`logged`, if that was later than all
    jobs' times): a lower bound of what it would have waited.
    """
    known = [columns.submit, columns.start[columns.started], columns.end[columns.ended], np.array([logged or 0])]
    last = max((int(times.max()) for times in known if len(times)), default=0)
    until = np.where(columns.started, columns.start, np.where(columns.ended, columns.end, last))
    return np.maximum(until - columns.submit, 0)


def _lost(runs: JobColumns | None) -> dict[str, int | float | None]:
    """How many runs ended in a requeue, and the CPU-seconds ``sum of c run`` they had taken."""
    if runs is None:
        return {"requeues": 0, "requeued_cpu_s": 0}
    runs = runs.where(~runs.in_state(RESIZING))
    return {"requeues": len(runs), "requeued_cpu_s": int(np.dot(runs.cpus, runs.run))}


def summarize_trace(trace: Any, *, cpus: int, tau_s: int = TAU_S) -> dict[str, int | float | None]:
    """`summarize` for a `slurmsim.trace.reader.Trace`, with what was in use and down taken from its usage series.

    That counts the CPU-seconds of runs that ended in a requeue, and does not count nodes that were down as available.
    """
    series = usage_series(trace, cpus)
    allocated, down = series if len(series[0].time) else (None, None)
    wanted = (*NEEDED, RUN_TIME, ARRIVED)
    jobs, requeued = trace.read("jobs", wanted), trace.read("requeued", wanted)
    return summarize(jobs, cpus=cpus, allocated=allocated, down=down, requeued=requeued, tau_s=tau_s)


def usage_series(trace: Any, cpus: int) -> tuple[StepSeries, StepSeries]:
    """CPUs allocated and CPUs down as step series, from a trace's usage of the whole cluster of `cpus`.

    That counts down *nodes*; they are taken to hold ``cpus / nodes`` CPUs each, exact when all nodes are alike.
    """
    time, allocated, busy, idle, down = trace.ints_where("usage", _USAGE, "partition", "")
    nodes = busy + idle + down
    lost = np.zeros(len(nodes), np.int64)
    np.floor_divide(down * cpus, nodes, out=lost, where=nodes > 0)
    return StepSeries(time, allocated), StepSeries(time, lost)
