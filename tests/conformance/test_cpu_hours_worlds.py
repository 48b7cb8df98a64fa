"""cpu_hours with each base and tight limits, through the worlds every policy goes through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conformance_support import WORLDS, World, run
from hypothesis import settings

from slurmsim.states import FINAL_STATES
from slurmsim.workload import TextColumn

NIGHT = settings().max_examples > 100
BASES = pytest.mark.parametrize("base", ["easy", pytest.param("conservative", marks=pytest.mark.slow), "backfill"])


def of_three_users(world: World) -> World:
    """The same jobs, of users in turn where they have none."""
    log = world.workload
    if "user" in log.texts and any(log.texts["user"].values):
        return world
    names = [f"user{i % 3}" for i in log.ints["job_id"].tolist()]
    return replace(world, workload=replace(log, texts={**log.texts, "user": TextColumn.from_list(names)}))


@BASES
@pytest.mark.parametrize("make", WORLDS, ids=lambda make: make.__name__)
def test_every_job_comes_to_its_end_under_a_tight_limit(
    make: Callable[[], World], base: str, tmp_path: Path
) -> None:  # fmt: skip
    world = of_three_users(make())
    jobs = run(world, f"cpu_hours:base={base},limit=0.02x", tmp_path).jobs_frame()
    assert len(jobs) == len(world.workload) and set(jobs["state"]) <= set(FINAL_STATES)
    if not NIGHT:
        return
    events = (tmp_path / "out/events.parquet").read_bytes()
    run(world, f"cpu_hours:base={base},limit=0.02x", tmp_path / "again")
    assert (tmp_path / "again/out/events.parquet").read_bytes() == events


@BASES
@pytest.mark.parametrize("make", WORLDS, ids=lambda make: make.__name__)
def test_without_a_limit_the_jobs_are_the_base_schedulers_byte_for_byte(
    make: Callable[[], World], base: str, tmp_path: Path
) -> None:  # fmt: skip
    world = of_three_users(make())
    run(world, base, tmp_path / "base")
    for limit in ("inf", "1e15") if NIGHT else ("1e15",):
        run(world, f"cpu_hours:base={base},limit={limit}", tmp_path / limit)
        for table in ("jobs.parquet", "requeued.parquet", "usage.parquet"):
            same = (tmp_path / "base/out" / table).read_bytes() == (tmp_path / limit / "out" / table).read_bytes()
            assert same, (limit, table)
