"""Claim: SDSC-BLUE, 232,542 jobs on 1,152 one-CPU nodes, under EASY in 6 CPU seconds and 500 MB."""

from __future__ import annotations

from pathlib import Path

from measure import Claim, check, data

CLAIM = Claim(
    "sdsc_blue_easy",
    "SDSC-BLUE, 232,542 jobs, 1,152 CPUs",
    "easy",
    ("--nodes", "1152"),
    cpu_s=6,
    rss_mb=500,
    peers="pyss 98",
)


def test_sdsc_blue_easy(tmp_path: Path) -> None:
    check(CLAIM, data("SDSC-BLUE-pyss-easy.swf.gz"), tmp_path / "run")
