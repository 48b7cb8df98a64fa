"""Accounting as it was a while ago: what a database that lags behind slurmctld tells of a job."""

from dataclasses import replace

from slurmsim.slurmctld.base.job_record import JobRecord
from slurmsim.slurmctld.base.step import Step
from slurmsim.states import JobState


def as_of(record: JobRecord, then: float) -> JobRecord | None:
    """Return the row of a run as the database had it at the instant `then`; None where it had none.

    >>> from types import SimpleNamespace
    >>> as_of(SimpleNamespace(submit=10), 9.5) is None
    True
    """
    if record.submit > then:
        return None
    over = bool(record.end) and record.end <= then
    if over or not (record.start or record.end):
        return record
    if not record.start or record.start > then:
        return replace(
            record, state=JobState.PENDING, start=0, end=0, exit_code=0, derived_ec=0, killed_by=None,
            nodes="None assigned", alloc_nodes=0, tres_alloc={}, flags=(), steps=[], first_cpus=0, first_mem=0,
        )  # fmt: skip
    steps = [_step_as_of(step, then) for step in record.steps if step.start <= then]
    if not record.end:
        return replace(record, steps=steps)
    tres = {name: count for name, count in record.tres_alloc.items() if name != "energy"}  # told at the end
    return replace(
        record, state=JobState.RUNNING, end=0, exit_code=0, derived_ec=0, killed_by=None, tres_alloc=tres, steps=steps
    )


def _step_as_of(step: Step, then: float) -> Step:
    if step.end is None or step.end <= then:
        return step
    return replace(step, state=JobState.RUNNING, end=None, exit_code=0, cancelled_by=None, supposed=False)
