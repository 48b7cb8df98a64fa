"""The kernel's columns of who runs are what they would be if everybody were told anew, and only what is new is told."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from slurmsim_policies.slurm_backfill.who_runs import WhoRuns

N_NODES = 200


@dataclass
class Job:
    runs: list[tuple[int, int]]

    @property
    def n_nodes(self) -> int:
        return sum(length for _, length in self.runs)


@dataclass
class Nodes:
    running: list[tuple[int, int, Any]] = field(default_factory=list)
    n: int = N_NODES

    def runs_of(self, job: Job) -> list[tuple[int, int]]:
        return job.runs


class Spy:
    """Columns that remember of how many jobs they have been told."""

    def __init__(self, columns: Any) -> None:
        self._columns, self.told = columns, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._columns, name)

    def replace(self, first: int, last: int, told: array[int]) -> None:
        at = 0
        while at < len(told):
            self.told += 1
            at += 4 + 2 * told[at + 3]
        self._columns.replace(first, last, told)


RUNS = st.lists(st.tuples(st.integers(0, 7), st.integers(1, 24)), min_size=1, max_size=4, unique_by=lambda run: run[0])
STEP = st.tuples(
    st.lists(st.integers(0, 1000), max_size=40), st.lists(st.tuples(st.integers(0, 99), RUNS), max_size=40)
)


@given(steps=st.lists(STEP, min_size=1, max_size=6))
def test_columns_follow_who_runs(steps: list[tuple[list[int], list[tuple[int, Any]]]]) -> None:
    nodes, who, ids = Nodes(), WhoRuns(), 0
    columns = who.follow(nodes)
    for gone, come in steps:
        for at in gone:
            if nodes.running:
                del nodes.running[at % len(nodes.running)]
        for end, runs in come:
            ids += 1
            job = Job([(25 * place, length) for place, length in sorted(runs)])
            nodes.running.append((end, ids, job))
        nodes.running.sort(key=lambda entry: entry[:2])
        assert who.follow(nodes) is columns
        check(columns, nodes)


def check(columns: Any, nodes: Nodes) -> None:
    n = len(nodes.running)
    assert columns.n == n
    assert list(zip(columns.ends[:n], columns.ids[:n], columns.sizes[:n], strict=True)) == [
        (end, job_id, job.n_nodes) for end, job_id, job in nodes.running
    ]
    edges: dict[int, int] = {0: 1, N_NODES: 1}
    for k, (_, _, job) in enumerate(nodes.running):
        at, until = columns.first[k], columns.first[k + 1]
        assert list(zip(columns.begins[at:until], columns.lengths[at:until], strict=True)) == job.runs
        for begin, length in job.runs:
            for edge in (begin, begin + length):
                edges[edge] = edges.get(edge, 0) + 1
    n_cuts = columns.n_cuts
    assert list(zip(columns.cuts[:n_cuts], columns.uses[:n_cuts], strict=True)) == sorted(edges.items())


def test_only_what_is_new_is_told() -> None:
    nodes = Nodes([(10 * k, k, Job([(k, 1)])) for k in range(20)])
    who = WhoRuns()
    who.follow(nodes)
    spy = who.columns = Spy(who.columns)
    who.follow(nodes)
    assert spy.told == 0
    del nodes.running[3]
    who.follow(nodes)
    assert spy.told == 0
    nodes.running.insert(7, (75, 99, Job([(50, 2)])))
    who.follow(nodes)
    assert spy.told == 1
    end, job_id, job = nodes.running[5]
    nodes.running[5] = (end, job_id, job)  # another object: it runs otherwise
    who.follow(nodes)
    assert spy.told == 2
    check(who.columns, nodes)


def test_another_number_of_nodes() -> None:
    nodes, who = Nodes([(10, 1, Job([(0, 5)]))]), WhoRuns()
    before = who.follow(nodes)
    nodes.n = 100
    after = who.follow(nodes)
    assert after is not before
    assert list(after.cuts[: after.n_cuts]) == [0, 5, 100]
