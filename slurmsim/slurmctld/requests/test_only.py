"""``--test-only``: when and where a job would start if it were submitted now.

Mirrors job_start_data (job_mgr.c, 22.05): the future test with everybody who runs, and then the time that all pending
jobs of the partition with at least that priority need one after another, spread over the partition's CPUs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slurmsim.core.placement.compiled_request import NOT_AVAILABLE
from slurmsim.core.records.job import Job
from slurmsim.errors import SubmitError
from slurmsim.hostlist import compress
from slurmsim.model.submission import Submission

if TYPE_CHECKING:
    from slurmsim.slurmctld.engine.live_cluster import LiveCluster


def will_run(engine: LiveCluster, sub: Submission, shown: int) -> dict[str, Any]:
    """The answer to a submission that is only tested. Raises SubmitError."""
    c = engine.controller
    sub = replace(sub, array_job_id=None, array_task_id=None)  # of an array one task is tested
    partitions, shapes = c.state.cluster.compiled(sub)
    job = Job(sub, partitions, shapes, engine.now)
    if c.accounting.accounts is not None:
        c.accounting.accounts.admit(job)
    c.waiting.set_time_limit(job)
    if c.accounting.limits is not None:
        c.accounting.limits.admit(job)
    c.partition_limits.check_partition_limits(job)
    best: tuple[int, Any, Any] | None = None
    for partition, shape in zip(partitions, shapes, strict=True):
        if not c.state.selector.possible(shape):
            continue
        mask = partition.mask & c.state.table.up
        found = c.state.selector.future(shape, c.state.occupants(), engine.now, mask, exact=True)
        if found is not None and (best is None or found.start < best[0]):
            best = found.start, found, (partition, shape)
    if best is None:
        raise SubmitError(NOT_AVAILABLE)
    start, forecast, (partition, shape) = best
    priority = min(c.priority.submit(job, engine.now))
    ahead = 0
    for records in c.state.queue.jobs.values():
        for record in records:
            if record.partition is partition and record.priority >= priority:
                ahead += record.job.n_cpus * record.job.time_limit_s
    start = max(start, sub.begin or 0, engine.now) + ahead // max(partition.total_cpus, 1)
    now = c.state.selector.place(shape, c.state.table, partition.mask & c.state.table.up)
    nodes = (
        c.state.cluster.node_list(now)
        if now is not None
        else compress([c.state.table.names[i] for i in range(c.state.table.n) if forecast.nodes >> i & 1])
    )
    cpus = shape.min_cpus
    if now is not None:
        cpus = now.n_cpus
    elif shape.whole:
        cpus = sum(int(c.state.table.cpus[i]) for i in range(c.state.table.n) if forecast.nodes >> i & 1)
    return {
        "job_id": shown, "start_time": start, "proc_cnt": cpus,
        "node_list": nodes, "part_name": partition.name,
    }  # fmt: skip
