"""CPUs slurmctld has found for jobs it could not start (job_ptr->total_cpus), by which it judges them from then on.

Backfill tries every job that may start, to know when it could. What it would get is remembered: a job with nodes of
its own has all their CPUs, one that shares takes whole cores with all their threads, and GPUs bring CPUs along
(DefCpuPerGPU). These count instead of the CPUs asked for in the size of the job, when its priority is next worked out
(priority_multifactor.c, set_priority_factors), and against limits where no nodes are free (select_nodes). A main pass
that found nodes for a job a limit held leaves the same behind.
The waiting tasks of an array are one record, so what was found for one of them counts for all.
Mirrors _job_test of src/plugins/select/cons_common/job_test.c (22.05) and its callers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slurmsim.core.accounting.controller_accounting import AccountingParts
    from slurmsim.core.placement.compiled_request import CompiledRequest
    from slurmsim.core.queue.priority import Basic, Multifactor
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.job_queue import Record
    from slurmsim.core.state.controller_state import ControllerState


class FoundCpus:
    """Who waits for backfill's first look.

    Parameters
    ----------
    state, accounting, plugin
        The parts that make `wanted` true: CPUs found matter to limits, or to a priority by size.
    """

    def __init__(self, state: ControllerState, accounting: AccountingParts, plugin: Basic | Multifactor) -> None:
        self.state, self._accounting, self._plugin = state, accounting, plugin
        # the jobs that wait in one record of slurmctld with a job, it among them
        self.record_of: Callable[[Job], Iterable[Job]] = _alone
        self.news: dict[int, int] = {}  # by job found since priorities were worked out: the CPUs that counted then
        self._waiting: dict[int, Job] | None = None  # made from the queue, so that no snapshot keeps it

    @property
    def waiting(self) -> dict[int, Job]:
        """Jobs in the queue that were not tried since they came or changed, by id; all of them at first.

        Jobs of whole nodes stay here if nodes differ, or if a job takes as many as there are: the CPUs found for them
        differ from plan to plan.
        """
        if self._waiting is None:
            jobs = [records[0].job for records in self.state.queue.jobs.values()] if self.wanted else []
            self._waiting = {job.id: job for job in jobs}
        return self._waiting

    @property
    def plans_count(self) -> bool:
        """True if a job in the queue has as many CPUs as its plan says."""
        return any(self._depends_on_plan(job.request) for job in self.waiting.values())

    @property
    def wanted(self) -> bool:
        """True if the CPUs found are read: by a priority by size, by limits, or by users of a live cluster."""
        by_size = bool(getattr(self._plugin, "w_size", 0))
        return by_size or self._accounting.limits is not None or self.state.spec.watched

    def came(self, job: Job) -> None:
        """Take note that `job` is in the queue."""
        if self.wanted and not job.tried_cpus:
            self.waiting[job.id] = job

    def altered(self, job: Job) -> None:
        """Take note that `job` asks for something else, of which the CPUs found before know nothing."""
        if self.wanted and job.queued and not self.state.event_driven:
            self.waiting[job.id] = job

    def still_counts(self, job: Job, n_cpus: int) -> None:
        """Take note that `job` is in the queue again with the priority it had, in which so many CPUs found count."""
        if n_cpus != job.tried_cpus:
            self.news[job.id] = n_cpus

    def left(self, job: Job) -> None:
        """Take note that `job` is in the queue no more."""
        self.news.pop(job.id, None)
        if self._waiting is not None:
            self._waiting.pop(job.id, None)

    def counted(self, job: Job) -> int:
        """Return the CPUs found that count in the priority of `job` as it was last worked out."""
        return self.news.get(job.id, job.tried_cpus)

    def cycle(self, looked_at: Callable[[Record], bool]) -> None:
        """Backfill has tried all records it has `looked_at`."""
        for job in list(self.waiting.values()):
            records = [record for record in self.state.queue.jobs[job.id] if looked_at(record)]
            if records:
                self.test(records[-1])

    def test(self, record: Record) -> None:
        """A test that asks when the record's job could start has found nodes for it."""
        if record.job.id in self.waiting:
            self.found(record.job, self._cpus_found(record))

    def found(self, job: Job, n_cpus: int) -> None:
        """Take note that a test found nodes with so many CPUs for `job`."""
        if job.tried_cpus == n_cpus and job.id not in self.waiting:
            return  # as for all of its record
        for one in self.record_of(job):
            if not self._depends_on_plan(one.request):
                self.waiting.pop(one.id, None)
            if one.tried_cpus != n_cpus:
                self.news.setdefault(one.id, one.tried_cpus)
                one.tried_cpus = n_cpus
                if one.queued:
                    self.state.queue.edited(one)

    def _cpus_found(self, record: Record) -> int:
        """Return what the record's job would get on nodes that are alike; else what it is planned on, or asks for."""
        job, request, table = record.job, record.request, self.state.table
        if self._depends_on_plan(request) and job.planned_nodes:
            return table.cpus_on(job.planned_nodes)
        if request.gres:
            return self.state.selector.cpus_when_empty(request)
        nodes = self.state.cluster.node_sets.of(request.candidates)
        each = nodes.cpus_alike if request.whole else nodes.grain_alike
        if not each:
            return request.told_cpus if request.charge == 1 else request.min_cpus
        n_units = max(-(-request.min_cpus // each), request.min_nodes * -(-request.least_cpus // each))
        if request.whole and request.tasks_per_node and request.n_tasks:
            n_units = max(n_units, -(-request.n_tasks // request.tasks_per_node))
        return n_units * each

    def _depends_on_plan(self, request: CompiledRequest) -> bool:
        """Return True if how many CPUs the job would get depends on how many nodes, or on which, it is planned."""
        return request.whole and (request.elastic or not self.state.cluster.node_sets.of(request.candidates).cpus_alike)


def _alone(job: Job) -> Iterable[Job]:
    return (job,)
