"""``slurmsim bench all``: the experiments of all published systems, one after the other, and what came out."""

from __future__ import annotations

import argparse
import resource
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

WHOLE = {
    "eurora": ("--seeds", "0"),
    "titan": ("--seeds", "10", "--verdict-seeds", "14", "--years", "3"),
    "pcp20": (),
    "lomonosov": ("--verdict-seeds", "18"),
    "parm": ("--parts", "testbed,choices,intrepid,contested,sweeps", "--testbed-seeds", "15", "--slow-seeds", "3",
             "--level-seeds", "2"),
}  # fmt: skip
"""What each page has, in the order of the papers, where that is not the default."""
NOT_SAID = frozenset({"help", "out", "workers", "fresh", "quiet", "json", "pages", "log", "data"})


def add_parser(names: Any, one: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the subcommand; `one` makes a parser of a single experiment."""
    p = names.add_parser(
        "all",
        help="all of them, with a summary of all claims",
        description="Make the experiments of all published systems, each as its page has it, and sum up what became of "
        "all claims. What is in OUT already is not made again, so it goes on after an interruption. Written: a folder "
        "a system, and the summary.",
    )
    p.add_argument("--out", metavar="OUT", type=Path, default=Path("bench-all"), help="folder (default %(default)s)")
    p.add_argument("--systems", metavar="NAME,…", default="all", help=f"of {', '.join(WHOLE)} (default: all)")
    p.add_argument("--with", metavar="'SYSTEM OPTIONS'", dest="more", action="append", default=[],
                   help="options of one, as 'titan --seeds 10'")  # fmt: skip
    p.add_argument("--workers", metavar="N", type=int, help="processes (default: those of each experiment)")
    p.add_argument("--fresh", action="store_true", help="make all runs again")
    p.add_argument("--pages", metavar="FOLDER", type=Path,
                   help="write the tables of all pages there anew; results stay in FOLDER/results")  # fmt: skip
    shown = p.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="no progress, no tables")
    shown.add_argument("--json", action="store_true", help="print JSON instead of tables")
    p.set_defaults(func=run, one=one)


def run(args: argparse.Namespace) -> int:
    """Make all experiments, print and write the summary. Raises SlurmSimError."""
    from slurmsim.errors import ConfigError
    from slurmsim.experiments import pages
    from slurmsim.experiments.names import parse_names
    from slurmsim.experiments.results import write_file
    from slurmsim.report.text import table
    from slurmsim.trace.jsonfile import to_json

    asked = parse_names(args.systems, list(WHOLE), "--systems")
    systems = [name for name in WHOLE if name in asked]
    more = {words[0]: words[1:] for words in map(shlex.split, args.more) if words}
    if strange := set(more) - set(systems):
        raise ConfigError(f"{', '.join(sorted(strange))}", field="--with", expected=f"one of {', '.join(systems)}")
    began = cpu_s()
    for number, name in enumerate(systems, 1):
        if not args.quiet:
            print(f"{number} of {len(systems)}: {name}", file=sys.stderr, flush=True)
        _make(name, more.get(name, ()), args)
    outcomes = pages.outcomes(args.out)
    tables = {"claims": pages.claims_summary(outcomes), "items": pages.items_summary(outcomes)}
    spent = cpu_s() - began
    text = "\n\n".join([pages.headline(outcomes), *map(table, tables.values()), f"CPU time: {pages.minutes(spent)}"])
    facts = {"headline": pages.headline(outcomes), **tables, "cpu_s": spent}
    written = [write_file(args.out / "summary.txt", (text + "\n").encode()),
               write_file(args.out / "summary.json", to_json(facts).encode())]  # fmt: skip
    if args.json:
        print(to_json(facts), end="")
    elif not args.quiet:
        print(f"{text}\n\nWritten: {written[0].parent}{f', {args.pages}' if args.pages else ''}")
    return 0


def _make(name: str, more: Any, args: argparse.Namespace) -> None:
    """Make one experiment; its results are kept in the folder of all, and beside the pages."""
    from slurmsim.experiments import pages

    words = [name, *WHOLE[name], *more, "--out", str(args.out / name), *(["--fresh"] if args.fresh else [])]
    words += [] if args.workers is None else ["--workers", str(args.workers)]
    one = args.one().parse_args(words)
    one.quiet = args.quiet or args.json
    began = cpu_s()
    found, view = one.experiment(one)
    view.write(found, one.out)
    kept = pages.kept_of(view.as_dict(found), command(one), spent_s(began))
    for folder in (args.out, args.pages):
        if folder is not None:
            pages.keep(name, kept, folder)


def command(args: argparse.Namespace) -> str:
    """Return what was asked for, without options that change no figure and without paths of this machine."""
    words = ["slurmsim", "bench", args.experiment.__name__]
    for action in args.parser._actions:
        value = getattr(args, action.dest, None)
        if action.dest not in NOT_SAID and value != action.default:
            for one in value if isinstance(value, list) else [value]:
                words += [action.option_strings[-1], str(one)]
    return shlex.join(words)


def spent_s(began: float) -> float:
    """Return the CPU seconds since `began`, with those of the runs that were there already."""
    from slurmsim.experiments.runs import earlier_cpu_s

    return cpu_s() - began + earlier_cpu_s()


def cpu_s() -> float:
    """Return the CPU seconds of this process and of those it has waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)
