"""Runs `slurmsim run` as a process of its own and weighs it: what the benchmark files share.

A claim is measured on the whole process: start of Python, reading the log, simulation, all outputs and the report.
Results go to ``results/NAME.json``; ``python benchmarks/table.py`` makes the table of README.md of them.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
# The environment that is measured: VENV, as the Makefile names it, else the one that runs this.
VENV = Path(os.environ.get("VENV") or Path(sys.executable).parents[1]).absolute()
SLURMSIM = VENV / "bin/slurmsim"
RUNS = int(os.environ.get("SLURMSIM_BENCH_RUNS", "1"))
# The median may be that much above its target before a benchmark fails: the same binary on the same log differs by
# 5 to 10 % between runs on a shared machine. The table says for each target whether it was met, without any margin.
MARGIN = 1.10
MB = 1_000_000
# Where this is set, every process translates the sources of a checkout anew: 0.4 s that no user pays twice.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@dataclass(frozen=True, slots=True)
class Run:
    """One process: CPU seconds (user and system), wall seconds, largest resident set in bytes."""

    cpu_s: float
    wall_s: float
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class Claim:
    """One line of the speed table.

    `arguments` are those of ``slurmsim run`` without workload, policy and out; targets are upper bounds, None for
    none; `peers` are CPU seconds others took for the same on the same kind of machine.
    """

    name: str
    title: str
    policy: str
    arguments: tuple[str, ...] = ()
    cpu_s: float | None = None
    wall_s: float | None = None
    rss_mb: float | None = None
    peers: str = ""


def data(name: str) -> Path:
    """The log `name` in the folder of logs; skips loudly when there is none."""
    folder = os.environ.get("SLURMSIM_DATA")
    if not folder:
        pytest.skip("set SLURMSIM_DATA to the folder with the SWF logs")
    path = Path(folder) / name
    if not path.is_file():
        pytest.fail(f"SLURMSIM_DATA is set, but there is no {name} in it")
    return path


def slurmsim(*arguments: str | Path) -> Run:
    """Run one slurmsim command as a process and weigh it; fails the test with its output when it fails."""
    began = time.perf_counter()
    with subprocess.Popen(
        [SLURMSIM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if process.returncode:
        pytest.fail(f"slurmsim {' '.join(map(str, arguments))} ended with {process.returncode}:\n{output.decode()}")
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024)


def weigh(
    workload: Path, policy: str, arguments: tuple[str, ...], out: Path, runs: int = RUNS
) -> tuple[list[Run], dict[str, Any]]:
    """`runs` runs of one simulation, the last of them judged by the validator; their weights and its summary."""
    weights = []
    for _ in range(runs):
        shutil.rmtree(out, ignore_errors=True)
        weights.append(slurmsim("run", "--workload", workload, "--policy", policy, *arguments, "--out", out, "--quiet"))
    slurmsim("validate", out)
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    shutil.rmtree(out)
    return weights, summary


def check(claim: Claim, workload: Path, out: Path) -> None:
    """Measure `claim`, write its result, print it, and fail if a median is above its target by more than the margin."""
    weights, summary = weigh(workload, claim.policy, claim.arguments, out)
    result = {"claim": asdict(claim), "runs": [asdict(w) for w in weights], "machine": machine(), "margin": MARGIN}
    result["summary"] = {
        key: summary[key] for key in ("jobs", "passes", "backfilled", "mean_wait_s", "mean_bounded_slowdown")
    }
    write(claim.name, result)
    print(f"\n{describe(result)}")
    assert summary["jobs"] > 0
    for what, unit, target, median in judged(result):
        assert median <= target * MARGIN, (
            f"{claim.title}, {claim.policy}: {what} {median:.2f} {unit}, target {target:g}"
        )


def judged(result: dict[str, Any]) -> list[tuple[str, str, float, float]]:
    """(what, unit, target, median) of every target of the claim."""
    claim, runs = result["claim"], result["runs"]
    values = (
        ("CPU", "s", claim["cpu_s"], [run["cpu_s"] for run in runs]),
        ("wall", "s", claim["wall_s"], [run["wall_s"] for run in runs]),
        ("memory", "MB", claim["rss_mb"], [run["rss_bytes"] / MB for run in runs]),
    )
    return [(what, unit, target, statistics.median(of)) for what, unit, target, of in values if target is not None]


def describe(result: dict[str, Any]) -> str:
    """One line for the terminal."""
    claim, runs, jobs = result["claim"], result["runs"], result["summary"]["jobs"]
    cpu = sorted(run["cpu_s"] for run in runs)
    median = statistics.median(cpu)
    wall = statistics.median(run["wall_s"] for run in runs)
    rss = max(run["rss_bytes"] for run in runs) / MB
    targets = ", ".join(
        f"{what} <= {target:g} {unit} {'met' if value <= target else 'MISSED'}"
        for what, unit, target, value in judged(result)
    )
    return (
        f"{claim['title']}, {claim['policy']}: {median:.2f} CPU s ({cpu[0]:.2f} to {cpu[-1]:.2f} in {len(runs)} runs), "
        f"{wall:.2f} s wall, {jobs / median:,.0f} jobs per CPU s, {rss:,.0f} MB; {targets}"
    )


def write(name: str, result: dict[str, Any]) -> None:
    """Keep a result in ``results/NAME.json``, of a compiled installation in ``results/NAME-compiled.json``."""
    RESULTS.mkdir(exist_ok=True)
    if result["machine"]["compiled"]:
        name += "-compiled"
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    version = subprocess.run([SLURMSIM, "--version"], capture_output=True, text=True, check=True).stdout
    return {
        "cpu": model or platform.machine(), "cores": os.cpu_count(), "python": platform.python_version(),
        "compiled": "compiled" in version,
    }  # fmt: skip
