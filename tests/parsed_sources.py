"""Syntax trees of source files, each parsed once for all tests that look at it."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path


def below(folder: Path) -> dict[Path, ast.Module]:
    """Return the modules below `folder`, sorted by path.

    No garbage is looked for meanwhile: a tree has none, and the search takes three times as long as parsing.
    """
    searching = gc.isenabled()
    gc.disable()
    try:
        return {path: _parsed(path, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*.py"))}
    finally:
        gc.freeze()
        if searching:
            gc.enable()


@cache
def _parsed(path: Path, written: int) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))
