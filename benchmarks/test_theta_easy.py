"""Claim: Theta 2022, 23,911 jobs on 4,360 nodes placed one by one, under EASY in 5 CPU seconds."""

from __future__ import annotations

from pathlib import Path

from measure import Claim, check, data

CLAIM = Claim(
    "theta_easy",
    "Theta 2022, 23,911 jobs, 4,360 nodes",
    "easy",
    ("--nodes", "4360"),
    cpu_s=5,
    peers="Batsim 18; AccaSim and Alea unfinished",
)


def test_theta_easy(tmp_path: Path) -> None:
    check(CLAIM, data("ALCF-Theta-2022.swf.gz"), tmp_path / "run")
