"""Claim: lublin_256, 10,000 jobs on 256 nodes (offered load 1.06), under conservative backfilling in 25 CPU seconds."""

from __future__ import annotations

from pathlib import Path

from measure import Claim, check, data

CLAIM = Claim(
    "lublin_conservative",
    "lublin_256, 10,000 jobs, 256 nodes",
    "conservative",
    ("--nodes", "256"),
    cpu_s=25,
    peers="pyss 84.5",
)


def test_lublin_conservative(tmp_path: Path) -> None:
    check(CLAIM, data("lublin_256.swf.gz"), tmp_path / "run")
