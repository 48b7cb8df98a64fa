"""A disk that is really full: what sbatch acknowledged survives, it says what it cannot, and goes on when it can."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SESSION = Path(__file__).with_name("full_disk_session.py")
OWN = ["unshare", "--map-root-user", "--mount"]


def _may_mount(folder: Path) -> bool:
    try:
        test = [*OWN, "mount", "-t", "tmpfs", "none", str(folder)]
        return subprocess.run(test, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _session(folder: Path, *words: str) -> dict[str, Any]:
    """What the session in a folder tells."""
    if not _may_mount(folder):
        pytest.skip("this machine lets nobody mount a small file system: unshare --map-root-user --mount failed")
    done = subprocess.run(
        [*OWN, sys.executable, str(SESSION), str(folder), *words], capture_output=True, text=True, timeout=180,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_file_system_without_room(tmp_path: Path) -> None:
    told = _session(tmp_path)
    acknowledged = told["acknowledged"]
    assert told["up"]["code"] == 0, told["up"]
    for refused in (told["refused"], told["again"]):
        assert refused["code"] == 1
        assert refused["err"] == (
            "sbatch: error: Batch job submission failed: I/O error writing script/environment to file"
        )
    assert told["alive"]["code"] == 0 and told["alive"]["out"], told["alive"]
    assert told["full"] == acknowledged[:-1]  # refused ones left nothing behind
    assert told["after"]["code"] == 0, told["after"]
    assert len(set(acknowledged)) == len(acknowledged) > 3
    assert told["up again"]["code"] == 0, told["up again"]
    assert told["restored"] == told["empty"]
    gone = set() if told["cancel"]["code"] else {acknowledged[0]}
    assert set(told["restored"]) == set(acknowledged) - gone


def test_what_ran_ends_as_it_ended(tmp_path: Path) -> None:
    """A script that ended with 5 was recorded FAILED 0:53, for want of room for its exit status."""
    (tmp_path / "disk").mkdir()
    told = _session(tmp_path / "disk", str(tmp_path / "flag"))
    assert [told[name]["code"] for name in ("up", "up again", "emptied")] == [0, 0, 0], told
    assert told["free"] == 0
    assert told["ended"] == told["still"] == ["FAILED|5:0"] * 4
