"""fcfs, easy and conservative against the naive references, start for start, and what the two backfills promise."""

from __future__ import annotations

import random

import pytest
from bare_loop import START, World, drive
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import conservative, easy, fcfs, whatever_fits
from small_logs import MACHINES, Row, logs, simulate

from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.messages import Fact, Submit
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission

UNITS = 32  # two nodes of 16 CPUs, or 32 nodes
REFERENCES = {"fcfs": fcfs, "easy": easy, "conservative": conservative, "list": whatever_fits}
MACHINE = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
# who is cancelled, and when: before it arrives, while it waits, while it runs, or after its end
CANCELS = st.dictionaries(st.integers(1, 30), st.integers(0, 150), max_size=8)


@MACHINE
@pytest.mark.parametrize("policy", REFERENCES)
@given(log=logs(UNITS))
def test_starts_equal_the_reference(policy: str, machine, log: list[Row]) -> None:  # type: ignore[no-untyped-def]
    outcome = simulate(machine.cluster(UNITS), machine.workload(log), policy)
    assert outcome.starts == REFERENCES[policy](log, UNITS)


@pytest.mark.parametrize("policy", REFERENCES)
def test_starts_equal_the_reference_under_load(policy: str) -> None:
    """A longer log than Hypothesis draws: a queue of some dozens throughout."""
    rng = random.Random(7)
    log: list[Row] = []
    submit = 0
    for job_id in range(1, 401 if settings().max_examples > 100 else 241):
        submit += rng.choice((0, 0, 1, 5, 20))
        limit = rng.choice((10, 30, 60, 100))
        run = min(limit, rng.choice((1, limit // 2, limit, limit)))
        log.append((job_id, submit, run, rng.choice((1, 1, 2, 4, 8, 16, UNITS)), limit))
    for machine in MACHINES.values():
        outcome = simulate(machine.cluster(UNITS), machine.workload(log), policy)
        assert outcome.starts == REFERENCES[policy](log, UNITS)


class _Shadows:
    """Watches the head of the queue: the first shadow time of each job that ever was first and blocked."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}

    def __call__(self, controller: Controller) -> None:
        (pool,) = controller.state.queue.pools
        if not pool.records:
            return
        head = pool.records[0].job
        size = head.n_nodes if self.unit == "nodes" else head.n_cpus
        releases = sorted(
            (j.end_limit, j.n_nodes if self.unit == "nodes" else j.n_cpus) for _, _, j in controller.state.running
        )
        free = UNITS - sum(units for _, units in releases)
        assert free < size, f"at {controller.state.now} job {head.id} fits and is first, but waits"
        for end, units in releases:
            free += units
            if free >= size:
                assert end <= self.last.get(head.id, end), f"job {head.id}: shadow time moved back to {end}"
                self.first.setdefault(head.id, end)
                self.last[head.id] = end
                return


@MACHINE
@given(log=logs(UNITS), cancels=CANCELS)
def test_easy_never_delays_the_first_blocked_job(machine, log: list[Row], cancels) -> None:  # type: ignore[no-untyped-def]
    shadows = _Shadows("nodes" if machine.whole else "cpus")
    outcome = simulate(machine.cluster(UNITS), machine.workload(log, cancels), "easy", watch=shadows)
    starts = outcome.starts
    assert {job: (starts[job], t) for job, t in shadows.first.items() if job in starts and starts[job] > t} == {}
    assert starts.keys() | cancels.keys() >= {row[0] for row in log}


@MACHINE
@given(log=logs(UNITS), cancels=CANCELS)
def test_conservative_delays_nobody(machine, log: list[Row], cancels) -> None:  # type: ignore[no-untyped-def]
    outcome = simulate(machine.cluster(UNITS), machine.workload(log, cancels), "conservative")
    starts, plans = outcome.starts, outcome.plans()
    submits = {row[0]: row[1] for row in log}
    for job_id, planned in plans.items():
        assert planned[0][0] == submits[job_id], f"job {job_id} was first planned at {planned[0][0]}"
        promised = [start for _, start in planned]
        assert promised == sorted(promised, reverse=True), f"job {job_id} was put back: {promised}"
        if job_id in starts:
            assert starts[job_id] == promised[-1]
    assert plans.keys() >= starts.keys()
    assert starts.keys() | cancels.keys() >= submits.keys()


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_who_starts_elsewhere_makes_room_at_once(policy: str) -> None:
    """Job 3 is first in line in two separate partitions; when it starts in one, who is behind it in the other may."""
    lines = ["ClusterName=two", "NodeName=n[1-4] CPUs=1", "PartitionName=a Nodes=n[1-2] Default=YES",
             "PartitionName=b Nodes=n[3-4]"]  # fmt: skip
    jobs = [
        # nodes, run, limit, partitions -> start
        (1, 100, 100, ("a",), 0),
        (2, 50, 50, ("b",), 0),
        (2, 20, 20, ("a", "b"), 50),  # planned for 100 in a, for 50 in b
        (1, 500, 500, ("a",), 50),  # too long to go before job 3 in a
    ]
    facts: list[tuple[int, Fact]] = []
    for k, (nodes, _, limit, partitions, _) in enumerate(jobs, 1):
        request = ResourceRequest(min_nodes=nodes, max_nodes=nodes)
        facts.append((START, Submit(Submission(k, request, time_limit_s=limit, partitions=partitions))))
    decided = drive(World(lines, facts, {k: job[1] for k, job in enumerate(jobs, 1)}), policy)
    assert {job_id: at - START for at, job_id, _, _ in decided.starts} == {k: job[4] for k, job in enumerate(jobs, 1)}


@MACHINE
@given(log=logs(UNITS), cancels=CANCELS)
def test_nobody_overtakes_under_fcfs(machine, log: list[Row], cancels) -> None:  # type: ignore[no-untyped-def]
    outcome = simulate(machine.cluster(UNITS), machine.workload(log, cancels), "fcfs")
    order = [
        outcome.starts[job_id] for _, job_id in sorted((row[1], row[0]) for row in log) if job_id in outcome.starts
    ]
    assert order == sorted(order)
