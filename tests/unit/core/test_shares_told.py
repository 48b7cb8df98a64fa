"""What the kernel that places shares is told of running jobs: each once, however many begin in one cycle."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim import compiled
from slurmsim.core.placement.shares import Shares
from slurmsim.kernel import compiled as has_extension
from slurmsim.kernel.placement import Nodes
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.server.start import make_engine, new_header

N = 6
JOBS = st.lists(
    st.tuples(st.integers(0, 50), st.booleans(), st.lists(st.integers(0, N - 1), min_size=1, unique=True)), max_size=12
)


def nodes() -> Nodes:
    column = array("q", [8] * N)
    return Nodes(column, column, column, column, 0)


def columns(whole: bool, held: list[int]) -> array[int]:
    return array("q", held if whole else [*held, *(1 + h for h in held), *(10 * h for h in held)])


def told(found: Nodes) -> list[Any]:
    """Per job its end, whether it has its nodes whole, and what it holds."""
    jobs = []
    for k in range(found.n_jobs):
        some = slice(found.begins[k], found.begins[k + 1])
        shares = () if found.whole[k] else (list(found.held_cpus[some]), list(found.held_mem[some]))
        jobs.append((found.ends[k], bool(found.whole[k]), list(found.held[some]), *shares))
    return jobs


@given(JOBS)
def test_jobs_may_be_told_of_in_any_order(jobs: list[tuple[int, bool, list[int]]]) -> None:
    inserted, in_order, ends = nodes(), nodes(), []
    for end, whole, held in jobs:
        at = sum(other <= end for other in ends)
        inserted.insert(at, end, whole, columns(whole, held))
        ends.append(end)
    for end, whole, held in sorted(jobs, key=lambda job: job[0]):
        in_order.runs(end, whole, columns(whole, held))
    assert told(inserted) == told(in_order)


@pytest.mark.skipif(not has_extension("placement"), reason="the kernel is not compiled here, and then it is not asked")
@pytest.mark.skipif(compiled(), reason="compiled classes take no other methods: pure Python runs this")
def test_a_start_is_told_of_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one cycle 200 tasks begin; telling all who run after each of them made it quadratic."""
    entire = []
    restart = Shares._restart
    monkeypatch.setattr(Shares, "_restart", lambda self, selector: (entire.append(1), restart(self, selector)))
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=tux\nSlurmctldHost=head\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
        "DefMemPerCPU=100\nSchedulerParameters=bf_interval=5\n"
        "NodeName=n[1-50] CPUs=8 RealMemory=8000\nPartitionName=batch Nodes=ALL Default=YES\n"
    )
    header = new_header(start=1_767_600_000, mode="frozen", rate=1.0, conf="slurm.conf", owner=0)
    engine = make_engine(header, tmp_path)
    job = {"name": "j", "script": "#!/bin/sh\nsleep 5000\n", "work_dir": "/tmp", "time_limit": 60, "min_cpus": 1}
    alice = Person("alice", 2001, "alice", 2001, "/home/alice")
    engine.execute(engine.now, "submit", {"job": {**job, "array_inx": "0-399"}}, alice)
    engine.execute(engine.now + 60, "ping", {}, alice)
    assert len(engine.controller.state.running) == 400
    assert len(entire) < 40, len(entire)
