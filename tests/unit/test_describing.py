"""What an index would show: the source distribution's files, the metadata, the README without dead links."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from types import ModuleType

import pytest

from slurmsim import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
HOME = "https://forge.example/owner/slurmsim"


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], Message]:
    """The files of the source distribution and its metadata, with an address of the repository."""
    base = tmp_path_factory.mktemp("described")
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(base)]
    environment = {**os.environ, "SLURMSIM_REPOSITORY": f"{HOME}/", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    files = (base / "slurmsim.egg-info/SOURCES.txt").read_text("utf-8").splitlines()
    return set(files), HeaderParser().parsestr((base / "slurmsim.egg-info/PKG-INFO").read_text("utf-8"))


@pytest.fixture(scope="module")
def describing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("describing", ROOT / ".ci/build_backend/slurmsim_describing.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_source_distribution_is_the_repository(described: tuple[set[str], Message]) -> None:
    """All but two links to folders that are there under their own names."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("NOT TESTED: this is no checkout")
    kept = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    assert len(kept) > 2000 and kept - described[0] == set()
    assert not [name for name in described[0] if name.endswith((".pyc", ".so")) or name.startswith(".venv")]


def test_the_metadata(described: tuple[set[str], Message]) -> None:
    told = described[1]
    assert told["Name"] == "slurmsim" and told["Version"] == __version__
    assert told["Author"] and told["License-Expression"] == "MIT" and "Slurm" in told["Keywords"]
    classifiers = told.get_all("Classifier", [])
    oldest = int(PROJECT["requires-python"].rpartition(".")[2])
    assert f"Programming Language :: Python :: 3.{oldest}" in classifiers
    assert f"Programming Language :: Python :: 3.{oldest - 1}" not in classifiers
    shown = dict(line.split(", ", 1) for line in told.get_all("Project-URL", []))
    assert {"Source", "Documentation", "Changelog", "Issues"} == set(shown)
    assert all(address.startswith(HOME) and f"{HOME}//" not in address for address in shown.values())


def test_every_link_of_the_description_leads_to_a_file_of_this_version(described: tuple[set[str], Message]) -> None:
    text = re.sub(r"^```.*?^```", "", described[1].get_payload(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)]+)\)", text)
    start = re.compile(rf"{re.escape(HOME)}/(?:blob|raw)/v{re.escape(__version__)}/")
    assert len(targets) > 20
    for target in targets:
        assert start.match(target), target
        assert (ROOT / start.sub("", target).partition("#")[0]).exists(), target


def test_without_an_address_links_are_text(describing: ModuleType) -> None:
    readme = "<!-- made -->\nsee [it](it.md), [them](https://a.example/b) ![a picture](p.png)\n```py\nd[0](x)\n```\n"
    assert describing.long_description(readme, "", "1.0") == (
        "see it, [them](https://a.example/b) \n```py\nd[0](x)\n```\n"
    )
    assert describing.addresses("") == {}


@pytest.mark.parametrize("said", ["forge.example/owner", "http://forge.example/a/b", "https://forge.example", "x y"])
def test_a_wrong_address_is_one_line(describing: ModuleType, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("SLURMSIM_REPOSITORY", said)
    with pytest.raises(SystemExit, match=r"^SLURMSIM_REPOSITORY: expected https://HOST/OWNER/NAME, not "):
        describing.repository()


def test_extras_have_ranges_and_constraints_have_pins() -> None:
    wanted = [line for lines in PROJECT["optional-dependencies"].values() for line in lines]
    assert [line for line in (*PROJECT["dependencies"], *wanted) if "==" in line] == []
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[a-z0-9.-]+==[\w.]+", line)] == []
    names = [line.partition("==")[0] for line in pins]
    assert len(set(names)) == len(names)
    moving = {"ortools", "distributed", "dask", "dask-jobqueue", "submitit", "clusterfutures", "parsl", "turm"}
    assert moving <= set(names)
