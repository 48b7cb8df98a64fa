"""``slurmsim strategy``: which shape of job uses up an allocation fastest."""

import argparse
import sys
from pathlib import Path

from slurmsim.cli.terminal import show
from slurmsim.errors import ConfigError

MOST_STREAMS = 1000

DESCRIPTION = """Categories of a log's jobs, ranked by how likely a project that submits such jobs one after the other
uses more than its allocation in time; the best are tried in simulation. About it: docs/strategy.md."""


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--log", "--workload", required=True, metavar="FILE", help="jobs that ran: sacct -P dump, SWF, Parquet, a trace"
    )
    p.add_argument("--allocation", required=True, metavar="AMOUNT", help="1M-node-hours, 500k-core-hours, 250000")
    p.add_argument("--months", type=float, default=3.0, metavar="M", help="of 730 hours (default 3)")
    p.add_argument("--by", choices=("bins", "shapes"), default="bins", help="what is alike (default bins)")
    p.add_argument("--streams", default="1", metavar="A[..B]", help="sequences of jobs side by side (default 1)")
    p.add_argument("--check", type=int, default=3, metavar="N", help="simulate the best N (default 3)")
    p.add_argument("--conf", metavar="FILE", help="slurm.conf of the cluster")
    p.add_argument("--nodes", type=int, metavar="N", help="a cluster of N equal nodes instead")
    p.add_argument("--cpus-per-node", type=int, metavar="C", help="CPUs of each of them")
    p.add_argument("--format", metavar="FORMAT", help="of the log (default: told by the file)")
    p.add_argument("--policy", metavar="NAME[:key=value,…]", help="scheduler (default: the conf's, else easy)")
    p.add_argument("--seed", type=int, default=0, metavar="N", help="seed of bootstraps and draws (default 0)")
    p.add_argument("--plot", type=Path, metavar="FILE", help="draw P(U > x) of the best: PNG or SVG")
    p.add_argument("--json", action="store_true", help="print JSON instead of tables")


def run(args: argparse.Namespace) -> int:
    """Search, print and draw. Raises SlurmSimError."""
    from slurmsim.cli.progress import counting_bar
    from slurmsim.papers.titan.strategy.run import Wanted, search
    from slurmsim.papers.titan.strategy.view import as_dict, as_text, plot
    from slurmsim.trace.jsonfile import to_json

    if args.plot is not None and args.plot.suffix not in (".png", ".svg"):
        raise ConfigError(f"{args.plot}", field="--plot", expected="a name that ends in .png or .svg")
    if args.seed < 0:
        raise ConfigError(f"{args.seed} is negative", field="--seed", expected="a whole number >= 0")
    wanted = Wanted(
        args.log, args.allocation, args.months, args.by, numbers(args.streams), args.check, args.seed, args.conf,
        args.nodes, args.cpus_per_node, args.format, args.policy,
    )  # fmt: skip
    with counting_bar(args.check, "simulations", shown=sys.stderr.isatty() and not args.json) as progress:
        answer = search(wanted, progress)
    if args.json:
        print(to_json(as_dict(answer)), end="")
    else:
        show(as_text(answer))
    if args.plot is not None:
        file = plot(answer, args.plot)
        if not args.json:
            print(f"\nWritten: {file}")
    return 0


def numbers(text: str) -> tuple[int, ...]:
    """``3``, or ``1..8``. Raises ConfigError."""
    first, dots, last = text.partition("..")
    words = (first, last) if dots else (first, first)
    if not all(word.isdecimal() for word in words) or not 1 <= int(words[0]) <= int(words[1]) <= MOST_STREAMS:
        raise ConfigError(f"{text!r}", field="--streams", expected="as 3 or 1..8")
    return tuple(range(int(words[0]), int(words[1]) + 1))
