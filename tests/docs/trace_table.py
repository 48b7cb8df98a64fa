"""Writes the table of public traces into `docs/traces.md`: ``python tests/docs/trace_table.py``."""

from __future__ import annotations

import re
from pathlib import Path

from slurmsim_workloads.traces import TRACES

PAGE = Path(__file__).resolve().parents[2] / "docs/traces.md"
_MADE = re.compile(r"(<!-- made: public traces -->\n).*?(\n<!-- end -->)", re.DOTALL)


def table() -> str:
    """Return the table of `slurmsim_workloads.traces.table` in Markdown."""
    rows = ["| `--from` | what | read by | a real file |", "|---|---|---|---|"]
    for trace in TRACES.values():
        links = ", ".join(f"[{name}](https://github.com/{name})" for name in trace.loaders)
        seen = f"`{trace.seen}`" if trace.seen else "untested"
        rows.append(f"| `{trace.name}` | {trace.what} ({trace.kind}) | {links} | {seen} |")
    return "\n".join(rows)


def made(page: str) -> str:
    """Return the text of the page with the table as it is now."""
    return _MADE.sub(lambda found: found[1] + table() + found[2], page)


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text("utf-8")), "utf-8")
