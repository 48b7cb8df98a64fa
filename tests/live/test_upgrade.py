"""A cluster that an older release snapshotted goes on under this one."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_history import ROOT, opened, printed

from slurmsim.errors import WorkloadError
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.snapshot import file, upgrades

FIXTURES = Path(__file__).parent / "fixtures"
SCHEMAS = {f"schema{k}": k for k in range(1, 16)}  # made by slurmsim 0.2.0 to 0.6.0 and on the way to 0.7.0


def taken(name: str, tmp_path: Path) -> Path:
    """A copy of that folder, as its owner would have it."""
    folder = Path(shutil.copytree(FIXTURES / name, tmp_path / name))
    for one in (folder, *folder.iterdir()):
        one.chmod(0o700 if one.is_dir() else 0o600)
    return folder


@pytest.fixture(params=SCHEMAS)
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the folder."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield taken(request.param, tmp_path)
    monkeypatch.undo()
    time.tzset()


def test_its_commands_answer_as_before(old: Path) -> None:
    header, tables, _ = file.read(next(old.glob("snapshot-*")))
    assert tables[0]["schema"] == SCHEMAS[old.name], header
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
    job = {"name": "new", "script": "#!/bin/sh\n", "work_dir": "/", "environment": {"HOME": "/"}}
    assert engine.execute(engine.now, "submit", {"job": job}, ROOT)["job_id"] > max(known)
    printed(engine, "scontrol resume 2")
    engine.network.advance(engine.now + 3 * 3600)
    states = [line.split("|") for line in printed(engine, "squeue -a -h -t all -o '%i|%T'").splitlines()]
    assert {state for _, state in states} >= {"COMPLETED"}
    assert ["8", "COMPLETED"] in states  # it waited for job 2


def test_a_schema_nobody_knows_is_refused() -> None:
    with pytest.raises(WorkloadError, match="schema 99"):
        upgrades.check(99)


def test_features_that_were_only_shown_as_active_decide(tmp_path: Path) -> None:
    """Up to 0.4.0 jobs went by the features a node has; since then by those that are active."""
    engine = opened(taken("schema3", tmp_path))
    job = {"name": "new", "script": "#!/bin/sh\n", "work_dir": "/", "environment": {"HOME": "/"}, "nodes": "n2"}
    with pytest.raises(Refusal, match="Requested node configuration is not available"):
        engine.execute(engine.now, "submit", {"job": {**job, "features": "fast"}}, ROOT)
    new = engine.execute(engine.now, "submit", {"job": {**job, "features": "new"}}, ROOT)["job_id"]
    printed(engine, "scontrol resume 2")
    engine.network.advance(engine.now + 3 * 3600)
    assert printed(engine, f"squeue -h -t all -j {new} -o '%T %N'").strip() == "COMPLETED n2"
