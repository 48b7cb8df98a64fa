"""Files that a forge reads: forms of issues, the citation."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")


@pytest.mark.parametrize("path", FORMS, ids=lambda path: str(path.stem))
def test_a_form_asks_something(path: Path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"] and form["description"]
    ids = [part["id"] for part in form["body"]]
    assert ids and len(set(ids)) == len(ids)
    assert all(part["type"] in ("input", "textarea") and part["attributes"]["label"] for part in form["body"])


def test_the_citation_has_what_the_format_demands() -> None:
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "title", "message", "authors"} <= set(found)
    assert found["license"] == "MIT" and all(author.get("name") for author in found["authors"])
