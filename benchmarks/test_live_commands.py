"""Claim: squeue answers in 35 ms with 100 jobs and in 90 ms with 10,000, sbatch in 35 ms; an idle daemon sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from live_cluster import Live, judge, live


def hold_another(c: Live) -> Callable[[], object]:
    """Changes the queue, so that an answer about it has to be found anew."""
    numbers = count(9000)
    return lambda: c.client.call("hold_job", job_id=str(next(numbers)), kind="hold")


def test_live_commands(tmp_path: Path) -> None:
    values: dict[str, tuple[float, str, float]] = {}
    with live(tmp_path, mode="frozen", nodes=100) as c:
        c.submit(96)
        values["squeue with 100 jobs, ms"] = (c.command("squeue"), "<=", 35)
        values["sbatch, ms"] = (c.command("sbatch", "--wrap", "true"), "<=", 35)
        c.submit(10_000)
        values["squeue with 10,000 jobs, ms"] = (c.command("squeue"), "<=", 90)
        values["the same, each after a change, ms"] = (c.command("squeue", before=hold_another(c)), "<=", 90)
    began = time.perf_counter()
    with live(tmp_path / "idle") as c:
        values["slurmsim up to ready, s"] = (time.perf_counter() - began, "<=", 1)
        time.sleep(2)
        before, since = c.cpu_s(), time.perf_counter()
        time.sleep(20)
        values["idle daemon, % of a CPU"] = (100 * (c.cpu_s() - before) / (time.perf_counter() - since), "<=", 1)
    judge("live_commands", values)
