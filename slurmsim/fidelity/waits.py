"""Waits of a log's jobs: those it recorded, and those of a replay, on one order of jobs."""

import tempfile
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from slurmsim.fidelity.grade import Floats
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.replay import execute
from slurmsim.trace.columns import NULL
from slurmsim.trace.reader import Trace, read_trace
from slurmsim.workload import Workload

Ids = npt.NDArray[np.int64]


def logged_waits(workload: Workload) -> Floats:
    """Seconds each job of a log waited, NaN where it has no start."""
    start, submit = workload.ints["log_start"], workload.ints["submit"]
    return np.where(start == -1, np.nan, (start - submit).astype(np.float64))


def waits_of(trace: Trace) -> tuple[Ids, Floats]:
    """Job ids and waits of a replay; NaN for jobs that did not start."""
    ids, wait = trace.ints("jobs", "job_id", "wait_s")
    return ids, np.where(wait == NULL, np.nan, wait.astype(np.float64))


def on(order: Ids, ids: Ids, values: Floats) -> Floats:
    """`values` of `ids` in the order of `order`; NaN for jobs that are not among them."""
    found = np.full(len(order), np.nan)
    _, a, b = np.intersect1d(order, ids, assume_unique=True, return_indices=True)
    found[a] = values[b]
    return found


def replay_waits(options: RunOptions) -> tuple[Ids, Floats]:
    """Return job ids and waits of one run; its trace is not kept and its `out` not used. Raises SlurmSimError."""
    with tempfile.TemporaryDirectory(prefix="slurmsim-") as folder:
        made, _, interrupted = execute(prepare(replace(options, out=folder + "/run")), report=False)
        if interrupted:
            raise KeyboardInterrupt
        return waits_of(read_trace(made))
