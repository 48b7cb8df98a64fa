"""Utilization: how much of what was there was allocated, over which interval.

Measured in CPU-seconds, which on machines that hand out whole nodes of one size is the same ratio as the node-seconds
of the literature.

References
----------
D. G. Feitelson, L. Rudolph: Metrics and Benchmarking for Parallel Job Scheduling, JSSPP 1998, LNCS 1459.
E. Frachtenberg, D. G. Feitelson: Pitfalls in Parallel Job Scheduling Evaluation, JSSPP 2005, LNCS 3834
(why warm-up and drain are cut).
"""

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.metrics.columns import BoolArray, IntArray, JobColumns


@dataclass(frozen=True, slots=True)
class Interval:
    """Seconds ``[begin, end)``."""

    begin: int
    end: int

    @property
    def length_s(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class StepSeries:
    """A quantity that holds from each time to the next: ``value[i]`` on ``[time[i], time[i + 1])``, 0 before the first.

    `time` is int64, not decreasing; of equal times the last counts.
    """

    time: IntArray
    value: IntArray

    def integral(self, over: Interval) -> int:
        """Value times seconds, over an interval; the last value holds for ever."""
        if len(self.time) == 0 or over.length_s <= 0:
            return 0
        begin = np.clip(self.time, over.begin, over.end)
        end = np.append(begin[1:], over.end)
        return int(np.dot(self.value, end - begin))


def whole_interval(jobs: JobColumns) -> Interval | None:
    """``[first submit, last end)``, None when nothing ended.

    A job that was still running when the run stopped has no end and does not stretch the interval.
    """
    if not jobs.ended.any():
        return None
    return Interval(int(jobs.submit.min()), int(jobs.end[jobs.ended].max()))


def central_window(jobs: JobColumns, cut: float = 0.1) -> Interval | None:
    """Return the interval without warm-up and drain: between the submits of the first and last `cut` of the jobs.

    With submit times sorted ``s[0..n-1]`` it is ``[s[floor(cut (n-1))], s[ceil((1-cut) (n-1))])``. Counting in jobs
    and not in time keeps a lone early job from hiding the warm-up; ending before the last submit keeps the drain out,
    in which the machine empties because nothing arrives. When most jobs come at one instant that is empty, and the
    middle ``1 - 2 cut`` of the whole interval is taken. None when nothing ended.
    """
    whole = whole_interval(jobs)
    if whole is None:
        return None
    n = len(jobs)
    low, high = int(np.floor(cut * (n - 1))), int(np.ceil((1 - cut) * (n - 1)))
    ordered = np.partition(jobs.submit, [low, high])
    found = Interval(int(ordered[low]), min(int(ordered[high]), whole.end))
    if found.length_s > 0:
        return found
    edge = int(cut * whole.length_s)
    return Interval(whole.begin + edge, whole.end - edge)


def central_jobs(jobs: JobColumns) -> BoolArray:
    """Jobs submitted within the central window; all of them where that has none, as when all came at one instant."""
    window = central_window(jobs)
    found = np.ones(len(jobs), bool)
    if window is not None:
        inside = (jobs.submit >= window.begin) & (jobs.submit < window.end)
        found = inside if inside.any() else found
    return found


def busy_cpu_seconds(jobs: JobColumns, over: Interval) -> int:
    """Allocated CPU-seconds within an interval: ``sum of c_j |[start_j, end_j) ∩ over|``, running jobs to its end.

    Of a job that was requeued only the last run is in the jobs table; the usage series has all of them.
    """
    start = np.clip(jobs.start[jobs.started], over.begin, over.end)
    end = np.where(jobs.ended, jobs.end, over.end)[jobs.started]
    return int(np.dot(jobs.cpus[jobs.started], np.maximum(np.minimum(end, over.end) - start, 0)))


def utilization(
    jobs: JobColumns,
    over: Interval | None,
    cpus: int,
    *,
    allocated: StepSeries | None = None,
    down: StepSeries | None = None,
) -> float | None:
    """Utilization ``U = allocated CPU-seconds / available CPU-seconds`` over an interval.

    Parameters
    ----------
    cpus
        CPUs of the cluster.
    allocated
        CPUs in use as a step series, counted instead of the jobs' last runs.
    down
        CPUs of nodes that no job could use, as a step series; they are not available.

    Returns
    -------
    float or None
        None over an empty interval, or when nothing was available.
    """
    if over is None or over.length_s <= 0:
        return None
    available = cpus * over.length_s - (down.integral(over) if down is not None else 0)
    if available <= 0:
        return None
    busy = allocated.integral(over) if allocated is not None else busy_cpu_seconds(jobs, over)
    return busy / available
