"""A cluster with a snapshot of an older schema goes on under this release."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_history import ROOT, opened, printed

from slurmsim.errors import WorkloadError
from slurmsim.slurmctld.snapshot import file, upgrades

SCHEMA1 = Path(__file__).parent / "fixtures" / "schema1"


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the folder made by slurmsim 0.2.0."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    folder = Path(shutil.copytree(SCHEMA1, tmp_path / "state"))
    for one in (folder, *folder.iterdir()):
        one.chmod(0o700 if one.is_dir() else 0o600)
    yield folder
    monkeypatch.undo()
    time.tzset()


def test_a_folder_of_release_0_2_0_answers_as_before(old: Path) -> None:
    header, tables, _ = file.read(next(old.glob("snapshot-*")))
    assert tables[0]["schema"] == 1, header
    engine = opened(old)
    answers = json.loads((old / "answers.json").read_text())
    for name in ("sacct", "sinfo", "sshare", "sacctmgr"):
        assert printed(engine, answers[name]["command"]) == answers[name]["output"]
    # plans and priorities of those who wait follow the rules of today: all else has happened
    asked = "squeue -a -t all -S i -o '%i|%j|%u|%T|%M|%l|%N|%k'"
    kept = [line.split("|") for line in answers["squeue"]["output"].splitlines()]
    was = ["|".join(row[:4] + row[5:8] + row[11:]) for row in kept]
    assert printed(engine, asked).splitlines() == was


def test_it_goes_on(old: Path) -> None:
    engine = opened(old)
    known = {live.id for live in engine.jobs.values()}
    job = {"name": "new", "script": "#!/bin/sh\n", "work_dir": "/", "environment": {}}
    assert engine.execute(engine.now, "submit", {"job": job}, ROOT)["job_id"] > max(known)
    printed(engine, "scontrol resume 2")
    engine.network.advance(engine.now + 3 * 3600)
    states = [line.split("|") for line in printed(engine, "squeue -a -h -t all -o '%i|%T'").splitlines()]
    assert {state for _, state in states} >= {"COMPLETED"}
    assert ["8", "COMPLETED"] in states  # it waited for job 2


def test_a_schema_nobody_knows_is_refused() -> None:
    with pytest.raises(WorkloadError, match="schema 99"):
        upgrades.check(99)
