"""Random reservations, licenses, deadlines and minimum times: what is reserved is free, no license is over-used.

After every step the controller recounts itself; at the end the independent validator judges the schedule: nobody
outside starts on reserved nodes, nobody who could have been kept away is there when a reservation begins, and at no
instant are more licenses held than there are.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from bare_loop import START, World, drive, worlds
from hypothesis import given
from hypothesis import strategies as st
from random_worlds import POLICIES, read_conf

from slurmsim.core.records.messages import (
    CreateReservation,
    DeleteReservation,
    Fact,
    Maintain,
    Submit,
    UpdateReservation,
)
from slurmsim.model.reservation import ReservationSpec

FLAGS = (
    (), (), ("IGNORE_JOBS",), ("MAINT", "IGNORE_JOBS"), ("FLEX",), ("MAGNETIC",), ("OVERLAP",), ("DAILY",),
    ("HOURLY", "IGNORE_JOBS"), ("PURGE_COMP",), ("NO_HOLD_JOBS_AFTER",), ("MAGNETIC", "FLEX", "IGNORE_JOBS"),
)  # fmt: skip
LICENSES = (("a", 3), ("b", 1))


@st.composite
def reserved_worlds(draw: st.DrawFn, parameters: tuple[str, ...] = ("",), cores: bool = True) -> World:
    """The worlds of the other properties, with reservations, licenses, deadlines and minimum times put in."""
    world = draw(worlds(max_jobs=20, parameters=parameters, plain=True))
    lines = [world.lines[0], "Licenses=a:3,b", f"ResvOverRun={draw(st.sampled_from((0, 0, 2)))}", *world.lines[1:]]
    cluster = read_conf(lines)
    nodes = [node.name for node in cluster.nodes]
    last = max(at for at, _ in world.facts)
    names = [f"r{k}" for k in range(draw(st.integers(1, 3)))]
    facts: list[tuple[int, Fact]] = []
    for name in names:
        created = draw(st.sampled_from((START, START, draw(st.integers(START, last)))))
        start = created + draw(st.sampled_from((0, 7, 60, 300, 1000)))
        flags = frozenset(draw(st.sampled_from(FLAGS)))
        low = draw(st.integers(0, len(nodes) - 1))
        high = draw(st.integers(low, len(nodes) - 1))
        what = draw(st.sampled_from(("nodes", "nodes", "count", "all", "licenses", "cores" if cores else "nodes")))
        count = draw(st.integers(1, len(nodes)))
        spec = ReservationSpec(
            name, start, start + draw(st.sampled_from((60, 300, 900))),
            {"nodes": tuple(nodes[low : high + 1]), "all": ("ALL",), "cores": (nodes[low],)}.get(what, ()),
            node_counts=(count,) if what == "count" else (), core_counts=(1,) if what == "cores" else (),
            licenses=(("a", 2),) if what == "licenses" or draw(st.booleans()) else (),
            users=draw(st.sampled_from((("u",), ("u", "v"), ("u", "v"), ("-u",)))),
            flags=flags | ({"ANY_NODES"} if what == "licenses" else set()), purge_comp_s=60,
        )  # fmt: skip
        facts.append((created, CreateReservation(spec)))
        change = draw(st.sampled_from(("", "", "delete", "longer", "sooner")))
        at = created + draw(st.integers(0, 600))
        if change == "delete":
            facts.append((at, DeleteReservation(name)))
        elif change == "longer":
            facts.append((at, UpdateReservation(name, duration_s=1200)))
        elif change == "sooner":
            facts.append((at, UpdateReservation(name, start=at)))
    if draw(st.booleans()):
        begin = draw(st.integers(START, last + 300))
        facts.append((START, Maintain((draw(st.sampled_from(nodes)),), begin, begin + 400)))
    claims = st.sampled_from(("", "", "", names[0], names[-1], ",".join(names)))
    for at, fact in world.facts:
        if isinstance(fact, Submit):
            sub = fact.sub
            minimum = draw(st.sampled_from((None, None, None, 60)))
            fact = Submit(replace(
                sub, reservation=draw(claims), licenses=draw(st.sampled_from(("", "", "", "a:2", "a,b"))),
                time_min_s=minimum, deadline=draw(st.sampled_from((None, None, None, None, None, at + 400, at + 2000))),
            ))  # fmt: skip
        facts.append((at, fact))
    return World(lines, facts, world.runs)


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_reserved_nodes_and_licenses_are_kept(policy: str, data: st.DataObject) -> None:
    drive(data.draw(reserved_worlds()), policy)


@given(world=reserved_worlds(parameters=("", "bf_licenses", "bf_interval=60,bf_resolution=30")))
def test_planning_less_starts_the_same(world: World) -> None:
    """Plans nobody needs are left out of a backfill cycle, also beside reservations."""
    cluster = read_conf(world.lines)
    less = drive(world, "backfill:every_cycle=1", cluster=cluster)
    more = drive(world, "backfill:every_cycle=1,plan_all=1", cluster=cluster)
    assert less.starts == more.starts
