"""No random schedule of resizes, caps, failures and falling budgets exceeds its budget or loses work."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from power_schedules import MOST_MW, NODES, Schedule, Told

from slurmsim.config.load import make_cluster
from slurmsim.core.records.messages import Resume, Submit, Suspend
from slurmsim.model.power import PowerSpec
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.policy import load_policy
from slurmsim.sim.network import Behaviour

COUNT = int(os.environ.get("SLURMSIM_SCHEDULES", "250"))
"""Schedules; 100,000 in `make nightly`."""
SEED = int(os.environ.get("SLURMSIM_FUZZ_SEED", "0"))


def test_no_schedule_exceeds_its_budget() -> None:
    seen = dict[str, int]()
    for seed in range(SEED, SEED + COUNT):
        try:
            found = Schedule(seed).run()
        except Exception as error:
            raise AssertionError(f"schedule {seed}, see Schedule({seed}).run()") from error
        for name, n in found.items():
            seen[name] = seen.get(name, 0) + n
    assert all(n > COUNT // 10 for n in seen.values()), seen
    print(f"{COUNT} schedules from seed {SEED}: {seen}")


def test_a_job_that_goes_on_at_the_second_of_its_limit_ends() -> None:
    """Both within one turn of the controller: one of 100,000 schedules has it."""
    seen = Schedule(75352).run()
    assert seen["suspended"] and seen["ended"] == 2


def test_a_user_resumes_a_job_on_nodes_of_one_without_watts() -> None:
    """Whoever was suspended by a user has no nodes meanwhile; both then share them, and both end."""
    power = PowerSpec(budget=((0, MOST_MW), (30, 1000), (50, MOST_MW)))
    network = Told(replace(make_cluster(NODES, 1), power=power), load_policy("fcfs")({}))
    for job_id, at in ((1, 0), (2, 20)):
        network.behaviour[job_id] = Behaviour(100, "COMPLETED", "0:0", -1)
        request = ResourceRequest(min_nodes=NODES, max_nodes=NODES)
        network.at(at, _told(network), Submit(Submission(job_id, request, time_limit_s=900)))
    network.at(10, _told(network), Suspend(1))
    network.at(40, _told(network), Resume(1))
    network.advance(5000)
    assert {job_id: job.state for job_id, job in network.ended.items()} == {1: "COMPLETED", 2: "COMPLETED"}


def _told(network: Told) -> Callable[[Any], None]:
    return lambda timer: network._tell(timer.value[0])
