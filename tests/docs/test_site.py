"""Every page of docs/ is in the navigation of mkdocs.yml once, and links that leave the folder are sent away."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
NAV = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2].partition("\nnot_in_nav:")[0]


def test_every_page_is_in_the_navigation_once() -> None:
    named = re.findall(r"[\w/-]+\.md", NAV)
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    decisions = {page for page in pages if page.startswith("adr/0")}  # their index names them
    assert sorted(named) == sorted(pages - decisions)


def test_the_index_of_decisions_names_them_all() -> None:
    index = (DOCS / "adr" / "README.md").read_text("utf-8")
    assert re.findall(r"\((\d{4}-[\w-]+\.md)\)", index) == sorted(path.name for path in (DOCS / "adr").glob("0*.md"))


@pytest.mark.parametrize(
    ("page", "text", "url", "expected"),
    [
        (
            "why.md",
            "[easy](../policies/easy.py#L3)",
            "https://h/o",
            "[easy](https://h/o/blob/main/policies/easy.py#L3)",
        ),
        ("why.md", "[easy](../policies/easy.py)", "", "easy"),
        ("rules/limits.md", "[accounts](../accounting.md)", "", "[accounts](../accounting.md)"),
        ("rules/limits.md", "[readme](../../README.md)", "", "readme"),
    ],
)
def test_links_that_leave_the_folder(page: str, text: str, url: str, expected: str) -> None:
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / ".ci" / "site_hooks.py")
    assert spec and spec.loader
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    shown = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    assert hooks.on_page_markdown(text, shown, SimpleNamespace(repo_url=url), None) == expected
