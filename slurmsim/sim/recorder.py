"""Turns what the controller notes into trace rows. Anything with ``append`` may stand for the writer's sinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slurmsim.core.controller import Controller
from slurmsim.core.job import ONE_YEAR_S, Job

Append = Callable[[tuple[Any, ...]], None]


class Recorder:
    """Rows of jobs, events and usage for one simulation (columns: `slurmsim.trace.schema`).

    Parameters
    ----------
    controller
        Whose state is recorded; set by `attach` once the simulation exists.
    jobs, events, usage
        Where rows go.
    flush
        Called after every turn, for writers that batch.
    """

    def __init__(self, jobs: Append, events: Append, usage: Append, flush: Callable[[], None] | None = None) -> None:
        self._jobs, self._events, self._usage = jobs, events, usage
        self._flush = flush
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

    def unfinished(self) -> None:
        """Rows of what is still running or pending, by job id, when the run stops early."""
        assert self.controller is not None
        self.drain()
        for job_id in sorted(self.controller.jobs):
            self._jobs(self._row(self.controller.jobs[job_id]))

    def _row(self, job: Job) -> tuple[Any, ...]:
        c = self.controller
        assert c is not None
        state = c.state
        alloc, start, end, submit = job.alloc, job.start_time, job.end_time, job.submit_time
        task = job.sub.array_task_id
        if alloc is not None:
            cpus, mem, gres = state.cpus_per_node(alloc), state.mem_per_node(alloc), state.gres_per_node(alloc)
            nodes = state.node_list(alloc)
            memory = alloc.mem * alloc.n_nodes if isinstance(alloc.mem, int) else int(alloc.mem.sum())
            gpus = c.usage.gpus_of(job) if alloc.gres else 0
            where = job.partition.name
        else:
            cpus = mem = gres = nodes = ""
            memory, gpus = job.shape.memory_asked, job.shape.gpus_asked
            where = ",".join(p.name for p in job.partitions) if job.start_time is None else job.partition.name
        unlimited = job.time_limit_s == ONE_YEAR_S
        run_time = end - start if start is not None and end is not None else None
        return (
            job.id, job.array_key if task is not None else None, task, job.name, job.user, job.account, where, job.qos,
            job.n_nodes, job.n_cpus, gpus, memory, cpus, mem, gres, None if unlimited else job.time_limit_s, submit,
            job.eligible_time, start, end, job.state, job.exit_code, nodes, job.reason, job.priority, job.restarts,
            run_time, start - submit if start is not None else None, job.scheduler,
        )  # fmt: skip
