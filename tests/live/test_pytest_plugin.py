"""The fixture ``slurm`` as somebody else's tests use it, one after the other and in parallel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import subprocess
import pytest

def test_default(slurm):
    assert len(slurm.nodes()) == 3
    done = subprocess.run(["sbatch", "--wrap", "sleep 60"], capture_output=True, text=True)
    assert done.stdout == "Submitted batch job 1\\n"
    slurm.until_idle()
    assert slurm.job(1).state == "COMPLETED"

@pytest.mark.slurm(nodes=5)
@pytest.mark.parametrize("k", range(6))
def test_marked(slurm, k):
    assert len(slurm.nodes()) == 5
    assert slurm.jobs() == []
    for _ in range(k):
        slurm.run(["sbatch", "--wrap", "true"], check=True)
    assert len(slurm.jobs()) == k

@pytest.mark.slurm(rate=50)
class TestScaled:
    @pytest.mark.slurm(nodes=1)
    def test_both(self, slurm):
        assert slurm.client.call("clock", action="show")["rate"] == 50
        assert len(slurm.nodes()) == 1
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "slurmsim.pytest_plugin", "-q", *words, "-o", "addopts="]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [(), ("-p", "xdist", "-n", "2")], ids=["one by one", "in parallel"])
def test_the_fixture(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nslurm =\n    nodes = 3\n    start = 2026-01-05T08:00:00\n")
    (tmp_path / "test_mine.py").write_text(TESTS)
    done = run(tmp_path, "--strict-markers", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 passed" in done.stdout


def test_wrong_settings_are_said(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nslurm =\n    nodes 3\n")
    (tmp_path / "test_mine.py").write_text("def test(slurm): pass\n")
    done = run(tmp_path)
    assert done.returncode == 1
    assert "is not NAME = VALUE" in done.stdout


def test_pytest_loads_nothing_heavy() -> None:
    code = "import sys, slurmsim.pytest_plugin; print([m for m in ('numpy', 'simpy', 'asyncio') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
