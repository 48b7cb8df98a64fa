"""Without the extra `run` the live cluster works, and what needs it says so in one line."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest

from slurmsim.cli import OF_RUN, main

SESSION = """
import slurmsim
with slurmsim.cluster(nodes=2, frozen=True) as c:
    c.run(["sbatch", "--wrap", "sleep 60"], check=True)
    c.until_idle()
    for words in (["squeue"], ["sinfo"], ["scontrol", "show", "job", "1"], ["sacct", "-X", "-n", "-o", "state"]):
        print(c.run(words, check=True).stdout)
"""


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """Variables under which Python finds none of these packages."""
    place = tmp_path / "none"
    place.mkdir()
    for name in OF_RUN:
        (place / f"{name}.py").write_text(f"raise ModuleNotFoundError('No module named {name}', name='{name}')\n")
    return {**os.environ, "PYTHONPATH": str(place), "XDG_STATE_HOME": str(tmp_path)}


def test_what_the_extra_has() -> None:
    text = Path(__file__).parents[2].joinpath("pyproject.toml").read_text(encoding="utf-8")
    extra = tomllib.loads(text)["project"]["optional-dependencies"]["run"]
    assert sorted(line.partition(">=")[0] for line in extra) == sorted(OF_RUN)
    assert not [line for line in requires("slurmsim") or () if line.startswith(OF_RUN) and "extra" not in line]


def test_a_live_cluster_needs_none_of_it(without: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SESSION], env=without, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "COMPLETED" in done.stdout and "JobState=COMPLETED" in done.stdout


def test_a_run_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    words = ["run", "--workload", "generate:lublin:jobs=3,nodes=4", "--out", str(tmp_path / "out")]
    assert main(words) == 2
    assert (
        capsys.readouterr().err
        == "slurmsim: error: pyarrow is not installed: pip install '.[run]' in a checkout of slurmsim\n"
    )
    assert not (tmp_path / "out").exists()


def test_other_missing_modules_are_mistakes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "slurmsim.metrics.summary", None)
    with pytest.raises(ModuleNotFoundError, match="summary"):
        main(["run", "--workload", "generate:lublin:jobs=3,nodes=4", "--out", str(tmp_path / "out")])
