"""``slurmsim whatif``: what a change of configuration would do to waits, and how far to trust the answer."""

import argparse
import sys
from pathlib import Path

from slurmsim.cli import whatif_dump
from slurmsim.cli.run import add_accounting, add_boot_time, add_impossible, add_prices, add_release
from slurmsim.cli.terminal import show
from slurmsim.errors import ConfigError
from slurmsim.releases import RELEASES

DESCRIPTION = """Replay a log under a site's own slurm.conf, grade that against the log's real starts, replay it again
with changes, and both several times with jittered submit times. Written to DIR: both traces (baseline, changed),
whatif.json, and whatif.html with its plots."""


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--conf", metavar="FILE", help="slurm.conf of the cluster as it was")
    p.add_argument("--nodes", type=int, metavar="N", help="a cluster of N equal nodes instead of --conf")
    p.add_argument("--cpus-per-node", type=int, metavar="C", help="CPUs of each of them (default 1)")
    whatif_dump.add_options(p)
    p.add_argument("--workload", "--log", metavar="FILE", help="job log: sacct -P dump, SWF or Parquet")
    p.add_argument("--format", metavar="FORMAT", help="swf, sacct or parquet (default: told by the file)")
    p.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="option of the log's format")
    add_release(p)
    p.add_argument("--set", action="append", default=[], metavar="Key=Value", help="the change: a slurm.conf key")
    p.add_argument("--policy", metavar="NAME[:key=value,…]", help="the change: another scheduler plugin")
    p.add_argument("--changed-release", choices=RELEASES, help="the change: another release of Slurm")
    p.add_argument("--changed-conf", metavar="FILE", help="the change: another slurm.conf")
    p.add_argument("--base-set", action="append", default=[], metavar="Key=Value", help="a key in both replays")
    p.add_argument("--replicates", type=int, default=5, metavar="N", help="further pairs of replays (default 5)")
    p.add_argument("--jitter", type=int, default=60, metavar="SECONDS",
                   help="submit times of a replicate move by up to this much (default 60)")  # fmt: skip
    p.add_argument("--seed", type=int, default=0, metavar="N", help="seed of whatever is drawn (default 0)")
    p.add_argument("--until", metavar="TIME", help="stop there: seconds, +D-HH:MM:SS or a date")
    p.add_argument("--jobs", type=int, metavar="N", help="replay the first N jobs only")
    p.add_argument("--node-events", metavar="FILE", help="node failures, drains and repairs in both replays")
    p.add_argument("--reservations", metavar="FILE", help="advance reservations in both replays")
    p.add_argument("--changed-reservations", metavar="FILE", help="the change: other reservations")
    add_prices(p)
    add_boot_time(p)
    add_accounting(p)
    add_impossible(p)
    p.add_argument("--changed-accounting", action="append", default=[], metavar="FILE",
                   help="the change: other accounting data")  # fmt: skip
    p.add_argument("--out", metavar="DIR", help="folder for the answer")
    shown = p.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="no progress bar, no tables")
    shown.add_argument("--json", action="store_true", help="print the answer as JSON")


def _check_log(args: argparse.Namespace) -> None:
    """Refuse a question about a log without a log or a folder, or with an option of dumps. Raises ConfigError."""
    if args.workload is None or args.out is None:
        missing = "--workload" if args.workload is None else "--out"
        raise ConfigError("it is missing", field=missing, expected=f"{missing} beside --conf, or --from DUMP")
    if args.drain or args.reserve:
        raise ConfigError("of a dump alone", field="--drain, --reserve", expected="--from DUMP beside it")


def run(args: argparse.Namespace) -> int:
    """Study and show. Raises SlurmSimError; returns 0, 1 when the baseline does not fit the log, 130 after Ctrl-C."""
    if args.dump is not None:
        return whatif_dump.run(args)
    _check_log(args)
    from slurmsim.cli.progress import counting_bar
    from slurmsim.cli.run import run_keywords
    from slurmsim.config.load import parse_override
    from slurmsim.replaying.options import RunOptions
    from slurmsim.trace.jsonfile import to_json
    from slurmsim.whatif import Question, study
    from slurmsim.whatif.view import as_dict, as_text, write

    changes = (args.set, args.policy, args.changed_release, args.changed_conf, args.changed_accounting,
               args.changed_reservations)  # fmt: skip
    if not any(changes):
        raise ConfigError("nothing is changed", field="--set", expected="--set, --policy, --changed-release, "
                          "--changed-conf, --changed-accounting or --changed-reservations")  # fmt: skip
    out = Path(args.out)
    base = [parse_override(item) for item in args.base_set]
    given = run_keywords(args) | {"policy": None, "jitter": 0}
    change = given["set"]
    before = given | {"out": out / "baseline", "set": base}
    after = given | {
        "out": out / "changed", "conf": args.changed_conf or args.conf, "policy": args.policy, "set": base + change,
        "release": args.changed_release or args.release,
        "accounting": args.changed_accounting or args.accounting,
        "reservations": args.changed_reservations or args.reservations,
    }  # fmt: skip
    question = Question(RunOptions.of(**before), RunOptions.of(**after), args.replicates, args.jitter)
    talkative = not args.quiet and not args.json
    with counting_bar(2 + 2 * max(args.replicates, 0), "replays", shown=talkative and sys.stderr.isatty()) as progress:
        found = study(question, progress)
    for line in found.findings:
        print(f"slurmsim: {line}", file=sys.stderr)
    files = write(found, out)
    if args.json:
        print(to_json(as_dict(found)), end="")
    elif talkative:
        show(as_text(found))
        print(f"\nWritten: {files[0]}")
    if found.interrupted:
        return 130
    return 1 if found.fit.verdict == "poor" else 0
