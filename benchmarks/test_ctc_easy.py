"""Claim: CTC, 77,199 jobs on 338 one-CPU nodes, under EASY in 3 CPU seconds."""

from __future__ import annotations

from pathlib import Path

from measure import Claim, check, data

CLAIM = Claim(
    "ctc_easy",
    "CTC, 77,199 jobs, 338 CPUs",
    "easy",
    ("--nodes", "338"),
    cpu_s=3,
    peers="pyss 75, Batsim 40, AccaSim 57, CQSim 89, Alea 42",
)


def test_ctc_easy(tmp_path: Path) -> None:
    check(CLAIM, data("CTC-SP2-pyss-easy.swf.gz"), tmp_path / "run")
