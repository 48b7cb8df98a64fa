"""``slurmsim bench lomonosov``: experiments that put published numbers beside ours."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "bench",
        help="repeat the experiment of a published system",
        description="Experiments on published systems: the paper's numbers beside ours, with a verdict.",
    )
    names = parser.add_subparsers(metavar="SYSTEM", required=True)
    p = names.add_parser(
        "lomonosov",
        help="per-user CPU-hour limits on backfill",
        description="Backfill with and without CPU-hour limits of users, on the synthetic partition regular4 of "
        "Lomonosov and on a job log with users. Runs that are in OUT already are not made again. Written: results.txt, "
        "results.json, results.parquet, lomonosov.png. About the paper and the result: docs/systems/lomonosov.md.",
    )
    p.add_argument(
        "--out", metavar="OUT", type=Path, default=Path("bench-lomonosov"), help="folder (default %(default)s)"
    )
    p.add_argument("--parts", metavar="PART,…",
                   help="of regular4-easy, regular4-conservative, regular4-backfill, log-easy, log-conservative, "
                   "log-backfill; or all (default: regular4-easy,log-easy,log-backfill)")  # fmt: skip
    p.add_argument("--seeds", metavar="N", type=int, default=5, help="replicates of each run (default 5)")
    p.add_argument("--log", metavar="FILE", type=Path,
                   help="job log with users (default: KTH-SP2-1996-2.swf.gz in the folder SLURMSIM_DATA)")  # fmt: skip
    p.add_argument("-o", "--option", metavar="KEY=VALUE", action="append", default=[],
                   help="parameter of the model lomonosov-regular4, see slurmsim generate --list")  # fmt: skip
    p.add_argument("--workers", metavar="N", type=int, default=0, help="processes (default: as many as cores)")
    p.add_argument("--fresh", action="store_true", help="make all runs again")
    shown = p.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="no progress bar, no tables")
    shown.add_argument("--json", action="store_true", help="print JSON instead of tables")
    p.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Run what is missing, print and write. Raises SlurmSimError."""
    from slurmsim.bench.lomonosov import DEFAULT_PARTS, LOG, experiment, parse_parts
    from slurmsim.bench.lomonosov_view import as_dict, as_text, write
    from slurmsim.cli.convert import parse_option_list
    from slurmsim.cli.progress import counting_bar
    from slurmsim.trace.jsonfile import to_json

    log = args.log
    if log is None and "SLURMSIM_DATA" in os.environ:
        log = Path(os.environ["SLURMSIM_DATA"]) / LOG
    parts = DEFAULT_PARTS if args.parts is None else parse_parts(args.parts)
    talkative = not args.quiet and not args.json
    wanted = sum(args.seeds * 5 + 1 for part in parts if part.workload != "log" or log is not None)
    with counting_bar(wanted, "runs", shown=talkative and sys.stderr.isatty()) as progress:
        found = experiment(
            args.out, parts=parts, seeds=args.seeds, log=log, workers=args.workers, fresh=args.fresh, progress=progress,
            model_options=tuple(sorted(parse_option_list(args.option).items())),
        )  # fmt: skip
    files = write(found, args.out)
    if args.json:
        print(to_json(as_dict(found)), end="")
    elif talkative:
        print(as_text(found))
        print(f"\nWritten: {files[0].parent}")
    return 0
