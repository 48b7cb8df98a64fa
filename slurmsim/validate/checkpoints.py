"""What jobs saved and lost, walked through interval by interval, from the runs and the workload alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.errors import WorkloadError
from slurmsim.states import RESIZING
from slurmsim.validate.columns import NULL, Table, stacked
from slurmsim.validate.report import ValidationReport

_KEYS = ("interval_s", "write_s", "restart_s")


@dataclass(frozen=True, slots=True)
class Saving:
    """How often jobs save their work, and what it costs, seconds."""

    interval_s: int
    write_s: int
    restart_s: int


def saving_facts(facts: Any, file: str) -> Saving | None:
    """Read the manifest's ``checkpoints``. Raises WorkloadError."""
    if facts is None:
        return None
    good = isinstance(facts, Mapping) and all(type(facts.get(key)) is int and facts[key] >= 0 for key in _KEYS)
    if not good or facts["interval_s"] < 1:
        expected = "seconds: " + ", ".join(_KEYS)
        raise WorkloadError("not what jobs save", file=file, field="checkpoints", expected=expected)
    return Saving(*(facts[key] for key in _KEYS))


def follow(saving: Saving, saved: int, ran: int, whole: int) -> tuple[int, int, int]:
    """Walk through a run of `ran` seconds from `saved` on; work done, work saved at the end, and time that was no work.

    `whole` is all the work of the job, `NULL` if it is unknown.
    """
    overhead = min(ran, saving.restart_s) if saved else 0
    left, cycle = max(0, ran - overhead), saving.interval_s + saving.write_s
    # whole rounds of work and a checkpoint at once: a run of years with one each second is no loop of years
    rounds = left // cycle
    if whole != NULL:
        rounds = min(rounds, max(0, whole - saved - 1) // saving.interval_s)
    done, left = rounds * saving.interval_s, left - rounds * cycle
    overhead += rounds * saving.write_s
    safe = saved + done
    done += (worked := min(left, saving.interval_s if whole == NULL else min(saving.interval_s, whole - safe)))
    if whole != NULL and saved + done >= whole:
        return done, whole, overhead + left - worked
    return done, safe, overhead + left - worked


def check_checkpoints(
    report: ValidationReport, saving: Saving, jobs: Table, requeued: Table, inputs: Table | None, told: Table
) -> None:
    """Judge every run: what ``checkpoints.parquet`` says of it, and that a job completes when all its work is done."""
    records = stacked(jobs, requeued)
    state = records.texts["state"]
    ran = (records.ints["start"] != NULL) & (records.ints["end"] != NULL) & ~state.mask((RESIZING,))
    check = report.new("checkpoints_kept", int(ran.sum()))
    work = _work(inputs)
    rows = {(int(job), int(start)): k for k, (job, start) in enumerate(_pairs(told))}
    if len(rows) != told.n:
        check.add("a run has two rows in checkpoints.parquet")
    order = np.lexsort((records.ints["start"], records.ints["job_id"]))
    saved: dict[int, int] = {}
    for row in order[ran[order]].tolist():
        job = int(records.ints["job_id"][row])
        start, run_time = int(records.ints["start"][row]), int(records.ints["run_time_s"][row])
        whole, before = work.get(job, NULL), saved.get(job, 0)
        done, safe, overhead = follow(saving, before, run_time, whole)
        saved[job] = safe
        at = rows.pop((job, start), None)
        if at is None:
            check.add(f"job {job}: its run from {start} has no row in checkpoints.parquet")
            continue
        if inputs is not None and job not in work:
            continue  # of a stream, which draws how long its jobs work
        for message in _differ(told, at, before, done, safe, overhead):
            check.add(f"job {job}, run from {start}: {message}")
        if row < jobs.n and state[row] == "COMPLETED" and whole != NULL and safe != whole:
            check.add(f"job {job} is COMPLETED with {safe} s of {whole} s of its work done")
    for job, start in rows:
        check.add(f"job {job}: checkpoints.parquet has a run from {start} that there was not")


def _work(inputs: Table | None) -> dict[int, int]:
    """How long each job of the workload works."""
    if inputs is None:
        return {}
    return dict(zip(inputs.ints["job_id"].tolist(), inputs.ints["run_time_s"].tolist(), strict=True))


def _pairs(told: Table) -> Iterator[tuple[int, int]]:
    return zip(told.ints["job_id"].tolist(), told.ints["start"].tolist(), strict=True)


def _differ(told: Table, at: int, before: int, done: int, safe: int, overhead: int) -> Iterator[str]:
    """Yield what a row says otherwise."""
    for name, value in (("from_s", before), ("work_s", done), ("saved_s", safe), ("overhead_s", overhead)):
        if int(told.ints[name][at]) != value:
            yield f"{name} is {told.ints[name][at]}, its times give {value}"


def saved_figures(told: Table, jobs: Table) -> dict[str, int]:
    """Recompute what the summary says of work."""
    state = dict(zip(jobs.ints["job_id"].tolist(), jobs.texts["state"].mask(("COMPLETED",)).tolist(), strict=True))
    lost = overhead = 0
    columns = ("job_id", "cpus", "from_s", "work_s", "saved_s", "overhead_s")
    for job, cpus, before, work, safe, more in zip(*(told.ints[name].tolist() for name in columns), strict=True):
        kept = safe - before if state.get(job) else 0
        lost, overhead = lost + cpus * (work - kept), overhead + cpus * more
    return {"lost_cpu_s": lost, "checkpoint_cpu_s": overhead}
