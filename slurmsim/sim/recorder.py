"""Turns what the controller notes into trace rows. Any list may stand for the writer's sinks.

A row of jobs is a tuple of local variables, each with the name of its column, in the order of
`slurmsim.trace.schema.JOBS`; a test reads them, so a cell can neither be in another's place nor be forgotten. (A dict
put into order costs 2 µs a row more, 4 % of a job under EASY.) Rows of events and usage come from the core in the order
of the schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from slurmsim.core.controller.controller import Controller
from slurmsim.core.occupancy.watts import Watts
from slurmsim.core.records.job import ONE_YEAR_S, Job
from slurmsim.core.records.node_names import run_length
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.sim.listener import Listener
from slurmsim.states import REFUSED

Asked = tuple[int, int, int, int | None]
Append = Callable[[tuple[Any, ...]], None]
Extend = Callable[[list[Any]], None]


class Recorder(Listener):
    """Rows of jobs, events and usage for one simulation (columns: `slurmsim.trace.schema`).

    Parameters
    ----------
    controller
        The controller with the state to record; set by `attach` once it exists.
    jobs, requeued
        Where a row goes.
    events, usage
        Where rows go, some at a time.
    phases
        The same in a run that knows of power; then the other rows have the columns of `schema.POWER`, too.
    flush
        Called every 256 turns, for writers that batch and for displays of progress.
    """

    def __init__(
        self, jobs: Append, events: Extend, usage: Extend, requeued: Append, flush: Callable[[], None] | None = None,
        phases: Append | None = None,
    ) -> None:  # fmt: skip
        self._jobs, self._events, self._usage, self._requeued = jobs, events, usage, requeued
        self._flush, self._phases = flush, phases
        self._watts: Watts | None = None
        # by identity, with the request to keep it alive: the driver shares equal ones, and hashing one is dear
        self._asked: dict[int, tuple[ResourceRequest, Asked]] = {}
        self._arrived: dict[int, int] = {}  # jobs of streams that have no last row yet
        self.controller: Controller | None = None
        self._turns = 0

    def attach(self, controller: Controller) -> None:
        """Record this controller."""
        self.controller = controller
        if self._phases is not None:
            self._watts = controller.watts

    def turn(self, now: int) -> None:
        """After a turn: take its events and the totals it changed."""
        c = self.controller
        assert c is not None
        rows = c.state.usage.rows(now)
        if self._watts is not None and rows:
            power = _watts_of(self._watts)
            rows = [totals + (_NO_WATTS if totals[1] else power) for totals in rows]
        if rows:
            self._usage(rows)
        self._turns += 1
        if self._turns & 255 == 0:
            self.drain()
            if self._flush is not None:
                self._flush()

    def drain(self) -> None:
        """Hand on the events the controller has noted."""
        assert self.controller is not None
        events = self.controller.state.events
        self._events(events)
        events.clear()
        if self._watts is not None and self._phases is not None:
            for phase in self._watts.phases:
                self._phases(phase)
            self._watts.phases.clear()

    def finished(self, job: Job) -> None:
        """Write the row of a job that reached its final state."""
        self._last_row(job)

    def arrived(self, job_id: int, at: int) -> None:
        """Remember it for the rows of that job."""
        self._arrived[job_id] = at

    def _last_row(self, job: Job) -> None:
        watts = self._watts
        if watts is None:
            self._jobs(self._row(job))
        else:
            self._jobs((*self._row(job), watts.taken_joules(job.id)))
        self._arrived.pop(job.id, None)

    def requeued(self, run: Job) -> None:
        """Write the row of a run that ended in a requeue, or of a size that ended in a resize."""
        if run.start_time is not None and run.held_since is not None and run.held_since > run.start_time:
            run.start_time = run.held_since  # its present size began later
        self._requeued(self._row(run))

    def refused(self, sub: Submission, text: str) -> None:
        """Write the row of a submission that never became a job; `text` is Slurm's message."""
        assert self.controller is not None
        req_nodes, req_cpus, req_gpus, req_mem_mib = self._amounts(sub.request)
        nodes, cpus, gpus, mem_mib = req_nodes, req_cpus, req_gpus, req_mem_mib or 0
        job_id, name, user, account, qos = sub.job_id, sub.name, sub.user, sub.account, sub.qos
        array_task_id = sub.array_task_id
        array_job_id = sub.array_job_id if array_task_id is not None else None
        partition = ",".join(sub.partitions)
        cpus_per_node = mem_per_node_mib = gres_per_node = node_list = scheduler = layout = ""
        time_limit_s = None if sub.time_limit_s == ONE_YEAR_S else sub.time_limit_s
        submit = last_submit = self.controller.state.now
        begin, reservation, licenses = sub.begin, sub.reservation, sub.licenses
        never: int | None = None
        arrived, cpus_per_task = self._arrived.pop(job_id, None), sub.request.cpus_per_task
        threads_per_core = sub.request.threads_per_core or None
        eligible = start = end = run_time_s = wait_s = held_since = never
        state, reason, exit_code, priority, restarts = REFUSED, text, "0:0", 0, 0
        row = (
            job_id, array_job_id, array_task_id, name, user, account, partition, qos, nodes, cpus, gpus, mem_mib,
            cpus_per_node, mem_per_node_mib, gres_per_node, req_nodes, req_cpus, req_gpus, req_mem_mib, time_limit_s,
            submit, last_submit, begin, eligible, start, end, state, exit_code, node_list, reason, priority, restarts,
            run_time_s, wait_s, scheduler, held_since, reservation, licenses, layout, arrived, cpus_per_task,
            threads_per_core,
        )  # fmt: skip
        self._jobs(row if self._watts is None else (*row, 0))

    def unfinished(self) -> None:
        """Rows of what is still running or pending, by job id, when the run stops early."""
        assert self.controller is not None
        if self._watts is not None:
            self._watts.still_open()
        self.drain()
        for job_id in sorted(self.controller.state.jobs):
            self._last_row(self.controller.state.jobs[job_id])

    def _amounts(self, request: ResourceRequest) -> Asked:
        """Return `asked_for` of a request, remembered."""
        known = self._asked.get(id(request))
        if known is None:
            known = self._asked[id(request)] = request, asked_for(request)
        return known[1]

    def _row(self, job: Job) -> tuple[Any, ...]:
        c = self.controller
        assert c is not None
        cluster, alloc = c.state.cluster, job.alloc
        job_id, name, user, account, qos = job.id, job.name, job.user, job.account, job.qos
        array_task_id = job.sub.array_task_id
        array_job_id = job.array_key if array_task_id is not None else None
        start, end, submit, last_submit = job.start_time, job.end_time, job.first_submit, job.submit_time
        nodes, cpus = job.n_nodes, job.n_cpus
        if alloc is not None:
            cpus_per_node, mem_per_node_mib = cluster.cpus_per_node(alloc), cluster.mem_per_node(alloc)
            gres_per_node = cluster.gres_per_node(alloc) if alloc.gres else ""
            node_list = cluster.node_list(alloc)
            layout = run_length(alloc.layout.tolist()) if alloc.layout is not None else ""
            mem_mib = alloc.mem * alloc.n_nodes if isinstance(alloc.mem, int) else int(alloc.mem.sum())
            gpus = c.state.usage.gpus_of(job) if alloc.gres else 0
            partition = job.partition.name
        else:
            cpus_per_node = mem_per_node_mib = gres_per_node = node_list = layout = ""
            mem_mib, gpus = job.request.memory_asked, job.request.gpus_asked
            partition = ",".join([p.name for p in job.partitions]) if start is None else job.partition.name
        req_nodes, req_cpus, req_gpus, req_mem_mib = self._amounts(job.sub.request)
        if job.sub.profile is not None:  # what it asks for at least
            fewest = job.sub.profile.min_nodes
            req_cpus, req_gpus = req_cpus * fewest // req_nodes, req_gpus * fewest // req_nodes
            req_mem_mib = None if req_mem_mib is None else req_mem_mib * fewest // req_nodes
            req_nodes = fewest
        time_limit_s = None if job.time_limit_s == ONE_YEAR_S else job.time_limit_s
        run_time_s = end - start - job.suspended_s if start is not None and end is not None else None
        wait_s = start - submit if start is not None else None
        begin, eligible, held_since = job.begin, job.eligible_time, job.held_since
        state, reason, exit_code = job.state, job.reason, job.exit_code
        priority, restarts, scheduler, reservation = job.priority, job.restarts, job.scheduler, job.reservation_name
        licenses = ",".join([f"{name}:{count}" for name, count in job.licenses]) if job.licenses else ""
        arrived, cpus_per_task = self._arrived.get(job_id), job.request.cpus_per_task
        threads_per_core = job.sub.request.threads_per_core or None
        return (
            job_id, array_job_id, array_task_id, name, user, account, partition, qos, nodes, cpus, gpus, mem_mib,
            cpus_per_node, mem_per_node_mib, gres_per_node, req_nodes, req_cpus, req_gpus, req_mem_mib, time_limit_s,
            submit, last_submit, begin, eligible, start, end, state, exit_code, node_list, reason, priority, restarts,
            run_time_s, wait_s, scheduler, held_since, reservation, licenses, layout, arrived, cpus_per_task,
            threads_per_core,
        )  # fmt: skip


_NO_WATTS: Final[tuple[int | None, ...]] = (None, None, None, None)


def _watts_of(watts: Watts) -> tuple[int | None, ...]:
    """Cells of `schema.POWER` in a row of usage of the whole cluster; those of partitions have none."""
    idle = watts.idle_mw if watts.spec.idle_mw else 0
    return watts.charged_mw + idle, watts.drawn_mw, idle, watts.budget_mw if watts.limited else None


def asked_for(request: ResourceRequest) -> Asked:
    """Nodes, CPUs, GPUs and memory in MiB that a request names; no memory when it names none, or all of each node."""
    gpus = sum(g.count * _SCOPES[g.scope](request) for g in request.gres if g.name == "gpu")
    memory = (request.mem_per_node_mib or 0) * request.min_nodes or (request.mem_per_cpu_mib or 0) * request.min_cpus
    return request.min_nodes, request.min_cpus, gpus, memory or None


_SCOPES: Final[dict[str, Callable[[ResourceRequest], int]]] = {
    "node": lambda request: request.min_nodes,
    "socket": lambda request: request.min_nodes * request.sockets_per_node,
    "task": lambda request: request.tasks,
    "job": lambda request: 1,
}
