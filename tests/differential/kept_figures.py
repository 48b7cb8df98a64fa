"""Kept figures of recordings, as ``slurmsim fidelity --markdown`` prints them: tests/conformance/figures."""

from __future__ import annotations

import csv
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "conformance" / "figures"


def printed(name: str, which: str) -> str:
    """Return one set of a file (`recordings` or `repeats`) as a Markdown table."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    lines = [head[1:], ["---"] * len(head[1:]), *(row[1:] for row in rows if row[0] == which)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
