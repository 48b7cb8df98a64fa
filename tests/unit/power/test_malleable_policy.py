"""Malleable jobs under EASY: who shrinks for whom and who grows, by hand; without malleable jobs it is EASY."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from power_runs import column, jobs, run

import slurmsim
from slurmsim.trace.reader import Trace
from slurmsim.validate import validate_trace

RIGID = {"app": "", "min_nodes": -1, "max_nodes": -1, "malleable": 0}


def sizes(trace: Trace, job: int) -> list[int]:
    """The nodes a job had, one after the other."""
    found: list[int] = []
    for nodes in trace.phases_frame().query(f"job_id == {job}").sort_values("start")["nodes"].tolist():
        if not found or found[-1] != nodes:
            found.append(nodes)
    return found


def test_it_grows_into_idle_nodes_and_gives_them_back(tmp_path: Path) -> None:
    """Job 1 prefers 8 of 16 nodes and may have 16; at 600 job 2 needs 8, at 700 job 3 all 16."""
    frame = jobs({}, {"submit": 600, "nodes": 8, "run_time": 500, **RIGID}, {"submit": 700, "nodes": 16, **RIGID})
    trace = run(tmp_path, frame, "malleable:every=0", nodes=16)
    assert sizes(trace, 1) == [16, 8, 16]
    start, end = column(trace, "start"), column(trace, "end")
    assert start[2] == 600
    assert start[3] == end[1] > end[2]


@pytest.mark.parametrize(
    ("mode", "first", "started"),
    [("keep", [8], 0), ("pref", [8, 4], 4), ("min", [8], 4), ("average", [8, 4], 8)],
)
def test_what_a_malleable_job_starts_on(mode: str, first: list[int], started: int, tmp_path: Path) -> None:
    """Job 2 (4 to 16 nodes) comes while job 1 has 8: `started` is what it begins on, 0: it waits."""
    frame = jobs({}, {"submit": 60})
    frame["max_nodes"] = 8  # so that none grows beyond what it prefers
    nodes = 12 if mode in ("average", "min") else 8
    trace = run(tmp_path, frame, f"malleable:mode={mode},every=100000", nodes=nodes)
    if not started:
        assert column(trace, "start")[2] == column(trace, "end")[1]
    else:
        assert column(trace, "start")[2] == 60
        assert sizes(trace, 2)[0] == started
    assert sizes(trace, 1)[: len(first)] == first


def test_a_backfilled_job_takes_lent_nodes_and_delays_no_head(tmp_path: Path) -> None:
    """Job 1 has 14 of 16 nodes, 6 of them lent. Job 4 would end before the head's start, job 3 would not."""
    frame = jobs(
        {"run_time": 20_000, "time_limit": 20_000, "max_nodes": 14}, {"submit": 100, "nodes": 12, **RIGID},
        {"submit": 200, "nodes": 5, "run_time": 900_000, "time_limit": 900_000, **RIGID},
        {"submit": 300, "nodes": 6, "run_time": 60, "time_limit": 60, **RIGID},
    )  # fmt: skip
    trace = run(tmp_path, frame, "malleable", nodes=16)
    start, end = column(trace, "start"), column(trace, "end")
    assert start[4] == 300
    assert start[2] == end[1]
    assert start[3] == end[2]


@pytest.mark.parametrize("more", [{}, {"cpus_per_node": 4}])
def test_without_malleable_jobs_it_is_easy(more: dict[str, Any], tmp_path: Path) -> None:
    log = "generate:lublin:jobs=250,nodes=40"
    starts = []
    for name in ("easy", "malleable"):
        trace = slurmsim.run(log, nodes=40, policy=name, out=tmp_path / name, report=False, **more)
        starts.append(trace.jobs_frame().sort_values("job_id")["start"].tolist())
    assert starts[0] == starts[1]


def test_a_share_of_a_log(tmp_path: Path) -> None:
    """Every mode leaves a valid trace and changes sizes; jobs that shrink for others shorten waits."""
    log = "generate:lublin:jobs=120,nodes=64"
    waits = {}
    for mode in ("keep", "pref", "min", "average"):
        trace = slurmsim.run(log, nodes=64, policy=f"malleable:mode={mode}", malleable=0.5, out=tmp_path / mode,
                             report=False)  # fmt: skip
        assert validate_trace(tmp_path / mode).valid
        assert (trace.phases_frame().groupby("job_id")["nodes"].nunique() > 1).any()
        waits[mode] = trace.summary["mean_wait_s"]
    rigid = slurmsim.run(log, nodes=64, policy="easy", out=tmp_path / "rigid", report=False).summary["mean_wait_s"]
    assert max(waits[mode] for mode in ("pref", "min", "average")) < rigid


def test_checkpoints_are_refused_beside_it(tmp_path: Path) -> None:
    with pytest.raises(slurmsim.errors.ConfigError, match="checkpoints are not modelled"):
        slurmsim.run("generate:lublin:jobs=5,nodes=8", nodes=8, malleable=0.5, checkpoint="60", out=tmp_path / "x")
