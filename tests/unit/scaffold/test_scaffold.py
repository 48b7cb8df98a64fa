"""What ``slurmsim new`` writes passes lint, types and its own first test; nothing is overwritten."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from slurmsim.cli import main
from slurmsim.errors import ConfigError, OutputError
from slurmsim.scaffold import KINDS, write

ROOT = Path(__file__).resolve().parents[3]
PLACES = ("slurmsim/commands/small", "tests/unit/commands")


def ran(*words: str, folder: Path, path: str = "") -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONSAFE"))}
    done = subprocess.run([sys.executable, "-m", *words], cwd=folder, env={**environ, "PYTHONPATH": path},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def checked(files: list[Path]) -> None:
    sources = [str(path) for path in files if path.suffix == ".py"]
    settings = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    ran("ruff", "check", *settings, *sources, folder=ROOT)
    ran("ruff", "format", "--check", *settings, *sources, folder=ROOT)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(name, marks=[] if name == "policy" else pytest.mark.slow)
        for name in KINDS
        if KINDS[name].own_folder
    ],
)
def test_a_package_of_its_own(kind: str, tmp_path: Path) -> None:
    files, then = write(kind, "my_own", tmp_path)
    checked(files)
    home = tmp_path / "my_own"
    assert then[0] == f"cd {home}" and {path.parent for path in files} == {home}
    with (home / "pyproject.toml").open("rb") as file:
        project = __import__("tomllib").load(file)["project"]
    (group, points), *_ = project["entry-points"].items()
    installed = home / "slurmsim_my_own-0.1.dist-info"  # what pip writes of it
    installed.mkdir()
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1\n")
    lines = (f"{name} = {value}\n" for name, value in points.items())
    (installed / "entry_points.txt").write_text(f"[{group}]\n{''.join(lines)}")
    ran("pytest", "-q", "-p", "no:cacheprovider", folder=home, path=str(home))


def test_a_command(tmp_path: Path) -> None:
    for place in PLACES:
        (tmp_path / place).mkdir(parents=True)
    files, _ = write("command", "sown", tmp_path)
    checked(files)
    shutil.copy(ROOT / "tests/unit/commands/engine_client.py", tmp_path / PLACES[1])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "runner.py").write_text(  # the module is as if it lay in the package
        f"import slurmsim.commands.small as small\nsmall.__path__.append({str(tmp_path / PLACES[0])!r})\n"
        f"import sys, pytest\nsys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', {str(tmp_path / 'tests')!r}]))\n"
    )
    ran("runner", folder=elsewhere)


@pytest.mark.parametrize("name", ["", "My", "a-b", "class", "../x", "a b", "é"])
def test_names_that_cannot_be(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be a module's name"):
        write("policy", name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "policy", "own", "--folder", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert f"wrote {tmp_path}/own/own.py\n" in told and "Next:\n" in told
    (tmp_path / "own" / "own.py").write_text("mine")
    (tmp_path / "own" / "pyproject.toml").unlink()
    with pytest.raises(OutputError, match=r"own\.py: is there already"):
        write("policy", "own", tmp_path)
    assert (tmp_path / "own" / "own.py").read_text() == "mine" and not (tmp_path / "own" / "pyproject.toml").exists()


def test_a_command_outside_of_a_checkout(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a checkout of slurmsim"):
        write("command", "sown", tmp_path)
