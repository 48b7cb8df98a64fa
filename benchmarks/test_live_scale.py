"""Claim: 10,000 nodes and 100,000 queued jobs are held in less than 2 GiB, and sinfo answers within a second.

``SLURMSIM_BENCH_QUEUE`` for another number of jobs.
"""

from __future__ import annotations

import os
from pathlib import Path

from live_cluster import judge, live

JOBS = int(os.environ.get("SLURMSIM_BENCH_QUEUE", "100000"))


def test_live_scale(tmp_path: Path) -> None:
    with live(tmp_path, mode="frozen", nodes=10_000) as c:
        c.submit(JOBS)
        judge("live_scale", {
            f"sinfo, 10,000 nodes and {JOBS:,} jobs, ms": (c.command("sinfo"), "<=", 1000),
            f"daemon with {JOBS:,} jobs, MB": (c.rss_mb(), "<=", 2147),
        })  # fmt: skip
