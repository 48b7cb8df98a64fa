"""``--test-only``: when and where a job would start if it were submitted now.

Mirrors job_start_data (job_mgr.c, 22.05): the future test with everybody who runs, and then the time that all pending
jobs of the partition with at least that priority need one after another, spread over the partition's CPUs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slurmsim.core.job import Job
from slurmsim.core.shape import NOT_AVAILABLE
from slurmsim.errors import SubmitError
from slurmsim.hostlist import compress
from slurmsim.model.submission import Submission

if TYPE_CHECKING:
    from slurmsim.slurmctld.engine import Engine


def will_run(engine: Engine, sub: Submission, shown: int) -> dict[str, Any]:
    """The answer to a submission that is only tested. Raises SubmitError."""
    c = engine.controller
    sub = replace(sub, array_job_id=None, array_task_id=None)  # of an array one task is tested
    partitions, shapes = c.state.compiled(sub)
    job = Job(sub, partitions, shapes, engine.now)
    if c.accounts is not None:
        c.accounts.admit(job)
    c.set_time_limit(job)
    if c.limits is not None:
        c.limits.admit(job)
    c.check_partition_limits(job)
    best: tuple[int, Any, Any] | None = None
    for partition, shape in zip(partitions, shapes, strict=True):
        if not c.selector.possible(shape):
            continue
        mask = partition.mask & c.table.up
        found = c.selector.future(shape, c.suspension.occupants(), engine.now, mask, exact=True)
        if found is not None and (best is None or found.start < best[0]):
            best = found.start, found, (partition, shape)
    if best is None:
        raise SubmitError(NOT_AVAILABLE)
    start, forecast, (partition, shape) = best
    priority = min(c.priority.submit(job, engine.now))
    ahead = 0
    for records in c.queue.jobs.values():
        for record in records:
            if record.partition is partition and record.priority >= priority:
                ahead += record.job.n_cpus * record.job.time_limit_s
    start = max(start, sub.begin or 0, engine.now) + ahead // max(partition.total_cpus, 1)
    now = c.selector.place(shape, c.table, partition.mask & c.table.up)
    nodes = (
        c.state.node_list(now)
        if now is not None
        else compress([c.table.names[i] for i in range(c.table.n) if forecast.nodes >> i & 1])
    )
    cpus = shape.min_cpus
    if now is not None:
        cpus = now.n_cpus
    elif shape.whole:
        cpus = sum(int(c.table.cpus[i]) for i in range(c.table.n) if forecast.nodes >> i & 1)
    return {
        "job_id": shown, "start_time": start, "proc_cnt": cpus,
        "node_list": nodes, "part_name": partition.name,
    }  # fmt: skip
