"""Goodput of a run in which jobs make checkpoints: work that counts, work that is lost, and what saving it costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from slurmsim.metrics.columns import JobColumns
from slurmsim.metrics.summary import usage_series
from slurmsim.metrics.utilization import whole_interval
from slurmsim.states import JobState

NEEDED = ("submit", "start", "end", "cpus", "nodes", "state", "run_time_s")


def of_checkpoints(trace: Any, cpus: int) -> dict[str, int | float | None]:
    """Return ``goodput``, ``lost_cpu_s``, ``useful_share`` and ``checkpoint_cpu_s`` of a run on a cluster of `cpus`.

    ``goodput``: CPU-seconds of work of the jobs that COMPLETED, each second of it once, over what was available from
    the first submission to the last end. ``lost_cpu_s``: CPU-seconds of work that no checkpoint held when its run
    ended, and all work of jobs that did not complete. ``useful_share``: what goodput counts over all of
    the runs' CPU-seconds. ``checkpoint_cpu_s``: writing checkpoints and going on from them.
    """
    names = ("job_id", "cpus", "from_s", "work_s", "saved_s", "overhead_s")
    job, used, before, work, saved, overhead = trace.ints("checkpoints", *names)
    jobs = JobColumns.of(trace.read("jobs", NEEDED))
    (ids,) = trace.ints("jobs", "job_id")
    good = np.isin(job, ids[jobs.in_state(JobState.COMPLETED)])
    kept = int((used * (saved - before))[good].sum())
    allocated = int((used * (work + overhead)).sum())
    over = whole_interval(jobs.where(jobs.accepted))
    available = 0 if over is None else cpus * over.length_s - usage_series(trace, cpus)[1].integral(over)
    return {
        "goodput": kept / available if available > 0 else None,
        "lost_cpu_s": int((used * work).sum()) - kept,
        "useful_share": kept / allocated if allocated else None,
        "checkpoint_cpu_s": int((used * overhead).sum()),
    }
