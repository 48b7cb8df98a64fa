"""Every example of the README and of docs/ runs and prints what the document shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from doc_examples import blocks, run_document
from prepared_commands import prepared

from slurmsim.releases import DEFAULT_VARIABLE

ROOT = Path(__file__).resolve().parents[2]
# these install packages: test_writing_a_policy runs them in an environment of their own
OWN_TEST = (ROOT / "docs/writing-a-policy.md", ROOT / "docs/predictors.md")
DOCUMENTS = [ROOT / "README.md", *(p for p in sorted((ROOT / "docs").rglob("*.md")) if p not in OWN_TEST)]
# What examples may name beside the files they make themselves; links, so that results stay outside the repository.
GIVEN = ("workloads", "policies", "docs")
# 4 s of processor time and more each: many replays, sweeps and studies
NIGHTLY = ("questions.md", "evening.md", "campaigns.md", "faults.md", "reservations.md")
AS_INSTALLED = ("README.md", "web.md")  # the program itself; the second page ends what it started by a signal


def _runnable(path: Path) -> bool:
    return any(block.language in ("python", "console") for block in blocks(path.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with prepared(tmp_path_factory.mktemp("bin")) as place:
        yield place


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(DEFAULT_VARIABLE)  # a reader's clusters are of the default release
    for name in GIVEN:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "slurm.conf").symlink_to(ROOT / "workloads/samples/sample.conf")
    return tmp_path


def _case(path: Path) -> object:
    marks = pytest.mark.slow if path.name in NIGHTLY else ()
    return pytest.param(path, marks=marks, id=str(path.relative_to(ROOT)))


@pytest.mark.parametrize("path", [_case(path) for path in DOCUMENTS if _runnable(path)])
def test_examples_print_what_the_document_says(path: Path, folder: Path, commands: Path) -> None:
    run_document(path, folder, *([] if path.name in AS_INSTALLED else [commands]))


def test_the_readme_has_an_example_of_both_kinds() -> None:
    languages = {block.language for block in blocks((ROOT / "README.md").read_text(encoding="utf-8"))}
    assert {"python", "console"} <= languages
