"""Claim: KTH-SP2, 340 days, under sched/backfill with Slurm's cadence and defaults in 3 CPU seconds and 300 MB."""

from __future__ import annotations

from pathlib import Path

from measure import Claim, check, data

CLAIM = Claim(
    "kth_backfill",
    "KTH-SP2, 28,481 jobs in 340 days, 100 nodes",
    "backfill",
    ("--nodes", "100"),
    cpu_s=3,
    rss_mb=300,
    peers="FastSim 414 and 1.2 GB",
)


def test_kth_backfill(tmp_path: Path) -> None:
    check(CLAIM, data("KTH-SP2-1996-2.swf.gz"), tmp_path / "run")
