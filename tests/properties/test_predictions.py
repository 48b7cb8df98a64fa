"""Predictions on random logs: learned from what had ended, never above the request, and an oracle is as good as limits.

Every schedule here passes the independent validator.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_logs import MACHINES, Machine, Outcome, Row, logs, simulate

from slurmsim.core.controller.controller import Controller
from slurmsim.core.queue.predictions import UNKNOWN_S
from slurmsim.states import JobState

POLICIES = ("easy", "easy:order=shortest", "conservative", "spf")
PREDICTORS = ("last_two", "data_driven", "real", "requested")
SLOW = settings().max_examples > 100  # at night
UNITS = 8
people = st.lists(st.sampled_from(["", "u", "v"]), min_size=30, max_size=30)
machines = st.sampled_from(list(MACHINES.values()))


def with_predictor(policy: str, predictor: str) -> str:
    return f"{policy}{',' if ':' in policy else ':'}predictor={predictor}"


def run(machine: Machine, log: list[Row], policy: str, users: list[str], watch: object = None) -> Outcome:
    of = {row[0]: users[k % len(users)] for k, row in enumerate(log)}
    return simulate(machine.cluster(UNITS), machine.workload(log, users=of), policy, watch)  # type: ignore[arg-type]


def below(controller: Controller) -> None:
    """Nothing is planned with more than its limit, or with nothing; what runs is expected to go on."""
    state = controller.state
    for job in state.jobs.values():
        assert min(1, job.time_limit_s) <= job.expected_s <= job.time_limit_s
    for end, _, job in state.holders.releases():
        assert end == job.expected_end and job.end_limit is not None
        assert state.now < end <= job.end_limit or job.expected_s == job.time_limit_s
    assert [entry[2] for entry in state.holders.releases()] == sorted(
        (entry[2] for entry in state.running), key=lambda job: (job.expected_end, job.id)
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("predictor", PREDICTORS)
@given(log=logs(UNITS), users=people, machine=machines)
def test_nothing_is_expected_to_exceed_its_request(
    policy: str, predictor: str, log: list[Row], users: list[str], machine: Machine
) -> None:
    """Run times beyond the limit, too, which the limit ends."""
    longer = [(job, at, run + 7 * (job % 3 == 0), size, limit) for job, at, run, size, limit in log]
    run(machine, longer, with_predictor(policy, predictor), users, below)


@pytest.mark.parametrize("policy", POLICIES)
@given(log=logs(UNITS), users=people, machine=machines)
def test_last_two_is_what_the_ended_jobs_say(policy: str, log: list[Row], users: list[str], machine: Machine) -> None:
    outcome = run(machine, log, with_predictor(policy, "last_two"), users)
    for job in outcome.jobs:
        ended = [
            other.end_time - other.start_time for other in outcome.jobs
            if job.user and other.user == job.user and other.end_time is not None and other.start_time is not None
            and other.end_time <= job.submit_time and other.state == JobState.COMPLETED
        ][-2:]  # fmt: skip
        assert job.predicted_s == (-(-sum(ended) // len(ended)) if ended else UNKNOWN_S)


@pytest.mark.parametrize("policy", POLICIES)
@given(log=logs(UNITS), users=people, machine=machines)
def test_an_oracle_is_as_good_as_limits_that_are_run_times(
    policy: str, log: list[Row], users: list[str], machine: Machine
) -> None:
    exact = [(job, at, length, size, length) for job, at, length, size, _ in log]
    oracle = run(machine, log, with_predictor(policy, "real"), users)
    assert oracle.starts == run(machine, exact, policy, users).starts
    assert all(job.corrections == 0 for job in oracle.jobs)


@pytest.mark.parametrize("policy", POLICIES)
@given(log=logs(UNITS), users=people, machine=machines)
def test_who_knows_nothing_changes_nothing(policy: str, log: list[Row], users: list[str], machine: Machine) -> None:
    """No job has a name, so `data_driven` says nothing: being asked alone leaves every start as it is."""
    usual, other = (run(machine, log, name, users) for name in (policy, with_predictor(policy, "data_driven")))
    assert usual.starts == other.starts and usual.nodes == other.nodes and usual.plans() == other.plans()


@pytest.mark.parametrize("policy", ["hcp19", "pcp20"])
@pytest.mark.parametrize("options", ["predictor=last_two", "reserve=oldest", "reserve=oldest,predictor=real"])
@settings(max_examples=20 if SLOW else 2, deadline=None)
@given(log=logs(UNITS, max_jobs=8), users=people)
def test_dispatchers(policy: str, options: str, log: list[Row], users: list[str]) -> None:
    outcome = run(MACHINES["whole nodes"], log, f"{policy}:{options}", users, below)
    assert len(outcome.starts) == len(log)
