"""Small random logs as workloads of rigid jobs, and their simulation with every start and plan at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from verdict import approve

from slurmsim.config.load import make_cluster
from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.job import Job
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import load_policy, parse_policy
from slurmsim.sim.listener import Listener
from slurmsim.sim.simulation import Simulation
from slurmsim.workload import TextColumn, Workload

Row = tuple[int, int, int, int, int]  # job id, submit, run, size, limit


@dataclass(frozen=True, slots=True)
class Machine:
    """How `n` equal units are built: nodes of so many CPUs, asked for as whole nodes or as CPUs.

    `cpus` 1: one-CPU nodes; `whole`: jobs ask for nodes (``-N --exclusive``), else for tasks (``-n``).
    """

    cpus: int
    whole: bool

    def cluster(self, n: int) -> ClusterSpec:
        nodes = n if self.whole else -(-n // self.cpus)
        return make_cluster(nodes, self.cpus)

    def workload(
        self, jobs: Sequence[Row], cancels: dict[int, int] | None = None, users: dict[int, str] | None = None
    ) -> Workload:
        """`cancels`: job id -> when its user cancels it; `users`: job id -> whose it is."""
        rows = sorted(jobs, key=lambda job: (job[1], job[0]))
        column = {name: np.array([row[k] for row in rows], np.int64)
                  for k, name in enumerate(("job_id", "submit", "run_time", "size", "time_limit"))}  # fmt: skip
        size = column.pop("size")
        ints = {**column}
        if self.whole:
            ints |= {"nodes": size, "nodes_max": size, "exclusive": np.full(len(rows), int(self.cpus > 1), np.int64)}
        else:
            ints["tasks"] = size
        if cancels:
            ints["cancel_at"] = np.array([cancels.get(row[0], -1) for row in rows], np.int64)
        return Workload(ints, {"user": TextColumn.from_list([users[row[0]] for row in rows])} if users else {})


ONE_CPU_NODES = Machine(1, True)
WHOLE_NODES = Machine(4, True)
TASKS = Machine(16, False)
MACHINES = {"one-CPU nodes": ONE_CPU_NODES, "whole nodes": WHOLE_NODES, "tasks on 16-CPU nodes": TASKS}


def logs(n: int, max_jobs: int = 30) -> st.SearchStrategy[list[Row]]:
    """Jobs for a machine of `n` units; many things happen in the same second, and many runs end early."""
    times, lengths = st.integers(0, 60), st.one_of(st.integers(1, 40), st.sampled_from((5, 10, 20)))
    row = st.tuples(times, lengths, st.integers(1, n), lengths)
    return st.lists(row, min_size=1, max_size=max_jobs).map(
        lambda rows: [
            (i + 1, submit, min(run, limit), size, limit) for i, (submit, run, size, limit) in enumerate(rows)
        ]
    )


@dataclass(slots=True)
class Outcome:
    """What a run left: jobs in the order they ended, all events, and the simulation itself."""

    jobs: list[Job]
    events: list[tuple[Any, ...]]
    simulation: Simulation

    @property
    def starts(self) -> dict[int, int]:
        return {job.id: job.start_time for job in self.jobs if job.start_time is not None}

    @property
    def nodes(self) -> dict[int, int]:
        return {job.id: job.nodes for job in self.jobs}

    def plans(self) -> dict[int, list[tuple[int, int]]]:
        """Job id -> (when planned, planned start), in time order."""
        found: dict[int, list[tuple[int, int]]] = {}
        for event in self.events:
            if event[1] == "PLAN":
                found.setdefault(event[2], []).append((event[0], event[7]))
        return found


def simulate(
    cluster: ClusterSpec, workload: Workload, policy: str, watch: Callable[[Controller], None] | None = None,
    **more: Any,
) -> Outcome:  # fmt: skip
    """Run to the end; `watch` sees the controller after every turn. The schedule passes the independent validator."""
    jobs: list[Job] = []
    events: list[tuple[Any, ...]] = []

    class Watching(Listener):
        def finished(self, job: Job) -> None:
            jobs.append(job)

        def turn(self, now: int) -> None:
            controller = simulation.controller
            events.extend(controller.state.events)
            controller.state.events.clear()
            if watch is not None:
                watch(controller)

    name, options = parse_policy(policy)
    simulation = Simulation(cluster, workload, load_policy(name)(options), listener=Watching(), **more)
    simulation.run()
    simulation.controller.check()
    approve(simulation.controller, jobs, events)
    return Outcome(jobs, events, simulation)
