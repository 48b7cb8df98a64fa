"""``--test-only``: when and where a job would start if it were submitted now.

Mirrors job_start_data (job_scheduler.c, 22.05). The future test has what reservations leave, and the running jobs but
for those that the job may preempt. The time comes on top that all pending jobs of the partition with at least that
priority need one after another, spread over the partition's CPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmsim.core.placement.compiled_request import NOT_AVAILABLE
from slurmsim.core.queue.partition_limits import by_tier
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.reservations.access import INVALID, NOT_USABLE, OPEN
from slurmsim.core.reservations.nodes import BAD_TIME
from slurmsim.core.reservations.nodes import INVALID as INVALID_RESERVATION
from slurmsim.data_classes import dataclass, replace
from slurmsim.errors import SubmitError
from slurmsim.hostlist import compress
from slurmsim.model.submission import Submission
from slurmsim.protocol import Refusal
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.bitmap import Bitmap
    from slurmsim.core.placement.compiled_request import CompiledRequest
    from slurmsim.core.placement.selector import Forecast
    from slurmsim.core.records.allocation import Allocation
    from slurmsim.core.records.partition import Partition
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob

DISABLED = "Requested operation is presently disabled"
_REFUSALS = {NOT_USABLE: BAD_TIME, INVALID: INVALID_RESERVATION}


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a job would start: from `earliest` on by its begin time and reservations; `now` is what it gets at once."""

    partition: Partition
    request: CompiledRequest
    earliest: int
    now: Allocation | None
    forecast: Forecast
    preempts: tuple[int, ...]


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
    return _answer(cluster, job, min(controller.priority.submit(job, cluster.now)), shown)


def when_starts(cluster: LiveCluster, live: LiveJob) -> dict[str, Any]:
    """Return when and where a job that waits would start. Raises Refusal for one that does not; SubmitError."""
    if live.core.state != JobState.PENDING:
        raise Refusal(DISABLED, 2011)
    return _answer(cluster, live.core, live.core.priority, live.id)


def _answer(cluster: LiveCluster, job: Job, priority: int, shown: int) -> dict[str, Any]:
    found = _first(cluster, job, priority)
    start = max(found.forecast.start + _time_of_others(cluster, job, found.partition, priority), found.earliest)
    nodes, cpus = _place(cluster, found)
    return {
        "job_id": shown, "start_time": start, "proc_cnt": cpus, "node_list": nodes, "part_name": found.partition.name,
        "preemptee_job_id": list(found.preempts),
    }  # fmt: skip


def _first(cluster: LiveCluster, job: Job, priority: int) -> _Found:
    """Return what the first partition gives that could run `job`, by tier. Raises SubmitError, for the last of them."""
    why = NOT_AVAILABLE
    for partition, request in by_tier(job):
        found = _tested(cluster, job, partition, request, priority)
        if isinstance(found, _Found):
            return found
        why = found
    raise SubmitError(why)


def _tested(
    cluster: LiveCluster, job: Job, partition: Partition, request: CompiledRequest, priority: int
) -> _Found | str:
    """Return what one partition gives `job`, or why it gives nothing.

    Before 26.05 the first partition that the job names decides what it may preempt and what reservations mean to it.
    """
    controller = cluster.controller
    state, access, preemption = controller.state, controller.reservations.access, controller.preemption
    seen = partition if state.rules.tests_each_partition else job.partition
    own = job.reservations[0] if job.reservations else None
    record, limit = Record(job, seen, request, priority, False, own), job.time_limit_s
    left = access.examine(record, max(job.sub.begin or 0, cluster.now), limit, move=True)
    if left.verdict != OPEN:
        return _REFUSALS.get(left.verdict, NOT_AVAILABLE)
    within: Bitmap = partition.mask & state.table.up & left.nodes
    if not state.selector.possible(request) or request.required & ~within:
        return NOT_AVAILABLE
    trim = access.trimmer(record, left.start, limit)
    now = state.selector.place(request, state.table if trim is None else trim(state.table, 0), within)
    candidates = [] if preemption is None or now is not None else preemption.candidates(record)
    if preemption is not None and candidates:
        forecast = preemption.future(record, within, trim)
    else:
        running = state.holders.occupants()
        forecast = state.selector.future(request, running, cluster.now, within, exact=True, trim=trim)
    if forecast is None:
        return NOT_AVAILABLE
    preempts = tuple(other.id for other in candidates if other.nodes & forecast.nodes)
    return _Found(partition, request, left.start, now, forecast, preempts)


def _time_of_others(cluster: LiveCluster, job: Job, partition: Partition, priority: int) -> int:
    """Return the seconds that jobs ahead of `job` in `partition` need, over its CPUs (_delayed_job_start_time)."""
    ahead = 0
    for records in cluster.controller.state.queue.jobs.values():
        for record in records:
            if record.partition is partition and record.priority >= priority and record.job is not job:
                ahead += record.job.n_cpus * record.job.time_limit_s
    return ahead // max(partition.total_cpus, 1)


def _place(cluster: LiveCluster, found: _Found) -> tuple[str, int]:
    """Return names of the nodes that were found, and how many CPUs the job gets there."""
    state, now = cluster.controller.state, found.now
    if now is not None:
        return state.cluster.node_list(now), now.n_cpus
    table = state.table
    nodes = [node for node in range(table.n) if found.forecast.nodes >> node & 1]
    cpus = sum(int(table.cpus[node]) for node in nodes) if found.request.whole else found.request.min_cpus
    return compress([table.names[node] for node in nodes]), cpus
