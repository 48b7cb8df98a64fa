"""What a release carries beside its wheels: the list of parts, the recipes; and what the release script refuses."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from slurmsim import __version__

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / ".ci/packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def python(*words: str | Path, home: str = "") -> str:
    environment = {**os.environ, "SLURMSIM_REPOSITORY": home, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def names(lines: list[str]) -> set[str]:
    return {line.partition(">=")[0] for line in lines}


def test_the_list_of_parts() -> None:
    text = python(PACKAGING / "parts.py")
    assert text == python(PACKAGING / "parts.py")  # the same tree, the same text
    found: dict[str, Any] = json.loads(text)
    assert (found["bomFormat"], found["metadata"]["component"]["version"]) == ("CycloneDX", __version__)
    required = {one["name"] for one in found["components"] if one["purl"].startswith("pkg:pypi/")}
    assert required == names(PROJECT["dependencies"]) | names(PROJECT["optional-dependencies"]["run"])
    copied = {one["name"]: one["licenses"] for one in found["components"] if one["purl"].startswith("pkg:npm/")}
    assert set(copied) == {"uplot", "tabulator-tables"} and all(copied.values())
    refs = [one["bom-ref"] for one in found["components"]]
    assert len(set(refs)) == len(refs) and found["dependencies"][0]["dependsOn"] == refs


def test_the_recipes_take_their_address_from_one_variable(tmp_path: Path) -> None:
    sdist = tmp_path / "slurmsim.tar.gz"
    sdist.write_bytes(b"files")
    home = "https://forge.example/owner/slurmsim"
    python(PACKAGING / "recipes.py", tmp_path, sdist, home=home)
    source = f"{home}/releases/download/v{__version__}/slurmsim-{__version__}.tar.gz"
    told = hashlib.sha256(b"files").hexdigest()
    recipe = yaml.safe_load((tmp_path / "recipe.yaml").read_text("utf-8"))
    assert recipe["source"] == {"url": source, "sha256": told}
    run = {line.partition(" ")[0] for line in recipe["requirements"]["run"]}
    assert run == {"python"} | names(PROJECT["dependencies"]) | names(PROJECT["optional-dependencies"]["run"])
    assert recipe["build"]["python"]["entry_points"] == [f"slurmsim = {PROJECT['scripts']['slurmsim']}"]
    formula = (tmp_path / "slurmsim.rb").read_text("utf-8")
    assert f'url "{source}"' in formula and f'sha256 "{told}"' in formula and "${" not in formula
    python(PACKAGING / "recipes.py", tmp_path)
    assert "https://HOST/OWNER/slurmsim" in (tmp_path / "recipe.yaml").read_text("utf-8")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with the release script and nothing else."""
    for name in ("build", "release"):
        copy = tmp_path / ".ci/packaging" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((PACKAGING / name).read_bytes())
        copy.chmod(0o755)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@a.example")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=files")


def refused(folder: Path, version: str) -> str:
    done = subprocess.run([folder / ".ci/packaging/release", version], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == ""
    return done.stderr


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.3", "1.2.3rc1", "1.2.3\n"])
def test_a_release_has_three_numbers(checkout: Path, version: str) -> None:
    assert refused(checkout, version) == f"release: expected a version such as 1.2.3, not '{version}'\n"


def test_a_release_is_of_what_is_committed_and_new(checkout: Path) -> None:
    assert refused(checkout, "1.2.3") == "release: changelog.d has no change\n"
    (checkout / "changelog.d").mkdir()
    (checkout / "changelog.d/+a.change.md").write_text("a - b\n")
    assert refused(checkout, "1.2.3") == "release: the checkout has uncommitted changes\n"
    commit(checkout)
    git(checkout, "tag", "v1.2.3")
    assert refused(checkout, "1.2.3") == "release: there is a tag v1.2.3\n"
