"""The notebooks of docs/examples run, print what docs/gallery.md shows, and are notebooks for Jupyter."""

from __future__ import annotations

from pathlib import Path

import gallery
import pytest


def test_the_gallery_has_every_notebook() -> None:
    assert sorted(gallery.ORDER) == sorted(path.stem for path in gallery.FOLDER.glob("*.py"))
    shown = gallery.PAGE.read_text("utf-8")
    for name in gallery.ORDER:
        path = gallery.FOLDER / f"{name}.py"
        assert f"## {gallery.title_of(path)}\n" in shown and f"`docs/examples/{name}.py`" in shown
        for is_text, body in gallery.cells(path.read_text("utf-8")):
            assert is_text or f"```py\n{body}\n```" in shown, "python tests/docs/gallery.py"


@pytest.mark.slow
def test_the_page_shows_what_they_print() -> None:
    assert gallery.PAGE.read_text("utf-8") == gallery.page(), "python tests/docs/gallery.py"


@pytest.mark.slow
@pytest.mark.parametrize("name", gallery.ORDER)
def test_it_runs_in_jupyter(name: str, tmp_path: Path) -> None:
    jupytext, nbclient = pytest.importorskip("jupytext"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = jupytext.read(gallery.FOLDER / f"{name}.py")
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert any(cell.get("outputs") for cell in notebook.cells)
