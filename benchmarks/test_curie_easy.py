"""Claim: Curie, 295,540 jobs on 80,640 CPUs as 5,040 nodes of 16, under EASY in 25 CPU seconds."""

from __future__ import annotations

from pathlib import Path

from measure import Claim, check, data

CLAIM = Claim(
    "curie_easy",
    "Curie, 295,540 jobs, 5,040 nodes of 16 CPUs",
    "easy",
    ("--nodes", "5040", "--cpus-per-node", "16"),
    cpu_s=25,
    peers="pyss unfinished after 378",
)


def test_curie_easy(tmp_path: Path) -> None:
    check(CLAIM, data("CEA-curie-pyss-easy.swf.gz"), tmp_path / "run")
