"""The guides for authors of policies and predictors, done as they say: packages made from the pages, installed, run."""

from __future__ import annotations

import os
import re
import sys
import venv
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from doc_examples import run_document

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "writing-a-policy.md"
# What the commands of the page would find in an environment in which slurmsim and pytest are installed.
COMMANDS = {"pip": "pip._internal.cli.main:main", "slurmsim": "slurmsim.cli:main"}
BUILDS_WITHOUT_WHEEL = (70, 1)


def _builder_is_here() -> bool:
    """Whether the setuptools of the test environment can build the page's package, so that pip need not fetch one."""
    try:
        found = version("setuptools")
    except PackageNotFoundError:
        return False
    return tuple(int(part) for part in found.split(".")[:2]) >= BUILDS_WITHOUT_WHEEL


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The bin folder of a fresh virtual environment in which everything of this one is installed too.

    What is installed into it is not installed into the environment of the tests.
    """
    home = tmp_path / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    bin_folder = home / "bin"
    (site_packages,) = home.glob("lib/python*/site-packages")
    ours = [p for p in sys.path if p.endswith("site-packages")]
    lines = [f"import site; site.addsitedir({p!r})" for p in ours]
    (site_packages / "tests.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, target in COMMANDS.items():
        module, function = target.split(":")
        script = f"#!{bin_folder}/python\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        (bin_folder / name).write_text(script, encoding="utf-8")
        (bin_folder / name).chmod(0o755)
    if _builder_is_here():
        monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # pip's spelling of "without isolation"
    for variable in [v for v in os.environ if v.startswith(("PYTEST_", "COV_")) or v in ("PYTHONPATH", "VIRTUAL_ENV")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    return bin_folder


@pytest.mark.slow
def test_a_stranger_gets_there(environment: Path, tmp_path: Path) -> None:
    folder = tmp_path / "slurmsim-mine"
    folder.mkdir()
    assert run_document(PAGE, folder, environment) >= 15


@pytest.mark.slow  # a second package, built, installed and tested as the first
def test_so_does_one_with_a_predictor(environment: Path, tmp_path: Path) -> None:
    folder = tmp_path / "slurmsim-longest"
    folder.mkdir()
    assert run_document(DOCS / "predictors.md", folder, environment) >= 8


def test_the_page_names_only_what_the_view_has() -> None:
    from slurmsim.core.records.job import Job
    from slurmsim.core.scheduling.policy_view import View

    page = PAGE.read_text(encoding="utf-8")
    tables = {head: page.split(f"| `{head}.` | |\n")[1].split("\n\n")[0] for head in ("view", "job")}
    for head, known in (
        ("view", {*dir(View), "pools"}),
        ("job", {name for name in dir(Job) if not name.startswith("_")}),
    ):
        cells = [row.split("|")[1] for row in tables[head].splitlines()[1:]]
        names = re.findall(r"`(\w+)", " ".join(cells))
        assert len(names) > 5
        assert set(names) <= known


def test_the_policy_is_about_twenty_lines() -> None:
    code = PAGE.read_text(encoding="utf-8").split("<!-- file: mine.py -->\n```python\n")[1].split("```")[0]
    body = code.split("class ")[1]
    assert len([line for line in body.splitlines() if line.strip()]) <= 24
