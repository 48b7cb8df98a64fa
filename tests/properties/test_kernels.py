"""The kernels decide nothing otherwise than sets of nodes and placement in Python do, as Python and as extensions."""

from __future__ import annotations

import dataclasses
import gc
from typing import Any
from unittest import mock

import pytest
from bare_loop import START, World, drive, worlds
from busy_worlds import (
    BACKFILL,
    busy_world,
    shared_world,
    with_arrays,
    with_power_saving,
    with_preemption,
    with_reservations,
    with_wishes,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kernel_switch import kernels
from random_worlds import read_conf
from unit.kernel_forms import AVAILABLE

from slurmsim import compiled
from slurmsim.core.controller.controller import Controller
from slurmsim.core.placement import shares
from slurmsim.core.records.messages import Fact, Submit
from slurmsim.model.accounting import Accounting, Association, Limits, Qos
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.releases import RECORDED_RELEASES
from slurmsim_policies.slurm_backfill import atom_plans

ON_ATOMS, ON_NODES = "backfill:atoms=1", "backfill:atoms=0"
TRIED = AVAILABLE if settings().max_examples > 100 else AVAILABLE[-1:]
"""Forms in most tests: all in `make nightly`. The Python form is what is compiled, and takes twice the time."""


def forms_for(seed: int) -> tuple[str, ...]:
    """Both forms for every third seed, else those that most tests run on."""
    return AVAILABLE if seed % 3 == 0 else TRIED


pytestmark = pytest.mark.skipif(compiled(), reason="compiled code keeps its own kernels: pure Python compares them")


def same(
    world: World, *, first: str = ON_ATOMS, second: str = ON_NODES, release: str = "22.05",
    forms: tuple[str, ...] = TRIED,
) -> None:  # fmt: skip
    """Runs with each of these forms of the kernels and one without decide the same, down to the last event."""
    cluster = dataclasses.replace(read_conf(world.lines), release=release)
    with kernels("python", shares_wanted=False):
        other = drive(world, second, cluster=cluster, judged=False)
    for form in forms:
        with kernels(form):
            usual = drive(world, first, cluster=cluster)
        assert usual.starts == other.starts, form
        assert usual.events == other.events, form


@given(seed=st.integers(0, 10**9), everything=st.booleans())
def test_planning_on_atoms(seed: int, everything: bool) -> None:
    more = ",plan_all=1" if everything else ""
    same(busy_world(seed), first=ON_ATOMS + more, second=ON_NODES + more, forms=forms_for(seed))


@settings(max_examples=settings().max_examples // 2)
@given(seed=st.integers(0, 10**9), shared=st.booleans())
def test_planning_arrays(seed: int, shared: bool) -> None:
    same(with_arrays(shared_world(seed) if shared else busy_world(seed), seed))


@example(seed=65533, arrays=False, everything=False)  # whoever has the nodes goes this very second
@example(seed=6864471, arrays=True, everything=False)  # one who may take more nodes is barred at the end of the queue
@settings(max_examples=settings().max_examples // 2)
@given(seed=st.integers(0, 10**9), arrays=st.booleans(), everything=st.booleans())
def test_planning_on_atoms_beside_limits(seed: int, arrays: bool, everything: bool) -> None:
    world = busy_world(seed, limited=True)
    more = ",plan_all=1" if everything else ""
    same(with_arrays(world, seed) if arrays else world, first=ON_ATOMS + more, second=ON_NODES + more)


@pytest.mark.parametrize(
    "beside",
    [
        (with_wishes,),
        (with_reservations,),
        (with_preemption,),
        (with_power_saving,),
        (with_wishes, with_reservations, with_preemption, with_power_saving),
    ],
    ids=["wishes", "reservations", "preemption", "power", "all"],
)
@settings(max_examples=settings().max_examples // 4)
@given(
    seed=st.integers(0, 10**9), kind=st.sampled_from(("whole", "shares", "limited")), arrays=st.booleans(),
    everything=st.booleans(),
)  # fmt: skip
def test_planning_on_atoms_beside(
    beside: tuple[Any, ...], seed: int, kind: str, arrays: bool, everything: bool
) -> None:
    world = shared_world(seed) if kind == "shares" else busy_world(seed, limited=kind == "limited")
    if arrays:
        world = with_arrays(world, seed)
    for more in beside:
        world = more(world, seed)
    options = ",plan_all=1" if everything else ""
    same(world, first=ON_ATOMS + options, second=ON_NODES + options)


@given(world=worlds(parameters=BACKFILL), release=st.sampled_from(RECORDED_RELEASES))
def test_planning_anywhere(world: World, release: str) -> None:
    same(world, release=release)


@settings(max_examples=settings().max_examples // 2)
@given(seed=st.integers(0, 10**9), release=st.sampled_from(RECORDED_RELEASES))
def test_placing_shares(seed: int, release: str) -> None:
    same(shared_world(seed), release=release, forms=forms_for(seed))


@pytest.mark.parametrize("policy", ["easy", "conservative"])
@given(world=worlds(parameters=("", "pack_serial_at_end")))
def test_placing_shares_by_other_policies(policy: str, world: World) -> None:
    same(world, first=policy, second=policy)


def test_a_search_that_ends_for_want_of_a_moment_to_try_next() -> None:
    """Job 4, held by its QOS, has a plan until those of 6 to 8 take nodes away three times before any come free."""
    jobs = [  # comes at, nodes, minutes, QOS, nice
        (0, 5, 60, "", 0), (0, 1, 66, "q", 0), (0, 2, 72, "", 0), (100, 5, 2, "q", 0), (150, 9, 10, "", -1),
        (2000, 5, 20, "", -5), (2000, 2, 14, "", -5), (2000, 2, 8, "", -5),
    ]  # fmt: skip
    jobs += [(300 + 40 * k, 1, 1, "", 5) for k in range(60)]  # so that cycles go on to the last
    facts: list[tuple[int, Fact]] = []
    for n, (at, nodes, minutes, qos, nice) in enumerate(jobs, 1):
        request = ResourceRequest(min_nodes=nodes, max_nodes=nodes)
        sub = Submission(n, request, time_limit_s=60 * minutes, user="u", qos=qos, nice=nice)
        facts.append((START + at, Submit(sub)))
    runs = {n: 10 if job[2] == 1 else 60 * job[2] for n, job in enumerate(jobs, 1)}
    lines = [
        "ClusterName=whole", "SelectType=select/linear", "NodeName=n[1-9] CPUs=2 RealMemory=100",
        "PartitionName=all Nodes=ALL Default=YES MaxTime=2:00:00", "PriorityType=priority/multifactor",
        "AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageEnforce=limits,qos",
    ]  # fmt: skip
    people = (Association("root"), Association("a", parent="root"), Association("a", user="u", is_default=True))
    accounting = Accounting(people, (Qos("normal"), Qos("q", limits=Limits(grp_tres={"node": 5}))))
    same(World(lines, facts, runs, accounting))


def test_plans_go_with_their_cycle() -> None:
    """If they and it knew of each other they would wait for a collection, which took a tenth of KTH then."""
    left = []

    def count(_controller: Controller, _next: int) -> None:
        left.append(sum(isinstance(one, atom_plans.AtomPlans) for one in gc.get_objects()))

    gc.collect()
    gc.disable()
    try:
        for limited in (False, True):
            drive(busy_world(1, limited=limited), ON_ATOMS, between=count)
    finally:
        gc.enable()
    assert len(left) > 50 and max(left) == 0


def test_the_kernels_are_asked() -> None:
    """Otherwise the comparisons above would compare two equal runs."""
    passed_over: dict[str, int] = {"whole": 0, "shares": 0, "limits": 0}
    beside: dict[str, int] = {"wishes": 0, "reservations": 0, "victims": 0, "asleep": 0}
    found = []
    walk, future, find = atom_plans.AtomPlans.walk, shares.Shares.future, atom_plans.AtomPlans.find

    def noting_walk(self: atom_plans.AtomPlans, at: int, *rest: Any) -> Any:
        outcome = walk(self, at, *rest)
        kind = "shares" if self.shares is not None else "whole" if self.view.limits is None else "limits"
        passed_over[kind] += outcome - at
        return outcome

    def noting_find(self: atom_plans.AtomPlans, record: Any, *rest: Any, **more: Any) -> Any:
        view: Any = self.view
        beside["wishes"] += not self.knows(record)
        beside["victims"] += view.displaces(record)
        beside["reservations"] += view.reserved
        beside["asleep"] += bool(view.state.selector.asleep)
        return find(self, record, *rest, **more)

    def noting_future(self: shares.Shares, *rest: Any) -> Any:
        outcome = future(self, *rest)
        found.append(outcome is not None and outcome[0] > 0)
        return outcome

    with (
        kernels("python"),
        mock.patch.object(atom_plans.AtomPlans, "walk", noting_walk),
        mock.patch.object(atom_plans.AtomPlans, "find", noting_find),
        mock.patch.object(shares.Shares, "future", noting_future),
    ):
        for seed in range(3):
            drive(busy_world(seed), ON_ATOMS)
            drive(busy_world(seed, limited=True), ON_ATOMS)
            drive(shared_world(seed), ON_ATOMS)
            drive(shared_world(seed), "conservative")
            for more in (with_wishes, with_reservations, with_preemption, with_power_saving):
                drive(more(busy_world(seed), seed), ON_ATOMS)
    assert min(beside.values()) > 50
    assert min(passed_over.values()) > 100
    assert sum(found) > 50
