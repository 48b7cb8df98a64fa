"""Dates in frames: where the log has them, and only there."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import slurmsim

LOG = """; UnixStartTime: {start}
; MaxProcs: 4
; MaxNodes: 4
1  0 -1  600 4 -1 -1 4  600 -1 1 1 1 1 1 1 -1 -1
2 10 -1 3600 2 -1 -1 2 3600 -1 1 2 1 1 1 1 -1 -1
3 20 -1  600 2 -1 -1 2 9000 -1 1 3 1 1 1 1 -1 -1
"""
DAY = 1_000_000_000  # 2001-09-09 01:46:40 UTC


@pytest.fixture
def dated(tmp_path: Path) -> slurmsim.Trace:
    (tmp_path / "log.swf").write_text(LOG.format(start=DAY))
    return slurmsim.run(tmp_path / "log.swf", out=tmp_path / "out", policy="fcfs", until=700, report=False)


def test_instants_are_dates_where_the_log_has_them(dated: slurmsim.Trace) -> None:
    assert dated.epoch == DAY
    frame, seconds = dated.jobs_frame().set_index("job_id"), dated.jobs_frame(dates=False).set_index("job_id")
    assert frame.loc[2, "submit"] == pd.Timestamp("2001-09-09 01:46:50", tz="UTC")
    assert frame.loc[2, "start"] - frame.loc[1, "start"] == pd.Timedelta(600, "s")
    assert pd.isna(frame.loc[2, "end"]) and pd.isna(seconds.loc[2, "end"])  # it had not ended
    assert list(seconds["start"]) == [0, 600, 600]
    for column in ("wait_s", "run_time_s", "priority", "time_limit_s"):
        assert frame[column].equals(seconds[column])
    for made in (dated.events_frame, dated.usage_frame):
        assert list(made()["time"]) == [pd.Timestamp(DAY + t, unit="s", tz="UTC") for t in made(dates=False)["time"]]
    assert dated.requeued_frame()["start"].dtype == frame["start"].dtype


def test_seconds_stay_seconds_where_it_has_none(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(LOG.replace("; UnixStartTime: {start}\n", ""))
    trace = slurmsim.run(tmp_path / "log.swf", out=tmp_path / "out", policy="fcfs", report=False)
    assert trace.epoch is None
    assert sorted(trace.jobs_frame()["submit"]) == [0, 10, 20]


def test_the_printed_summary_has_dates(dated: slurmsim.Trace, capsys: pytest.CaptureFixture[str]) -> None:
    from slurmsim.cli import main

    log = dated.path.parent / "log.swf"
    words = ["run", "--workload", str(log), "--policy", "fcfs", "--out", str(dated.path.parent / "again")]
    assert main(words) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["first", "submission", "2001-09-09", "01:46:40"] in lines
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["first_submit"] == 0  # for programs
