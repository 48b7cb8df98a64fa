"""``scontrol`` and ``sacctmgr show config --json`` of 26.05: every value as real Slurm wrote it for the same file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from engine_client import Cluster

from slurmsim.commands.json import configuration

RECORDED = Path(__file__).with_name("shown_config")


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text("utf-8"))
    return found


def document(tmp_path: Path, name: str, command: str) -> dict[str, Any]:
    conf = (RECORDED / f"{name}.conf").read_text("utf-8")
    found: dict[str, Any] = json.loads(Cluster(tmp_path, conf, release="26.05").text(command))
    return found


@pytest.mark.parametrize("name", ["accounting", "options"])
def test_slurm_conf(tmp_path: Path, name: str) -> None:
    found = document(tmp_path, name, "scontrol show config --json")
    assert found["slurm_conf"] == recorded(name)
    assert list(found["slurm_conf"]) == list(recorded(name))
    assert found["slurm_conf_meta"]["SLURM_VERSION"] == "26.05.5" and found["errors"] == []


def test_slurmdbd_conf(tmp_path: Path) -> None:
    found = document(tmp_path, "accounting", "sacctmgr show config --json")
    assert found["slurmdbd_conf"] == recorded("database")
    assert list(found["slurmdbd_conf"]) == list(recorded("database"))


def test_older_data_parsers_are_refused_by_name(tmp_path: Path) -> None:
    conf = (RECORDED / "accounting.conf").read_text("utf-8")
    code, out, error = Cluster(tmp_path, conf, release="26.05").run("scontrol show config --json=v0.0.44")
    assert (code, out) == (1, "") and "v0.0.44 is not modelled" in error


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("NONE", {"set": False, "hours": 0, "days": 0, "months": 0, "archive": False}),
        ("30days", {"set": True, "hours": 0, "days": 30, "months": 0, "archive": False}),
        ("48hours", {"set": True, "hours": 48, "days": 0, "months": 0, "archive": False}),
        ("12months", {"set": True, "hours": 0, "days": 0, "months": 12, "archive": False}),
    ],
)
def test_ages_of_records(value: str, found: dict[str, Any]) -> None:
    assert configuration.database_conf({"PurgeJobAfter": value})["PurgeJobAfter"] == found
