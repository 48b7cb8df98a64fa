"""cpu_hours against a naive scheduler that passes at every second, and what the limit may not do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from bare_loop import World, drive, worlds
from hypothesis import given, settings
from hypothesis import strategies as st
from left_out_cycles import left_out_cycles
from reference import cpu_hours
from reference.cpu_hours import Job, Machine
from small_logs import MACHINES, WHOLE_NODES, Row, logs, simulate

from slurmsim import compiled
from slurmsim.core.controller.controller import Controller

UNITS = 16
REFERENCES = {"easy": cpu_hours.easy, "conservative": cpu_hours.conservative}
MACHINE = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
AMOUNTS = st.sampled_from((0, 40, 100, 250, 700, 2000))  # CPU-seconds
SHARES = st.sampled_from((0.05, 0.25, 0.5, 1.0, 2.0))
USERS = st.lists(st.sampled_from("abc"), min_size=30, max_size=30)


def owners(log: list[Row], users: list[str]) -> dict[int, str]:
    return {row[0]: users[row[0] % len(users)] for row in log}


def jobs(log: list[Row], of: dict[int, str], cpus: int) -> list[Job]:
    return [Job(*row, of[row[0]], cpus) for row in log]


def cpus_per_unit(machine: Any) -> int:
    return machine.cpus if machine.whole else 1


@MACHINE
@pytest.mark.parametrize("base", REFERENCES)
@settings(max_examples=max(settings.default.max_examples, 32))
@given(log=logs(UNITS, 12), users=USERS, amount=AMOUNTS)
def test_starts_equal_the_reference(base: str, machine: Any, log: list[Row], users: list[str], amount: int) -> None:
    cpus, of = cpus_per_unit(machine), owners(log, users)
    outcome = simulate(
        machine.cluster(UNITS), machine.workload(log, users=of), f"cpu_hours:base={base},limit={amount / 3600!r}"
    )  # fmt: skip
    assert outcome.starts == REFERENCES[base](jobs(log, of, cpus), UNITS, lambda queue: amount)


@pytest.mark.parametrize("base", REFERENCES)
@given(log=logs(UNITS, 20), users=USERS, share=SHARES)
def test_an_even_share_follows_the_users_in_the_queue(
    base: str, log: list[Row], users: list[str], share: float
) -> None:  # fmt: skip
    of = owners(log, users)
    hours = 0.02  # 72 seconds of the machine

    def allowance(queue: list[Job]) -> float:
        return share * (UNITS * 4 * hours * 3600 / max(len({job.user for job in queue}), 1))

    policy = f"cpu_hours:base={base},limit={share}x,hours={hours}"
    outcome = simulate(WHOLE_NODES.cluster(UNITS), WHOLE_NODES.workload(log, users=of), policy)
    assert outcome.starts == REFERENCES[base](jobs(log, of, 4), UNITS, allowance)


def unlimited(base: str) -> tuple[str, ...]:
    return base, f"cpu_hours:base={base},limit=inf", f"cpu_hours:base={base},limit=1e15"


@MACHINE
@pytest.mark.parametrize("base", ("easy", "conservative", "backfill"))
@given(log=logs(UNITS), users=USERS)
def test_no_limit_or_one_nobody_reaches_is_the_base(
    base: str, machine: Any, log: list[Row], users: list[str]
) -> None:  # fmt: skip
    """The second of the two goes all the way through both rounds."""
    runs = [
        simulate(machine.cluster(UNITS), machine.workload(log, users=owners(log, users)), policy)
        for policy in unlimited(base)
    ]
    assert [r.starts for r in runs[1:]] == [runs[0].starts] * 2
    assert [r.nodes for r in runs[1:]] == [runs[0].nodes] * 2


@given(world=worlds())
def test_no_limit_is_slurms_backfill_in_any_world(world: World) -> None:
    plain, *limited = (drive(world, policy) for policy in unlimited("backfill"))
    assert [r.starts for r in limited] == [plain.starts] * 2
    assert limited[0].events == plain.events


@pytest.mark.skipif(compiled(), reason="puts the state of a policy back, which is out of reach in compiled code")
@given(world=worlds(), amount=AMOUNTS)
def test_a_cycle_that_is_left_out_would_have_decided_nothing(world: World, amount: int) -> None:
    """Slurm's backfill leaves out cycles in a quiet cluster; under a limit time alone can matter, and it knows when."""
    policy = f"cpu_hours:base=backfill,limit={amount / 3600!r}"
    drive(world, policy, between=left_out_cycles)


def state(controller: Controller, cpus: int, limit: float) -> Machine:
    """The controller's running jobs and queue as the naive scheduler sees them."""
    m = Machine([], UNITS, lambda queue: limit)
    m.now = controller.state.now
    for _, _, job in controller.state.running:
        size = job.n_cpus // cpus
        row = (job.id, job.submit_time, job.time_limit_s, size, job.time_limit_s)
        m.running[Job(*row, job.user, cpus)] = job.start_time
    for record in controller.state.queue.records():
        job = record.job
        m.queue.append(Job(job.id, job.submit_time, job.time_limit_s, record.need, job.time_limit_s, job.user, cpus))
    return m


@given(log=logs(UNITS), users=USERS, amount=AMOUNTS)
def test_no_node_is_idle_for_the_limit_alone(log: list[Row], users: list[str], amount: int) -> None:
    """Conservation: in the very state after a pass, backfill around the same planned start would start nobody.

    Unless the starts of the pass have put whom it planned over the limit: then another follows in the next second.
    And where nobody within the limit is planned, nobody who fits waits at all, whatever the limit.
    """

    def watch(controller: Controller) -> None:
        m = state(controller, 4, amount)
        fitting = [job for job in m.queue if job.size <= m.free]
        if cpu_hours.easy_pass(m):
            assert controller.wake_at() == controller.state.now + 1
            return
        if fitting:
            holds = m.holds()
            within = [job for job in m.queue if not holds.get(job.user) or holds[job.user] + job.cost <= amount]
            first = (within or m.queue)[0]
            assert first not in fitting, "the first in turn fits and waits"
            shadow, extra = cpu_hours.shadow_of(m, first.size)
            assert all(m.now + job.limit > shadow and job.size > extra for job in fitting)

    workload = WHOLE_NODES.workload(log, users=owners(log, users))
    simulate(WHOLE_NODES.cluster(UNITS), workload, f"cpu_hours:limit={amount / 3600!r}", watch)


@pytest.mark.parametrize("base", ("conservative", "backfill"))
@given(log=logs(UNITS), users=USERS, amount=AMOUNTS)
def test_everybody_who_fits_beside_the_plans_runs(
    base: str, log: list[Row], users: list[str], amount: int
) -> None:  # fmt: skip
    """The base itself, shown the same state in the same order, starts nobody after a pass of its own."""
    found: list[Any] = []
    workload = WHOLE_NODES.workload(log, users=owners(log, users))
    simulate(WHOLE_NODES.cluster(UNITS), workload, f"cpu_hours:base={base},limit={amount / 3600!r}", again(base, found))
    assert found == []


def again(base: str, found: list[Any]) -> Callable[[Controller], None]:
    """After each pass of the policy: what a pass right after it would start."""
    passes = 0

    def watch(controller: Controller) -> None:
        nonlocal passes
        if controller.host.passes == passes:
            return  # sched/backfill was not called at this instant
        passes = controller.host.passes
        before = len(controller.state.running)
        controller.host.run()
        if len(controller.state.running) != before:
            found.append((controller.state.now, base))

    return watch
