"""The lines of DuckDB, Polars and pandas on the page of the trace give the same, on a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import slurmsim

PAGE = Path(__file__).parents[2] / "docs" / "trace-schema.md"


@pytest.mark.parametrize("tool", ["duckdb", "polars", "pandas"])
def test_mean_waits_of_users(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = pytest.importorskip(tool)
    monkeypatch.chdir(tmp_path)
    trace = slurmsim.run("generate:lublin:jobs=200,nodes=64", nodes=64, policy="easy", out="DIR", report=False)
    lines = re.findall(rf"^{tool}\..*$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(lines) == 1
    found = eval(lines[0], {tool: module})
    waits = trace.jobs_frame(dates=False).groupby("user", observed=True)["wait_s"].mean()
    told = found.to_dict() if tool == "pandas" else dict(zip(found["user"], found["wait_s"], strict=True))
    assert told == pytest.approx(waits.to_dict())
    assert len(told) > 5
