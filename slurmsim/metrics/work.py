"""What the time and the energy of a machine went into: work that is done, and work that is lost."""

import numpy as np

from slurmsim.metrics.columns import JobColumns
from slurmsim.metrics.saved_work import of_checkpoints
from slurmsim.metrics.summary import usage_series
from slurmsim.metrics.utilization import Interval, StepSeries, whole_interval
from slurmsim.states import RESIZING, JobState
from slurmsim.trace.reader import Trace

OF_RUNS = ("goodput", "lost_cpu_s", "useful_share", "checkpoint_cpu_s")
"""What the summary of every run has of them; the last one where jobs make checkpoints."""
NEEDED = ("submit", "start", "end", "cpus", "nodes", "state", "run_time_s")


def of_trace(trace: Trace, cpus: int) -> dict[str, float | int | None]:
    """Work and energy of a run on a cluster of `cpus`.

    ``offered_load``: CPU-seconds of the last runs of jobs over what the cluster has between first and last submission.
    ``goodput``: CPU-seconds of the jobs that COMPLETED, over what was available from the first submission to the last
    end; `utilization` counts the lost ones as well. ``lost_cpu_s``: CPU-seconds of runs that did not complete their
    job: those that ended in a requeue, and last ones that ended in another state. ``useful_share``: the others, over
    the CPU-seconds of all runs. ``energy_j``: joules of all nodes,
    with jobs and without, where the run knows power; else None. Where jobs make checkpoints goodput and loss are those
    of `slurmsim.metrics.saved_work`.
    """
    jobs = JobColumns.of(trace.read("jobs", NEEDED))
    earlier = JobColumns.of(trace.read("requeued", NEEDED))
    ran = jobs.started & jobs.ended
    last = np.where(ran, jobs.cpus * jobs.run, 0)
    span = int(np.ptp(jobs.submit)) if len(jobs) else 0
    completed = jobs.in_state(JobState.COMPLETED)
    resized = earlier.in_state(RESIZING)
    work = earlier.cpus * earlier.run
    (owner,), (ids,) = trace.ints("requeued", "job_id"), trace.ints("jobs", "job_id")
    of_completed = np.isin(owner, ids[completed])
    good = int(last[completed].sum()) + int(work[resized & of_completed].sum())
    saves = (trace.path / "checkpoints.parquet").exists()
    accepted = jobs.where(jobs.accepted)
    available = _available(trace, whole_interval(accepted), cpus)
    allocated = int(last.sum()) + int(work.sum())
    return {
        "offered_load": float(last.sum()) / (cpus * span) if span else None,
        "goodput": good / available if available > 0 else None,
        "lost_cpu_s": allocated - good,
        "useful_share": good / allocated if allocated else None,
        "energy_j": energy_j(trace),
        **(of_checkpoints(trace, cpus) if saves else {}),
    }


def _available(trace: Trace, over: Interval | None, cpus: int) -> int:
    """CPU-seconds of nodes that were not down."""
    if over is None:
        return 0
    down = usage_series(trace, cpus)[1]
    return cpus * over.length_s - down.integral(over)


def energy_j(trace: Trace) -> int | None:
    """Joules from the first to the last row of the usage series; None in runs without power."""
    if not (trace.path / "phases.parquet").exists():
        return None
    time, drawn, idle = trace.ints_where("usage", ("time", "drawn_mw", "idle_mw"), "partition", "", null=0)
    if not len(time):
        return 0
    return round(StepSeries(time, drawn + idle).integral(Interval(int(time[0]), int(time[-1]))) / 1000)
