"""Malleable shares beside their paper: a log with 0, 20 and 100 % malleable jobs under each mode of `malleable`.

``python benchmarks/malleable_shares.py LOG.swf.gz NODES [SEED …]``. The paper (arXiv 2602.17318) has traces of Cori,
Eagle and Theta and draws each share ten times; a row here is the mean over the seeds. The validator judges every run.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import slurmsim
from slurmsim.validate import validate_trace

MEASURES = ("mean_turnaround_s", "mean_wait_s", "makespan_s", "utilization")
SHARES = ("0.2", "0.6", "1")


def main(log: str, nodes: int, seeds: list[int]) -> None:
    """Print a row for each mode and share."""
    print(f"{'mode':10}{'share':>6}", *(f"{name:>18}" for name in MEASURES))
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run"
        row("easy", "0", [measured(log, nodes, "easy", None, 0, out)])
        for mode in ("keep", "pref", "min", "average"):
            for share in SHARES:
                row(mode, share, [measured(log, nodes, f"malleable:mode={mode}", share, k, out) for k in seeds])


def measured(log: str, nodes: int, policy: str, share: str | None, seed: int, out: Path) -> list[float]:
    """Return the measures of one run."""
    trace = slurmsim.run(log, nodes=nodes, policy=policy, malleable=share, seed=seed, out=out, report=False)
    report = validate_trace(out)
    assert report.valid, report.to_text()
    return [float(trace.summary[name]) for name in MEASURES]


def row(mode: str, share: str, found: list[list[float]]) -> None:
    """Print the means of the runs."""
    means = [sum(column) / len(found) for column in zip(*found, strict=True)]
    print(f"{mode:10}{share:>6}", *(f"{mean:>18,.4g}" if mean < 1 else f"{mean:>18,.0f}" for mean in means), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(seed) for seed in sys.argv[3:]] or [1])
