"""``slurmsim validate DIR``: judge a finished run from its trace alone."""

import argparse

from slurmsim.cli.terminal import show

DESCRIPTION = """Check that the schedule in DIR is possible and its tables agree. Exit code 0: valid, 1: invalid, 2: not
a trace."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", help="what `slurmsim run --out` wrote")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the report; 0 when it is valid, 1 when not. Raises WorkloadError when DIR is not a trace."""
    from slurmsim.validate import validate_trace

    report = validate_trace(args.dir)
    if args.json:
        import json

        print(json.dumps(report.to_dict(), indent=2, ensure_ascii=False))
    else:
        show(report.to_text())
    return 0 if report.valid else 1
