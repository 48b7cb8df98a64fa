"""The trace of a run keeps when the log says that its jobs ran, to compare with."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

import slurmsim
from slurmsim.validate import validate_trace


def test_recorded_times_are_beside_the_run(tmp_path: Path) -> None:
    log = pd.DataFrame({"job_id": [1, 2], "submit": [0, 5], "run_time": [60, 60], "time_limit": [120, 120],
                        "nodes": [1, 1], "log_start": [30, -1], "log_end": [90, -1]})  # fmt: skip
    slurmsim.run(log, nodes=1, policy="fcfs", out=tmp_path / "out", report=False)
    rows = pd.read_parquet(tmp_path / "out" / "inputs.parquet")
    assert rows["log_start"].fillna(-1).tolist() == [30, -1]
    assert rows["log_end"].fillna(-1).tolist() == [90, -1]
    assert validate_trace(tmp_path / "out").valid


def test_a_run_from_before_these_columns_is_judged(tmp_path: Path) -> None:
    log = pd.DataFrame({"job_id": [1], "submit": [0], "run_time": [60], "time_limit": [120], "nodes": [1]})
    trace = slurmsim.run(log, nodes=1, policy="fcfs", out=tmp_path / "out", report=False)
    file = trace.path / "inputs.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["log_start", "log_end"]), file)
    assert validate_trace(tmp_path / "out").valid
