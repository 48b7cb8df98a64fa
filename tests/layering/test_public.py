"""The rebuilt systems see what docs/python-api.md offers for experiments, as a package of a stranger would."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = ("slurmsim", "slurmsim_policies", "slurmsim_workloads")
PAPERS = "slurmsim.papers"
ROW = re.compile(r"^\| `(?P<module>[\w.]+)` \| (?P<names>`\w+`(?: `\w+`)*) \|", re.MULTILINE)


def public() -> dict[str, set[str]]:
    """Names by module, from the table of the page."""
    section = (ROOT / "docs/python-api.md").read_text(encoding="utf-8").partition("\n## For experiments\n")[2]
    return {row["module"]: set(re.findall(r"\w+", row["names"])) for row in ROW.finditer(section)}


def inside(source: str, offered: dict[str, set[str]]) -> Iterator[str]:
    """Imports of slurmsim in `source` that are not offered, by line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            asked = [(name.name, "") for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            asked = [(node.module, name.name) for name in node.names]
        else:
            continue
        for module, name in asked:
            if module.partition(".")[0] not in OURS or module == PAPERS or module.startswith(f"{PAPERS}."):
                continue
            if module not in offered or (name and name not in offered[module]):
                yield f"{node.lineno}: {module} {name}".rstrip()


def test_papers_use_what_is_public() -> None:
    files = sorted((ROOT / "slurmsim/papers").rglob("*.py"))
    assert len(files) > 20
    found = {
        str(file.relative_to(ROOT)): lines
        for file in files
        if (lines := list(inside(file.read_text(encoding="utf-8"), public())))
    }
    assert found == {}


def test_an_import_of_what_is_inside_is_found() -> None:
    source = (
        "import slurmsim.core\nfrom slurmsim import run\ndef f():\n    from slurmsim.energy import TABLE, scaling\n"
    )
    assert list(inside(source, public())) == ["1: slurmsim.core", "4: slurmsim.energy scaling"]


@pytest.mark.parametrize("module", sorted(public()))
def test_what_is_offered_is_there(module: str) -> None:
    loaded = importlib.import_module(module)
    for name in public()[module]:
        assert hasattr(loaded, name) or importlib.util.find_spec(f"{module}.{name}"), name
