"""``slurmsim calibrate``: a doctor for a site's own slurm.conf, accounting data and job log."""

import argparse
import sys
from pathlib import Path
from typing import Any

from slurmsim.cli.run import add_accounting, add_release
from slurmsim.cli.terminal import show

DESCRIPTION = """Look through a site's own data before trusting a replay of them: what the log lacks, what is odd about
its times, what cannot be modelled, how faithful a replay is (by partition and class of jobs), and which setting would
explain what differs: a stated list of changes, each replayed (docs/calibrate.md). Exit code: 0; 1 when the replay does
not fit the log; 2 for data that cannot be read."""


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--conf", required=True, metavar="FILE", help="slurm.conf of the site (gres.conf beside it)")
    p.add_argument("--log", "--workload", required=True, dest="workload", metavar="FILE",
                   help="job log with its real starts: sacct -P dump, SWF, Parquet")  # fmt: skip
    p.add_argument("--format", metavar="FORMAT", help="swf, sacct or parquet (default: told by the file)")
    p.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="option of the log's format")
    add_release(p)
    p.add_argument("--set", action="append", default=[], metavar="Key=Value", help="override a slurm.conf key")
    add_accounting(p)
    p.set_defaults(unknown_accounts="add")
    p.add_argument("--impossible-jobs", choices=("stop", "drop"), default="drop",
                   help="jobs the cluster could not take: leave them out, counted (default), or stop")  # fmt: skip
    p.add_argument("--reservations", metavar="FILE", help="advance reservations of that time")
    p.add_argument("--node-events", metavar="FILE", help="node failures, drains and repairs of that time")
    p.add_argument("--window", metavar="FROM,TO", help="only jobs submitted in between, times as --until has them")
    p.add_argument("--jobs", type=int, metavar="N", help="replay the first N jobs only")
    p.add_argument("--try", action="append", default=[], dest="families", metavar="FAMILY",
                   help="changes of this kind only: scheduler, backfill, priority, partitions, nodes or limits; may be "
                   "given several times")  # fmt: skip
    p.add_argument("--no-causes", action="store_true", help="try no change: one replay")
    p.add_argument("--list", action="store_true", help="list the changes that would be tried, and end")
    p.add_argument("--top", type=int, default=5, metavar="N", help="changes looked at twice (default 5)")
    p.add_argument("--replicates", type=int, default=5, metavar="N", help="further replays of each (default 5)")
    p.add_argument("--jitter", type=int, default=60, dest="jitter_s", metavar="SECONDS",
                   help="submit times of a replicate move by up to this much (default 60)")  # fmt: skip
    p.add_argument("--seed", type=int, default=0, metavar="N", help="seed of whatever is drawn (default 0)")
    p.add_argument("--bundle", metavar="FILE", help="write an anonymised copy of the three, to share: FILE.tar.gz")
    p.add_argument("--out", metavar="DIR", help="folder for calibrate.html and calibrate.json")
    shown = p.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="no progress bar, no tables")
    shown.add_argument("--json", action="store_true", help="print the diagnosis as JSON")


def run(args: argparse.Namespace) -> int:
    """Diagnose and show. Raises SlurmSimError; returns 0, 1 when the replay does not fit the log, 130 after Ctrl-C."""
    from slurmsim.calibrate import calibrate
    from slurmsim.calibrate.bundle import check_bundle
    from slurmsim.calibrate.view import as_dict, as_text, not_modelled
    from slurmsim.cli.check import inspect
    from slurmsim.cli.progress import slow_bar
    from slurmsim.cli.run import run_keywords
    from slurmsim.replaying.options import RunOptions
    from slurmsim.trace.jsonfile import to_json

    options = RunOptions.of(**run_keywords(args) | {"out": "", "jitter": 0})
    if args.bundle:
        check_bundle(options, Path(args.bundle))
    if args.list:
        return _list(options, args.families)
    findings, seen, _ = inspect(Path(args.conf), options.set, accounting=args.accounting, groups=args.groups)
    talkative = not args.quiet and not args.json
    with slow_bar("replays", shown=talkative and sys.stderr.isatty()) as progress:
        found = calibrate(
            options, families=None if args.no_causes else args.families, replicates=args.replicates,
            jitter_s=args.jitter_s, top=args.top, progress=progress,
        )  # fmt: skip
    keys = not_modelled(findings, seen)
    if args.json:
        print(to_json(as_dict(found, keys)), end="")
    elif talkative:
        show(as_text(found, keys))
    if args.out:
        _write(found, keys, Path(args.out), talkative)
    if found.interrupted:
        return 130
    if args.bundle:
        _bundle(options, found, Path(args.bundle), talkative)
    return 1 if found.fit.verdict == "poor" else 0


def _list(options: Any, families: list[str]) -> int:
    from slurmsim.calibrate.candidates import Site, candidates, check_families
    from slurmsim.replaying.preparation import prepare
    from slurmsim.report.text import table

    check_families(families)
    prepared = prepare(options)
    changes = candidates(Site(prepared.cluster, prepared.workload, prepared.accounting), families)
    rows = [(one.family, one.setting, one.now, one.why) for one in changes]
    show(table([("family", "change", "now", "why"), *rows], left=4))
    return 0


def _write(found: Any, keys: list[dict[str, Any]], folder: Path, talkative: bool) -> None:
    from slurmsim.calibrate.view import as_dict, as_page
    from slurmsim.report.build import write_file
    from slurmsim.trace.jsonfile import to_json

    file = write_file(folder / "calibrate.html", as_page(found, keys).encode())
    write_file(folder / "calibrate.json", to_json(as_dict(found, keys)).encode())
    if talkative:
        print(f"\nWritten: {file}")


def _bundle(options: Any, found: Any, file: Path, talkative: bool) -> None:
    from slurmsim.calibrate.bundle import write_bundle

    kept = write_bundle(options, found.fit, file)
    if talkative:
        print("\n" + kept)
