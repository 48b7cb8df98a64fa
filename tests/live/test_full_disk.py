"""A disk that is really full: what sbatch acknowledged survives, it says what it cannot, and goes on when it can."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SESSION = Path(__file__).with_name("full_disk_session.py")
OWN = ["unshare", "--map-root-user", "--mount"]


def _may_mount(folder: Path) -> bool:
    try:
        test = [*OWN, "mount", "-t", "tmpfs", "none", str(folder)]
        return subprocess.run(test, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def test_a_file_system_without_room(tmp_path: Path) -> None:
    if not _may_mount(tmp_path):
        pytest.skip("this machine lets nobody mount a small file system: unshare --map-root-user --mount failed")
    done = subprocess.run(
        [*OWN, sys.executable, str(SESSION), str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
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
