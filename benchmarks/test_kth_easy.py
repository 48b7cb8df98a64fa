"""Claim: KTH-SP2 under EASY, with all outputs, in 1.2 CPU seconds."""

from __future__ import annotations

from pathlib import Path

from measure import Claim, check, data

CLAIM = Claim(
    "kth_easy",
    "KTH-SP2, 28,481 jobs, 100 nodes",
    "easy",
    ("--nodes", "100"),
    cpu_s=1.2,
    peers="pyss 2.15, HPCOpt 5.3, AccaSim 16.5",
)


def test_kth_easy(tmp_path: Path) -> None:
    check(CLAIM, data("KTH-SP2-1996-2.swf.gz"), tmp_path / "run")
