"""Turns what the controller notes into trace rows. Anything with ``append`` may stand for the writer's sinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slurmsim.core.controller import Controller
from slurmsim.core.job import ONE_YEAR_S, Job
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.states import REFUSED

Asked = tuple[int, int, int, int | None]
Append = Callable[[tuple[Any, ...]], None]


class Recorder:
    """Rows of jobs, events and usage for one simulation (columns: `slurmsim.trace.schema`).

    Parameters
    ----------
    controller
        Whose state is recorded; set by `attach` once the simulation exists.
    jobs, events, usage, requeued
        Where rows go.
    flush
        Called after every turn, for writers that batch.
    """

    def __init__(
        self, jobs: Append, events: Append, usage: Append, requeued: Append, flush: Callable[[], None] | None = None
    ) -> None:
        self._jobs, self._events, self._usage, self._requeued = jobs, events, usage, requeued
        self._flush = flush
        # by identity, with the request to keep it alive: the driver shares equal ones, and hashing one is dear
        self._asked: dict[int, tuple[ResourceRequest, Asked]] = {}
        self.controller: Controller | None = None
        self.n_finished = 0
        self._turns = 0

    def attach(self, controller: Controller) -> None:
        """Record this controller."""
        self.controller = controller

    def turn(self, now: int) -> None:
        """After a turn: take its events and the totals it changed."""
        c = self.controller
        assert c is not None
        append = self._usage
        for totals in c.usage.rows(now):
            append(totals)
        self._turns += 1
        if self._turns & 255 == 0:
            self.drain()
            if self._flush is not None:
                self._flush()

    def drain(self) -> None:
        """Hand on the events the controller has noted."""
        assert self.controller is not None
        events, append = self.controller.events, self._events
        for row in events:
            append(row)
        events.clear()

    def finished(self, job: Job) -> None:
        """The row of a job that reached its final state."""
        self.n_finished += 1
        self._jobs(self._row(job))

    def requeued(self, run: Job) -> None:
        """The row of a run that ended in a requeue, or of a size that ended in a resize."""
        if run.start_time is not None and run.held_since is not None and run.held_since > run.start_time:
            run.start_time = run.held_since  # its present size began later
        self._requeued(self._row(run))

    def refused(self, sub: Submission, text: str) -> None:
        """The row of a submission that never became a job; `text` is Slurm's message."""
        assert self.controller is not None
        asked = self._amounts(sub.request)
        nodes, cpus, gpus, memory = asked
        limit, task = sub.time_limit_s, sub.array_task_id
        self._jobs((
            sub.job_id, sub.array_job_id if task is not None else None, task, sub.name, sub.user, sub.account,
            ",".join(sub.partitions), sub.qos, nodes, cpus, gpus, memory or 0, "", "", "", *asked,
            None if limit == ONE_YEAR_S else limit, self.controller.now, self.controller.now, sub.begin, None, None,
            None, REFUSED, "0:0", "", text, 0, 0, None, None, "", None, sub.reservation, sub.licenses,
        ))  # fmt: skip

    def unfinished(self) -> None:
        """Rows of what is still running or pending, by job id, when the run stops early."""
        assert self.controller is not None
        self.drain()
        for job_id in sorted(self.controller.jobs):
            self._jobs(self._row(self.controller.jobs[job_id]))

    def _amounts(self, request: ResourceRequest) -> Asked:
        """Columns req_nodes, req_cpus, req_gpus and req_mem_mib of a request."""
        known = self._asked.get(id(request))
        if known is None:
            known = self._asked[id(request)] = request, asked_for(request)
        return known[1]

    def _row(self, job: Job) -> tuple[Any, ...]:
        c = self.controller
        assert c is not None
        state = c.state
        alloc, start, end, submit = job.alloc, job.start_time, job.end_time, job.first_submit
        task = job.sub.array_task_id
        if alloc is not None:
            cpus, mem = state.cpus_per_node(alloc), state.mem_per_node(alloc)
            gres = state.gres_per_node(alloc) if alloc.gres else ""
            nodes = state.node_list(alloc)
            memory = alloc.mem * alloc.n_nodes if isinstance(alloc.mem, int) else int(alloc.mem.sum())
            gpus = c.usage.gpus_of(job) if alloc.gres else 0
            where = job.partition.name
        else:
            cpus = mem = gres = nodes = ""
            memory, gpus = job.shape.memory_asked, job.shape.gpus_asked
            where = ",".join(p.name for p in job.partitions) if job.start_time is None else job.partition.name
        unlimited = job.time_limit_s == ONE_YEAR_S
        run_time = end - start - job.suspended_s if start is not None and end is not None else None
        return (
            job.id, job.array_key if task is not None else None, task, job.name, job.user, job.account, where, job.qos,
            job.n_nodes, job.n_cpus, gpus, memory, cpus, mem, gres, *self._amounts(job.sub.request),
            None if unlimited else job.time_limit_s, submit, job.submit_time, job.begin, job.eligible_time, start, end,
            job.state, job.exit_code, nodes, job.reason, job.priority, job.restarts,
            run_time, start - submit if start is not None else None, job.scheduler, job.held_since,
            job.reservation_name, _licenses(job) if job.licenses else "",
        )  # fmt: skip


def _licenses(job: Job) -> str:
    """As ``-L`` takes them."""
    return ",".join([f"{name}:{count}" for name, count in job.licenses])


def asked_for(request: ResourceRequest) -> Asked:
    """Nodes, CPUs, GPUs and memory in MiB that a request names; no memory when it names none, or all of each node."""
    gpus = sum(g.count * _SCOPES[g.scope](request) for g in request.gres if g.name == "gpu")
    memory = (request.mem_per_node_mib or 0) * request.min_nodes or (request.mem_per_cpu_mib or 0) * request.min_cpus
    return request.min_nodes, request.min_cpus, gpus, memory or None


_SCOPES: dict[str, Callable[[ResourceRequest], int]] = {
    "node": lambda request: request.min_nodes,
    "task": lambda request: request.tasks,
    "job": lambda request: 1,
}
