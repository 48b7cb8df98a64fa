"""Writes the tables of docs/fidelity-figures.md from kept figures: ``python tests/docs/fidelity_tables.py``.

The figures are CSV files in tests/conformance/figures. `recordings` has what ``slurmsim fidelity --markdown`` prints,
`repeats` what ``--repeats`` adds; tests compare both with the command. `sessions`, `unseen` and `scripts` are counts
of comparisons with real Slurm. The page shows the columns that its readers compare.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE, FIGURES = ROOT / "docs" / "fidelity-figures.md", ROOT / "tests" / "conformance" / "figures"
PLACE = re.compile(r"(?P<begin><!-- figures: (?P<name>\w+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)
SHOWN = {
    "recording": "recording", "Slurm": "Slurm", "jobs": "jobs", "same order": "order", "same nodes": "nodes",
    "locked: starts": "locked", "reasons": "reasons", "free: order": "free: order", "nodes": "free: nodes",
    "median start difference": "free: median start",
}  # fmt: skip
"""Column of recordings.csv -> its heading on the page."""
LATEST = 4
"""Sets of unseen questions that the page shows of a release, beside the first."""


def rows(name: str) -> list[dict[str, str]]:
    """Rows of a file of figures."""
    with (FIGURES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _markdown(heads: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    made = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*made, *("| " + " | ".join(line) + " |" for line in lines)])


def _recordings() -> str:
    return _markdown(SHOWN.values(), ([row[key] for key in SHOWN] for row in rows("recordings")))


def _repeats() -> str:
    shown = [key for key in rows("repeats")[0] if key != "set"]
    return _markdown(shown, ([row[key] for key in shown] for row in rows("repeats")))


def _rate(equal: str, asked: str) -> str:
    return f"{100 * int(equal) / int(asked):.1f} %" if asked else ""


def _sessions() -> str:
    found = rows("sessions")
    releases = [key for key in found[0] if key != "session"]
    whole = []
    for release in releases:
        pairs = [tuple(map(int, row[release].split("/"))) for row in found if row[release]]
        equal, asked = (sum(column) for column in zip(*pairs, strict=True))
        whole.append(f"{equal}/{asked} ({_rate(str(equal), str(asked))})")
    lines = [[row["session"], *(row[release] for release in releases)] for row in found]
    return _markdown(["session", *releases], [*lines, ["**all**", *whole]])


def _unseen() -> str:
    sets: dict[str, list[int]] = {}
    for row in rows("unseen"):
        sets.setdefault(row["release"], []).append(int(row["set"]))
    newest = {release: {numbers[0], *numbers[-LATEST:]} for release, numbers in sets.items()}
    heads = [
        "release",
        "set",
        "sessions",
        "commands",
        "equal",
        "real Slurm's third recording",
        "starts",
        "on their nodes",
    ]
    lines = [
        [row["release"], row["set"], row["sessions"], row["asked"], _rate(row["equal"], row["asked"]),
         _rate(row["third equal"], row["third asked"]), row["starts"], row["locked"] and f"{row['locked']} %"]
        for row in rows("unseen") if int(row["set"]) in newest[row["release"]]
    ]  # fmt: skip
    return _markdown(heads, lines)


def _scripts() -> str:
    found = rows("scripts")
    lines = [[f"{text} %" if text[0].isdigit() else text for text in row.values()] for row in found]
    return _markdown(["half", "code", *[*found[0]][2:]], lines)


TABLES: dict[str, Callable[[], str]] = {
    "recordings": _recordings, "repeats": _repeats, "sessions": _sessions, "unseen": _unseen, "scripts": _scripts,
}  # fmt: skip


def page() -> str:
    """docs/fidelity-figures.md with the tables as they should be."""

    def anew(found: re.Match[str]) -> str:
        return f"{found['begin']}{TABLES[found['name']]()}\n{found['end']}"

    return PLACE.sub(anew, PAGE.read_text("utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
