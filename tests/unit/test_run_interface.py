"""``slurmsim.run`` and ``slurmsim run`` take the same options, and a DataFrame is a workload."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import slurmsim
from slurmsim.cli import build_parser
from slurmsim.errors import SlurmSimError, WorkloadError
from slurmsim.replaying.options import RunKeywords, RunOptions

SHOWN = {
    "outputs",
    "help",
    "quiet",
    "json",
    "strict",
    "check_repeat",
}  # what the command prints, and its exit code; Python has neither
ROWS = {
    "job_id": [1, 2, 3],
    "submit": [0, 10, 20],
    "run_time": [600, 600, 60],
    "time_limit": [900] * 3,
    "nodes": [2] * 3,
}


def test_every_option_of_the_command_is_an_argument() -> None:
    parser = build_parser("run")
    (commands,) = (action for action in parser._actions if action.dest == "==SUPPRESS==" or (hasattr(action, "choices")
                   and isinstance(action.choices, dict)))  # fmt: skip
    assert isinstance(commands.choices, dict)
    options = {action.dest: action.default for action in commands.choices["run"]._actions}
    arguments = inspect.signature(slurmsim.run).parameters
    assert set(options) - SHOWN == set(arguments) - {"report"}
    for name in set(options) - SHOWN - {"workload", "out"}:
        assert (options[name] or None) == (arguments[name].default or None), name


def test_every_option_is_declared_once() -> None:
    declared = {field.name for field in fields(RunOptions)}
    assert declared == set(RunKeywords.__annotations__) | {"workload", "out"}
    assert "impossible_jobs" in str(inspect.signature(slurmsim.run))


def test_an_option_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"^run\(\) got an unexpected keyword argument 'polcy'$"):
        slurmsim.run("log.swf", out=tmp_path / "a", polcy="easy")  # type: ignore[call-arg]


def test_options_that_were_missing_do_what_they_do(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("time,action,nodes,until,reason\n5,down,n1,5000,broken\n")
    log = tmp_path / "log.swf"
    log.write_text("; MaxNodes: 2\n; MaxProcs: 2\n1 0 -1 600 2 -1 -1 2 600 -1 1 1 1 1 1 1 -1 -1\n")
    failed = slurmsim.run(log, out=tmp_path / "a", node_events=tmp_path / "events.csv", report=False)
    assert failed.summary["requeues"] == 1
    options = slurmsim.run(
        log, out=tmp_path / "b", option={"max_procs": 4}, mtbf=10**9, mttr=60, boot_time=1, epilog_time=1, term_time=1,
        report=False, seed=2,
    ).manifest["options"]  # fmt: skip
    assert options == {
        "workload": str(log), "option": ["max_procs=4"], "mtbf_s": 10**9, "mttr_s": 60, "boot_s": 1, "epilog_s": 1,
        "term_s": 1, "seed": 2,
    }  # fmt: skip


def test_a_frame_is_a_workload(tmp_path: Path) -> None:
    whole = slurmsim.run(pd.DataFrame(ROWS), nodes=2, out=tmp_path / "a", policy="fcfs", report=False)
    assert whole.jobs_frame()["start"].tolist() == [0, 600, 1200]
    assert whole.manifest["workload"]["file"] == "a DataFrame" and len(whole.manifest["workload_sha256"]) == 64
    text = {**ROWS, "user": ["ann", None, "bob"], "time_limit": [900.0, np.nan, 60.0]}
    dates = {**text, "submit": pd.to_datetime(["2026-01-05 08:00:00", "2026-01-05 08:00:10", "2026-01-05 08:00:20"])}
    trace = slurmsim.run(pd.DataFrame(dates), nodes=2, out=tmp_path / "b", report=False)
    frame = trace.jobs_frame().sort_values("job_id")
    assert frame["submit"].tolist() == [pd.Timestamp(t, tz="UTC") for t in dates["submit"]]
    assert frame["user"].tolist() == ["ann", "", "bob"]
    zone = pd.DataFrame(dates).assign(submit=dates["submit"].tz_localize("Europe/Berlin"))
    again = slurmsim.run(zone, nodes=2, out=tmp_path / "c", report=False)
    assert (frame["start"] - again.jobs_frame().sort_values("job_id")["start"]).eq(pd.Timedelta("1h")).all()
    path = tmp_path / "same.parquet"
    pd.DataFrame(ROWS).to_parquet(path)
    assert slurmsim.run(path, nodes=2, out=tmp_path / "d", policy="fcfs", report=False).jobs.equals(whole.jobs)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"run_time": [1.5, 2, 3]}, r"run_time.*row 0: 1.5"), ({"runtime": [1, 2, 3]}, "runtime"),
        ({"submit": ["x", "y", "z"]}, "submit"), ({"job_id": [1, 1, 2]}, "each job id once"),
        ({"submit": pd.to_datetime(["2026-01-05", None, "2026-01-06"])}, "row 1 is empty"),
    ],
)  # fmt: skip
def test_a_frame_that_is_none(tmp_path: Path, change: dict[str, object], complaint: str) -> None:
    with pytest.raises(WorkloadError, match=complaint):
        slurmsim.run(pd.DataFrame({**ROWS, **change}), nodes=2, out=tmp_path / "a", report=False)


def test_a_frame_has_no_format(tmp_path: Path) -> None:
    with pytest.raises(SlurmSimError, match="a DataFrame has no format"):
        slurmsim.run(pd.DataFrame(ROWS), nodes=2, out=tmp_path / "a", format="swf")
    with pytest.raises(SlurmSimError, match="is no workload"):
        slurmsim.run([1, 2], nodes=2, out=tmp_path / "a")  # type: ignore[arg-type]
