"""The changelog is newest first and dated; what is not released lies in changelog.d, a line a change."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"(\*[^*]+\*|[^*]+?) - \S.*")
HEADING = re.compile(r"## (\d+)\.(\d+)\.(\d+) \((\d{4}-\d\d-\d\d)\)")


def test_releases_are_dated_and_newest_first() -> None:
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines() if line.startswith("## ")]
    found = [HEADING.fullmatch(line) for line in headings]
    assert all(found), headings
    versions = [tuple(map(int, match.groups()[:3])) for match in found if match]
    days = [match[4] for match in found if match]
    assert versions == sorted(versions, reverse=True) and days == sorted(days, reverse=True)


def test_a_line_a_change() -> None:
    for path in (ROOT / "changelog.d").iterdir():
        if path.name not in ("README.md", "template.jinja"):
            assert path.name.endswith(".change.md"), path.name
            for line in path.read_text("utf-8").splitlines():
                assert LINE.fullmatch(line), f"{path.name}: {line}"


def test_a_release_has_them_all(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "changelog.d", tmp_path / "changelog.d")
    (tmp_path / "changelog.d" / "+x.change.md").write_text("*run* - One.\n*live* - Two.\n", "utf-8")
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "99.0.0", "--date", "2030-01-01"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "## 99.0.0 (2030-01-01)\n" in done.stdout
    assert "\n- *run* - One.\n- *live* - Two.\n" in done.stdout
