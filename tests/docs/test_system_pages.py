"""Tables on the pages of the published systems are those of the kept results.

``python tests/docs/test_system_pages.py`` writes them anew, as ``slurmsim bench SYSTEM --pages docs/systems`` does.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slurmsim.experiments.pages import MARK, SUMMARY, pages, remade
from slurmsim.experiments.verdicts import VERDICTS

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "systems"


@pytest.mark.parametrize("page", pages(FOLDER), ids=lambda page: str(page.stem))
def test_tables_are_those_of_the_kept_results(page: Path) -> None:
    assert remade(page) == page.read_text("utf-8"), "python tests/docs/test_system_pages.py writes it anew"


@pytest.mark.parametrize("page", pages(FOLDER), ids=lambda page: str(page.stem))
def test_no_table_with_results_is_typed(page: Path) -> None:
    """A row with a verdict or an interval stands between the marks."""
    typed = MARK.sub("", page.read_text("utf-8"))
    rows = [line for line in typed.splitlines() if line.startswith("|")]
    assert not [row for row in rows if re.search(r"\d ± \d", row) or any(f"| {word}" in row for word in VERDICTS)]


def test_the_summary_has_all_its_tables() -> None:
    names = {mark["name"] for mark in MARK.finditer((FOLDER / f"{SUMMARY}.md").read_text("utf-8"))}
    assert {"headline", "claims", "items", "runs"} <= names


if __name__ == "__main__":
    for one in pages(FOLDER):
        one.write_text(remade(one), "utf-8")
