"""What pip installs is all there is: every module of the tree, importable from the installed copy alone."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FOLDERS = {folder: name for name, folder in PYPROJECT["tool"]["setuptools"]["package-dir"].items()}
OTHERS = (".ci/build_backend", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
# Imports the modules named on standard input; answers what went wrong with each.
IMPORTER = """
import importlib.util, json, sys
target, wrong = sys.argv[1], {}
sys.path.insert(0, target)
for name in json.load(sys.stdin):
    try:
        if name.endswith("__main__"):  # which runs
            file = importlib.util.find_spec(name).origin
        else:
            file = importlib.import_module(name).__file__ or "no file"
    except BaseException as error:
        wrong[name] = f"{type(error).__name__}: {error}"
        continue
    if not file.startswith(target):
        wrong[name] = f"is not in the wheel, found in {file}"
print(json.dumps(wrong))
"""


def sources() -> Iterator[tuple[str, Path]]:
    """Every source of the tree: its name when imported, and its path."""
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            inner = path.relative_to(ROOT / folder).with_suffix("").parts
            yield ".".join([package, *(inner[:-1] if inner[-1] == "__init__" else inner)]), path


def test_every_folder_of_sources_is_a_package() -> None:
    """setuptools finds packages by this file; a folder without it works here and nowhere else."""
    assert [str(path.parent) for _, path in sources() if not (path.parent / "__init__.py").is_file()] == []


def test_mypy_may_miss_no_module_of_ours() -> None:
    """A module that is not there is any type to mypy where missing imports are ignored."""
    mypy = PYPROJECT["tool"]["mypy"]
    ignored = [name for rule in mypy["overrides"] if rule.get("ignore_missing_imports") for name in rule["module"]]
    assert "ignore_missing_imports" not in mypy and ignored
    assert [name for name in ignored if name.startswith(("slurmsim", "*"))] == []


def run(*command: str, **environment: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a pure wheel installs, made from a copy: a build in the tree would leave old modules there."""
    for needed in ("setuptools", "pip"):
        try:
            importlib.metadata.version(needed)  # looking for its module would switch setuptools' own distutils off
        except importlib.metadata.PackageNotFoundError:
            pytest.skip(f"NOT TESTED: no wheel can be built here, {needed} is not installed")
    base = tmp_path_factory.mktemp("packaging")
    for name in (*FOLDERS, *OTHERS):
        source, copy = ROOT / name, base / "tree" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
    pip = (sys.executable, "-m", "pip")
    offline = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    run(
        *pip, "wheel", *offline, "--no-build-isolation", f"--wheel-dir={base}", str(base / "tree"), SLURMSIM_COMPILE="0"
    )
    (wheel,) = base.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    target = base / "target"
    run(*pip, "install", *offline, "--no-compile", f"--target={target}", str(wheel))
    return target


@pytest.mark.slow
def test_every_module_is_imported_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    names = [name for name, _ in sources()]
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORTER, str(installed)],
        input=json.dumps(names), capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    wrong = json.loads(done.stdout.splitlines()[-1])
    assert wrong == {}


def test_every_file_beside_the_sources_is_in_the_wheel(installed: Path) -> None:
    """Samples of workloads, and the mark that there are types."""
    beside = [
        str(Path(package, path.relative_to(ROOT / folder)))
        for folder, package in FOLDERS.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".so") and path.name != "README.md"
    ]
    assert "slurmsim/py.typed" in beside
    assert [file for file in beside if not (installed / file).is_file()] == []
