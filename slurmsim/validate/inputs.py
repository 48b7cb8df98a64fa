"""Did the jobs run that the workload has? The run's jobs beside what was kept of the workload before it began."""

from __future__ import annotations

import numpy as np

from slurmsim.validate.columns import NULL, BoolArray, Table
from slurmsim.validate.report import ValidationReport
from slurmsim.validate.rows import UNLIMITED_S

_EQUAL = (("submit", "submit"), ("time_limit_s", "time_limit_s"), ("req_nodes", "nodes"), ("req_cpus", "cpus"))


def check_inputs(
    report: ValidationReport, jobs: Table, inputs: Table, edited: BoolArray, resized: BoolArray, *, saves: bool = False
) -> None:
    """Compare submit time, user, limit, size and run time of each job with the workload's.

    Parameters
    ----------
    jobs
        One row a job.
    inputs
        ``inputs.parquet``: what each job of the workload asked for, null where the run may choose.
    edited, resized
        Whether an event says that the job's limit, or its size, was changed, shape (n_jobs,).
    saves
        Jobs make checkpoints, which take time: `slurmsim.validate.checkpoints` judges how long they run.
    """
    check = report.new("inputs_unchanged", jobs.n)
    ids, known = jobs.ints["job_id"], inputs.ints["job_id"]
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known, ids, sorter=order)
    row = order[np.minimum(at, max(0, inputs.n - 1))] if inputs.n else np.zeros(jobs.n, np.int64)
    found = (known[row] == ids) if inputs.n else np.zeros(jobs.n, bool)
    strange = ~found & (jobs.ints["arrived"] == NULL)  # jobs of streams are made during the run
    check.flag(int(strange.sum()), (f"job {ids[k]} is not in the workload" for k in np.flatnonzero(strange)))
    row = row[found]
    refused = jobs.texts["state"].mask(("REFUSED",))[found]

    def compare(name: str, has: np.ndarray, asked: np.ndarray, judged: np.ndarray) -> None:
        wrong = np.flatnonzero(judged & (asked != NULL) & (has != asked))
        shown = (f"job {ids[found][k]}: {name} {has[k]}, in the workload {asked[k]}" for k in wrong)
        check.flag(len(wrong), shown)

    may = {"submit": ~refused, "time_limit_s": ~refused & ~edited[found]}
    for name, asked in _EQUAL:
        has = jobs.ints[name][found]
        if name == "time_limit_s":
            has = np.where(has == NULL, UNLIMITED_S, has)
            wanted = inputs.ints[asked][row]
            minutes = -(-wanted // 60) * 60  # as slurmctld keeps limits
            has = np.where((wanted != NULL) & (has == minutes), wanted, has)
        compare(name, has, inputs.ints[asked][row], may.get(name, ~refused & ~resized[found]))
    done = jobs.texts["state"].mask(("COMPLETED",))[found] & (jobs.ints["restarts"][found] == 0) & (not saves)
    compare("run_time_s", jobs.ints["run_time_s"][found], inputs.ints["run_time_s"][row], done & ~resized[found])
    users, asked_users = jobs.texts["user"], inputs.texts["user"]
    code_of = {value: code for code, value in enumerate(asked_users.values)}
    codes = np.array([code_of.get(value, -1) for value in users.values], np.int64)[users.codes[found]]
    other = np.flatnonzero(codes != asked_users.codes[row])
    check.flag(len(other), (f"job {ids[found][k]}: user {users[np.flatnonzero(found)[k]]!r}, in the workload "
                            f"{asked_users[row[k]]!r}" for k in other))  # fmt: skip
