"""``slurmsim fidelity``: how close a replay comes to recordings of a real slurmctld."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    p = subparsers.add_parser("fidelity", help="compare replays with recordings of a real slurmctld")
    p.add_argument("files", nargs="+", metavar="FILE", help="recording (JSON), its workload beside it")
    p.add_argument("--workload", metavar="FILE", help="the recordings' workload, when it is not beside them")
    p.add_argument("--accounting", metavar="FILE", help="the recordings' accounting data, when they are not where the "
                   "oracle kit keeps them")  # fmt: skip
    p.add_argument("--repeats", action="store_true", help="compare recordings of one workload with each other: how far "
                   "real Slurm is from itself, and the replay from it")  # fmt: skip
    form = p.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON, for programs")
    form.add_argument("--markdown", action="store_true", help="as a Markdown table, for documents")
    p.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Replay and compare. Raises ConfigError or WorkloadError; returns 0."""
    from slurmsim.fidelity import Assessment, assess, read_recording
    from slurmsim.fidelity.repeats import Repeats, compare_repeats
    from slurmsim.report.text import table

    workload = Path(args.workload) if args.workload else None
    accounting = Path(args.accounting) if args.accounting else None
    found: Sequence[Assessment | Repeats]
    if args.repeats:
        found = compare_repeats(read_recording(Path(name), workload, accounting) for name in args.files)
    else:
        found = [assess(Path(name), workload, accounting) for name in args.files]
    if args.json:
        print(json.dumps([f.as_dict() for f in found], indent=2))
        return 0
    lines = [f.as_row() for f in found]
    head, rows = list(lines[0]), [list(line.values()) for line in lines]
    if args.markdown:
        for row in (head, ["---"] * len(head), *rows):
            print(f"| {' | '.join(row)} |")
    else:
        print(table([head, *rows]))
    return 0
