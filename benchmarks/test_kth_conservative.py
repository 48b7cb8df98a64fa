"""Claim: KTH-SP2, 28,481 jobs on 100 nodes, under conservative backfilling in 5 CPU seconds."""

from __future__ import annotations

from pathlib import Path

from measure import Claim, check, data

CLAIM = Claim(
    "kth_conservative",
    "KTH-SP2, 28,481 jobs, 100 nodes",
    "conservative",
    ("--nodes", "100"),
    cpu_s=5,
    peers="pyss 6.2",
)


def test_kth_conservative(tmp_path: Path) -> None:
    check(CLAIM, data("KTH-SP2-1996-2.swf.gz"), tmp_path / "run")
