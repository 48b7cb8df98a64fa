"""Pages of docs/ that sources, tests and tools name are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("slurmsim", "policies", "workloads", "benchmarks", "tests", ".ci")
MADE_UP = {"docs/flying.md", "docs/it.md"}  # by tests of what reads documents
CITED = re.compile(r"docs/[\w/.-]+?\.(?:md|png)")


def test_pages_that_are_cited_exist() -> None:
    cited = {
        (page, str(path.relative_to(ROOT)))
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for page in CITED.findall(path.read_text("utf-8"))
    }
    assert ("docs/rules/reservations.md", "slurmsim/sim/reservation_file.py") in cited
    assert [(page, by) for page, by in sorted(cited) if page not in MADE_UP and not (ROOT / page).is_file()] == []
