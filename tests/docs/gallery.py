"""Writes docs/gallery.md, the notebooks of docs/examples with what they print: ``python tests/docs/gallery.py``.

The notebooks are Python files in the percent format, which Jupyter opens through jupytext. Cells begin with ``# %%``;
those of ``# %% [markdown]`` are comments. `notebook_of` is one as Jupyter has it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER, PAGE = ROOT / "docs" / "examples", ROOT / "docs" / "gallery.md"
ORDER = (
    "replay_a_log", "compare_policies", "change_one_setting", "your_own_policy", "node_failures", "make_up_a_workload",
    "why_a_job_waits", "talk_to_a_cluster",
)  # fmt: skip
HEAD = """\
# Gallery

Eight small notebooks, with what they print. The files are in `docs/examples`: run them as scripts, or open them in
Jupyter with jupytext. `tests/docs/gallery.py` writes this page, and `make nightly` runs them all.
"""
_CELL = re.compile(r"^# %%(?P<kind> \[markdown\])?[^\n]*\n", re.MULTILINE)


def cells(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the cells of a file: whether it is text, and its content."""
    found = list(_CELL.finditer(text))
    for at, match in enumerate(found):
        body = text[match.end() : found[at + 1].start() if at + 1 < len(found) else None].strip()
        if match["kind"]:
            yield True, re.sub(r"^# ?", "", body, flags=re.MULTILINE)
        else:
            yield False, body


def title_of(path: Path) -> str:
    """Return the heading of a notebook."""
    return next(cells(path.read_text("utf-8")))[1].splitlines()[0].removeprefix("# ")


def run(path: Path) -> list[str]:
    """Run the cells of a notebook in a folder of its own; what each prints, nothing for text."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for is_text, body in cells(path.read_text("utf-8")):
            said = io.StringIO()
            if not is_text:
                with contextlib.redirect_stdout(said):
                    exec(compile(body, str(path), "exec"), names)
            printed.append(said.getvalue().rstrip())
    return printed


def section(path: Path) -> Iterator[str]:
    """Yield the blocks of a notebook: text, code and output."""
    for (is_text, body), said in zip(cells(path.read_text("utf-8")), run(path), strict=True):
        if is_text:
            yield re.sub(r"^# ", "## ", body.replace("](../", "]("), flags=re.MULTILINE)
        else:
            yield f"```py\n{body}\n```"
        if said:
            lines = "\n".join(line.rstrip() for line in said.splitlines())
            yield f"```text\n{lines}\n```"
        if is_text and body.startswith("# "):
            yield f"`docs/examples/{path.name}`"


def page() -> str:
    """Return docs/gallery.md as it should be."""
    os.environ.setdefault("TZ", "UTC")
    blocks = [HEAD.strip()]
    for name in ORDER:
        blocks += section(FOLDER / f"{name}.py")
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
