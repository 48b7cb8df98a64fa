"""Replicates of a log by jitter: the same jobs, submitted a little earlier or later."""

import numpy as np

from slurmsim.workload import Workload


def jittered(workload: Workload, jitter_s: int, seed: int) -> Workload:
    """Return `workload` with each submit time moved by up to `jitter_s` seconds; times that hang on it move along."""
    rng = np.random.default_rng(seed)
    n = len(workload)
    submit = workload.ints["submit"]
    moved = submit + rng.integers(-jitter_s, jitter_s, n, endpoint=True)
    if n:
        moved = np.maximum(moved, submit.min())  # no job comes before the log begins
    # the tasks of an array were submitted together
    arrays = workload.ints["array_job_id"]
    tasks = np.flatnonzero(arrays != -1)
    if len(tasks):
        _, head, which = np.unique(arrays[tasks], return_index=True, return_inverse=True)
        moved[tasks] = submit[tasks] + (moved - submit)[tasks[head]][which]
    ints = dict(workload.ints)
    shift = moved - submit
    ints["submit"] = moved
    cancel = ints["cancel_at"]
    ints["cancel_at"] = np.where(cancel == -1, -1, cancel + shift)
    return Workload(ints, workload.texts, workload.header, workload.quality).sorted()
