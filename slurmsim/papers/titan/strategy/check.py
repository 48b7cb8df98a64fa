"""The best candidates tried in a closed loop, on the site's own configuration, beside the log's jobs.

The project's jobs are drawn from those of its category and come as the scheme says; the log's own jobs are the load.
So the waits that are seen include what the project does to the queue, which the log's waits do not. The formula is fed
with them again, and its new best candidates are tried, until all of the best have been tried (the paper's refinement).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from slurmsim.experiments.simulation import Job, Listener, Prepared, Simulation, new_policy
from slurmsim.papers.titan.strategy.data import HOUR_S, FloatArray, History
from slurmsim.papers.titan.strategy.ranking import Candidate, Goal, order, with_waits
from slurmsim.workload import Streams, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.distributions import uniforms

PROJECT = "project"
ROUNDS = 3  # so at most so many times the number of the best: what is not tried then keeps the log's waits
SURE = 3.0  # standard deviations beyond which formula and simulation disagree
Progress = Callable[[int, int], None]


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
class Check:
    """A candidate in simulation.

    Attributes
    ----------
    before, after
        The candidate by the log's waits, and by those of the simulation.
    use
        Node-hours of the jobs that started within the period, each to its end.
    starts
        How many.
    wait_h
        Their mean wait.
    """

    before: Candidate
    after: Candidate
    use: float
    starts: int
    wait_h: float | None
    disagrees: bool


@dataclass(slots=True)
class _Project(Listener):
    """What became of the project's jobs: those with ids from `first` on."""

    first: int
    ended: list[Job] = field(default_factory=list)

    def finished(self, job: Job) -> None:
        if job.id >= self.first and job.start_time is not None:
            self.ended.append(job)


def check(
    ranked: Sequence[Candidate], goal: Goal, history: History, prepared: Prepared, *, best: int = 3, seed: int = 0,
    progress: Progress | None = None,
) -> tuple[list[Candidate], list[Check]]:  # fmt: skip
    """Try the `best` of `ranked`; the candidates in their order by then, and the checks in the order they were made."""
    candidates = list(ranked)
    made: dict[str, Check] = {}
    for _ in range(ROUNDS):
        todo = [one for one in candidates[:best] if one.name not in made]
        if not todo:
            break
        for one in todo:
            made[one.name] = found = _try(one, goal, history, prepared, seed)
            candidates[candidates.index(one)] = found.after
            if progress is not None:
                progress(len(made), max(best, len(made)))
        candidates.sort(key=order)
    return candidates, list(made.values())


def _try(one: Candidate, goal: Goal, history: History, prepared: Prepared, seed: int) -> Check:
    workload = prepared.workload
    start = int(workload.ints["submit"].min())
    end = start + round(goal.period_h * HOUR_S)
    rows = one.category.rows
    nodes = history.nodes[rows]
    stream = SampledStream(
        PROJECT, one.scheme, one.streams, 0, end - start, np.rint(history.run[rows] * HOUR_S).astype(np.int64),
        np.maximum(history.limit[rows], np.rint(history.run[rows] * HOUR_S).astype(np.int64)), nodes,
        nodes * history.cpus_per_node,
    )  # fmt: skip
    load = workload.take(np.flatnonzero(workload.ints["submit"] < end))
    load = replace(load, streams=Streams((stream,)))
    project = _Project(int(load.ints["job_id"].max()) + 1)
    simulation = Simulation(
        prepared.cluster, load, new_policy(prepared.options, prepared.cluster), accounting=prepared.accounting,
        until=end, seed=seed, listener=project,
    )  # fmt: skip
    simulation.run()
    running = [job for _, _, job in simulation.controller.state.running if job.id >= project.first]
    jobs = [job for job in [*project.ended, *running] if job.start_time is not None and job.start_time < end]
    use = sum(job.n_nodes * (job.end_time - (job.start_time or 0)) for job in project.ended if job.end_time is not None)
    use += sum(job.n_nodes * simulation.behaviour[job.id].run_time for job in running)
    waits = np.array([((job.start_time or 0) - job.first_submit) / HOUR_S for job in jobs])
    after = with_waits(one, waits, goal) if len(waits) else one
    node_hours = use / HOUR_S
    far = abs(node_hours - after.expected) > SURE * max(after.sd, 1e-9)
    turned = (node_hours > goal.target and after.probability < 0.05) or (
        node_hours <= goal.target and after.probability > 0.95
    )
    wait = float(waits.mean()) if len(waits) else None
    return Check(one, after, node_hours, len(jobs), wait, bool(far or turned) or math.isnan(after.sd))
