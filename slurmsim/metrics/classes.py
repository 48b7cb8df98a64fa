"""Figures by class of job, length times size: a mean over all says nothing of who waits.

The four classes are those of S. Srinivasan, R. Kettimuthu, V. Subramani, P. Sadayappan, "Characterization of
backfilling strategies for parallel job scheduling", ICPP Workshops 2002: short or long, narrow or wide, with an hour
and 8 of the 430 processors of their machine as bounds; here 2 % of the cluster's CPUs. They go by what a job asks for,
which is the same under every policy. Warm-up and cool-down are cut as they are for the utilization.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slurmsim.metrics.columns import JobColumns
from slurmsim.metrics.slowdown import bounded_slowdown
from slurmsim.metrics.summary import waits_so_far
from slurmsim.metrics.utilization import central_jobs
from slurmsim.metrics.wait import mean
from slurmsim.states import REFUSED
from slurmsim.trace.columns import NULL
from slurmsim.trace.reader import Trace

CLASSES = ("short_narrow", "short_wide", "long_narrow", "long_wide")
SHORT_S, NARROW = 3600, 0.02


def class_codes(asked: npt.NDArray[np.int64], limit: npt.NDArray[np.int64], cpus: int) -> npt.NDArray[np.int64]:
    """Index into `CLASSES` of jobs that asked for so many CPUs and seconds, on a cluster of `cpus`."""
    long = (limit > SHORT_S) | (limit == NULL)
    wide = asked > max(1.0, NARROW * cpus)
    found: npt.NDArray[np.int64] = (2 * long + wide).astype(np.int64)
    return found


def by_class(trace: Trace, cpus: int) -> dict[str, float | int | None]:
    """Of the jobs submitted in the central window, and of each class of them, how they fared.

    Keys are ``mean_wait_central_s`` (waits so far) and ``mean_bounded_slowdown_central``, and of the classes
    ``short_narrow_jobs``, ``short_narrow_wait_s``, ``short_narrow_slowdown`` and so on; means of nothing are None.
    `cpus` are those of the cluster. Refused submissions are in none.
    """
    columns = JobColumns.of(trace.read("jobs", ("submit", "start", "end", "cpus", "nodes", "state", "run_time_s")))
    asked, limit = trace.ints("jobs", "req_cpus", "time_limit_s")
    accepted = ~columns.in_state(REFUSED)
    columns, asked, limit = columns.where(accepted), asked[accepted], limit[accepted]
    codes = class_codes(asked, limit, cpus)
    (seen,) = trace.ints("usage", "time")
    waits = waits_so_far(columns, int(seen[-1]) if len(seen) else None)
    done = columns.finished
    slowdowns = np.full(len(waits), np.nan)
    slowdowns[done] = bounded_slowdown(columns.end[done] - columns.submit[done], columns.run[done])
    central = central_jobs(columns)
    found: dict[str, float | int | None] = {
        "mean_wait_central_s": mean(waits[central]), "mean_bounded_slowdown_central": mean(slowdowns[central & done]),
    }  # fmt: skip
    for number, name in enumerate(CLASSES):
        of = central & (codes == number)
        found |= {
            f"{name}_jobs": int(of.sum()), f"{name}_wait_s": mean(waits[of]),
            f"{name}_slowdown": mean(slowdowns[of & done]),
        }  # fmt: skip
    return found
