"""Instances for the tests, written down or drawn at random, and the way from an answer back to a plan."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from slurmsim_policies.cp.instance_data import Job, NodeGroup
from slurmsim_policies.cp.plain import instance_from
from slurmsim_policies.cp.plan import Plan
from slurmsim_policies.cp.problem import Instance

WORKED_EXAMPLE: dict[str, Any] = {
    "now": 0,
    "nodes": [
        {"count": 32, "core": 16, "gpu": 2, "mic": 0, "mem": 16294372},
        {"count": 32, "core": 16, "gpu": 0, "mic": 2, "mem": 16294372},
    ],
    "jobs": [
        {"id": "000", "q": 0, "rn": 32, "core": 4, "gpu": 1, "mem": 1000000, "duration": 14000, "ewt": 1800},
        {"id": "001", "q": 0, "rn": 1, "core": 14, "gpu": 1, "mem": 400000, "duration": 600, "ewt": 1800},
        {"id": "002", "q": 0, "rn": 2, "core": 4, "gpu": 1, "mem": 200000, "duration": 14400, "ewt": 1800},
        {"id": "003", "q": 0, "rn": 32, "core": 16, "mem": 400000, "duration": 800, "ewt": 1800},
        {"id": "004", "q": 0, "rn": 32, "core": 3, "mic": 2, "mem": 800000, "duration": 400, "ewt": 1800},
    ],
}
"""Tables 2 and 3 of EURORA 2014."""


def plan_from(answer: dict[str, Any]) -> Plan:
    """The plan in an answer in plain data."""
    return Plan(
        answer["starts"],
        {job: {int(node): units for node, units in layout.items()} for job, layout in answer["layout"].items()},
        {job: [(box[0], tuple(box[1:])) for box in boxes] for job, boxes in answer.get("boxes", {}).items()},
    )


def made(nodes: list[dict[str, int]], jobs: list[dict[str, Any]], **more: Any) -> Instance:
    """An instance at time 0 whose jobs may leave out id, q, rn and ewt."""
    filled = [{"id": f"j{n}", "q": 0, "rn": 1, "ewt": 10, **job} for n, job in enumerate(jobs)]
    return instance_from({"now": 0, "nodes": nodes, "jobs": filled, **more})


@st.composite
def instances(draw: st.DrawFn, *, most_jobs: int = 6, most_waiting: int = 4, most_cores: int = 4) -> Instance:
    """Up to `most_jobs` jobs on up to three nodes with cores and at most one GPU; some run already."""
    groups = draw(
        st.lists(
            st.builds(NodeGroup, st.integers(1, 2), st.tuples(st.integers(1, most_cores), st.integers(0, 1))),
            min_size=1, max_size=2,
        ).filter(lambda groups: sum(group.count for group in groups) <= 3)
    )  # fmt: skip
    sizes = [group.capacity for group in groups for _ in range(group.count)]
    free = [list(size) for size in sizes]
    jobs: list[Job] = []
    waiting = 0
    for number in range(draw(st.integers(1, most_jobs))):
        node = draw(st.integers(0, len(sizes) - 1))
        demand = (draw(st.integers(1, sizes[node][0])), draw(st.integers(0, sizes[node][1])))
        duration, ewt = draw(st.integers(1, 6)), draw(st.integers(1, 8))
        submit = -draw(st.integers(0, 9))
        here = all(amount <= left for amount, left in zip(demand, free[node], strict=True))
        if here and (waiting == most_waiting or draw(st.booleans())):
            free[node] = [left - amount for amount, left in zip(demand, free[node], strict=True)]
            start = -draw(st.integers(0, -submit))
            jobs.append(Job(f"j{number}", submit, 1, demand, duration, ewt, start, (node,)))
        elif waiting < most_waiting:
            places = sum(min(size[r] // amount for r, amount in enumerate(demand) if amount) for size in sizes)
            units = draw(st.integers(1, min(places, 3)))
            waiting += 1
            jobs.append(Job(f"j{number}", submit, units, demand, duration, ewt))
    return Instance(0, ("core", "gpu"), tuple(groups), tuple(jobs))
