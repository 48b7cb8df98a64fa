"""What it costs a run to know of power: CPU seconds of pairs of runs, one with watts and one without, interleaved.

``python benchmarks/power_cost.py [PAIRS] [JOBS]``. The workload is generated (Lublin and Feitelson), the policy is
EASY; a run is a whole process, as in `measure`. The ratio of a pair is what counts: a shared machine is slower at some
times than at others, for both of a pair alike.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from measure import slurmsim


def main(pairs: int = 10, jobs: int = 8000) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as place:
        log = Path(place, "log.parquet")
        slurmsim("generate", "lublin", "--jobs", str(jobs), "--load", "0.9", "--out", log, "--quiet")
        words = ("run", "--workload", log, "--policy", "easy", "--quiet", "--out", f"{place}/run")
        ratios, weights = list[float](), {False: list[float](), True: list[float]()}
        for pair in range(-1, pairs):  # the first warms caches up
            order = (pair % 2 == 0, pair % 2 == 1)
            cpu_s = {known: slurmsim(*words, *(("--base-w", "56") if known else ())).cpu_s for known in order}
            if pair >= 0:
                ratios.append(100 * (cpu_s[True] / cpu_s[False] - 1))
                for known, seconds in cpu_s.items():
                    weights[known].append(seconds)
                print(f"{cpu_s[False]:.2f} s without, {cpu_s[True]:.2f} s with: {ratios[-1]:+.1f} %", flush=True)
        error = 2 * statistics.stdev(ratios) / pairs**0.5
        least = 100 * (min(weights[True]) / min(weights[False]) - 1)
        print(f"{jobs} jobs, {pairs} pairs: mean {statistics.mean(ratios):+.1f} % (± {error:.1f}), "
              f"median {statistics.median(ratios):+.1f} %, least against least {least:+.1f} %")  # fmt: skip


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3]))
