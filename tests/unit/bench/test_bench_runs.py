"""Many runs of one experiment: what happens to the others when one fails."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from slurmsim.bench.runs import Cell, run_all
from slurmsim.errors import SlurmSimError
from slurmsim.trace.reader import Trace


def never_done(trace: Trace) -> dict[str, Any]:
    time.sleep(3600)
    return {}


def test_an_error_ends_what_runs_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else this would take an hour."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    options = (("jobs", "20"),)
    cells = [Cell("endless", "fcfs", 1, "lublin", options), Cell("wrong", "fcfs", 1, "lublin", (("nods", "5"),))]
    with pytest.raises(SlurmSimError, match="nods"):
        run_all(cells, never_done, tmp_path, workers=2)
    assert multiprocessing.active_children() == []
    assert list(scratch.glob("slurmsim-*")) == []
