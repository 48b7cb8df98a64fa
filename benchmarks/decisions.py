"""Fingerprints of decisions: ``make decisions`` before and after a change that must not change any.

A line a run: the SHA-256 of what `jobs.parquet` and `events.parquet` hold, column by column (not of the files, whose
metadata name the program). Runs: the bundled sample and, where SLURMSIM_DATA names the folder of logs, KTH-SP2 and
CTC-SP2, each under easy, conservative and backfill; and the sample with all that is in ``everything/`` (accounts, QOS
that preempt, reservations, node events and failures, power saving).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SLURMSIM = Path(os.environ.get("VENV") or Path(sys.executable).parents[1]).absolute() / "bin/slurmsim"
SAMPLE = ROOT / "workloads/samples/sample.parquet"
POLICIES = ("easy", "conservative", "backfill")
LOGS = ("KTH-SP2-1996-2.swf.gz", "CTC-SP2-pyss-easy.swf.gz")
EVERYTHING = HERE / "everything"
SEED = 3


def fingerprint(path: Path) -> str:
    """The first 16 digits of the SHA-256 of a Parquet file's rows, whatever its metadata, and how many there are."""
    table = pq.read_table(path)
    digest = hashlib.sha256()
    for name in table.column_names:
        digest.update(name.encode())
        for value in table.column(name).to_pylist():
            digest.update(repr(value).encode())
    return f"{digest.hexdigest()[:16]} {table.num_rows:8}"


def decide(name: str, *arguments: str | Path) -> None:
    """One run as a process of its own, and its line."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        command = [SLURMSIM, "run", *map(str, arguments), "--out", str(out), "--quiet"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{name}: {done.stderr.strip()}")
        found = "  ".join(f"{table} {fingerprint(out / f'{table}.parquet')}" for table in ("jobs", "events"))
    print(f"{name:32} {found}", flush=True)


def sample_of_everything(path: Path) -> None:
    """The sample with QOS, and some jobs that ask for the reservation."""
    rng = np.random.default_rng(SEED)
    jobs = pd.read_parquet(SAMPLE)
    jobs["qos"] = rng.choice(["normal", "urgent", "scavenger"], len(jobs), p=[0.7, 0.05, 0.25])
    inside = (jobs["account"] == "acct1") & (jobs["partition"] == "batch") & (rng.random(len(jobs)) < 0.05)
    jobs["reservation"] = np.where(inside, "school", "")
    jobs.to_parquet(path)


def main() -> None:
    """All runs."""
    for policy in POLICIES:
        decide(f"sample {policy}", "--conf", SAMPLE.with_suffix(".conf"), "--workload", SAMPLE, "--policy", policy)
    with tempfile.TemporaryDirectory() as folder:
        workload = Path(folder, "jobs.parquet")
        sample_of_everything(workload)
        decide("everything", "--conf", EVERYTHING / "slurm.conf", "--workload", workload,
               "--accounting", EVERYTHING / "accounting.toml", "--unknown-accounts", "add",
               "--reservations", EVERYTHING / "reservations.toml", "--node-events", EVERYTHING / "events.csv",
               "--mtbf", "2000000", "--mttr", "7200", "--epilog-time", "5", "--seed", str(SEED))  # fmt: skip
    logs = os.environ.get("SLURMSIM_DATA")
    if not logs:
        print("KTH-SP2 and CTC-SP2: SKIPPED, SLURMSIM_DATA names no folder of logs", file=sys.stderr)
        return
    for log in LOGS:
        for policy in POLICIES:
            decide(f"{log.partition('.')[0]} {policy}", "--workload", Path(logs, log), "--policy", policy)


if __name__ == "__main__":
    main()
