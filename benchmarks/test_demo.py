"""Claim: the bundled demo, 5,000 jobs as the README's first command runs them, in 5 CPU seconds."""

from __future__ import annotations

from pathlib import Path

from measure import HERE, Claim, check

SAMPLE = HERE.parent / "workloads" / "samples"
CLAIM = Claim(
    "demo", "the demo, 5,000 jobs of a site with shared nodes", "backfill", ("--conf", str(SAMPLE / "sample.conf")),
    cpu_s=5, peers="–",
)  # fmt: skip


def test_demo(tmp_path: Path) -> None:
    check(CLAIM, SAMPLE / "sample.parquet", tmp_path / "run")
