"""No wild world is over-booked, without an end, of an impossible history, or another one by another way to it.

A world is named by its number. ``python -m wild NUMBER 1 FOLDER`` in this folder keeps its files, and ``python -m
wild.shrink NUMBER KIND OUT`` makes what it shows small (docs/validation.md).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "commands"))
from wild.campaign import judge_all
from wild.count import count
from wild.generator import wild_world
from wild.judging import difference, judge
from wild.running import run
from wild.sessions import goes_on_otherwise
from wild.shrinking import shrink
from wild.world import World, read

from slurmsim.errors import SlurmSimError

COUNT = int(os.environ.get("SLURMSIM_WILD_WORLDS", "12"))
"""Worlds; 2,000 in `make nightly`."""
SEED = int(os.environ.get("SLURMSIM_WILD_SEED", "42"))
MOST_REFUSED = 0.12  # of all worlds: a generator whose inputs are refused shows nothing


def test_wild_worlds() -> None:
    summary = judge_all(SEED, COUNT, processes=2 if COUNT > 50 else 1, quiet=COUNT <= 50)
    print(f"from seed {SEED}: {summary}")
    assert not summary.bad, "\n".join(summary.lines)
    assert summary.how["refused"] <= max(2, MOST_REFUSED * COUNT), summary


def test_sessions_from_a_snapshot_half_way_are_the_same() -> None:
    """The worlds as commands typed in a live cluster, of which a tenth is enough: they have seconds of commands."""
    same, refused = 0, 0
    for seed in range(SEED, SEED + max(6, COUNT // 10)):
        with tempfile.TemporaryDirectory() as place:
            try:
                said = goes_on_otherwise(wild_world(seed), Path(place))
            except SlurmSimError:  # oracles and watts are for runs
                refused += 1
                continue
        assert not said, f"world {seed}: {said}"
        same += 1
    assert refused <= 2 + same // 5


def test_a_world_is_its_number() -> None:
    assert [wild_world(seed) for seed in range(20)] == [wild_world(seed) for seed in range(20)]
    assert len({wild_world(seed).conf for seed in range(20)}) == 20


@pytest.mark.parametrize("seed", range(8))
def test_files_are_the_world(seed: int, tmp_path: Path) -> None:
    world = wild_world(seed)
    again = read(world.write(tmp_path / "world"))
    told = [{key: value for key, value in job.items() if value != ""} for job in world.jobs]
    assert [dict(job) for job in again.jobs] == told
    assert (again.conf, again.events, again.accounts, again.reservations, again.options) == (
        world.conf, world.events, world.accounts, world.reservations, world.options,
    )  # fmt: skip


PLAIN = World(
    0,
    ("ClusterName=wild", "SlurmctldHost=h", "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core_Memory",
     "GresTypes=gpu", "Licenses=mat:2", "NodeName=n[1-2] CPUs=4 CoresPerSocket=4 RealMemory=1000 Gres=gpu:2",
     "PartitionName=p Nodes=ALL Default=YES"),
    (
        {"job_id": 1, "submit": 0, "run_time": 50, "time_limit": 60, "nodes": 1, "tasks": 4, "licenses": "mat:2"},
        {"job_id": 2, "submit": 0, "run_time": 50, "time_limit": 60, "nodes": 1, "gres": "gpu:2", "mem_per_node": 700},
        {"job_id": 3, "submit": 0, "run_time": 50, "time_limit": 60, "nodes": 1, "gres": "gpu:1", "mem_per_node": 700},
        {"job_id": 4, "submit": 0, "run_time": 50, "time_limit": 60, "tasks": 6, "mem_per_cpu": 100, "licenses": "mat"},
    ),
)  # fmt: skip
Change = Callable[[list[dict[str, Any]]], None]


def _together(rows: list[dict[str, Any]]) -> None:
    """All jobs start when the first does, on one node."""
    for row in rows:
        row |= {"start": 0, "held_since": 0, "end": 50, "node_list": "n1"}


def _early(rows: list[dict[str, Any]]) -> None:
    rows[0]["end"] -= 1


def _fewer(rows: list[dict[str, Any]]) -> None:
    rows[-1] |= {"cpus": 5, "cpus_per_node": "3,2"}


def _once_more(rows: list[dict[str, Any]]) -> None:
    """Events: a job that is over starts."""
    rows.append({**rows[-1], "event": "START"})


def _planned_again(rows: list[dict[str, Any]]) -> None:
    rows.append({**rows[-1], "event": "PLAN", "value": 1000})


@pytest.mark.parametrize(
    ("table", "change", "kinds"),
    [
        ("jobs", _together, {"cpus", "memory", "gpu", "license mat"}),
        ("jobs", _early, {"length"}),
        ("jobs", _fewer, {"request"}),
        ("events", _once_more, {"history"}),
        ("events", _planned_again, {"history"}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_second_count_finds(table: str, change: Change, kinds: set[str], tmp_path: Path) -> None:
    """A trace that is sound passes, one that was tampered with does not."""
    ran = run(PLAIN, PLAIN.write(tmp_path / "world"), tmp_path / "out")
    assert ran.folder is not None and count(PLAIN, ran.folder) == []
    path = ran.folder / f"{table}.parquet"
    found = pq.read_table(path)
    rows = sorted(found.to_pylist(), key=lambda row: row["job_id"]) if table == "jobs" else found.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, found.schema), path)
    assert kinds <= {kind for kind, _ in count(PLAIN, ran.folder)}


def test_the_second_count_knows_what_whole_tasks_leave(tmp_path: Path) -> None:
    """3, 4 and 2 CPUs are right for 5 tasks of 2 where n1 has 3 left (slurmctld 22.05.8); nothing less is."""
    nodes = "NodeName=n[1-4] CPUs=8 CoresPerSocket=8 RealMemory=1000 Gres=gpu:2"
    conf = (*PLAIN.conf[:-2], nodes, f"{PLAIN.conf[-1]} MaxCPUsPerNode=4")
    job = {"submit": 0, "run_time": 50, "time_limit": 60, "mem_per_node": 9}
    jobs = ({"job_id": 1, **job, "tasks": 1}, {"job_id": 2, **job, "tasks": 5, "cpus_per_task": 2},
            {"job_id": 3, **job, "tasks": 2})  # fmt: skip
    world = replace(PLAIN, conf=conf, jobs=jobs)
    ran = run(world, world.write(tmp_path / "world"), tmp_path / "out")
    assert ran.folder is not None and count(world, ran.folder) == []
    path = ran.folder / "jobs.parquet"
    found = pq.read_table(path)
    told = {(2, "3,4,2"): True, (2, "2,2,2"): False, (2, "3,4,1"): False, (2, "1,4,4"): False, (3, "1"): False}
    for (job_id, cpus), right in told.items():
        rows = sorted(found.to_pylist(), key=lambda row: row["job_id"])
        counts = [int(word) for word in cpus.split(",")]
        rows[job_id - 1] |= {"cpus_per_node": cpus, "cpus": sum(counts)}
        pq.write_table(pa.Table.from_pylist(rows, found.schema), path)
        assert (count(world, ran.folder) == []) is right, (job_id, cpus)


def test_a_difference_is_named(tmp_path: Path) -> None:
    """Runs with and without kernels are compared cell by cell."""
    files = PLAIN.write(tmp_path / "world")
    ran, plain = run(PLAIN, files, tmp_path / "out"), run(PLAIN, files, tmp_path / "plain", plain=True)
    assert ran.folder is not None and plain.folder is not None and difference(ran.folder, plain.folder) == ""
    table = pq.read_table(plain.folder / "jobs.parquet")
    pq.write_table(pa.Table.from_pylist(table.to_pylist()[1:], table.schema), plain.folder / "jobs.parquet")
    assert "jobs.parquet row 0 differs" in difference(ran.folder, plain.folder)


def test_shrinking() -> None:
    """What a finding does not need is left out: jobs, lines, words, cells, options."""
    world = next(world for world in map(wild_world, range(99)) if len(world.jobs) > 30 and world.events)

    def holds(other: World) -> bool:
        gang = any(line.startswith("PartitionName=p") and "Nodes=" in line for line in other.conf)
        return gang and any(job["job_id"] == 20 and "user" in job for job in other.jobs)

    small = shrink(world, holds)
    assert [job.keys() for job in small.jobs] == [{"job_id", "submit", "user"}]
    assert [len(line.split()) for line in small.conf] == [2]
    assert not (small.events or small.reservations or small.accounts or small.options)


def test_a_run_of_too_many_turns_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two jobs take turns every five seconds for an hour."""
    monkeypatch.setattr("wild.running.MOST_TURNS", 300)
    conf = (
        *PLAIN.conf[:-1],
        "PreemptMode=GANG",
        "SchedulerTimeSlice=5",
        "PartitionName=p Nodes=n1 Default=YES OverSubscribe=FORCE:2",
    )
    job = {"submit": 0, "run_time": 1800, "time_limit": 3600, "tasks": 4, "mem_per_node": 9}
    jobs = tuple({"job_id": k, **job} for k in (1, 2))
    ran, findings = judge(replace(PLAIN, conf=conf, jobs=jobs), tmp_path / "w")
    assert (ran.how, [finding.kind for finding in findings]) == ("endless", ["endless"]), ran
