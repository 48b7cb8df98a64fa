"""Turns what the controller notes into trace rows. Anything with ``append`` may stand for the writer's sinks.

The cells of a row of jobs are given by column name and put into the order of `slurmsim.trace.schema.JOBS`, so a cell
can neither be in another's place nor be forgotten. So a row costs 5.5 µs, against 3.5 as a bare tuple; a job takes 75
and more. Rows of events and usage come from the core in the order of the schema.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.job import ONE_YEAR_S, Job
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.states import REFUSED
from slurmsim.trace.schema import JOBS

Asked = tuple[int, int, int, int | None]
Append = Callable[[tuple[Any, ...]], None]
in_order: Callable[[dict[str, Any]], tuple[Any, ...]] = itemgetter(*JOBS)


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
        for totals in c.state.usage.rows(now):
            append(totals)
        self._turns += 1
        if self._turns & 255 == 0:
            self.drain()
            if self._flush is not None:
                self._flush()

    def drain(self) -> None:
        """Hand on the events the controller has noted."""
        assert self.controller is not None
        events, append = self.controller.state.events, self._events
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
        nodes, cpus, gpus, memory = self._amounts(sub.request)
        limit, task, now = sub.time_limit_s, sub.array_task_id, self.controller.state.now
        self._jobs(in_order({
            "job_id": sub.job_id, "array_job_id": sub.array_job_id if task is not None else None,
            "array_task_id": task, "name": sub.name, "user": sub.user, "account": sub.account,
            "partition": ",".join(sub.partitions), "qos": sub.qos,
            "nodes": nodes, "cpus": cpus, "gpus": gpus, "mem_mib": memory or 0,
            "cpus_per_node": "", "mem_per_node_mib": "", "gres_per_node": "",
            "req_nodes": nodes, "req_cpus": cpus, "req_gpus": gpus, "req_mem_mib": memory,
            "time_limit_s": None if limit == ONE_YEAR_S else limit,
            "submit": now, "last_submit": now, "begin": sub.begin, "eligible": None, "start": None, "end": None,
            "state": REFUSED, "exit_code": "0:0", "node_list": "", "reason": text, "priority": 0, "restarts": 0,
            "run_time_s": None, "wait_s": None, "scheduler": "", "held_since": None,
            "reservation": sub.reservation, "licenses": sub.licenses,
        }))  # fmt: skip

    def unfinished(self) -> None:
        """Rows of what is still running or pending, by job id, when the run stops early."""
        assert self.controller is not None
        self.drain()
        for job_id in sorted(self.controller.state.jobs):
            self._jobs(self._row(self.controller.state.jobs[job_id]))

    def _amounts(self, request: ResourceRequest) -> Asked:
        """`asked_for` of a request, remembered."""
        known = self._asked.get(id(request))
        if known is None:
            known = self._asked[id(request)] = request, asked_for(request)
        return known[1]

    def _row(self, job: Job) -> tuple[Any, ...]:
        c = self.controller
        assert c is not None
        state = c.state.cluster
        alloc, start, end, submit = job.alloc, job.start_time, job.end_time, job.first_submit
        task = job.sub.array_task_id
        if alloc is not None:
            cpus, mem = state.cpus_per_node(alloc), state.mem_per_node(alloc)
            gres = state.gres_per_node(alloc) if alloc.gres else ""
            nodes = state.node_list(alloc)
            memory = alloc.mem * alloc.n_nodes if isinstance(alloc.mem, int) else int(alloc.mem.sum())
            gpus = c.state.usage.gpus_of(job) if alloc.gres else 0
            where = job.partition.name
        else:
            cpus = mem = gres = nodes = ""
            memory, gpus = job.shape.memory_asked, job.shape.gpus_asked
            where = ",".join(p.name for p in job.partitions) if job.start_time is None else job.partition.name
        req_nodes, req_cpus, req_gpus, req_memory = self._amounts(job.sub.request)
        unlimited = job.time_limit_s == ONE_YEAR_S
        run_time = end - start - job.suspended_s if start is not None and end is not None else None
        return in_order({
            "job_id": job.id, "array_job_id": job.array_key if task is not None else None, "array_task_id": task,
            "name": job.name, "user": job.user, "account": job.account, "partition": where, "qos": job.qos,
            "nodes": job.n_nodes, "cpus": job.n_cpus, "gpus": gpus, "mem_mib": memory,
            "cpus_per_node": cpus, "mem_per_node_mib": mem, "gres_per_node": gres,
            "req_nodes": req_nodes, "req_cpus": req_cpus, "req_gpus": req_gpus, "req_mem_mib": req_memory,
            "time_limit_s": None if unlimited else job.time_limit_s,
            "submit": submit, "last_submit": job.submit_time, "begin": job.begin, "eligible": job.eligible_time,
            "start": start, "end": end, "state": job.state, "exit_code": job.exit_code, "node_list": nodes,
            "reason": job.reason, "priority": job.priority, "restarts": job.restarts, "run_time_s": run_time,
            "wait_s": start - submit if start is not None else None, "scheduler": job.scheduler,
            "held_since": job.held_since, "reservation": job.reservation_name,
            "licenses": _licenses(job) if job.licenses else "",
        })  # fmt: skip


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
