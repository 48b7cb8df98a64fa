"""What it costs a run to know of power: the same run with watts and without.

``python benchmarks/power_cost.py [PAIRS] [JOBS]`` weighs CPU seconds of interleaved pairs. The ratio of a pair is what
counts: a shared machine is slower at some times than at others, for both of a pair alike.
``python benchmarks/power_cost.py instructions [JOBS]`` counts the machine's instructions instead (needs valgrind),
which other processes do not disturb; a run takes fifty times as long. The workload is generated (Lublin and Feitelson),
the policy is EASY; a run is a whole process, as in `measure`.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import SLURMSIM, slurmsim

POWER = ("--base-w", "56")


def command(place: str, jobs: int) -> tuple[str, ...]:
    """Make the workload; the words of a run of it without watts."""
    log = str(Path(place, "log.parquet"))
    slurmsim("generate", "lublin", "--jobs", str(jobs), "--load", "0.9", "--out", log, "--quiet")
    return ("run", "--workload", log, "--policy", "easy", "--quiet", "--out", f"{place}/run")


def seconds(pairs: int = 10, jobs: int = 8000) -> None:
    """Weigh CPU seconds and print."""
    with tempfile.TemporaryDirectory() as place:
        words = command(place, jobs)
        ratios, weights = list[float](), {False: list[float](), True: list[float]()}
        for pair in range(-1, pairs):  # the first warms caches up
            order = (pair % 2 == 0, pair % 2 == 1)
            cpu_s = {known: slurmsim(*words, *(POWER if known else ())).cpu_s for known in order}
            if pair >= 0:
                ratios.append(100 * (cpu_s[True] / cpu_s[False] - 1))
                for known, weight in cpu_s.items():
                    weights[known].append(weight)
                print(f"{cpu_s[False]:.2f} s without, {cpu_s[True]:.2f} s with: {ratios[-1]:+.1f} %", flush=True)
        error = 2 * statistics.stdev(ratios) / pairs**0.5
        least = 100 * (min(weights[True]) / min(weights[False]) - 1)
        print(f"{jobs} jobs, {pairs} pairs: mean {statistics.mean(ratios):+.1f} % (± {error:.1f}), "
              f"median {statistics.median(ratios):+.1f} %, least against least {least:+.1f} %")  # fmt: skip


def instructions(jobs: int = 8000) -> None:
    """Count instructions and print."""
    with tempfile.TemporaryDirectory() as place:
        words = command(place, jobs)
        without, known = _counted(words), _counted((*words, *POWER))
        print(f"{jobs} jobs: {without:,} instructions without, {known:,} with: {100 * (known / without - 1):+.2f} %")


def _counted(words: tuple[str, ...]) -> int:
    tool = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    python = SLURMSIM.with_name("python")
    done = subprocess.run((*tool, python, SLURMSIM, *words), capture_output=True, text=True, check=False)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode or found is None:
        raise SystemExit(done.stderr)
    return int(found[1].replace(",", ""))


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["instructions"]:
        instructions(*(int(word) for word in given[1:2]))
    else:
        seconds(*(int(word) for word in given[:2]))
