"""Render a conda recipe with rattler-build: ``conda_renders.py RECIPE``; says what it would be. Nothing is fetched."""

from __future__ import annotations

import sys
from pathlib import Path

from rattler_build import Stage0Recipe

found = Stage0Recipe.from_yaml(Path(sys.argv[1]).read_text(encoding="utf-8")).render()
if len(found) != 1:
    sys.exit(f"{sys.argv[1]}: expected one package, not {len(found)}")
recipe = found[0].recipe
print(f"{recipe.package.name} {recipe.package.version}")
