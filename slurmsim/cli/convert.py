"""``slurmsim convert``: from one workload format to another, with the quality report, names taken out on request."""

import argparse
import sys

from slurmsim.errors import ConfigError

DESCRIPTION = """Read a job log and write it in another format. The report of what was repaired and dropped goes to
standard output. OUT is replaced only when the new file is complete."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="IN", help="job log: .swf, .swf.gz, sacct -P dump, .parquet")
    parser.add_argument("output", metavar="OUT", help="file to write: .parquet, .swf, .swf.gz")
    parser.add_argument("--from", dest="from_format", metavar="FORMAT", help="format of IN (default: told by the file)")
    parser.add_argument("--to", dest="to_format", metavar="FORMAT", help="format of OUT (default: told by its suffix)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE",
        help="option of the input format, see docs/workloads.md; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--lossy",
        action="store_true",
        help="leave out what the output format cannot hold (otherwise refused) and say it",
    )
    parser.add_argument(
        "--anonymize", action="store_true", help="replace names of users, accounts, jobs and nodes by pseudonyms"
    )
    parser.add_argument(
        "--anonymize-all", action="store_true",
        help="the same, and partitions, QOS, constraints and GRES types too",
    )  # fmt: skip
    parser.add_argument(
        "--shift-time", type=int, default=None, metavar="SECONDS",
        help="with --anonymize: take SECONDS off every time of the log",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the pseudonyms (default 0)")
    parser.add_argument("--quiet", action="store_true", help="print nothing when all went well")


def run(args: argparse.Namespace) -> int:
    """Convert. Raises WorkloadError, ConfigError or OutputError; returns 0."""
    from slurmsim_workloads import format_quality, read_workload, write_workload
    from slurmsim_workloads.registry import choose_output_format
    from slurmsim_workloads.transforms.anonymize import anonymize

    choose_output_format(args.output, args.to_format)  # a hopeless output is reported before the work
    anonymous = args.anonymize or args.anonymize_all
    if args.shift_time is not None and not anonymous:
        raise ConfigError("only goes with --anonymize", field="--shift-time")
    if args.seed < 0:
        raise ConfigError(f"{args.seed} is negative", field="--seed", expected="a whole number >= 0")
    workload = read_workload(args.input, args.from_format, parse_option_list(args.option))
    report = format_quality(workload.quality)
    if anonymous:
        first = int(workload.ints["submit"].min()) if len(workload) else 0
        shift = args.shift_time or 0
        if shift > first:
            raise ConfigError(f"{shift} is after the first submit time {first}", field="--shift-time")
        workload = anonymize(workload, args.seed, everything=args.anonymize_all, shift_s=shift)
    lost = write_workload(workload, args.output, args.to_format, lossy=args.lossy)
    if not args.quiet:
        print(f"{args.input}: {report}")
        for what in lost:
            print(f"  left out  {what}")
        print(f"{args.output}: {len(workload):,} jobs written", file=sys.stdout)
    return 0


def parse_option_list(items: list[str]) -> dict[str, str]:
    """``["overrun=keep"]`` as a dictionary.

    Raises
    ------
    ConfigError
        An item is not KEY=VALUE, or a key comes twice.
    """
    options: dict[str, str] = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not (key and equals):
            raise ConfigError(f"{item!r} is not KEY=VALUE", field="--option")
        if key in options:
            raise ConfigError(f"{key} is given twice", field="--option")
        options[key] = value
    return options
