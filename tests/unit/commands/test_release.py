"""Which release a command looks like: the environment says, else the daemon, else the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurmsim.commands.io import Io
from slurmsim.commands.text.release import release_of, version_of
from slurmsim.protocol import Client, Refusal, Unreachable


class Daemon(Client):
    def __init__(self, answer: dict[str, Any] | Exception) -> None:
        super().__init__("/nowhere")
        self.answer = answer

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        assert name == "hello"
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("named", "answer", "release"),
    [
        ("24.11.5", {"slurm_version": "26.05.5"}, "24.11"),
        ("", {"slurm_version": "26.05.5"}, "26.05"),
        ("", {}, "26.05"),
        ("", Unreachable("nobody there"), "26.05"),
        ("", Refusal("Access/permission denied"), "26.05"),
        ("26.05", Unreachable("nobody there"), "26.05"),
    ],
)
def test_who_says_which(named: str, answer: dict[str, Any] | Exception, release: str) -> None:
    io = Io(Daemon(answer), environ={"SLURMSIM_SLURM_VERSION": named} if named else {})
    assert release_of(io) == release


def test_a_bug_is_not_taken_for_a_daemon_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        release_of(Io(Daemon(KeyError("ours")), environ={}))


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ({"slurm_version": "26.05.5", "flavour": "upstream"}, "slurm 26.05.5"),
        ({"slurm_version": "26.05.5", "flavour": "debian"}, "slurm-wlm 26.05.5"),
        ({"slurm_version": "26.05.5"}, "slurm-wlm 26.05.5"),  # a daemon from before there was a choice
        (Unreachable("nobody there"), "slurm 26.05.5"),
    ],
)
def test_which_build_is_named(answer: dict[str, Any] | Exception, line: str) -> None:
    assert version_of(Io(Daemon(answer), environ={})) == f"{line}\n"


def test_a_folder_without_a_flavour_is_debians(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text('{"release": "24.11"}\n', encoding="utf-8")
    daemon = Daemon(Unreachable("nobody there"))
    daemon.folder = str(tmp_path)
    assert version_of(Io(daemon, environ={})).startswith("slurm-wlm 24.11")
