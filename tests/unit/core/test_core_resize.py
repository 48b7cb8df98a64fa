"""Resizes decided by a policy, and what the simulation makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from unit.core.world import World, simple

from slurmsim.config.load import parse_cluster
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Cancel, CreateReservation, ResizeJob
from slurmsim.core.scheduling.policy_host import PolicyHost
from slurmsim.model.reservation import ReservationSpec
from slurmsim.policy import Decisions, Policy, Resize, Start, load_policy
from slurmsim.sim.listener import Listener
from slurmsim.sim.network import Durations
from slurmsim.sim.simulation import Simulation, Timed
from slurmsim.workload import Workload


class Malleable(Policy):
    """Starts what fits; when somebody waits, the first running job shrinks to one node, else it grows to three."""

    name = "malleable"

    def schedule(self, view: Any, now: int) -> Decisions:
        for pool in view.pools:
            while pool.pending and (yield Start(pool.pending[0])):
                pass
            for job in view.running[:1]:
                self.done = yield Resize(job, 1 if pool.pending else 3)
            while pool.pending and (yield Start(pool.pending[0])):
                pass


def test_a_policy_shrinks_and_grows_a_job() -> None:
    w = World(simple(nodes=4, cpus=2), "fcfs")
    c = w.controller
    c.state.policy = Malleable()
    c.host = PolicyHost(c.state, c.view, c.start_test, c.life_cycle, c.resizes, c.solves)
    w.sbatch("-J a -N3 --exclusive -t 10", 500, at=0)
    w.sbatch("-J b -N3 --exclusive -t 10", 50, at=10)
    w.until(20)
    assert (w.nodes("a"), w["a"].n_cpus, w.nodes("b"), w.start("b")) == ("n1", 2, "n[2-4]", 10)
    w.until(70)
    assert (w.nodes("a"), w["a"].n_cpus, w["a"].held_since) == ("n[1-3]", 6, 60)  # b is gone
    w.until(600)
    assert w.state("a") == "COMPLETED"
    c.check()


@pytest.mark.parametrize(("begin", "has"), [(1000, "n[1,4-5]"), (1200, "n[1-3]"), (40, "n[1,4-5]"), (1199, "n[1,4-5]")])
def test_a_job_grows_on_what_is_not_reserved(begin: int, has: str) -> None:
    """It lasts until 1200 at most; at 60 it may grow."""
    w = World(simple(nodes=5, cpus=2), "fcfs")
    c = w.controller
    c.state.policy = Malleable()
    c.host = PolicyHost(c.state, c.view, c.start_test, c.life_cycle, c.resizes, c.solves)
    w.tell(CreateReservation(ReservationSpec("r", begin, 5000, ("n2", "n3"), users=("bob",))), at=0)
    w.sbatch("-J a -N1 --exclusive -t 20", 1000, at=0)
    w.sbatch("-J b -N5 --exclusive -t 20", 50, at=0)
    w.until(70)
    w.tell(Cancel(w["b"].id), at=71)
    w.until(80)
    assert w.nodes("a") == has
    c.check()


def simulate(durations: Durations | None = None) -> tuple[dict[int, int | None], list[tuple[str, int | None, int]]]:
    cluster, _ = parse_cluster(simple(nodes=4))
    ints = {"job_id": [1, 2], "submit": [0, 5], "run_time": [100, 10], "time_limit": [1000, 1000], "nodes": [4, 2]}
    workload = Workload({name: np.array(column, np.int64) for name, column in ints.items()}, {})
    ends: dict[int, int | None] = {}
    sizes: list[tuple[str, int | None, int]] = []

    class Noting(Listener):
        def finished(self, job: Job) -> None:
            ends[job.id] = job.end_time

        def requeued(self, run: Job) -> None:
            sizes.append((run.state, run.end_time, run.n_nodes))

    Simulation(
        cluster, workload, load_policy("easy")(), timed=[Timed(20, ResizeJob(1, 2))], listener=Noting(),
        durations=durations,
    ).run()  # fmt: skip
    return ends, sizes


def test_how_long_a_resized_job_runs_is_the_drivers_business() -> None:
    assert simulate() == ({2: 30, 1: 100}, [("RESIZING", 20, 4)])
    linear = simulate(Durations(left_after=lambda left, had, has: left * had // has))
    assert linear == ({2: 30, 1: 20 + 80 * 2}, [("RESIZING", 20, 4)])


def test_whoever_follows_who_runs_sees_a_resize() -> None:
    """The entry is another object: a cycle of backfill tells its kernel of no others."""
    w = World(simple(nodes=4, cpus=2), "backfill")
    w.sbatch("-J a -N3 --exclusive -t 10", 500, at=0)
    w.sbatch("-J b -N1 --exclusive -t 20", 500, at=0)
    w.until(20)
    a, b = w.controller.state.running
    w.tell(ResizeJob(w["a"].id, 2), at=30)
    w.until(40)
    resized, other = w.controller.state.running
    assert (w.nodes("a"), resized, other) == ("n[1-2]", a, b)
    assert resized is not a
    assert other is b
    w.controller.check()
