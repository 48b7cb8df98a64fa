"""Claim: without outputs, EASY goes through 120,000 jobs of SDSC-BLUE in a CPU second, the whole command."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict

from measure import MARGIN, RUNS, data, machine, slurmsim, write

JOBS, TARGET = 232_542, 120_000  # jobs of the log; jobs a CPU second


def test_outputs_none() -> None:
    log = data("SDSC-BLUE-pyss-easy.swf.gz")
    words = ("run", "--workload", log, "--policy", "easy", "--nodes", "1152", "--outputs", "none", "--quiet")
    runs = [slurmsim(*words) for _ in range(max(RUNS, 3))]
    rate = JOBS / statistics.median(one.cpu_s for one in runs)
    write("outputs_none", {"jobs_per_cpu_s": round(rate), "runs": [asdict(one) for one in runs], "machine": machine()})
    print(f"\n{json.dumps({'jobs a CPU second': round(rate)})}")
    assert rate >= TARGET / MARGIN
