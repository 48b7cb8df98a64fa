"""Claim: the daemon's memory follows the living jobs: 120,000 short jobs leave no more behind than 20,000 do.

``SLURMSIM_BENCH_ENDED`` for another number of jobs.
"""

from __future__ import annotations

import os
from pathlib import Path

from live_cluster import judge, live

JOBS = int(os.environ.get("SLURMSIM_BENCH_ENDED", "120000"))
WAVE = 4_000


def test_live_memory(tmp_path: Path) -> None:
    found: dict[int, float] = {}
    with live(tmp_path, mode="frozen", nodes=200) as c:
        for submitted in range(WAVE, JOBS + WAVE, WAVE):
            c.submit(WAVE)
            c.client.call("clock", action="until-idle")
            c.client.call("clock", action="step", seconds=400)  # MinJobAge, and the full minute after it
            found[submitted] = c.rss_mb()
            if submitted in (JOBS // 6 // WAVE * WAVE, JOBS // 2 // WAVE * WAVE, JOBS):
                print(f"\n{submitted:,} jobs: {found[submitted]:.0f} MB")
        one = c.command("sacct", "-n", "-j", "77")
        c.command("sacct", "-n", "-a", "-S", "now-1hour")
    early = found[JOBS // 6 // WAVE * WAVE]
    judge("live_memory", {
        f"MB the daemon grew by from {JOBS // 6:,} jobs to {JOBS:,}": (found[JOBS] - early, "<=", 16),
        f"sacct -j N with {JOBS:,} jobs stored, ms": (one, "<=", 250),
    })  # fmt: skip
