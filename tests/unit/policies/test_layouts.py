"""Jobs as units, starts on explicit layouts, and solves that are asked for: what the port promises of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

import layout_solver
import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import World

import slurmsim.policy
from slurmsim.core.controller.controller import Controller
from slurmsim.core.placement.layout import lay_out, malformed
from slurmsim.core.placement.units import units_of
from slurmsim.core.records.messages import Cancel, Hold, NodesDown, NodesDrain, Solved
from slurmsim.errors import PolicyError
from slurmsim.policy import Plan, Policy, Solve, Start, Unit, load_policy
from slurmsim.replaying.manifest import cluster_facts
from slurmsim.validate import validate_schedule

CONF = """ClusterName=test
SlurmctldHost=localhost
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
{more}
NodeName=n[1-3] CPUs=8 CoresPerSocket=8 RealMemory=8000 Gres=gpu:2
NodeName=n4 CPUs=8 CoresPerSocket=8 RealMemory=16000 Feature=big
PartitionName=main Nodes=ALL Default=YES DefMemPerCPU=500 MaxTime=60
"""


class Scripted(Policy):
    """Does what the test says."""

    summary = "scripted"
    schedule_as: Callable[[Any, int], Any]
    solved_as: Callable[[Any, int, Any, Any], Any]

    def schedule(self, view: Any, now: int) -> Any:
        return type(self).schedule_as(view, now)

    def solved(self, view: Any, now: int, request: Any, answer: Any) -> Any:
        return type(self).solved_as(view, now, request, answer)


Make = Callable[..., World]


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Make:
    def make(schedule: Any, solved: Any = None, more: str = "", conf: str = CONF) -> World:
        point = EntryPoint("scripted", f"{__name__}:Scripted", slurmsim.policy.GROUP)
        monkeypatch.setattr("slurmsim.policy.registry.entry_points", lambda group: [point])
        monkeypatch.setattr(Scripted, "schedule_as", staticmethod(schedule), raising=False)
        monkeypatch.setattr(Scripted, "solved_as", staticmethod(solved), raising=False)
        layout_solver.asked.clear()
        return World(conf.format(more=more), "scripted")

    return make


def nothing(view: Any, now: int) -> Any:
    return ()


# -- units ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "count", "unit", "per_node"),
    [
        ("-n 5", 5, Unit(1, 500), 0),
        ("-n 4 -c 2", 4, Unit(2, 1000), 0),
        ("-n 4 -c 2 --mem-per-cpu=100", 4, Unit(2, 200), 0),
        ("-n 6 --ntasks-per-node=2", 6, Unit(1, 500), 2),
        ("--mem=3000", 1, Unit(1, 3000), 1),
        ("-N 2 -n 8 --mem=3000", 2, Unit(4, 3000), 1),
        ("-N 3", 3, Unit(1, 500), 1),
        ("-N 2 --gres=gpu:2", 2, Unit(1, 500, (("gpu", 2),)), 1),
        ("-N 1-4 -n 12", 2, Unit(6, 3000), 1),
    ],
)
def test_what_a_request_is_as_units(scripted: Make, line: str, count: int, unit: Unit, per_node: int) -> None:
    world = scripted(nothing)
    world.sbatch(f"-J a {line}", 60)
    world.until(0)
    found = world.controller.view.units(world.jobs["a"])
    assert (found.refusal, found.count, found.unit, found.per_node) == ("", count, unit, per_node)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("-n 8 --mem=3000", "asks for something per node and leaves open how many nodes"),
        ("-N 2 -n 5", "has 5 tasks, which 2 nodes cannot share evenly"),
        ("--exclusive --contiguous -N 2", "asks for nodes side by side (--contiguous)"),
        ("-N 2 --mem=0", "takes all memory of its nodes, which are of different sizes"),
    ],
)
def test_what_units_cannot_say_is_named(scripted: Make, line: str, why: str) -> None:
    world = scripted(nothing)
    world.sbatch(f"-J a {line}", 60)
    world.until(0)
    assert world.controller.view.units(world.jobs["a"]).refusal == why


def test_whole_nodes_are_units(scripted: Make) -> None:
    world = scripted(lambda view, now: [Start(job, layout={0: 1, 2: 1}) for job in view.pending])
    world.sbatch("-J a -n 12 --exclusive -t 10", 60)
    world.until(0)
    found = world.controller.view.units(world.jobs["a"])
    assert (found.count, found.unit.cpus, found.whole) == (2, 8, True)
    assert (world.jobs["a"].state, world.jobs["a"].n_cpus) == ("RUNNING", 16)


# -- layouts --------------------------------------------------------------------------------------------------------


def test_a_job_is_started_where_the_policy_says(scripted: Make) -> None:
    world = scripted(lambda view, now: [Start(job, layout={3: 1, 1: 3}) for job in view.pending])
    world.sbatch("-J a -n 4 -c 2 -t 10", 60)
    world.until(1000)
    job = world.jobs["a"]
    assert job.alloc is not None and job.alloc.layout is not None
    assert (job.alloc.indices().tolist(), job.alloc.layout.tolist(), job.alloc.cpus.tolist()) == (
        [1, 3],
        [3, 1],
        [6, 2],
    )
    assert job.alloc.mem.tolist() == [3000, 1000]
    world.controller.check()


@pytest.mark.parametrize(
    ("layout", "why"),
    [
        ({0: 3}, "it has 3 units, the job 4"),
        ({0: 4, 17: 1}, "there is no node 17"),
        ({0: 5, 1: 0}, "node 1 has 0 units"),
        ({"0": 4}, "there is no node '0'"),
        ({}, "it has 0 units, the job 4"),
    ],
)
def test_a_layout_that_never_could_be_is_an_error(scripted: Make, layout: Any, why: str) -> None:
    world = scripted(lambda view, now: [Start(job, layout=layout) for job in view.pending])
    world.sbatch("-J a -n 4 -t 10", 60)
    with pytest.raises(PolicyError, match=f"scripted: started job 1 on a layout that cannot be: {why}"):
        world.until(0)


@pytest.mark.parametrize(
    ("line", "layout"),
    [
        ("-n 9", {0: 9}),  # more CPUs than the node has
        ("-n 3 --mem-per-cpu=3000", {0: 3}),  # more memory
        ("-n 3 --gpus-per-task=1", {0: 3}),  # more GPUs
        ("-n 1 -x n1", {0: 1}),
        ("-n 1 -C big", {0: 1}),
        ("-n 1 --gpus-per-task=1", {3: 1}),  # none there
    ],
)
def test_a_layout_that_does_not_fit_is_refused(scripted: Make, line: str, layout: dict[int, int]) -> None:
    said = []

    def script(view: Any, now: int) -> Any:
        for job in view.pending:
            said.append((yield Start(job, layout=layout)))

    world = scripted(script)
    world.sbatch(f"-J a -t 10 {line}", 60)
    world.until(0)
    assert said == [False]


def test_nodes_that_are_down_or_reserved_or_taken_are_refused(scripted: Make) -> None:
    said = []

    def script(view: Any, now: int) -> Any:
        for job in view.pending:
            for node in (0, 1, 2, 3):
                said.append((yield Start(job, layout={node: 1})))
                if said[-1]:
                    break

    world = scripted(script)
    world.tell(NodesDown(("n1",)), 0)
    world.tell(NodesDrain(("n2",)), 0)
    world.sbatch("-J a -n 1 -c 8 -t 10", 60, at=1)
    world.sbatch("-J b -n 1 -c 8 -t 10", 60, at=2)
    world.until(2)
    assert said == [False, False, True, False, False, False, True]


requests = st.builds(
    lambda n, c, mem, gpus: f"-n {n} -c {c} --mem-per-cpu={mem}" + (f" --gpus-per-task={gpus}" if gpus else ""),
    st.integers(1, 6), st.integers(1, 4), st.integers(1, 3000), st.integers(0, 2),
)  # fmt: skip
layouts = st.dictionaries(st.integers(0, 3), st.integers(1, 4), min_size=1)


@given(st.lists(st.tuples(requests, layouts), min_size=1, max_size=8))
def test_layouts_fit_as_a_brute_count_says(tried: list[tuple[str, dict[int, int]]]) -> None:
    """The core against sums over what was started before, unit by unit."""
    world = World(CONF.format(more=""), "fcfs")
    for k in range(len(tried)):
        world.sbatch(f"-J j{k} -H -t 10 {tried[k][0]}", 60)
    world.until(0)
    c = world.controller
    sizes = [(8, 8000, 2)] * 3 + [(8, 16000, 0)]
    held: list[list[Unit]] = [[], [], [], []]
    for k, (_, layout) in enumerate(tried):
        if f"j{k}" not in world.jobs:
            continue  # refused: no node can hold it
        job = world.jobs[f"j{k}"]
        units = units_of(job.request, c.state.table)
        if units.refusal:
            continue
        fits = sum(layout.values()) == units.count
        for node, count in layout.items():
            there = held[node] + [units.unit] * count
            used = (
                sum(u.cpus for u in there),
                sum(u.mem_mib for u in there),
                sum(sum(n for _, n in u.gres) for u in there),
            )
            fits = fits and all(amount <= size for amount, size in zip(used, sizes[node], strict=True))
        wrong = malformed(units, layout, c.state.table.n)
        table = c.state.table
        found = None if wrong else lay_out(job.request, units, layout, table, table.everything, c.state.selector)
        assert (found is not None) == fits
        if found is not None:
            table.allocate(found)
            for node, count in layout.items():
                held[node] += [units.unit] * count


# -- solves ---------------------------------------------------------------------------------------------------------


def ask(view: Any, now: int) -> Any:
    """Ask for all that waits."""
    if view.pending and not view.solving:
        used = [0] * len(view.capacities())
        for job in view.running:
            for holding in view.holdings(job):
                used[holding.node] += holding.total.cpus
        free = [unit.cpus - used[node] for node, unit in enumerate(view.capacities())]
        jobs = [[job.id, view.units(job).count, view.units(job).unit.cpus] for job in view.pending]
        yield Solve({"free": free, "jobs": jobs, "at": now}, "layout_solver:first_fit")


def start(view: Any, now: int, request: Any, answer: Any) -> Any:
    """Start as answered."""
    waiting = {str(job.id): job for job in view.pending}
    for name, layout in answer.items():
        if name in waiting:
            yield Start(waiting[name], layout=dict(layout))


LINES = ("-n 6 -c 2", "-n 3 -c 4", "-n 9", "-n 2 -c 8", "-n 20", "-n 1")


def run_lines(world: World) -> None:
    for k, line in enumerate(LINES):
        world.sbatch(f"-J j{k} -t 10 {line}", 100 + 10 * k, at=k * 20)
    world.until(5000)


def test_an_answer_comes_back_at_the_same_instant(scripted: Make) -> None:
    world = scripted(ask, start)
    run_lines(world)
    assert [world.start(f"j{k}") for k in range(3)] == [0, 20, 100]
    assert all(job.state == "COMPLETED" for job in world.all.values())
    assert layout_solver.asked[0] == {"free": [8, 8, 8, 8], "jobs": [[1, 6, 2]], "at": 0}
    world.controller.check()
    approve(world)


def test_an_answer_comes_later_where_solving_takes_time(scripted: Make) -> None:
    world = scripted(ask, start)
    world.solving = 7
    run_lines(world)
    assert world.start("j0") == 7
    assert all(job.state == "COMPLETED" for job in world.all.values())
    approve(world)


def test_at_most_one_solve_is_out(scripted: Make) -> None:
    said = []

    def eager(view: Any, now: int) -> Any:
        for number in (1, 2):
            said.append((yield Solve({"free": [], "jobs": [], "number": number}, "layout_solver:first_fit")))

    world = scripted(
        eager, lambda view, now, request, answer: said.append((request["number"], answer, view.solving)) or ()
    )
    world.sbatch("-J a -n 1", 60)
    world.until(0)
    assert said == [True, False, (1, {}, False)]


def test_jobs_that_do_not_wait_any_more_are_no_error(scripted: Make) -> None:
    said = []

    def late(view: Any, now: int, request: Any, answer: Any) -> Any:
        for job in world.all.values():
            yield Plan(job, now + 10)
            said.append((yield Start(job, layout={0: 1})))

    world = scripted(ask, late)
    world.solving = 10
    for name in ("cancelled", "held", "fine"):
        world.sbatch(f"-J {name} -n 1 -t 10", 60)
    world.tell(Cancel(1), 3)
    world.tell(Hold(2), 4)
    world.until(10)
    assert said == [False, False, True]


def test_what_is_no_plain_data_or_no_solver_is_an_error(scripted: Make) -> None:
    for request, solver, text in (
        ({"a": {1, 2}}, "layout_solver:first_fit", "asked for a solve of what is no plain data"),
        ({}, "layout_solver", "expected package.module:function"),
        ({}, "layout_solver:nobody", "is no solver"),
        ({}, "layout_solver:broken", "RuntimeError: no solution"),
    ):
        world = scripted(lambda view, now, r=request, s=solver: [Solve(r, s)])
        world.sbatch("-J a -n 1", 60)
        with pytest.raises(PolicyError, match=text):
            world.until(0)


def test_a_bare_core_replays_the_answers_without_a_solver(scripted: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    world = scripted(ask, start)
    world.solving = 3
    run_lines(world)
    told = copy.deepcopy(world.told)
    assert any(isinstance(fact, Solved) for _, facts in told for fact in facts)
    monkeypatch.setattr("slurmsim.sim.solving.solve", None)
    bare = Controller(world.cluster, load_policy("scripted")(), 0)
    for now, facts in told:
        bare.step(now, facts)
    assert bare.state.events == world.controller.state.events
    bare.check()


# -- the validator ----------------------------------------------------------------------------------------------------


def columns(world: World) -> dict[str, list[Any]]:
    jobs = sorted(world.all.values(), key=lambda job: job.id)
    state = world.controller.state.cluster
    text = [",".join(map(str, job.alloc.layout.tolist())) if job.alloc else "" for job in jobs]
    return {
        "job_id": [j.id for j in jobs], "submit": [j.first_submit for j in jobs], "start": [j.start_time for j in jobs],
        "end": [j.end_time for j in jobs], "nodes": [j.n_nodes for j in jobs], "cpus": [j.n_cpus for j in jobs],
        "req_cpus": [j.sub.request.min_cpus for j in jobs],
        "node_list": [state.node_list(j.alloc) if j.alloc else "" for j in jobs],
        "cpus_per_node": [state.cpus_per_node(j.alloc) if j.alloc else "" for j in jobs], "layout": text,
    }  # fmt: skip


def approve(world: World) -> None:
    report = validate_schedule(columns(world), cluster_facts(world.cluster))
    assert report.valid, report.to_text()
    assert report.check("layouts_fit").subjects == len(LINES)


def test_the_validator_finds_overfull_layouts(scripted: Make) -> None:
    world = scripted(ask, start)
    run_lines(world)
    facts = cluster_facts(world.cluster)
    moved, full, short = (columns(world) for _ in range(3))
    moved["layout"][0] = "1,5"
    full["layout"][0], full["cpus_per_node"][0] = "5,1", "10,2"
    short["layout"][0], short["cpus_per_node"][0], short["cpus"][0] = "4,2", "4,2", 6
    assert "units" in str(validate_schedule(moved, facts).check("layouts_fit").examples)
    assert validate_schedule(full, facts).check("cpus_not_overbooked").violations
    assert "need 8 cpus and have 4" in str(validate_schedule(short, facts).check("layouts_fit").examples)
