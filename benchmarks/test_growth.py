"""Growth: how CPU time grows with the length of the log and with the number of nodes, as a picture and two bounds.

Workloads are Lublin-Feitelson at a load of 0.8 with requested times people would give; job sizes grow with the
machine. Choose shorter and smaller series with SLURMSIM_BENCH_JOBS and SLURMSIM_BENCH_NODES (the largest of each).
"""

from __future__ import annotations

import os
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from measure import RESULTS, RUNS, machine, slurmsim, weigh, write
from table import exponent

POLICIES = ("easy", "backfill")
MOST_JOBS = int(os.environ.get("SLURMSIM_BENCH_JOBS", "1000000"))
MOST_NODES = int(os.environ.get("SLURMSIM_BENCH_NODES", "100000"))
LENGTHS = [n for n in (10_000, 30_000, 100_000, 300_000, 1_000_000) if n <= MOST_JOBS]
SIZES = [n for n in (100, 1_000, 10_000, 100_000) if n <= MOST_NODES]
NODES, JOBS = 256, 10_000  # what stays the same while the other grows
# CPU time may grow no faster than its series to this power, from first to last: nearly linear in jobs, and as the
# square root of the nodes at most.
EXPONENT = {"jobs": 1.1, "nodes": 0.5}


@dataclass(frozen=True, slots=True)
class Point:
    """One simulation of a series."""

    policy: str
    jobs: int
    nodes: int
    cpu_s: float
    rss_bytes: int

    @property
    def rate(self) -> float:
        """Jobs per CPU second."""
        return self.jobs / self.cpu_s


def point(folder: Path, policy: str, jobs: int, nodes: int) -> Point:
    """Generate, simulate, weigh."""
    workload = folder / f"lublin-{jobs}-{nodes}.parquet"
    if not workload.exists():
        slurmsim("generate", "lublin", "--jobs", str(jobs), "--nodes", str(nodes), "--load", "0.8",
                 "-o", "estimate=popular", "--out", workload, "--quiet")  # fmt: skip
    runs, summary = weigh(workload, policy, ("--nodes", str(nodes)), folder / "run")
    assert summary["jobs"] == jobs
    assert summary["never_started"] == 0
    found = Point(policy, jobs, nodes, statistics.median(run.cpu_s for run in runs), max(run.rss_bytes for run in runs))
    print(f"{policy}, {jobs:,} jobs, {nodes:,} nodes: {found.cpu_s:.1f} CPU s, {found.rate:,.0f} jobs per CPU s")
    return found


@pytest.mark.parametrize("series", ["jobs", "nodes"])
def test_growth(series: str, tmp_path: Path) -> None:
    values = LENGTHS if series == "jobs" else SIZES
    points = [
        point(tmp_path, policy, value if series == "jobs" else JOBS, value if series == "nodes" else NODES)
        for policy in POLICIES
        for value in values
    ]
    rows: list[dict[str, Any]] = [asdict(p) for p in points]
    write(f"growth_{series}", {"series": series, "points": rows, "runs_each": RUNS, "machine": machine()})
    draw(points, series, RESULTS / f"growth_{series}.png")
    for policy in POLICIES:
        grown = exponent(series, [row for row in rows if row["policy"] == policy])
        assert grown <= EXPONENT[series], f"{policy}: CPU time grows with {series} to the power {grown:.2f}"


def draw(points: list[Point], series: str, file: Path) -> None:
    """Jobs per CPU second and peak memory over the series, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (rate, memory) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for policy in POLICIES:
        own = [p for p in points if p.policy == policy]
        at = [getattr(p, series) for p in own]
        rate.plot(at, [p.rate for p in own], marker="o", label=policy)
        memory.plot(at, [p.rss_bytes / 1e6 for p in own], marker="o", label=policy)
    for axes, title in ((rate, "jobs per CPU second, whole process"), (memory, "peak memory, MB")):
        axes.set(xscale="log", yscale="log", xlabel="jobs in the log" if series == "jobs" else "nodes", title=title)
        axes.grid(True, which="both", alpha=0.3)
        axes.legend()
    fixed = f"{NODES:,} nodes" if series == "jobs" else f"{JOBS:,} jobs"
    figure.suptitle(f"Lublin-Feitelson, load 0.8, {fixed}")
    figure.savefig(file, dpi=120)
    pyplot.close(figure)
