"""Carbon intensity over time: kilograms and money of a run by hand, files that are none, and jobs that wait for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import slurmsim
from slurmsim.errors import ConfigError
from slurmsim.validate import validate_trace

HOUR = 3600
WATTS = {"base_w": 400, "full_w": 600, "idle_w": 100}  # a node draws 1,000 W under a job, 100 W without


def series(folder: Path, text: str) -> Path:
    file = folder / "carbon.csv"
    file.write_text(text, "utf-8")
    return file


def jobs(*rows: tuple[int, int, int]) -> pd.DataFrame:
    return pd.DataFrame(
        [{"job_id": k, "submit": at, "run_time": run, "time_limit": run, "nodes": nodes, "user": "u"}
         for k, (at, run, nodes) in enumerate(rows, 1)]
    )  # fmt: skip


def run(folder: Path, frame: pd.DataFrame, text: str, policy: str = "easy", **options: Any) -> slurmsim.Trace:
    out = folder / "out"
    trace = slurmsim.run(frame, nodes=2, policy=policy, carbon=series(folder, text), out=out, report=False,
                         **{**WATTS, **options})  # fmt: skip
    report = validate_trace(out)
    assert report.valid, report.to_text()
    return trace


def test_kilograms_and_money_by_hand(tmp_path: Path) -> None:
    """An hour at 300 g and 0.2 a kWh, an hour at 100 g and 0.1: one node busy for two hours, the other for the second.

    Hour 1: 1.0 + 0.1 kWh, hour 2: 2.0 kWh. 1.1 * 300 + 2 * 100 = 530 g; 1.1 * 0.2 + 2 * 0.1 = 0.42.
    """
    frame = jobs((0, 2 * HOUR, 1), (HOUR, HOUR, 1))
    trace = run(tmp_path, frame, f"time,g_per_kwh,price\n0,300,0.2\n{HOUR},100,0.1\n")
    assert trace.summary["co2_kg"] == pytest.approx(0.53)
    assert trace.summary["energy_cost"] == pytest.approx(0.42)


def test_the_first_row_counts_before_it_and_the_last_after(tmp_path: Path) -> None:
    trace = run(tmp_path, jobs((0, 2 * HOUR, 2)), f"g_per_kwh,time\n500,{HOUR}\n")
    assert trace.summary["co2_kg"] == pytest.approx(4 * 0.5)
    assert "energy_cost" not in trace.summary


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "columns none"), ("time,watts\n0,1\n", "columns time, watts"), ("time,g_per_kwh\n", "has no row"),
        ("time,g_per_kwh\n0,x\n", r":2: g_per_kwh: 'x'"), ("time,g_per_kwh\n0,nan\n", "'nan'"),
        ("time,g_per_kwh\n0,-1\n", "'-1'"), ("time,g_per_kwh\n5,1\n5,1\n", ":3: time: 5 is not after 5"),
        ("time,g_per_kwh\n0,1,2\n", "too many cells"), ("time,g_per_kwh\nsoon,1\n", ":2: time"),
        ("time,g_per_kwh,time\n0,1,0\n", "columns time"), ("time,g_per_kwh\n0,1e999\n", "'1e999'"),
        ("time,g_per_kwh\n0\n", ":2: g_per_kwh: ''"), ("x" * 140_000, "--carbon: field larger"),
        (f"time,g_per_kwh\n0,{'9' * 140_000}\n", "--carbon: field larger"),
    ],
)  # fmt: skip
def test_files_that_are_none(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        run(tmp_path, jobs((0, 10, 1)), text)


CLEAN_LATER = f"time,g_per_kwh\n0,400\n{2 * HOUR},100\n{4 * HOUR},400\n"


def starts(trace: slurmsim.Trace) -> list[int]:
    return trace.jobs_frame(dates=False).sort_values("job_id")["start"].tolist()


def test_jobs_wait_for_clean_hours_as_long_as_they_may(tmp_path: Path) -> None:
    """Job 1 waits for the clean hours; job 2 comes in them, and so late that job 3 is held for nothing."""
    frame = jobs((0, HOUR, 1), (2 * HOUR, HOUR, 1), (4 * HOUR, HOUR, 2))
    assert starts(run(tmp_path, frame, CLEAN_LATER, "carbon")) == [2 * HOUR, 2 * HOUR, 4 * HOUR]
    assert starts(run(tmp_path, frame, CLEAN_LATER, f"carbon:wait={HOUR}")) == [0, 2 * HOUR, 4 * HOUR]
    assert starts(run(tmp_path, frame, CLEAN_LATER, "carbon:gain=90")) == [0, 2 * HOUR, 4 * HOUR]


def test_they_wait_by_the_forecast(tmp_path: Path) -> None:
    """What was expected is the contrary of what came."""
    text = f"time,g_per_kwh,forecast\n0,100,400\n{2 * HOUR},400,100\n"
    trace = run(tmp_path, jobs((0, HOUR, 2)), text, "carbon")
    assert starts(trace) == [2 * HOUR]
    assert trace.summary["co2_kg"] == pytest.approx(2 * 2 * 0.1 * 0.1 + 2 * 0.4)  # idle for two hours, then busy


def test_without_a_series_it_is_easy(tmp_path: Path) -> None:
    log = "generate:lublin:jobs=150,nodes=40"
    found = [starts(slurmsim.run(log, nodes=40, policy=name, out=tmp_path / name, report=False))
             for name in ("easy", "carbon")]  # fmt: skip
    assert found[0] == found[1]
