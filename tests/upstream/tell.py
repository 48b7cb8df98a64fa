"""Print what became of the suite: ``python -m tests.upstream.tell RESULTS.json… [--readme]``.

With ``--readme`` the table goes into README.md, between its marks; with ``--families`` only the rows of the families
in the results, which are whole ones. With ``--moved``, for results of parts of the
suite, tests that pass now leave the list and are counted as such in the table that is there. The exit code is 1 if
the list of outcomes says another thing than the results.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tests.upstream.outcomes import LIST, ended, moved, read, recounted, surprises, table, with_families, without

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


def put(text: str, found: str) -> str:
    """Return a document with the table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + found + END + after


def main() -> int:
    """Read the results of one run, or of parts of one, and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--readme", action="store_true", help="write the table into README.md")
    parser.add_argument("--families", action="store_true", help="write the rows of these whole families")
    parser.add_argument(
        "--moved", action="store_true", help="take tests that pass off the list, count them in README.md"
    )
    args = parser.parse_args()
    results: dict[str, Any] = {}
    for path in args.results:
        results |= json.loads(path.read_text("utf-8"))
    entries = read()
    found = table(entries, results)
    print(found)
    if args.readme:
        README.write_text(put(README.read_text("utf-8"), found), "utf-8")
    if args.families:
        text = README.read_text("utf-8")
        README.write_text(put(text, with_families(text.partition(BEGIN)[2].partition(END)[0], found)), "utf-8")
    if args.moved:
        names, modules = moved(entries, results), ended(entries, results)
        LIST.write_text(without(LIST.read_text("utf-8"), [*names, *modules]), "utf-8")
        text = README.read_text("utf-8")
        there = text.partition(BEGIN)[2].partition(END)[0]
        README.write_text(put(text, recounted(there, names, modules, results)), "utf-8")
        print(f"{len(names)} tests left the list")
        entries = read()
    wrong = surprises(entries, results)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
