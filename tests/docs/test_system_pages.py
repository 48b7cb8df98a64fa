"""Tables on the pages of the published systems are those of the kept results.

``python tests/docs/test_system_pages.py`` writes them anew, as ``slurmsim bench SYSTEM --pages docs/systems`` does.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmsim.experiments.pages import MARK, SUMMARY, pages, remade

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "systems"


@pytest.mark.parametrize("page", pages(FOLDER), ids=lambda page: str(page.stem))
def test_tables_are_those_of_the_kept_results(page: Path) -> None:
    assert remade(page) == page.read_text("utf-8"), "python tests/docs/test_system_pages.py writes it anew"


def test_the_summary_has_all_its_tables() -> None:
    names = {mark["name"] for mark in MARK.finditer((FOLDER / f"{SUMMARY}.md").read_text("utf-8"))}
    assert {"headline", "claims", "items", "runs"} <= names


if __name__ == "__main__":
    for one in pages(FOLDER):
        one.write_text(remade(one), "utf-8")
