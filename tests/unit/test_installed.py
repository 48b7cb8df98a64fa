"""Entry points of installed packages: kept as long as nothing is installed or removed."""

from __future__ import annotations

import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from slurmsim import installed


def names(group: str) -> list[str]:
    return sorted(point.name for point in installed.entry_points(group=group))


def test_what_is_installed_while_the_process_runs_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = names("slurmsim.policies")
    about = tmp_path / "strange-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[slurmsim.policies]\nstrange = strange:Strange\n")
    assert names("slurmsim.policies") == sorted([*before, "strange"])
    shutil.rmtree(about)
    assert names("slurmsim.policies") == before


def test_they_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = metadata.entry_points

    def counted(**wanted: Any) -> Any:
        asked.append(wanted)
        return real(**wanted)

    monkeypatch.setattr(metadata, "entry_points", counted)
    installed._found.cache_clear()
    installed._every.cache_clear()
    first = installed.entry_points(group="slurmsim.workloads")
    assert installed.entry_points(group="slurmsim.workloads") is first
    assert installed.entry_points(group="slurmsim.policies") and len(asked) == 1  # for all groups at once
    assert {point.name for point in first} == {point.name for point in real(group="slurmsim.workloads")}
