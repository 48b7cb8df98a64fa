"""Claim: squeue answers in 80 ms with 100 jobs and in 400 ms with 10,000, sbatch in 80 ms; an idle daemon sleeps."""

from __future__ import annotations

import time
from pathlib import Path

from live_cluster import judge, live


def test_live_commands(tmp_path: Path) -> None:
    values: dict[str, tuple[float, str, float]] = {}
    with live(tmp_path, mode="frozen", nodes=100) as c:
        c.submit(96)
        values["squeue with 100 jobs, ms"] = (c.command("squeue"), "<=", 80)
        values["sbatch, ms"] = (c.command("sbatch", "--wrap", "true"), "<=", 80)
        c.submit(10_000)
        values["squeue with 10,000 jobs, ms"] = (c.command("squeue"), "<=", 400)
    began = time.perf_counter()
    with live(tmp_path / "idle") as c:
        values["slurmsim up to ready, s"] = (time.perf_counter() - began, "<=", 1)
        time.sleep(2)
        before, since = c.cpu_s(), time.perf_counter()
        time.sleep(20)
        values["idle daemon, % of a CPU"] = (100 * (c.cpu_s() - before) / (time.perf_counter() - since), "<=", 1)
    judge("live_commands", values)
