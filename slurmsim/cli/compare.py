"""``slurmsim compare DIR DIR…``: runs side by side, and the jobs that moved most."""

import argparse
from pathlib import Path

from slurmsim.cli.terminal import show

DESCRIPTION = """Compare runs with the first one: summaries side by side and, joined on the job id, the jobs with the
largest moves of their start."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dirs", metavar="DIR", type=Path, nargs="+", help="two or more folders that slurmsim run wrote")
    parser.add_argument("--out", metavar="OUT", type=Path, help="also write compare.html, compare.json and plots here")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON instead of tables")


def run(args: argparse.Namespace) -> int:
    """Print the comparison and write it if asked."""
    from slurmsim.report.compare import compare
    from slurmsim.report.compare_view import as_text, write_comparison
    from slurmsim.trace.jsonfile import to_json

    found = compare(args.dirs)
    written = write_comparison(found, args.out) if args.out is not None else []
    if args.json:
        print(to_json(found.as_dict()), end="")
        return 0
    show(as_text(found))
    for path in written[:1]:
        print(f"\nWritten: {path}")
    return 0
