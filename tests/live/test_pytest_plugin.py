"""The fixture ``slurmsim``, and its old name ``slurm``, as tests of other projects use them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from slurmsim.releases import RELEASES

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


def session(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in `folder`, which also has its temporary folders: it must not clear away those of this session."""
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(folder)}
    environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
    command = [sys.executable, "-m", "pytest", *words, "-o", "addopts="]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return session(folder, "-p", "slurmsim.pytest_plugin", "-q", *words)


@pytest.mark.parametrize("words", [(), ("-p", "xdist", "-n", "2")], ids=["one by one", "in parallel"])
@pytest.mark.parametrize("name", [pytest.param("slurmsim", marks=pytest.mark.slow), "slurm"])
def test_the_fixture(tmp_path: Path, words: tuple[str, ...], name: str) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{name} =\n    nodes = 3\n    start = 2026-01-05T08:00:00\n")
    (tmp_path / "test_mine.py").write_text(re.sub(r"\bslurm\b", name, TESTS))
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


OTHER = """
import pytest

@pytest.fixture
def slurm():
    return "of another plug-in"
"""
BOTH = """
import pytest

@pytest.mark.slurmsim(nodes=2)
def test_both(slurm, slurmsim):
    assert slurm == "of another plug-in"
    assert len(slurmsim.nodes()) == 2
"""


@pytest.mark.parametrize("order", [("slurmsim.pytest_plugin", "other"), ("other", "slurmsim.pytest_plugin")])
def test_another_plug_in_has_the_old_name(tmp_path: Path, order: tuple[str, str]) -> None:
    (tmp_path / "other.py").write_text(OTHER)
    (tmp_path / "test_mine.py").write_text(BOTH)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = session(tmp_path, *(word for name in order for word in ("-p", name)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "slurmsim: the fixture slurm is that of other; ours is slurmsim\n" in done.stdout


def test_a_conftest_may_extend_the_fixture_under_either_name(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef slurm(slurm):\n    return slurm, 'extended'\n"
    )
    (tmp_path / "test_mine.py").write_text("def test(slurm):\n    assert slurm[0].nodes() and slurm[1] == 'extended'\n")
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


OF_RELEASES = """
import pytest

@pytest.mark.slurmsim(nodes=1, releases="all")
def test_all(slurmsim):
    release = slurmsim.client.call("hello")["slurm_version"]
    assert slurmsim.run("sinfo --version", check=True).stdout.startswith(f"slurm {release}.")

@pytest.mark.slurmsim(releases=["23.11", "25.05"])
class TestTwo:
    def test_it(self, slurmsim):
        assert slurmsim.client.call("hello")["slurm_version"] in ("23.11", "25.05")
"""


def test_a_test_runs_once_for_each_release(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(OF_RELEASES)
    done = run(tmp_path, "-vv")
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"test_mine.py::(\S+) PASSED", done.stdout)
    assert found == [
        *(f"test_all[{release}]" for release in RELEASES),
        "TestTwo::test_it[23.11]",
        "TestTwo::test_it[25.05]",
    ]


@pytest.mark.parametrize("releases", ['"25.05"', '["19.05"]', "[]"])
def test_a_release_there_is_not_is_said(tmp_path: Path, releases: str) -> None:
    (tmp_path / "test_mine.py").write_text(
        f"import pytest\n@pytest.mark.slurmsim(releases={releases})\ndef test_it(slurmsim): pass\n"
    )
    done = run(tmp_path)
    assert done.returncode != 0 and "of the marker slurmsim: 'all' or a list out of 22.05, " in done.stdout
