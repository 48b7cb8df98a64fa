"""Writes how sessions of personas compare into docs/fidelity-figures.md: ``python tests/docs/persona_tables.py``.

The figures are in tests/conformance/unseen/personas.json and, of the newest set, of some kinds of clusters alone, in
personas-newest.json: by release, persona and kind of cluster, how many commands were asked and how many were equal at
the first try; `again` is real Slurm's third recording by the first two, `values` are those of documents.
``python -m unseen compare --figures FILE`` puts them there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE, FIGURES = ROOT / "docs" / "fidelity-figures.md", ROOT / "tests" / "conformance" / "unseen"
TABLES = ("personas", "personas-newest")  # file and place on the page


def _cell(counts: list[int] | None) -> str:
    return f"{counts[1]}/{counts[0]} ({counts[1] / counts[0]:.1%})" if counts and counts[0] else ""


def table(figures: dict[str, Any]) -> str:
    """As Markdown: a row a persona and a kind of cluster, a column a release."""
    lines = [f"| | {' | '.join(figures)} |", f"|---|{'---|' * len(figures)}"]
    for part in ("persona", "kind"):
        for name in sorted({name for found in figures.values() for name in found[part]}):
            cells = [_cell(found[part].get(name)) for found in figures.values()]
            lines.append(f"| {part} {name} | {' | '.join(cells)} |")
    whole = [[sum(column) for column in zip(*found["kind"].values(), strict=True)] for found in figures.values()]
    lines.append(f"| **all** | {' | '.join(_cell(counts) for counts in whole)} |")
    for name, key in (("real Slurm's third recording", "again"), ("values of JSON and REST", "values")):
        cells = [_cell(found.get(key)) for found in figures.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines.append(f"| sessions | {' | '.join(str(found['sessions']) for found in figures.values())} |")
    return "\n".join(lines)


def page() -> str:
    """docs/fidelity-figures.md with the tables as they should be."""
    text = PAGE.read_text("utf-8")
    for name in TABLES:
        place = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.S)
        made = table(json.loads((FIGURES / f"{name}.json").read_text("utf-8")))
        text = place.sub(rf"\g<1>{made}\n\g<2>", text)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
