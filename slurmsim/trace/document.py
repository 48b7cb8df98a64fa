"""The generated tables of docs/trace-schema.md.

``python -m slurmsim.trace.document docs/trace-schema.md`` writes them anew from `slurmsim.trace.schema`; a test
compares them.
"""

import re
import sys
from pathlib import Path

from slurmsim.trace import schema

SECTIONS = [name for name in schema.TABLES if name != "requeued"]  # which has the columns of jobs
_COLUMNS = "| column | type | unit | meaning |\n|---|---|---|---|\n"
_MADE, _END = "<!-- table: made by slurmsim.trace.document -->\n", "<!-- end -->\n"
_EVENTS = "| event | when | value |\n|---|---|---|\n"


def columns(table: str) -> str:
    rows = [f"| `{name}` | {c.kind} | {c.unit} | {c.meaning} |\n" for name, c in schema.TABLES[table].items()]
    return _COLUMNS + "".join(rows).replace("|  |", "| |")


def events() -> str:
    """Return what column `event` may say, as Markdown."""
    rows = [f"| `{name}` | {when} | {value} |\n" for name, (when, value) in schema.EVENT_KINDS.items()]
    return _EVENTS + "".join(rows).replace("|  |", "| |")


def rewrite(text: str) -> str:
    """Return the page `text` with its version and its tables made anew."""
    text = re.sub(r"Schema version: \*\*\d+\*\*", f"Schema version: **{schema.SCHEMA_VERSION}**", text)
    for table in SECTIONS:
        head, mark, tail = text.partition(f"\n## {table}.parquet\n")
        text = head + mark + _replaced(tail, "| column |", columns(table))
    return _replaced(text, "| event | when |", events())


def _replaced(text: str, begin: str, table: str) -> str:
    """Replace the first table of `text` that has a head beginning with `begin`, and the marks around it."""
    old = rf"^(?:{re.escape(_MADE)})?{re.escape(begin)}.*\n(?:\|.*\n)*(?:{re.escape(_END)})?"
    return re.sub(old, lambda _: f"{_MADE}{table}{_END}", text, count=1, flags=re.MULTILINE)


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(rewrite(page.read_text(encoding="utf-8")), encoding="utf-8")
