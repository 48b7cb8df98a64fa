"""``slurmsim efficiency DIR``: the five packing losses of the Lomonosov papers, slot by slot."""

import argparse
import datetime as dt
from pathlib import Path

from slurmsim.cli.terminal import show
from slurmsim.numerals import is_number

EXPECTED = "seconds of the trace's clock, +D-HH:MM:SS after its first job, or YYYY-MM-DD[THH:MM:SS]"

DESCRIPTION = """Five losses of the schedule in DIR, 0 best and 1 worst, slot by slot: empty strip, wait of each user's
first job, jobs and users of the queue that do not start, mean wait; and their weighted sum. Written: efficiency.json
and plots/efficiency.png. Definitions: docs/systems/lomonosov.md."""


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("dir", metavar="DIR", type=Path, help="folder that slurmsim run wrote")
    p.add_argument("--slot", metavar="D-HH:MM:SS", default="1-00", help="length of a slot (default a day)")
    p.add_argument("--from", dest="begin", metavar="TIME", help="begin of the first slot (default: the first submit)")
    p.add_argument("--to", dest="end", metavar="TIME", help="no slot ends later (default: the last end)")
    p.add_argument("--class", dest="classes", metavar="A:B", action="append", default=[],
                   help="metric 5 of jobs of A to B - 1 nodes; may be repeated, the first counts")  # fmt: skip
    p.add_argument("--weights", metavar="C1,…,C5", help="weights of the five, summing to 1 (default 0.2 each)")
    p.add_argument("--first", action="store_true", help="of a user the job that starts first, not the least wait")
    p.add_argument("--unit", choices=("cpus", "nodes"), default="cpus", help="what the empty strip is counted in")
    p.add_argument("--out", metavar="OUT", type=Path, help="folder for the files (default DIR)")
    p.add_argument("--json", action="store_true", help="print JSON instead of the table")


def run(args: argparse.Namespace) -> int:
    """Measure, print and write. Raises SlurmSimError."""
    from slurmsim.metrics.packing import ALL_JOBS, EQUAL_WEIGHTS, JobClass
    from slurmsim.report.build import render, write_file
    from slurmsim.report.efficiency import Question, as_text, figure, measure
    from slurmsim.report.rundata import RunData
    from slurmsim.trace.jsonfile import to_json
    from slurmsim.trace.reader import read_trace

    data = RunData(read_trace(args.dir))
    begin, epoch = data.interval.begin, int(data.section("workload").get("epoch") or 0)
    question = Question(
        slot_s=_length(args.slot),
        begin=None if args.begin is None else _moment(args.begin, "--from", begin, epoch),
        end=None if args.end is None else _moment(args.end, "--to", begin, epoch),
        classes=tuple(JobClass.parse(text) for text in args.classes) or (ALL_JOBS,),
        weights=EQUAL_WEIGHTS if args.weights is None else _weights(args.weights),
        first=args.first,
        unit=args.unit,
    )
    found = measure(data, question)
    out = args.dir if args.out is None else args.out
    text = to_json(found.as_dict())
    write_file(out / "efficiency.json", text.encode())
    picture = write_file(out / "plots" / "efficiency.png", render(figure([found], [out.name], data.epoch), "png"))
    if args.json:
        print(text, end="")
    else:
        show(as_text(found, data.epoch))
        print(f"\nWritten: {picture}")
    return 0


def _length(text: str) -> int:
    from slurmsim.duration import FORMATS, DurationError, parse_duration
    from slurmsim.errors import ConfigError

    try:
        seconds = parse_duration(text)
    except DurationError:
        seconds = None
    if not seconds:
        raise ConfigError(f"{text!r} is no length", field="--slot", expected=FORMATS.removesuffix(" or UNLIMITED"))
    return seconds


def _moment(text: str, field: str, first: int, epoch: int) -> int:
    from slurmsim.duration import parse_duration
    from slurmsim.errors import ConfigError

    try:
        if text.startswith("+"):
            seconds = parse_duration(text[1:])
            if seconds is None:
                raise ValueError(text)
            return first + seconds
        if is_number(text.lstrip("-")):
            return int(text)
        moment = dt.datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()) - epoch
    except ValueError:
        raise ConfigError(f"{text!r} is no time", field=field, expected=EXPECTED) from None


def _weights(text: str) -> tuple[float, ...]:
    from slurmsim.errors import ConfigError
    from slurmsim.metrics.packing import check_weights

    try:
        weights = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(
            f"{text!r} is no list of numbers", field="--weights", expected="five, as in 0.2,0.2,0.2,0.2,0.2"
        ) from None
    check_weights(weights)
    return weights
