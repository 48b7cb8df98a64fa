"""Every named shortcut changes no decision: the same random workload with and without it, start for start.

A shortcut is one function that leaves work out. Here each is replaced by one that never does.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from bare_loop import START, World, drive, worlds
from hypothesis import given
from hypothesis import strategies as st
from left_out_cycles import left_out_cycles
from random_worlds import read_conf

from slurmsim import compiled
from slurmsim.core.placement.selector import Selector
from slurmsim.core.records.messages import Cancel, Fact, NodesDown, NodesResume, Submit
from slurmsim.core.scheduling.main_pass import MainPass
from slurmsim.core.scheduling.policy_view import View
from slurmsim.model.accounting import Accounting, Association, Limits, Qos
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.policy import load_policy
from slurmsim.releases import RELEASES
from slurmsim_policies.backfill import Shadow
from slurmsim_policies.slurm_backfill.atom_plans import AtomPlans

BACKFILL = (
    "", "", "bf_interval=60,bf_resolution=30", "bf_max_job_test=4", "bf_window=5", "bf_max_job_user=2",
    "bf_max_job_start=1", "bf_node_space_size=3", "bf_one_resv_per_job", "bf_job_part_count_reserve=1",
    "bf_min_age_reserve=100", "bf_running_job_reserve", "bf_max_job_part=2", "default_queue_depth=1",
    "bf_min_prio_reserve=4294901755", "partition_job_depth=1",
)  # fmt: skip
WHOLE_NODES = (
    "bf_interval=30", "bf_interval=10", "bf_interval=60,bf_resolution=30", "bf_resolution=1", "bf_resolution=600",
    "bf_window=10", "bf_window=40",
    "bf_busy_nodes", "bf_window_linear=60", "bf_running_job_reserve", "bf_node_space_size=40", "bf_max_job_test=12",
    "default_queue_depth=1", "bf_interval=300",
)  # fmt: skip
SLURM = pytest.mark.parametrize("policy", ["backfill", "builtin"])
EVENT_DRIVEN = pytest.mark.parametrize("policy", ["easy", "conservative"])


PLANNING_ALL = "backfill:plan_all=1"


@pytest.mark.parametrize("release", RELEASES)
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


def some_limits(draw: random.Random, n_nodes: int) -> Accounting:
    """Three users in two accounts and two QOS, some of them with limits that hold many jobs for a while."""
    nodes, jobs = draw.choice((n_nodes // 3, n_nodes // 2, n_nodes)), draw.choice((1, 2, 4))
    group = draw.choice(({"node": nodes}, {"cpu": 2 * nodes}, {"node": nodes, "cpu": nodes}, {}))
    return Accounting(
        (
            Association("root"),
            Association("a", parent="root", limits=Limits(grp_tres=draw.choice((group, {})))),
            Association("b", parent="root", limits=Limits(grp_jobs=draw.choice((None, 2)))),
            Association("a", user="u", is_default=True),
            Association("a", user="v", limits=Limits(max_jobs=draw.choice((None, jobs)))),
            Association("b", user="w", limits=Limits(max_tres={"node": nodes}), is_default=True),
        ),
        (
            Qos("normal"),
            Qos("q1", limits=Limits(grp_tres=group)),
            Qos("q2", max_jobs_pu=jobs, max_tres_pu=draw.choice(({}, {"node": nodes}))),
        ),
    )


def busy_world(seed: int, *, limited: bool = False) -> World:
    """Many jobs for whole, equal nodes, most of them waiting, most ending early: what deep plans are made for."""
    draw = random.Random(seed)
    n = draw.choice((6, 12, 40))
    lines = [
        "ClusterName=whole", "SelectType=select/linear", f"NodeName=n[1-{n}] CPUs=2 RealMemory=100",
        "AccountingStorageType=accounting_storage/slurmdbd",
        f"PartitionName=all Nodes=ALL Default=YES MaxTime={draw.choice(('2:00:00', '30'))}",
        f"SchedulerParameters={draw.choice(WHOLE_NODES)}",
    ]  # fmt: skip
    if draw.random() < 0.6:
        lines.append("PriorityType=priority/multifactor")
        lines.append(f"PriorityWeightJobSize={draw.choice((0, 1000))}")
        lines.append(f"PriorityWeightAge={draw.choice((0, 1000))}")
        lines.append("PriorityMaxAge=0-1")
    if draw.random() < 0.2:
        lines.append(f"PartitionName=part Nodes=n[1-{n // 2}] MaxTime=60")
    accounting = None
    if limited:
        accounting = some_limits(draw, n)
        lines.append("AccountingStorageEnforce=limits,qos")
    facts: list[tuple[int, Fact]] = []
    runs = {}
    now = START
    for job_id in range(1, draw.randint(20, 70)):
        now += draw.choice((0, 0, 5, 20, 60, 250))
        nodes = min(n, draw.choice((1, 1, 1, 2, 2, 3, n // 4, n // 3, n // 2, n)))
        limit = draw.choice((60, 120, 300, 600, 900, 1200, 1800, 3600, 7200))
        most = nodes if draw.random() < 0.9 else min(n, nodes + 2)
        where = ("part",) if "PartitionName=part" in lines[-1] and draw.random() < 0.3 else ()
        request = ResourceRequest(min_nodes=nodes, max_nodes=most)
        sub = Submission(job_id, request, time_limit_s=limit, partitions=where, nice=draw.choice((0, 0, 0, -5, 5)))
        if limited:
            sub.user, sub.qos = draw.choice("uuvw"), draw.choice(("", "q1", "q2"))
        runs[job_id] = draw.choice((1, 30, limit // 3, limit // 2, limit, limit + 100))
        facts.append((now, Submit(sub)))
        if draw.random() < 0.05:
            facts.append((now + draw.randint(0, 900), Cancel(job_id)))
    if draw.random() < 0.2:
        down = draw.randint(START, now)
        facts += [(down, NodesDown(("n1", "n2"))), (down + draw.randint(1, 2000), NodesResume(("n1", "n2")))]
    return World(lines, facts, runs, accounting)


ON_ATOMS, ON_NODES = "backfill:atoms=1", "backfill:atoms=0"


@given(seed=st.integers(0, 10**9), everything=st.booleans())
def test_planning_on_atoms(seed: int, everything: bool) -> None:
    world = busy_world(seed)
    more = ",plan_all=1" if everything else ""
    usual, other = (drive(world, policy + more) for policy in (ON_ATOMS, ON_NODES))
    assert usual.starts == other.starts
    assert usual.events == other.events


@given(seed=st.integers(0, 10**9))
def test_planning_on_atoms_beside_limits(seed: int) -> None:
    world = busy_world(seed, limited=True)
    usual, other = (drive(world, policy) for policy in (ON_ATOMS, ON_NODES))
    assert usual.starts == other.starts
    assert usual.events == other.events


@pytest.mark.parametrize("release", RELEASES)
@given(world=worlds(parameters=BACKFILL))
def test_planning_on_atoms_anywhere(world: World, release: str) -> None:
    cluster = dataclasses.replace(read_conf(world.lines), release=release)
    usual, other = (drive(world, policy, cluster=cluster) for policy in (ON_ATOMS, ON_NODES))
    assert usual.starts == other.starts
    assert usual.events == other.events


def test_plans_are_made_on_atoms() -> None:
    """Otherwise the comparisons above would compare two equal runs."""
    walked = []
    usual = AtomPlans.walk

    def noting(self: AtomPlans, at: int, last: int, tests: int) -> Any:
        found = usual(self, at, last, tests)
        walked.append(found[0] - at)
        return found

    with without("walk", AtomPlans, noting):
        for seed in range(10):
            drive(busy_world(seed), ON_ATOMS)
    assert sum(walked) > 100


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
        other = drive(world, policy)
    assert usual.starts == other.starts
    assert usual.events == other.events


def looked_at(world: World, depth: int) -> World:
    """The same under a default_queue_depth."""
    name = "SchedulerParameters="
    lines = [line + f",default_queue_depth={depth}" if line.startswith(name) else line for line in world.lines]
    return dataclasses.replace(world, lines=lines)


@SLURM
@given(seed=st.integers(0, 10**9))
def test_settling_the_rest_of_a_pass_that_ends_before_the_queue(policy: str, seed: int) -> None:
    world = looked_at(busy_world(seed), seed % 9)
    usual = drive(world, policy)
    with without("_settle_rest", MainPass, lambda *_: False):
        other = drive(world, policy)
    assert usual.starts == other.starts
    assert usual.events == other.events


def test_passes_that_end_before_the_queue_are_settled() -> None:
    """Otherwise the comparison above would compare two equal runs."""
    found = []
    usual = MainPass._last_looked_at

    def noting(self: MainPass, at: int) -> Any:
        last = usual(self, at)
        found.append(last is not None and last is not self.records[at])
        return last

    with without("_last_looked_at", MainPass, noting):
        for seed in range(10):
            drive(looked_at(busy_world(seed), 4), "backfill")
    assert any(found)


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
    policy: Any = load_policy("backfill")({"plan_all": "1"})
    policy.configure({}, 0)
    assert policy.plan_all
