"""``slurmsim report DIR``: draw the pictures of a trace and write its HTML page."""

import argparse
from pathlib import Path

DESCRIPTION = """Draw the plots of a trace folder and write its report.html: one page that needs no network, with zoom
in a Gantt chart and in use over time, filters over all jobs, and why each of them waited."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", type=Path, help="folder that slurmsim run wrote (--out)")
    parser.add_argument("--svg", action="store_true", help="write the plots as SVG too")


def run(args: argparse.Namespace) -> int:
    """Write the report and name the files."""
    from slurmsim.report.build import build_report

    for path in build_report(args.dir, formats=("png", "svg") if args.svg else ("png",)):
        print(path)
    return 0
