"""Rows of jobs that slurmctld has not told slurmdbd of yet, as releases before 24.11 have them.

Slurmctld tells of new jobs every five seconds since it is up. The first step of a job comes at once, and makes a row
with no more than its job, user and start. So does an end. Since 24.11 slurmctld makes the ids of rows itself, and
tells of a job at once. Without AccountingStorageHost in slurm.conf there is no slurmdbd, and rows are complete at once.
"""

from __future__ import annotations

from dataclasses import replace

from slurmsim.slurmctld.base.job_record import JobRecord
from slurmsim.states import JobState

PERIOD_S = 5


def told_at(since: int, up: int) -> int:
    """Return when slurmctld, up since `up`, tells of a job that it has since `since`.

    >>> [told_at(since, 100) for since in (100, 104, 105, 106)]
    [105, 105, 110, 110]
    """
    return since + PERIOD_S - (since - up) % PERIOD_S


def untold(record: JobRecord) -> JobRecord | None:
    """Return the row of a job of which slurmdbd knows steps or the end alone; None where it knows neither."""
    if not record.steps and not record.end:
        return None
    return replace(
        record, name="allocation", array_job_id=0, array_task_id=None, array_task_str=None, array_max_tasks=0, uid=0,
        gid=0, group="root", partition="", qos="Unknown", eligible=0,
        state=record.state if record.end else JobState.PENDING,
        start=record.start or record.end, time_limit=0, alloc_nodes=0, req_cpus=0, mem_cpu=None, mem_node=None,
        tres_req={}, tres_alloc=record.tres_alloc if record.end else {}, priority=0, flags=(), reason="None",
        constraints=None, asked={}, het=None,
    )  # fmt: skip
