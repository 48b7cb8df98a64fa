"""Every named shortcut changes no decision: the same random workload with and without it, start for start.

A shortcut is one function that leaves work out. Here each is replaced by one that never does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from bare_loop import World, drive, worlds
from hypothesis import given
from random_worlds import read_conf

from slurmsim.core.controller import Controller
from slurmsim.core.main_scheduler import MainScheduler
from slurmsim.core.policy_host import View
from slurmsim.core.select import Selector
from slurmsim.model.cluster import ClusterSpec
from slurmsim.policy import Start, load_policy
from slurmsim_policies.backfill import Shadow

BACKFILL = (
    "", "", "bf_interval=60,bf_resolution=30", "bf_max_job_test=4", "bf_window=5", "bf_max_job_user=2",
    "bf_max_job_start=1", "bf_node_space_size=3", "bf_one_resv_per_job", "bf_job_part_count_reserve=1",
    "bf_min_age_reserve=100", "bf_running_job_reserve", "bf_max_job_part=2", "default_queue_depth=1",
    "bf_min_prio_reserve=4294901755", "partition_job_depth=1",
)  # fmt: skip
SLURM = pytest.mark.parametrize("policy", ["backfill", "builtin"])
EVENT_DRIVEN = pytest.mark.parametrize("policy", ["easy", "conservative"])


def planning_all(world: World) -> ClusterSpec:
    """The cluster of `world` whose backfill plans everything."""
    cluster = read_conf(world.lines)
    return dataclasses.replace(
        cluster, scheduler_parameters={**cluster.scheduler_parameters, "slurmsim_plan_all": ""}
    )  # fmt: skip


@given(world=worlds(parameters=BACKFILL))
def test_planning_no_deeper_than_something_can_start(world: World) -> None:
    usual, other = drive(world, "backfill"), drive(world, "backfill", cluster=planning_all(world))
    # by second and job: separate pools are walked one after the other, so their starts of one second may change places
    assert sorted(usual.starts) == sorted(other.starts)


@given(world=worlds(parameters=BACKFILL))
def test_cycles_of_an_unchanged_cluster_start_nothing(world: World) -> None:
    """Between two instants at which the controller wants to be called, a full backfill cycle finds nothing to start."""

    def ghost(controller: Controller, until: int) -> None:
        policy: Any = controller.policy
        if controller.host.changed or policy._started:
            return  # a cycle is coming
        if any(records[0].job.eligible_time > policy._last_cycle for records in controller.queue.jobs.values()):
            return  # a begin time has passed, which slurmctld does not take for a change
        moments = {controller.now + 1, (controller.now + until) // 2, until - 1}
        kept, now = vars(policy).copy(), controller.now
        for moment in sorted(moments):
            if moment < kept["_last_cycle"] + kept["interval"]:
                continue  # a cycle is not due yet
            controller.now = moment
            policy.plan_all = True
            refuse = None
            decisions = policy.schedule(controller.host.view, moment)
            try:
                decision = next(decisions)
                while True:
                    if isinstance(decision, Start):
                        record = decision.job
                        limited = controller.limit_reason(record.job, record.partition, record.shape)
                        found = controller.selector.place(record.shape, controller.table, decision.within)
                        assert limited or found is None, f"job {record.job.id} could start at {moment}"
                        refuse = False
                    decision = decisions.send(refuse)
            except StopIteration:
                pass
            vars(policy).update(kept)
        controller.now = now

    drive(world, "backfill", between=ghost)


def without(name: str, owner: Any, replacement: Callable[..., Any]) -> Any:
    """`owner.name` replaced as long as the context lasts."""
    return mock.patch.object(owner, name, replacement)


@SLURM
@given(world=worlds(parameters=BACKFILL))
def test_settling_the_rest_of_the_queue_at_once(policy: str, world: World) -> None:
    usual = drive(world, policy)
    with without("_settle_rest", MainScheduler, lambda *_: False):
        other = drive(world, policy)
    assert usual.starts == other.starts
    assert usual.events == other.events


@given(world=worlds(parameters=BACKFILL))
def test_skipping_boundaries_no_plan_can_use(world: World) -> None:
    usual = drive(world, "backfill")
    with without("earliest_possible", View, lambda self, _: self.now):
        other = drive(world, "backfill")
    assert usual.starts == other.starts
    assert usual.events == other.events


@given(world=worlds(parameters=BACKFILL))
def test_skipping_future_tests_by_counting(world: World) -> None:
    usual = drive(world, "backfill")
    with without("too_few_by", View, lambda *_: False):
        other = drive(world, "backfill")
    assert usual.starts == other.starts
    assert usual.events == other.events


@given(world=worlds(plain=True))
def test_looking_only_at_arrivals(world: World) -> None:
    usual = drive(world, "easy")
    with without("_arrivals_only", Shadow, lambda *_: False):
        assert usual.starts == drive(world, "easy").starts


@pytest.mark.parametrize("policy", ["backfill", "easy", "conservative"])
@given(world=worlds(parameters=("", "bf_resolution=1")))
def test_counting_nodes_instead_of_placing(policy: str, world: World) -> None:
    usual = drive(world, policy)
    with without("_future_by_count", Selector, Selector._future_by_placement):
        other = drive(world, policy)
    assert usual.starts == other.starts
    assert usual.events == other.events


@pytest.mark.parametrize("policy", ["backfill", "easy", "conservative"])
@given(world=worlds())
def test_what_the_selector_remembers(policy: str, world: World) -> None:
    usual = drive(world, policy)
    future, fits = Selector.future, Selector.could_start

    def forgetful_future(self: Selector, *rest: Any, **more: Any) -> Any:
        self.forget_future()
        self._index_memory.clear()
        return future(self, *rest, **more)

    def forgetful_fits(self: Selector, *rest: Any) -> Any:
        self.forget_future()
        return fits(self, *rest)

    with without("future", Selector, forgetful_future), without("could_start", Selector, forgetful_fits):
        other = drive(world, policy)
    assert usual.starts == other.starts
    assert usual.events == other.events


def test_the_flag_of_the_tests_is_read() -> None:
    """Otherwise the comparison above would compare a run with itself."""
    policy: Any = load_policy("backfill")()
    policy.configure({"slurmsim_plan_all": ""}, 0)
    assert policy.plan_all
