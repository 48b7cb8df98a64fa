"""A run whose jobs are not the workload's is invalid, whoever changed them."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slurmsim
from slurmsim.policy import Policy, Start
from slurmsim.validate import validate_trace


def jobs() -> pd.DataFrame:
    return pd.DataFrame({
        "job_id": [1, 2, 3], "submit": [0, 1, 1], "run_time": [600, 1200, 1800], "time_limit": [900, 1801, -2],
        "nodes": [1, 2, 1], "tasks": [1, 2, 4], "user": ["ann", "bob", "ann"],
    })  # fmt: skip


def verdict(folder: Path) -> tuple[bool, list[str]]:
    report = validate_trace(folder)
    check = report.check("inputs_unchanged")
    return report.valid, check.examples


@pytest.fixture
def run(tmp_path: Path) -> Path:
    slurmsim.run(jobs(), nodes=2, cpus_per_node=4, policy="backfill", out=tmp_path / "run", report=False)
    return tmp_path / "run"


def test_a_run_of_its_workload_is_valid(run: Path) -> None:
    assert verdict(run) == (True, [])


@pytest.mark.parametrize(
    ("column", "row", "value", "said"),
    [
        ("submit", 0, 5, "job 1: submit 5, in the workload 0"),
        ("time_limit_s", 1, 900, "job 2: time_limit_s 900, in the workload 1801"),
        ("time_limit_s", 2, 900, "job 3: time_limit_s 900, in the workload 31536000"),
        ("req_nodes", 1, 1, "job 2: req_nodes 1, in the workload 2"),
        ("req_cpus", 2, 1, "job 3: req_cpus 1, in the workload 4"),
        ("run_time_s", 0, 60, "job 1: run_time_s 60, in the workload 600"),
        ("job_id", 0, 9, "job 9 is not in the workload"),
        ("user", 0, "eve", "job 1: user 'eve', in the workload 'ann'"),
    ],
)
def test_what_is_not_as_in_the_workload_is_said(run: Path, column: str, row: int, value: Any, said: str) -> None:
    table = pq.read_table(run / "jobs.parquet")
    place = table["job_id"].to_pylist().index(row + 1)
    values = table[column].to_pylist()
    values[place] = value
    changed = pa.array(values, pa.string()).dictionary_encode() if column == "user" else pa.array(values, pa.int64())
    index = table.schema.get_field_index(column)
    pq.write_table(
        table.set_column(index, table.schema.field(index), changed.cast(table.schema.field(index).type)),
        run / "jobs.parquet",
    )
    valid, examples = verdict(run)
    assert not valid and said in examples


class GetsAtTheCore(Policy):
    """Finds the core's own jobs where no facade can hide them, and changes one."""

    def schedule(self, view: Any, now: int) -> Any:
        from slurmsim.core.records.job import Job

        for found in gc.get_objects():
            if isinstance(found, Job) and found.id == 3:
                found.time_limit_s = 60
        for job in view.pending:
            yield Start(job)


def test_a_policy_that_changes_a_job_of_the_core_makes_the_run_invalid(tmp_path: Path) -> None:
    slurmsim.run(jobs(), nodes=2, cpus_per_node=4, policy=GetsAtTheCore, out=tmp_path / "run", report=False)
    valid, examples = verdict(tmp_path / "run")
    assert not valid and "job 3: time_limit_s 60, in the workload 31536000" in examples


def test_without_a_table_of_inputs_the_check_is_skipped_by_name(tmp_path: Path) -> None:
    slurmsim.run(jobs(), nodes=2, cpus_per_node=4, policy="fcfs", out=tmp_path / "run", report=False)
    (tmp_path / "run" / "inputs.parquet").unlink()
    report = validate_trace(tmp_path / "run")
    assert report.valid and "no table of the workload's jobs" in report.to_text()
