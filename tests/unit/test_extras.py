"""Messages name a way to install that works."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from slurmsim.extras import how_to_install

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [path for room in ("slurmsim", "policies", "workloads") for path in sorted((ROOT / room).rglob("*.py"))]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


def test_it_is_a_command_and_a_place() -> None:
    assert how_to_install("run") == "pip install '.[run]' in a checkout of slurmsim"


def test_every_message_takes_it_from_here_and_names_an_extra() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in SOURCES}
    assert [name for name, text in texts.items() if re.search(r"slurmsim\[\w+\]", text)] == []
    named = {extra for text in texts.values() for extra in re.findall(r"""how_to_install\(["'](\w+)["']\)""", text)}
    assert named and named <= set(EXTRAS)
