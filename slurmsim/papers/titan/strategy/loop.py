"""A project that submits jobs in a closed loop beside other jobs, simulated."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from slurmsim.experiments.simulation import Job, Listener, Prepared, Simulation, new_policy
from slurmsim.papers.titan.strategy.data import HOUR_S, FloatArray
from slurmsim.workload import Streams, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.distributions import uniforms

PROJECT = "project"


@dataclass(frozen=True)
class SampledStream:
    """A closed loop of jobs like those of a category (slurmsim.workload.Stream)."""

    name: str
    follows: str
    chains: int
    start: int
    last: int
    run_s: NDArray[np.int64]
    limit_s: NDArray[np.int64]
    nodes: NDArray[np.int64]
    tasks: NDArray[np.int64]
    limit: int | None = None
    drops: bool = False
    jobs: int | None = None

    def gaps(self, first: int, count: int, seed: int) -> FloatArray:
        """No time for thinking."""
        return np.zeros(count)

    def rows(self, first: int, count: int, seed: int) -> Workload:
        """Jobs drawn with replacement."""
        picks = (uniforms(seed, 0, first, count)[:, 0] * len(self.run_s)).astype(np.int64)
        nodes = self.nodes[picks]
        ints = {"job_id": np.arange(1, count + 1, dtype=np.int64), "run_time": self.run_s[picks],
                "time_limit": self.limit_s[picks], "nodes": nodes, "nodes_max": nodes,
                "tasks": self.tasks[picks], "exclusive": np.ones(count, np.int64)}  # fmt: skip
        return Workload(ints, {"user": TextColumn.constant(count, self.name)}, WorkloadHeader(source=self.name))


@dataclass(frozen=True, slots=True)
class Used:
    """What became of the project's jobs that started within the period."""

    # waits_h, runs_h, nodes: one row a job, (n_jobs,); a job counts to its end
    waits_h: FloatArray
    runs_h: FloatArray
    nodes: FloatArray

    @property
    def node_hours(self) -> float:
        return float((self.nodes * self.runs_h).sum())


@dataclass(slots=True)
class _Project(Listener):
    """What became of the project's jobs: those with ids from `first` on."""

    first: int
    ended: list[Job] = field(default_factory=list)

    def finished(self, job: Job) -> None:
        if job.id >= self.first and job.start_time is not None:
            self.ended.append(job)


def closed_loop(stream: SampledStream, prepared: Prepared, end: int, seed: int) -> Used:
    """Run the stream beside the jobs that `prepared` has until `end`, on its cluster and under its policy."""
    jobs = prepared.workload
    load = replace(jobs.take(np.flatnonzero(jobs.ints["submit"] < end)), streams=Streams((stream,)))
    project = _Project(int(load.ints["job_id"].max()) + 1)
    simulation = Simulation(
        prepared.cluster, load, new_policy(prepared.options, prepared.cluster), accounting=prepared.accounting,
        until=end, seed=seed, listener=project,
    )  # fmt: skip
    simulation.run()
    rows = [
        (job.start_time - job.first_submit, job.end_time - job.start_time, job.n_nodes)
        for job in project.ended if job.end_time is not None and job.start_time is not None and job.start_time < end
    ]  # fmt: skip
    rows += [
        ((job.start_time or 0) - job.first_submit, simulation.behaviour[job.id].run_time, job.n_nodes)
        for _, _, job in simulation.controller.state.running if job.id >= project.first
    ]  # fmt: skip
    waits, runs, nodes = np.array(rows, np.float64).reshape(-1, 3).T
    return Used(waits / HOUR_S, runs / HOUR_S, nodes)
