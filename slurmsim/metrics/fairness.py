"""How alike users fared: Jain's index, and how far the slowdowns of users lie apart.

References
----------
R. Jain, D.-M. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared
Computer Systems, DEC-TR-301, 1984, equation 1.
"""

import numpy as np

from slurmsim.metrics.columns import JobColumns
from slurmsim.metrics.slowdown import bounded_slowdown
from slurmsim.metrics.wait import percentile
from slurmsim.trace.reader import Trace

NEEDED = ("submit", "start", "end", "cpus", "nodes", "state", "run_time_s")


def by_user(trace: Trace) -> dict[str, float | None]:
    """Return figures over the users' mean bounded slowdowns ``x``, of users with a finished job; None without any.

    ``jain_users``: ``(sum x)² / (n sum x²)``, 1 where all fare alike, 1/n where one of n bears it all.
    ``users_slowdown_spread``: the 90th percentile of ``x`` over the 10th.
    """
    jobs = JobColumns.of(trace.read("jobs", NEEDED))
    users, _ = trace.text("jobs", "user")
    done = jobs.finished
    if not done.any():
        return {"jain_users": None, "users_slowdown_spread": None}
    slowdowns = bounded_slowdown(jobs.end[done] - jobs.submit[done], jobs.run[done])
    counts = np.bincount(users[done])
    means = np.bincount(users[done], slowdowns)[counts > 0] / counts[counts > 0]
    low, high = percentile(means, 10), percentile(means, 90)
    assert low is not None and high is not None  # a bounded slowdown is at least 1
    return {
        "jain_users": float(means.sum() ** 2 / (len(means) * (means**2).sum())),
        "users_slowdown_spread": high / low,
    }
