"""EASY on the archive's logs: the figures independent implementations agree on, and published schedules."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.guarantees import easy_guarantee

from slurmsim.config.load import make_cluster
from slurmsim.core.records.job import Job
from slurmsim.policy import load_policy, parse_policy
from slurmsim.replaying.manifest import cluster_facts
from slurmsim.sim.listener import Listener
from slurmsim.sim.simulation import Simulation
from slurmsim.validate import validate_schedule
from slurmsim_workloads import read_workload

TAU_S = 10


def read(name: str, units: int) -> Any:
    """The log in the normal form on which simulators were compared, as one-CPU nodes."""
    folder = os.environ.get("SLURMSIM_DATA")
    if not folder:
        pytest.skip("set SLURMSIM_DATA to the folder with the SWF logs")
    return read_workload(str(Path(folder) / f"{name}.swf.gz"), None, {"max_procs": str(units)})


class Replay(Listener):
    """One run in memory; `jobs` in the order they ended. Columns: see `column`."""

    def __init__(
        self, workload: Any, units: int, policy: str, cpus_per_node: int = 1
    ) -> None:  # fmt: skip
        self.jobs: list[Job] = []
        cluster = make_cluster(units // cpus_per_node, cpus_per_node)
        name, options = parse_policy(policy)
        simulation = Simulation(cluster, workload, load_policy(name)(options), listener=self)
        self.controller, self.facts = simulation.controller, cluster_facts(cluster)
        simulation.run()
        self.controller.check()
        self.units = units

    def finished(self, job: Job) -> None:
        self.jobs.append(job)

    def turn(self, now: int) -> None:
        self.controller.state.events.clear()

    def column(self, name: str) -> Any:
        return np.array([getattr(job, name) for job in self.jobs], np.int64)

    def means(self) -> tuple[float, float]:
        """Mean wait in seconds and mean bounded slowdown (τ = 10 s)."""
        wait = self.column("start_time") - self.column("submit_time")
        run = self.column("end_time") - self.column("start_time")
        return float(wait.mean()), float(np.maximum(1.0, (wait + run) / np.maximum(run, TAU_S)).mean())

    def approve(self) -> None:
        """Fail unless the independent validator has nothing to say against the schedule."""
        state = self.controller.state.cluster
        report = validate_schedule(
            {
                "job_id": self.column("id"), "submit": self.column("submit_time"),
                "eligible": self.column("eligible_time"), "start": self.column("start_time"),
                "end": self.column("end_time"), "time_limit_s": self.column("time_limit_s"),
                "nodes": self.column("n_nodes"), "cpus": self.column("n_cpus"),
                "state": [job.state for job in self.jobs], "partition": [job.partition.name for job in self.jobs],
                "node_list": [state.node_list(job.alloc) for job in self.jobs],  # type: ignore[arg-type]
                "cpus_per_node": [state.cpus_per_node(job.alloc) for job in self.jobs],  # type: ignore[arg-type]
            },
            self.facts,
        )  # fmt: skip
        assert report.valid, report.to_text()

    def keeps_the_easy_promise(self) -> None:
        """Fail if anything delayed the first blocked job."""
        names = {"job_id": "id", "submit": "submit_time", "start": "start_time", "end": "end_time", "size": "n_cpus",
                 "limit": "time_limit_s"}  # fmt: skip
        check = easy_guarantee({key: self.column(name) for key, name in names.items()}, self.units)
        assert check.ok and check.subjects, check.examples


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "units", "count", "wait", "slowdown"),
    [
        ("lublin_256", 256, 10_000, "97156.0", "590.05"),
        ("KTH-SP2-1996-2", 100, 28_481, "6834.6", "92.69"),
        pytest.param("SDSC-SP2-pyss-easy", 128, 54_006, "20570.9", "87.81", marks=SLOW),
        pytest.param("CTC-SP2-pyss-easy", 338, 77_199, "13943.0", "48.84", marks=SLOW),
        pytest.param("SDSC-BLUE-pyss-easy", 1_152, 232_542, "7870.1", "37.41", marks=SLOW),
        pytest.param("ALCF-Theta-2022", 4_360, 23_911, "43817.7", "115.84", marks=SLOW),
    ],
)
def test_textbook_easy_gives_the_agreed_figures(
    name: str, units: int, count: int, wait: str, slowdown: str
) -> None:  # fmt: skip
    replay = Replay(read(name, units), units, "easy")
    assert len(replay.jobs) == count
    mean_wait, mean_slowdown = replay.means()
    assert (f"{mean_wait:.1f}", f"{mean_slowdown:.2f}") == (wait, slowdown)
    replay.approve()
    replay.keeps_the_easy_promise()


def test_fcfs_gives_the_agreed_mean_wait() -> None:
    replay = Replay(read("KTH-SP2-1996-2", 100), 100, "fcfs")
    assert replay.means()[0] == pytest.approx(353_776, abs=1)
    replay.approve()


@pytest.mark.parametrize(
    ("name", "units", "count", "cpus_per_node"),
    [
        ("KTH-SP2-pyss-easy", 100, 28_481, 1),
        pytest.param("SDSC-SP2-pyss-easy", 128, 54_006, 1, marks=SLOW),
        pytest.param("CTC-SP2-pyss-easy", 338, 77_199, 1, marks=SLOW),
        pytest.param("SDSC-BLUE-pyss-easy", 1_152, 232_542, 1, marks=SLOW),
        pytest.param("CEA-curie-pyss-easy", 80_640, 295_540, 16, marks=SLOW),
    ],
)
def test_published_starts_under_the_published_order(name: str, units: int, count: int, cpus_per_node: int) -> None:
    workload = read(name, units)
    replay = Replay(workload, units, "easy:ties=event", cpus_per_node)
    assert len(replay.jobs) == count
    published = dict(zip(workload.ints["job_id"].tolist(), workload.ints["log_start"].tolist(), strict=True))
    wrong = [(job.id, job.start_time, published[job.id]) for job in replay.jobs if job.start_time != published[job.id]]
    assert not wrong, f"{len(wrong)} of {count} starts differ, first (job, start, published): {wrong[:3]}"
    replay.approve()
