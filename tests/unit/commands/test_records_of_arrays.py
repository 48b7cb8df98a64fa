"""Since when the tasks of a throttled array accrue age (recorded on 22.05, 24.11 and 26.05)."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import CONF, ROOT, Cluster

ACCOUNTS = """\
add cluster tux
add account physics Fairshare=60
add user alice Account=physics Fairshare=10
"""
ROWS = "squeue -h -r -O State:10,AccrueTime:20,EligibleTime:20"


def _after(cluster: Cluster, seconds: int) -> list[list[str]]:
    for _ in range(seconds):
        cluster.engine.execute(cluster.engine.now + 1, "ping", {}, ROOT)
    return [row.split() for row in cluster.text(ROWS).splitlines()]


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_a_task_has_accrued_age_as_long_as_its_array(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, CONF, accounting=ACCOUNTS, release=release)
    cluster.run("sbatch --array=1-6%2 -n1 -t1 --wrap 'sleep 8'", "alice")
    first = _after(cluster, 8)
    asked = {accrue for state, accrue, eligible in first if state == "RUNNING" and accrue == eligible}
    assert len(asked) == 1 and [state for state, *_ in first].count("RUNNING") == 2
    assert {accrue for _, accrue, _ in first} == asked
    later = _after(cluster, 6)
    assert [state for state, *_ in later].count("RUNNING") == 2 and len(later) == 4
    assert {accrue for _, accrue, _ in later} == asked
    assert all(eligible > next(iter(asked)) for state, _, eligible in later if state == "RUNNING")
