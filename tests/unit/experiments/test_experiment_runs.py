"""Many runs of one experiment: what is kept of them, and what happens to the others when one fails."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from slurmsim.campaign import sources
from slurmsim.errors import SlurmSimError
from slurmsim.experiments import runs
from slurmsim.experiments.runs import Cell, run_all
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


def counted(trace: Trace) -> dict[str, Any]:
    return {"rows": len(trace.ints("jobs", "job_id")[0])}


def test_another_log_in_the_same_place_is_run_anew(tmp_path: Path) -> None:
    """Results are kept by what is in a cell's files, not by their names alone; a touched file is the same file."""
    log = tmp_path / "log.swf"
    line = "{} 0 -1 60 1 -1 -1 1 60 -1 1 1 1 -1 1 -1 -1 -1\n"
    cells = [Cell("one", "fcfs", 0, log=str(log), nodes=2, cpus_per_node=1)]
    log.write_text(line.format(1))
    assert run_all(cells, counted, tmp_path, workers=1)["one"]["rows"] == 1
    kept = tmp_path / "runs" / "one.json"
    first = kept.read_bytes()
    log.touch()
    run_all(cells, counted, tmp_path, workers=1)
    assert kept.read_bytes() == first
    log.write_text(line.format(1) + line.format(2))
    assert run_all(cells, counted, tmp_path, workers=1)["one"]["rows"] == 2


@pytest.mark.parametrize("changed", ["own_digest", "packages_digest", "source_digest"])
def test_what_another_source_found_is_found_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    log = tmp_path / "log.swf"
    log.write_text("1 0 -1 60 1 -1 -1 1 60 -1 1 1 1 -1 1 -1 -1 -1\n")
    cells = [Cell("one", "fcfs", 0, log=str(log), nodes=2, cpus_per_node=1)]
    run_all(cells, counted, tmp_path, workers=1)
    kept = tmp_path / "runs" / "one.json"
    first = kept.stat().st_mtime_ns
    run_all(cells, counted, tmp_path, workers=1)
    assert kept.stat().st_mtime_ns == first
    monkeypatch.setattr(runs, changed, lambda *_: "another")
    run_all(cells, counted, tmp_path, workers=1)
    assert kept.stat().st_mtime_ns > first


def works() -> dict[str, Any]:
    """What the experiments of papers run."""
    from slurmsim.papers.eurora import packing, watts
    from slurmsim.papers.eurora import run as eurora
    from slurmsim.papers.lomonosov import run as lomonosov
    from slurmsim.papers.parm.large import run as large
    from slurmsim.papers.parm.testbed import run as testbed
    from slurmsim.papers.pcp20 import cells as pcp20
    from slurmsim.papers.titan import cells as titan
    from slurmsim.papers.titan import hypothesis
    from slurmsim.papers.titan import run as projects

    return {
        "packing": packing.run_cell, "watts": watts.run_cell, "eurora": eurora.measure, "lomonosov": lomonosov.measure,
        "large": large.run_cell, "testbed": testbed.run_cell, "pcp20": pcp20.work, "titan": titan.measure,
        "projects": projects.project_use, "ways": hypothesis.way_use,
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(works()))
def test_words_in_tables_and_goals_make_no_run_anew(name: str) -> None:
    """A run depends on what its function imports; goals, tables and views only judge and show it."""
    found = sources._closure(works()[name].__module__, runs.ROOMS)
    ours = {module for module in found if module.startswith("slurmsim.")}
    assert {f"slurmsim.{room}" for room in runs.ROOMS} <= ours and works()[name].__module__ in ours
    assert {module.rpartition(".")[2] for module in ours}.isdisjoint({"claims", "goals", "tables", "verdicts", "view"})
