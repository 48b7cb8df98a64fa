"""GFS beside its paper: evictions and waits of spot jobs on a cluster of GPUs, with and without the forecast.

``python benchmarks/spot_gpus.py [SEED …]``. The paper (arXiv 2509.11134) has Alibaba's trace of 4,278 nodes. Here is a
drawn fortnight on 32 nodes of 8 GPUs: four accounts with demand that follows the day, and spot jobs of a few hours.
Evicted jobs begin anew. The validator judges every run.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import slurmsim
from slurmsim.validate import validate_trace

NODES, GPUS, DAYS = 32, 8, 14
CONF = f"""ClusterName=gpus
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
NodeName=n[1-{NODES}] CPUs=64 CoresPerSocket=64 Gres=gpu:{GPUS} State=UNKNOWN
PartitionName=high Nodes=ALL Default=YES MaxTime=INFINITE
PartitionName=spot Nodes=ALL MaxTime=INFINITE
"""
POLICIES = ("gfs:quota=all", "gfs:quota=0.15", "gfs:quota=0.25", "gfs", "gfs:target=0.2")


def jobs(seed: int) -> pd.DataFrame:
    """Return a fortnight of high-priority jobs by accounts and of spot jobs."""
    rng = np.random.default_rng(seed)
    rows = []
    for account in range(4):
        for hour in range(24 * DAYS):
            mean = 1.1 * (1 + 0.9 * np.sin(2 * np.pi * (hour - 8 + 2 * account) / 24)) * (0.7 + 0.2 * account)
            rows += [_row(rng, hour, f"a{account}", "high", 3.0) for _ in range(rng.poisson(mean))]
    for hour in range(24 * DAYS):
        rows += [_row(rng, hour, "batch", "spot", 2.0) for _ in range(rng.poisson(2))]
    frame = pd.DataFrame(sorted(rows, key=lambda row: row["submit"]))
    return frame.assign(job_id=range(1, len(frame) + 1))


def _row(rng: np.random.Generator, hour: int, account: str, partition: str, hours: float) -> dict[str, object]:
    gpus = int(rng.choice([1, 2, 4, 8, 8, 16, 32], p=[0.3, 0.15, 0.15, 0.15, 0.1, 0.1, 0.05]))
    nodes = max(gpus // GPUS, 1)
    run = int(np.clip(rng.lognormal(np.log(hours * 3600), 0.9), 120, 3 * 86_400))
    return {
        "submit": hour * 3600 + int(rng.integers(3600)), "run_time": run, "time_limit": 2 * run, "nodes": nodes,
        "gres": f"gpu:{min(gpus, GPUS)}", "account": account, "user": account, "partition": partition,
    }  # fmt: skip


def main(seeds: list[int]) -> None:
    """Print a row for each policy: means over the seeds."""
    heads = ("spot evicted %", "spot delay s", "spot median s", "high delay s", "GPUs used %", "goodput %")
    print(f"{'policy':22}", *(f"{head:>15}" for head in heads))
    with tempfile.TemporaryDirectory() as scratch:
        conf = Path(scratch) / "slurm.conf"
        conf.write_text(CONF)
        for policy in POLICIES:
            found = [measured(conf, policy, seed, Path(scratch) / "run") for seed in seeds]
            print(f"{policy:22}", *(f"{sum(one) / len(seeds):>15,.1f}" for one in zip(*found, strict=True)), flush=True)


def measured(conf: Path, policy: str, seed: int, out: Path) -> list[float]:
    """Return the measures of one run, GPUs over the days in which jobs come."""
    trace = slurmsim.run(jobs(seed), conf=conf, policy=policy, out=out, report=False)
    report = validate_trace(out)
    assert report.valid, report.to_text()
    frame, requeued = trace.jobs_frame(dates=False), trace.requeued_frame(dates=False)
    spot, high = (frame[frame["partition"] == name] for name in ("spot", "high"))
    runs = pd.concat([frame, requeued])
    end = DAYS * 86_400
    held = (runs["end"].clip(upper=end) - runs["start"].clip(upper=end)) * runs["gpus"]
    done = (frame["end"].clip(upper=end) - frame["start"].clip(upper=end)) * frame["gpus"]
    total = NODES * GPUS * end
    evictions = len(requeued) / (len(requeued) + len(spot))
    return [
        100 * evictions, delay(spot).mean(), delay(spot).median(), delay(high).mean(),
        100 * held.sum() / total, 100 * done.sum() / total,
    ]  # fmt: skip


def delay(jobs: pd.DataFrame) -> pd.Series:
    """Return what is between a submission and the end beside the run time: waits, and runs that were lost."""
    return jobs["end"] - jobs["submit"] - jobs["run_time_s"]


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]] or [1, 2, 3])
