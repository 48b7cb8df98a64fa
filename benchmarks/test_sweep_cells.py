"""Claim: a sweep of 1,000 cells of 1,000 jobs leaves 90 % of the cores to the cells, and costs at most 50 ms a cell."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import pandas as pd
from live_cluster import judge

import slurmsim
from slurmsim.campaign.memory import cores

CELLS = 1000
GRID = {"workloads": ["generate:lublin:jobs=1000,nodes=64"], "policies": ["easy", "fcfs"], "seeds": CELLS // 2}


def cpu_s() -> float:
    """Of this process and of workers that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def test_sweep_cells(tmp_path: Path) -> None:
    before, began = cpu_s(), time.perf_counter()
    assert slurmsim.sweep(GRID, out=tmp_path / "out").done == CELLS
    wall, cpu = time.perf_counter() - began, cpu_s() - before
    spent = pd.read_parquet(tmp_path / "out" / "times.parquet")
    inside, busy = float(spent["cpu_s"].sum()), float(spent["wall_s"].sum())
    judge(
        "sweep_cells",
        {
            "CPU in cells, % of all CPU": (100 * inside / cpu, ">=", 90),
            "time in cells, % of workers' time": (100 * busy / (cores() * wall), ">=", 90),
            "CPU beside the cells, ms a cell": (1000 * (cpu - inside) / CELLS, "<=", 50),
            "workers' time beside the cells, ms a cell": (1000 * (cores() * wall - busy) / CELLS, "<=", 50),
        },
    )
