"""Claim: a year like Titan's, 562,079 jobs on 18,688 nodes, under sched/backfill in 300 CPU seconds and 700 MB."""

from __future__ import annotations

from pathlib import Path

from measure import HERE, Claim, check, slurmsim

CLAIM = Claim(
    "titan_backfill", "a year like Titan's, 562,079 jobs, 18,688 nodes", "backfill",
    ("--conf", str(HERE / "titan.conf")), cpu_s=300, rss_mb=700, peers="nobody",
)  # fmt: skip


def test_titan_backfill(tmp_path: Path) -> None:
    workload = tmp_path / "titan.parquet"
    slurmsim("generate", "titan", "--out", workload, "--quiet")
    check(CLAIM, workload, tmp_path / "run")
