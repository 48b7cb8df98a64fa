"""docs/rules/README.md: what it names exists, and no recording is left out."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rules" / "README.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| rule")
]


def test_every_row_names_modules_and_tests_that_exist() -> None:
    assert len(ROWS) > 40
    for rule, modules, tests, _recording in ROWS:
        for name in re.findall(r"`([^`]+)`", modules):
            folder = ROOT if name.startswith(("policies/", "slurmsim/")) else ROOT / "slurmsim" / "core"
            assert list(folder.glob(f"{name}.py")), f"{rule}: no module {name}"
        for name in re.findall(r"`([^`]+)`", tests):
            path = ROOT / f"{name}.py" if name.startswith("tests/") else ROOT / "tests" / "golden" / f"{name}.py"
            assert path.exists(), f"{rule}: no test {name}"


def test_every_recording_is_named_and_its_tests_name_it() -> None:
    golden = os.environ.get("SLURMSIM_GOLDEN")
    if not golden:
        pytest.skip("set SLURMSIM_GOLDEN to the folder with the recordings of real Slurm")
    names = sorted(path.stem for path in (Path(golden) / "rules").glob("*.json"))
    assert len(names) > 40
    for name in names:
        where = [row for row in ROWS if name in re.split(r"[,; ]+", row[3])]
        assert where, f"{name} is in no table"
        tests = "".join(
            (ROOT / (test if "/" in test else f"tests/golden/{test}")).with_suffix(".py").read_text(encoding="utf-8")
            for row in where
            for test in re.findall(r"`((?:tests/\w+/)?test_\w+)`", row[2])
        )
        assert re.search(rf"(?<![\w-]){name}(?![\w-])", tests), f"no test speaks of {name}"
