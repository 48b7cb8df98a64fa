"""Bins against the naive reference, start for start: with and without backfill, buffer and boosts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import BinJob, bins
from small_logs import ONE_CPU_NODES, WHOLE_NODES, Machine, Row, logs, simulate

UNITS = 64
TABLE = """
[[bin]]
nodes = [33, 64]
hours = 24
boost_days = 0.01
[[bin]]
nodes = [9, 32]
boost_days = 0.003
[[bin]]
nodes = [1, 8]
"""
BOOSTS = {33: 864, 9: 259, 1: 0}
LIMITS = st.sampled_from((None, 1, 2, 4))


def boost(nodes: int) -> int:
    return next(seconds for low, seconds in BOOSTS.items() if nodes >= low)


def none(nodes: int) -> int:
    return 0


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("bins") / "table.toml"
    file.write_text(TABLE, encoding="utf-8")
    return file


def compare(
    log: list[Row], users: dict[int, str], file: Path, *, limit: int | None, boosts: bool, backfill: bool,
    machine: Machine = ONE_CPU_NODES,
) -> dict[int, int]:  # fmt: skip
    """Starts, which are those of the reference."""
    base = "conservative" if backfill else "fcfs"
    policy = f"bins:file={file},base={base},limit={limit or 'none'},boosts={'on' if boosts else 'off'}"
    found = simulate(machine.cluster(UNITS), machine.workload(log, users=users), policy).starts
    jobs = [BinJob(*row, users[row[0]]) for row in log]
    assert found == bins(jobs, UNITS, boost=boost if boosts else none, limit=limit, backfill=backfill)
    return found


@pytest.mark.parametrize("backfill", [True, False])
@given(
    log=logs(UNITS), who=st.lists(st.sampled_from("abc"), min_size=30, max_size=30), limit=LIMITS, boosts=st.booleans()
)
def test_starts_equal_the_reference(
    table: Path, backfill: bool, log: list[Row], who: list[str], limit: int | None, boosts: bool
) -> None:
    """Many things in one second, jobs that end before their limits, three users."""
    users = {row[0]: who[i] for i, row in enumerate(log)}
    compare(log, users, table, limit=limit, boosts=boosts, backfill=backfill)


def random_log(n: int, seed: int, perfect: bool) -> tuple[list[Row], dict[int, str]]:
    """`n` jobs at a load of about 0.9 of `UNITS` nodes; bursts of twelve users."""
    rng = random.Random(seed)
    log: list[Row] = []
    users: dict[int, str] = {}
    submit = 0
    for job_id in range(1, n + 1):
        nodes = rng.choice((1, 1, 2, 4, 8, 9, 16, 24, 32, 33, 48, UNITS))
        limit = rng.randrange(60, 1200)
        run = limit if perfect else min(limit, rng.randrange(1, 1500))
        if rng.random() < 0.3:
            submit += rng.randrange(0, 1 + round(2 * 20 * 630 / UNITS / 0.9 / 0.3))
        log.append((job_id, submit, run, nodes, limit))
        users[job_id] = f"u{int(12 * rng.random() ** 2)}"
    return log, users


VARIANTS = [(limit, boosts, backfill) for limit in (4, None) for boosts in (True, False) for backfill in (True, False)]
variants = pytest.mark.parametrize(("limit", "boosts", "backfill"), VARIANTS)


@variants
def test_a_queue_of_dozens(table: Path, limit: int | None, boosts: bool, backfill: bool) -> None:
    """Perfect requests and others, on one-CPU nodes and on whole ones."""
    for machine, perfect in ((ONE_CPU_NODES, True), (WHOLE_NODES, False)):
        log, users = random_log(600, 11, perfect)
        compare(log, users, table, limit=limit, boosts=boosts, backfill=backfill, machine=machine)


@pytest.mark.slow
@pytest.mark.parametrize("perfect", [True, False])
@variants
def test_ten_thousand_jobs(table: Path, limit: int | None, boosts: bool, backfill: bool, perfect: bool) -> None:
    log, users = random_log(10_000, 5, perfect)
    starts = compare(log, users, table, limit=limit, boosts=boosts, backfill=backfill)
    assert len(starts) == 10_000
