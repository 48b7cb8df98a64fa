"""A recorded session whose file says something else than `slurmsim record` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slurmsim.errors import ConfigError
from slurmsim.sessions.session_file import read

HEAD: dict[str, Any] = {"format": 1, "made_of": {}, "folder": "/c", "owner": "ann", "files": {"a": "b"}, "jobs": 3}
COMMAND: dict[str, Any] = {
    "n": 1, "user": "ann", "argv": ["squeue"], "cwd": "/", "began": 1, "ended": 2, "stdin": "", "environ": {},
    "files": {}, "rc": 0, "stdout": "", "stderr": "", "cut": False, "umask": 18, "faults": [],
}  # fmt: skip


def session(tmp_path: Path, head: dict[str, Any], command: dict[str, Any]) -> Path:
    path = tmp_path / "session.rec"
    path.write_text(json.dumps(head) + "\n" + json.dumps(command) + "\n")
    return path


def test_a_good_one(tmp_path: Path) -> None:
    found = read(session(tmp_path, HEAD, COMMAND))
    assert (found.files, found.jobs, [one.argv for one in found.commands]) == ({"a": "b"}, 3, [("squeue",)])


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ({"files": 5}, ":1: files: '5' (expected what slurmsim record wrote)"),
        ({"files": ["a"]}, ":1: files: \"['a']\" (expected what slurmsim record wrote)"),
        ({"jobs": "many"}, ":1: jobs: 'many' (expected what slurmsim record wrote)"),
        ({"jobs": {"a": 1}}, ":1: jobs: \"{'a': 1}\" (expected what slurmsim record wrote)"),
    ],
)
def test_heads_of_another_kind(tmp_path: Path, head: dict[str, Any], said: str) -> None:
    path = session(tmp_path, HEAD | head, COMMAND)
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert str(caught.value) == f"{path}{said}"


@pytest.mark.parametrize("change", [{"n": float("inf")}, {"umask": None}, {"rc": "x"}, {"environ": 5}])
def test_commands_of_another_kind(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r":2: a command without "):
        read(session(tmp_path, HEAD, COMMAND | change))
