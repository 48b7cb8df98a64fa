"""Claim: 3,000 durable submissions and 500 starts of simulated jobs a second through the daemon, 16 connections."""

from __future__ import annotations

import time
from pathlib import Path

from live_cluster import judge, live

JOBS, PROCESSES = 8_000, 400


def test_live_throughput(tmp_path: Path) -> None:
    with live(tmp_path, mode="frozen", nodes=200) as c:
        submitted = JOBS / c.submit(JOBS)
        began = time.perf_counter()
        c.client.call("clock", action="until-idle")
        started = JOBS / (time.perf_counter() - began)
        states = c.client.call("every_job", fields=["job_state"])["columns"]["job_state"]
        assert states == ["COMPLETED"] * JOBS
        print(f"\nprocesses of sbatch a second, 16 at a time: {PROCESSES / c.sbatch(PROCESSES):,.0f}")
        print(f"a sync: {c.sync_ms():.2f} ms")
    judge("live_throughput", {
        "durable submissions a second": (submitted, ">=", 3000),
        "starts of simulated jobs a second": (started, ">=", 500),
    })  # fmt: skip
