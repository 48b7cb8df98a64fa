"""The controller driven by a plain heap of facts, no simulation: what a run decided, as values to compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Any

from hypothesis import strategies as st
from random_worlds import conf_lines, read_conf, requests
from verdict import approve

from slurmsim.core.controller.controller import Controller
from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import (
    AlterNodes,
    Boot,
    Cancel,
    Fact,
    Finished,
    JobEnded,
    Launch,
    NodesBooted,
    NodesDown,
    NodesResume,
    Submit,
)
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.submission import Submission
from slurmsim.policy import load_policy, parse_policy

START = 1_000
BOOT_S = 25
MOST_STEPS = 4_000  # one may stop another again and again for nodes it does not get
IDLE_STEPS = 60  # so many wake-ups without anything running or to come: what is left can never start


@dataclass(frozen=True, slots=True)
class World:
    """A cluster, what is told to it when, and how long each job runs if nobody stops it."""

    lines: list[str]
    facts: list[tuple[int, Fact]]
    runs: dict[int, int]
    accounting: Accounting | None = None


@dataclass(slots=True)
class Decided:
    """Everything one run decided."""

    starts: list[tuple[int, int, int, str]] = field(default_factory=list)  # when, job, nodes, CPUs a node
    events: list[tuple[Any, ...]] = field(default_factory=list)


@st.composite
def worlds(
    draw: st.DrawFn, *, max_jobs: int = 25, parameters: tuple[str, ...] = ("",), plain: bool = False
) -> World:  # fmt: skip
    """Jobs that come in bursts, with early ends, cancels and now and then a node that fails and returns."""
    lines = draw(conf_lines(max_nodes=8, parameters=parameters))
    cluster = read_conf(lines)
    names = [p.name for p in cluster.partitions]
    wanted = st.sampled_from(((), (), (names[-1],), tuple(names), tuple(names[::-1])))
    kinds = draw(st.lists(requests(len(cluster.nodes), plain=plain), min_size=1, max_size=6))
    facts: list[tuple[int, Fact]] = []
    runs = {}
    now = START
    job_id = 0
    for _ in range(draw(st.integers(1, max_jobs))):
        now += draw(st.sampled_from((0, 0, 0, 1, 10, 45, 200)))
        limit = draw(st.sampled_from((60, 120, 300, 600, 1200)))
        sub = Submission(
            0, draw(st.sampled_from(kinds)), time_limit_s=limit, partitions=draw(wanted),
            user=draw(st.sampled_from("uv")), nice=draw(st.sampled_from((0, 0, 0, -5, 5))),
        )  # fmt: skip
        tasks = draw(st.sampled_from((1, 1, 1, 1, 3)))
        array = {"array_job_id": job_id + 1, "array_limit": draw(st.sampled_from((None, 2)))} if tasks > 1 else {}
        for task in range(tasks):
            job_id += 1
            runs[job_id] = draw(st.sampled_from((1, 30, limit // 2, limit, limit + 100)))
            if array:
                array["array_task_id"] = task
            facts.append((now, Submit(replace(sub, job_id=job_id, **array))))
            if draw(st.sampled_from((False,) * 7 + (True,))):
                facts.append((now + draw(st.integers(0, 400)), Cancel(job_id)))
    if draw(st.sampled_from((False, False, True))):
        name = draw(st.sampled_from([n.name for n in cluster.nodes]))
        down = draw(st.integers(START, now + 300))
        facts += [(down, NodesDown((name,))), (down + draw(st.integers(1, 500)), NodesResume((name,)))]
    if draw(st.sampled_from((False, False, True))):
        some = draw(st.lists(st.sampled_from([n.name for n in cluster.nodes]), min_size=1, unique=True))
        facts.append((draw(st.integers(START, now + 100)), AlterNodes(tuple(some), draw(st.sampled_from((1, 1, 10))))))
    return World(lines, facts, runs)


def drive(
    world: World,
    policy: str,
    *,
    cluster: ClusterSpec | None = None,
    between: Callable[[Controller, int], None] | None = None,
    judged: bool = True,
) -> Decided:
    """Run `world` to its end.

    `between` sees the controller, and when the next thing will happen, before it does. All counters are recounted
    after every step, and the validator judges the schedule. A run that has to equal a judged one is not `judged`
    itself: its counters are recounted at its end.
    """
    name, options = parse_policy(policy)
    controller = Controller(
        cluster or read_conf(world.lines), load_policy(name)(options), START, accounting=world.accounting
    )
    heap: list[tuple[int, int, Fact]] = []
    for at, fact in world.facts:
        heappush(heap, (at, len(heap), fact))
    count, idle, steps = len(heap), 0, 0
    decided = Decided()
    ended: list[Job] = []
    while idle < IDLE_STEPS and steps < MOST_STEPS:
        wake = controller.wake_at()
        if not heap and (wake is None or not controller.state.jobs):
            break
        now = min(heap[0][0] if heap else wake, wake if wake is not None else heap[0][0])
        if between is not None and now > controller.state.now + 1:
            between(controller, now)
        facts = []
        while heap and heap[0][0] == now:
            facts.append(heappop(heap)[2])
        idle, steps = 0 if heap or controller.state.running else idle + 1, steps + 1
        for action in controller.step(now, facts):
            if isinstance(action, Finished):
                ended.append(action.job)
            if isinstance(action, Launch) and action.job.alloc is not None:  # it may have had to make way already
                job = action.job
                decided.starts.append((now, job.id, job.nodes, controller.state.cluster.cpus_per_node(job.alloc)))
                count += 1
                heappush(heap, (now + world.runs[job.id], count, JobEnded(job.id, "COMPLETED", "0:0", job.restarts)))
            if isinstance(action, Boot):
                count += 1
                heappush(heap, (now + BOOT_S, count, NodesBooted(action.nodes)))
        if judged and (facts or controller.state.events):  # else the next step in which something happens will tell
            controller.check()
        decided.events += controller.state.events
        controller.state.events.clear()
    controller.check()
    if judged:
        approve(controller, ended, decided.events)
    return decided
