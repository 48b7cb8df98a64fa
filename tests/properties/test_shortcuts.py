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
from busy_worlds import BACKFILL, busy_world, in_two_pools, with_arrays
from hypothesis import given, settings
from hypothesis import strategies as st
from left_out_cycles import left_out_cycles
from random_worlds import read_conf

from slurmsim import compiled
from slurmsim.core.placement import selector
from slurmsim.core.placement.selector import Selector
from slurmsim.core.scheduling.main_pass import MainPass
from slurmsim.core.scheduling.may_start import StartTest
from slurmsim.core.scheduling.policy_view import View
from slurmsim.policy import load_policy
from slurmsim.releases import RECORDED_RELEASES
from slurmsim_policies.backfill import Shadow

SLURM = pytest.mark.parametrize("policy", ["backfill", "builtin"])
EVENT_DRIVEN = pytest.mark.parametrize("policy", ["easy", "conservative"])


PLANNING_ALL = "backfill:plan_all=1"


@pytest.mark.parametrize("release", RECORDED_RELEASES)
@settings(max_examples=settings().max_examples // 2)
@given(world=worlds(parameters=BACKFILL))
def test_planning_no_deeper_than_something_can_start(world: World, release: str) -> None:
    cluster = dataclasses.replace(read_conf(world.lines), release=release)
    usual, other = (drive(world, policy, cluster=cluster) for policy in ("backfill", PLANNING_ALL))
    # by second and job: separate pools are walked one after the other, so their starts of one second may change places
    assert sorted(usual.starts) == sorted(other.starts)


@pytest.mark.skipif(compiled(), reason="puts the state of a policy back, which is out of reach in compiled code")
@given(world=worlds(parameters=BACKFILL))
def test_cycles_of_an_unchanged_cluster_start_nothing(world: World) -> None:
    """Between two instants at which the controller wants to be called, a full backfill cycle finds nothing to start."""

    drive(world, "backfill", between=left_out_cycles)


def without(name: str, owner: Any, replacement: Callable[..., Any]) -> Any:
    """`owner.name` replaced as long as the context lasts."""
    if compiled():
        pytest.skip("compiled code calls its own methods directly, so none can be replaced: pure Python runs this")
    return mock.patch.object(owner, name, replacement)


@SLURM
@given(world=worlds(parameters=BACKFILL))
def test_settling_the_rest_of_the_queue_at_once(policy: str, world: World) -> None:
    usual = drive(world, policy)
    with without("_settle_rest", MainPass, lambda *_: False):
        other = drive(world, policy, judged=False)
    assert usual.starts == other.starts
    assert usual.events == other.events


@SLURM
@given(world=worlds(parameters=BACKFILL))
def test_leaving_those_alone_who_wait_on_as_they_did(policy: str, world: World) -> None:
    usual = drive(world, policy)
    with without("_stays_behind", MainPass, lambda *_: False):
        other = drive(world, policy, judged=False)
    assert usual.starts == other.starts
    assert usual.events == other.events


@pytest.mark.skipif(compiled(), reason="constants of compiled modules cannot be replaced")
@SLURM
@given(world=worlds(parameters=BACKFILL))
def test_whether_the_kernel_is_asked_before_a_place_is_looked_for(policy: str, world: World) -> None:
    usual = drive(world, policy)
    for often in (0, 1 << 60):  # never, and always
        with mock.patch.object(selector, "FOUND_IN_TURN", often):
            other = drive(world, policy, judged=False)
        assert usual.starts == other.starts
        assert usual.events == other.events


def looked_at(world: World, depth: int) -> World:
    """The same under a default_queue_depth."""
    name = "SchedulerParameters="
    lines = [line + f",default_queue_depth={depth}" if line.startswith(name) else line for line in world.lines]
    return dataclasses.replace(world, lines=lines)


def queues_of(seed: int) -> World:
    """A busy world, of several pools or with arrays as the seed has it."""
    world = busy_world(seed)
    if seed % 2:
        world = in_two_pools(world, seed)
    return with_arrays(world, seed) if seed % 3 else world


@SLURM
@settings(max_examples=settings().max_examples // 2)
@given(seed=st.integers(0, 10**9))
def test_settling_the_rest_of_a_pass_that_ends_before_the_queue(policy: str, seed: int) -> None:
    world = looked_at(queues_of(seed), seed % 9)
    usual = drive(world, policy)
    with without("_settle_rest", MainPass, lambda *_: False):
        other = drive(world, policy, judged=False)
    assert usual.starts == other.starts
    assert usual.events == other.events


@pytest.mark.parametrize("kind", range(6))
def test_passes_that_end_before_the_queue_are_settled(kind: int) -> None:
    """Otherwise the comparison above would compare two equal runs."""
    found = []
    usual = MainPass._settle_rest

    def noting(self: MainPass, at: int) -> bool:
        before = self.examined
        settled = usual(self, at)
        found.append(settled and self.examined > before)
        return settled

    with without("_settle_rest", MainPass, noting):
        for seed in range(kind, 12, 6):
            drive(looked_at(queues_of(seed), 4), "backfill")
    assert any(found)


@given(world=worlds(parameters=BACKFILL))
def test_skipping_boundaries_no_plan_can_use(world: World) -> None:
    usual = drive(world, "backfill")
    with without("earliest_possible", View, lambda self, _: self.now):
        other = drive(world, "backfill", judged=False)
    assert usual.starts == other.starts
    assert usual.events == other.events


@given(world=worlds(parameters=BACKFILL))
def test_skipping_future_tests_by_counting(world: World) -> None:
    usual = drive(world, "backfill")
    with without("too_few_by", View, lambda *_: False):
        other = drive(world, "backfill", judged=False)
    assert usual.starts == other.starts
    assert usual.events == other.events


@given(world=worlds(plain=True))
def test_looking_only_at_arrivals(world: World) -> None:
    usual = drive(world, "easy")
    with without("_arrivals_only", Shadow, lambda *_: False):
        assert usual.starts == drive(world, "easy", judged=False).starts


@pytest.mark.parametrize("policy", ["backfill", "easy", "conservative"])
@settings(max_examples=settings().max_examples // 2)
@given(world=worlds(parameters=("", "bf_resolution=1")))
def test_counting_nodes_instead_of_placing(policy: str, world: World) -> None:
    usual = drive(world, policy)
    with without("_future_by_count", Selector, Selector._future_by_placement):
        other = drive(world, policy, judged=False)
    assert usual.starts == other.starts
    assert usual.events == other.events


@pytest.mark.parametrize("policy", ["backfill", "builtin", "easy", "conservative"])
@settings(max_examples=settings().max_examples // 2)  # all four ask in the same place
@given(seed=st.integers(0, 1 << 30))
def test_asking_limits_before_equal_nodes_are_picked(policy: str, seed: int) -> None:
    world = busy_world(seed, limited=True)
    usual = drive(world, policy)
    with without("_amount_known", StartTest, lambda *_: False):
        other = drive(world, policy, judged=False)
    assert usual.starts == other.starts
    assert usual.events == other.events


@pytest.mark.parametrize("policy", ["backfill", "easy", "conservative"])
@settings(max_examples=settings().max_examples // 2)
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
        other = drive(world, policy, judged=False)
    assert usual.starts == other.starts
    assert usual.events == other.events


def test_the_flag_of_the_tests_is_read() -> None:
    """Otherwise the comparison above would compare a run with itself."""
    policy: Any = load_policy("backfill")({"plan_all": "1"})
    policy.configure({}, 0)
    assert policy.plan_all
