"""``slurmsim run``: replay a workload and show what happened."""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmsim.cli.terminal import show
from slurmsim.config.findings import warnings_among
from slurmsim.config.option import OLDEST
from slurmsim.errors import ConfigError
from slurmsim.numerals import counted
from slurmsim.releases import RELEASES
from slurmsim.replaying.instances import MOST

if TYPE_CHECKING:
    from slurmsim.model.cluster import ClusterSpec

MOST_NAMES = 5  # of partitions of a made-up cluster

DESCRIPTION = """Replay a job log in virtual time under Slurm's scheduling rules, or another policy's, and write the
trace, the summary, the plots and a report. Without --conf the cluster is made from the log's header or from --nodes."""


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--conf", metavar="FILE", help="slurm.conf of the cluster (gres.conf beside it)")
    add_release(p)
    p.add_argument("--nodes", type=int, metavar="N", help="a cluster of N equal nodes instead of --conf")
    p.add_argument("--cpus-per-node", type=int, metavar="C", help="CPUs of each of them (default 1)")
    p.add_argument(
        "--workload",
        "--log",
        metavar="FILE",
        help="job log: SWF, sacct -P dump or Parquet; streams; or generate:MODEL[:key=value,…]",
    )
    p.add_argument("--streams", metavar="FILE", help="streams of jobs in TOML, alone or on top of the log")
    p.add_argument("--feedback", action="store_true",
                   help="users wait for results: sessions and think times inferred from the log")  # fmt: skip
    p.add_argument("--format", metavar="FORMAT", help="swf, sacct, parquet or streams (default: told by the file)")
    p.add_argument("--policy", metavar="NAME[:key=value,…]",
                   help="scheduler plugin, as SchedulerType=sched/NAME; or FILE.py:CLASS[:key=value,…], a class in a "
                   "file, which is run")  # fmt: skip
    p.add_argument("--set", action="append", default=[], metavar="Key=Value", help="override a slurm.conf key")
    p.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="option of the log's format")
    p.add_argument("--seed", type=int, default=0, metavar="N", help="seed of whatever is drawn (default 0)")
    p.add_argument("--pass-limit", type=float, metavar="SECONDS",
                   help="end the run when one pass of a policy of yours takes longer, by the machine's clock "
                   "(default 600)")  # fmt: skip
    p.add_argument("--until", metavar="TIME", help="stop there: seconds, +D-HH:MM:SS or a date")
    p.add_argument("--jobs", type=int, metavar="N", help="replay the first N jobs only")
    add_variants(p)
    p.add_argument(
        "--node-events",
        metavar="FILE",
        help="CSV of time,action,nodes[,until][,reason][,command]: down, drain, undrain, fail, resume, register, "
        "reboot, reboot-asap, maintenance; sacctmgr with a command",
    )
    p.add_argument(
        "--reservations", metavar="FILE", help="advance reservations: TOML, or the output of scontrol show reservation"
    )
    p.add_argument("--mtbf", type=int, metavar="SECONDS", help="draw node failures: mean time between them, a node")
    p.add_argument("--mttr", type=int, metavar="SECONDS", help="mean time to repair")
    add_boot_time(p)
    p.add_argument("--epilog-time", type=int, default=0, metavar="SECONDS",
                   help="how long nodes are COMPLETING after each job (default 0)")  # fmt: skip
    p.add_argument("--term-time", type=int, default=0, metavar="SECONDS",
                   help="how long jobs take to die when they are ended, at most KillWait (default 0)")  # fmt: skip
    p.add_argument("--solver-latency", type=int, metavar="SECONDS",
                   help="how long a policy's solver takes, modelled (default: solver_latency, else 0)")  # fmt: skip
    p.add_argument("--checkpoint", metavar="INTERVAL[:WRITE[:RESTART]]",
                   help="jobs save their work after every INTERVAL seconds of it, in WRITE seconds; a requeued one "
                   "goes on from there, RESTART seconds later (default: checkpoint_interval, else not)")  # fmt: skip
    p.add_argument("--malleable", metavar="SHARE[:KEY=E,…]",
                   help="make that share of the jobs (0 to 1) malleable by Amdahl's law, drawn by --seed: efficiency "
                   "on the nodes asked for, min and max on the fewest and most (default 0.8, 0.95, 0.5)")  # fmt: skip
    p.add_argument("--save-instances", metavar="FOLDER",
                   help="save what a policy's solver is asked for, as files of slurmsim dispatch")  # fmt: skip
    p.add_argument("--max-instances", type=int, default=MOST, metavar="N",
                   help="keep so many of them, spread evenly over the run (default %(default)s)")  # fmt: skip
    _add_power(p)
    add_accounting(p)
    add_impossible(p)
    about_shares = "write shares.parquet: usage and fair share of all associations, at most every so often"
    p.add_argument("--shares", type=int, metavar="SECONDS", help=about_shares)
    p.add_argument("--out", metavar="DIR", help="folder for the trace, replaced when the run succeeds")
    p.add_argument("--outputs", choices=("all", "none"), default="all",
                   help="none: no folder, trace or report; prints the figures that follow from the jobs")  # fmt: skip
    shown = p.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="no progress bar, no tables; warnings still go to stderr")
    shown.add_argument("--json", action="store_true", help="print the summary as JSON")
    p.add_argument("--check-repeat", action="store_true",
                   help="make the run twice, and fail where the second differs: what a policy decides must follow from "
                   "the run alone")  # fmt: skip
    p.add_argument("--strict", action="store_true", help="exit code 1 where most jobs never started")
    p.add_argument(
        "--as-live",
        action="store_true",
        help="passes come as in a live cluster, where a second's facts are told one by one",
    )


def add_variants(parser: argparse.ArgumentParser) -> None:
    """Add the options that make another log of the same one."""
    parser.add_argument("--window", metavar="FROM,TO", help="only jobs submitted in between, times as --until has them")
    parser.add_argument("--weeks", type=int, metavar="N",
                        help="make the log N weeks long: behind its whole weeks each user repeats weeks of his own, "
                        "drawn by --seed, which loses trends and what users of one week have in common (Zakay and "
                        "Feitelson 2013)")  # fmt: skip
    parser.add_argument("--load", type=float, metavar="FACTOR", help="so many times the log's own load")
    parser.add_argument("--load-by", choices=("arrivals", "users"), default="arrivals",
                        help="arrivals (default): divide the gaps between submissions, which makes days shorter, too "
                        "(Feitelson 2015); users: draw users with all their jobs, moved by whole weeks, which loses "
                        "what ties users together (Zakay and Feitelson 2013)")  # fmt: skip
    parser.add_argument("--jitter", type=int, default=0, metavar="SECONDS",
                        help="move each submit time by up to this much, drawn by --seed (default 0)")  # fmt: skip
    parser.add_argument("--fair-start", type=int, default=0, metavar="N",
                        help="find for N jobs, drawn by --seed, when each would start if no job came after it: one "
                        "more run for each (Sabin and Sadayappan 2005; default 0)")  # fmt: skip


def add_boot_time(p: argparse.ArgumentParser) -> None:
    """Add the option about boots."""
    p.add_argument("--boot-time", metavar="SECONDS",
                   help="how long a node takes to boot: seconds, a range (60-180) or lognormal:MEDIAN:SIGMA "
                   "(default 60)")  # fmt: skip


def add_prices(parser: argparse.ArgumentParser) -> None:
    """Add the option about what nodes cost."""
    parser.add_argument("--prices", metavar="FILE",
                        help="what nodes cost by the hour, a TOML file with tables nodes and features: the summary has "
                        "node_cost, and idle_node_cost for nodes without a job")  # fmt: skip


def _add_power(parser: argparse.ArgumentParser) -> None:
    """Add the options about watts."""
    parser.add_argument("--power-budget", metavar="WATTS|FILE",
                        help="what all nodes together may draw: watts, or a CSV file of time,watts")  # fmt: skip
    parser.add_argument("--carbon", metavar="FILE",
                        help="carbon intensity over time, a CSV file of time,g_per_kwh[,forecast][,price]: the summary "
                        "has kg of CO2 and money, and policies see the forecast")  # fmt: skip
    add_prices(parser)
    parser.add_argument("--power-cap", metavar="WATTS",
                        help="what the processors of a node may draw under jobs without their own cap")  # fmt: skip
    parser.add_argument("--base-w", metavar="WATTS", help="what a node draws beside its processors (default 56)")
    parser.add_argument("--full-w", metavar="WATTS", help="the most its processors draw (default 60)")
    parser.add_argument("--idle-w", metavar="WATTS", help="what a node without a job draws (default 0)")
    parser.add_argument("--limit", choices=("scale", "keep"),
                        help="limits of jobs with applications move with their shapes (default) or stay")  # fmt: skip


def add_release(parser: argparse.ArgumentParser) -> None:
    """Add the option about the release that decides."""
    parser.add_argument("--release", "--slurm-version", choices=RELEASES, default=OLDEST,
                        help="release of Slurm with the rules that decide (default %(default)s)")  # fmt: skip


def add_accounting(parser: argparse.ArgumentParser) -> None:
    """Add the options about accounting data."""
    parser.add_argument(
        "--accounting",
        action="append",
        default=[],
        metavar="FILE",
        help="sacctmgr dump, show assoc|qos -P table, sacctmgr commands or TOML; may be given several times",
    )
    parser.add_argument(
        "--unknown-accounts",
        choices=("stop", "refuse", "add"),
        default="stop",
        help="what to do with jobs of users, accounts and QOS those do not know (default: stop if Slurm would refuse)",
    )
    add_groups(parser)


def add_groups(parser: argparse.ArgumentParser) -> None:
    """Add the option about groups of users."""
    parser.add_argument("--groups", action="append", default=[], metavar="FILE",
                        help="for AllowGroups: getent group (and passwd); may be given several times")  # fmt: skip


def add_impossible(parser: argparse.ArgumentParser) -> None:
    """Add the option about jobs that the cluster could not take."""
    parser.add_argument(
        "--impossible-jobs",
        choices=("stop", "drop"),
        default="stop",
        help="jobs of partitions the cluster does not have, or larger than all of it: stop, or leave them out, counted",
    )


def run(args: argparse.Namespace) -> int:
    """Replay. Raises SlurmSimError; returns 0, 1 where most jobs never started and that counts, 130 after Ctrl-C."""
    from slurmsim.cli.progress import progress_bar
    from slurmsim.replaying.options import RunOptions
    from slurmsim.replaying.preparation import prepare
    from slurmsim.replaying.replay import execute, refused_warning
    from slurmsim.report.shortfall import shortfall, starved

    _check_outputs(args)
    if args.workload is None:
        if args.streams is None:
            raise ConfigError("nothing to run", field="--workload", expected="--workload, --streams or both")
        args.workload, args.streams = args.streams, None
        args.format = args.format or "streams"
    options = RunOptions.of(**{**run_keywords(args), "out": args.out or ""})
    prepared = prepare(options)
    talkative = not args.quiet and not args.json
    for warning in warnings_among(prepared.findings):
        print(f"slurmsim: {warning}", file=sys.stderr)
    if talkative:
        if options.conf is None:
            print(f"slurmsim: {_made_up(prepared.cluster)}", file=sys.stderr)
        _say_quality(prepared)
    refused_before = sum(prepared.workload.quality.dropped.values())
    with progress_bar(prepared.workload, shown=talkative and sys.stderr.isatty()) as progress:
        if args.out is None:
            from slurmsim.replaying.figures import figures

            summary, interrupted = figures(prepared, progress)
        else:
            summary, interrupted = execute(prepared, progress=progress)[1:]
    if summary["refused"]:
        print(f"slurmsim: {refused_warning(summary['refused'])}", file=sys.stderr)
    for note in prepared.notes:
        print(f"slurmsim: {note}", file=sys.stderr)
    if args.json:
        print(json.dumps(summary, indent=2))
    elif talkative:
        if missing := shortfall(summary):
            print(missing + "\n")
        if sum(prepared.workload.quality.dropped.values()) > refused_before:
            _say_quality(prepared)
        _say_summary(summary, prepared.workload.header.epoch)
        if args.out is not None:
            _say_files(Path(args.out))
    if interrupted:
        kept = "" if args.out is None else f"; what happened until then is in {args.out} (marked partial)"
        print(f"slurmsim: interrupted{kept}", file=sys.stderr)
        return 130
    if args.check_repeat:
        from slurmsim.replaying.repeat import check_repeat

        check_repeat(options, Path(args.out))
        if talkative:
            print("Made again, the run gives the same tables.")
    if starved(summary):
        print("slurmsim: warning: most jobs never started: no mean says anything about them", file=sys.stderr)
        return 1 if args.strict else 0
    return 0


def _check_outputs(args: argparse.Namespace) -> None:
    """Refuse a run that has a folder and no outputs, or neither. Raises ConfigError."""
    if (args.outputs == "none") == (args.out is not None):
        raise ConfigError("there is nothing to write to" if args.out is None else "none writes nothing there",
                          field="--out", expected="--out DIR, or --outputs none")  # fmt: skip
    if args.out is None and args.check_repeat:
        raise ConfigError("compares the traces of two runs", field="--check-repeat", expected="--out DIR")


def run_keywords(args: argparse.Namespace) -> dict[str, Any]:
    """Return what `args` has of a run's options, for `RunOptions.of`."""
    from slurmsim.config.load import parse_override
    from slurmsim.replaying.options import RunOptions

    found = {name: getattr(args, name) for name in RunOptions.__dataclass_fields__ if hasattr(args, name)}
    found["set"] = [parse_override(item) for item in args.set]
    if "option" in found:
        found["option"] = [pair(item) for item in args.option]
    return found


def pair(item: str) -> tuple[str, str]:
    """KEY=VALUE of an --option."""
    key, equals, value = item.partition("=")
    if not equals or not key:
        raise ConfigError(f"{item!r}", field="--option", expected="KEY=VALUE")
    return key, value


def _made_up(cluster: "ClusterSpec") -> str:
    """Say which cluster a run without a configuration has."""
    kinds = Counter(node.cpus for node in cluster.nodes)
    nodes = " and ".join(f"{counted(n, 'node')} of {counted(cpus, 'CPU')}" for cpus, n in kinds.items())
    names = ", ".join(partition.name for partition in cluster.partitions[:MOST_NAMES])
    more = f" and {rest:,} more" if (rest := len(cluster.partitions) - MOST_NAMES) > 0 else ""
    return f"no --conf, so the cluster is made up: {nodes}, without limits in its partitions ({names}{more})"


def _say_quality(prepared: Any) -> None:
    from slurmsim_workloads import format_quality

    quality = prepared.workload.quality
    if quality.repaired or quality.dropped:
        print(format_quality(quality))


def _say_summary(summary: dict[str, Any], epoch: int | None) -> None:
    from slurmsim.report.text import in_reading_order, summary_label, summary_value, table

    rows = [[summary_label(key), summary_value(key, summary[key], epoch)] for key in in_reading_order(summary)]
    show(table([["measure", "value"], *rows]))


def _say_files(folder: Path) -> None:
    names = sorted(p.name + ("/" if p.is_dir() else "") for p in folder.iterdir() if not p.name.startswith("."))
    print(f"\n{folder}: {', '.join(names)}")
