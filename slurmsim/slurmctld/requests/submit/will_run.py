"""``--test-only``: when and where a job would start if it were submitted now.

Mirrors job_start_data (job_mgr.c, 22.05): the future test with all running jobs, and then the time that all pending
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
    from slurmsim.slurmctld.base.live_cluster import LiveCluster


def will_run(cluster: LiveCluster, sub: Submission, shown: int) -> dict[str, Any]:
    """Return the answer to a submission that is only tested. Raises SubmitError."""
    controller = cluster.controller
    sub = replace(sub, array_job_id=None, array_task_id=None)  # of an array one task is tested
    partitions, requests = controller.state.cluster.compiled(sub)
    job = Job(sub, partitions, requests, cluster.now)
    if controller.accounting.accounts is not None:
        controller.accounting.accounts.admit(job, controller.state.rules)
    controller.waiting.set_time_limit(job)
    if controller.accounting.limits is not None:
        controller.accounting.limits.admit(job)
    controller.partition_limits.check_partition_limits(job)
    controller.admission.test_wishes(job)
    best: tuple[int, Any, Any] | None = None
    for partition, request in zip(partitions, requests, strict=True):
        if not controller.state.selector.possible(request):
            continue
        mask = partition.mask & controller.state.table.up
        found = controller.state.selector.future(
            request, controller.state.holders.occupants(), cluster.now, mask, exact=True
        )
        if found is not None and (best is None or found.start < best[0]):
            best = found.start, found, (partition, request)
    if best is None:
        raise SubmitError(NOT_AVAILABLE)
    start, forecast, (partition, request) = best
    priority = min(controller.priority.submit(job, cluster.now))
    ahead = 0
    for records in controller.state.queue.jobs.values():
        for record in records:
            if record.partition is partition and record.priority >= priority:
                ahead += record.job.n_cpus * record.job.time_limit_s
    start = max(start, sub.begin or 0, cluster.now) + ahead // max(partition.total_cpus, 1)
    now = controller.state.selector.place(request, controller.state.table, partition.mask & controller.state.table.up)
    nodes = (
        controller.state.cluster.node_list(now)
        if now is not None
        else compress(
            [controller.state.table.names[i] for i in range(controller.state.table.n) if forecast.nodes >> i & 1]
        )
    )
    cpus = request.min_cpus
    if now is not None:
        cpus = now.n_cpus
    elif request.whole:
        cpus = sum(
            int(controller.state.table.cpus[i]) for i in range(controller.state.table.n) if forecast.nodes >> i & 1
        )
    return {
        "job_id": shown, "start_time": start, "proc_cnt": cpus,
        "node_list": nodes, "part_name": partition.name,
    }  # fmt: skip
