"""Jobs that wait for clean hours, beside their paper: emissions and waits on a log, under a drawn intensity.

``python benchmarks/carbon_hours.py LOG.swf.gz NODES``. The paper (arXiv 2110.13234) has the grids of four regions in
2020. Here is a day of a solar grid, 400 g a kWh at night and 150 at noon, with a tenth of noise; the forecast lacks the
noise. Nodes draw 500 W under a job and 100 W without. The validator judges every run.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import slurmsim
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.validate import validate_trace

HOUR = 3600
POLICIES = ("easy", "carbon:wait=14400", "carbon:wait=28800", "carbon:wait=86400")


def series(first: int, last: int) -> str:
    """Return the CSV of a solar grid, hour by hour."""
    rng = np.random.default_rng(1)
    rows = ["time,g_per_kwh,forecast"]
    for at in range(first, last, HOUR):
        sun = max(0.0, float(np.sin(np.pi * ((at // HOUR) % 24 - 6) / 12)))
        grams = 400 - 250 * sun
        rows.append(f"{at},{max(grams * (1 + 0.1 * rng.standard_normal()), 0):.1f},{grams:.1f}")
    return "\n".join(rows) + "\n"


def main(log: str, nodes: int) -> None:
    """Print a row for each policy."""
    submit = prepare(RunOptions(log, "", nodes=nodes)).workload.ints["submit"]
    print(f"{'policy':20}{'kg CO2':>12}{'g a kWh':>10}{'mean wait s':>14}{'makespan s':>14}")
    with tempfile.TemporaryDirectory() as scratch:
        file, out = Path(scratch) / "carbon.csv", Path(scratch) / "run"
        file.write_text(series(int(submit.min()), int(submit.max()) + 90 * 86_400))
        for policy in POLICIES:
            trace = slurmsim.run(log, nodes=nodes, policy=policy, carbon=file, base_w=200, full_w=300, idle_w=100,
                                 out=out, report=False)  # fmt: skip
            report = validate_trace(out)
            assert report.valid, report.to_text()
            s = trace.summary
            each = 1000 * s["co2_kg"] / (s["energy_j"] / 3.6e6)
            print(f"{policy:20}{s['co2_kg']:>12,.0f}{each:>10.1f}{s['mean_wait_s']:>14,.0f}{s['makespan_s']:>14,}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
