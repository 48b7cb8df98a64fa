"""``slurmsim why DIR JOBID``: what kept a job waiting, from the trace of a run."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "why",
        help="explain a job's wait: which rule, who was ahead",
        description="Explain a job's wait from the trace of a run: the reasons it showed and for how long, who was "
        "first in line meanwhile, who started, and whose end let it start.",
    )
    parser.add_argument("dir", metavar="DIR", type=Path, help="folder that slurmsim run wrote")
    parser.add_argument("jobs", metavar="JOBID", nargs="+", help="job id, or ARRAY_TASK")
    parser.add_argument("--json", action="store_true", help="print as JSON, a list with an object a job")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print the explanations."""
    from slurmsim.trace.jsonfile import to_json
    from slurmsim.trace.reader import read_trace
    from slurmsim.why import explain
    from slurmsim.why.text import as_text

    trace = read_trace(args.dir)
    found = [explain(trace, job) for job in args.jobs]
    if args.json:
        print(to_json([f.as_dict() for f in found]), end="")
        return 0
    epoch = int((trace.manifest.get("workload") or {}).get("epoch") or 0)
    print("\n\n".join(as_text(f, epoch=epoch) for f in found))
    return 0
