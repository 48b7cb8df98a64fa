"""``slurmsim whatif --from DUMP``: what a change would do to the waits of the time to come."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from slurmsim.cli.terminal import show
from slurmsim.duration import format_duration, parse_duration
from slurmsim.errors import ConfigError, InputError
from slurmsim.twin.whatif import Answer

MOST_S = 31 * 86_400


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the options that go with ``--from``."""
    p.add_argument("--from", metavar="DUMP", dest="dump", type=Path,
                   help="ask of a real cluster's time to come (docs/twin.md)")  # fmt: skip
    p.add_argument("--drain", action="append", default=[], metavar="NODES", help="with --from, the change: drain these")
    p.add_argument("--reserve", action="append", default=[], metavar="NODES+IN+LENGTH",
                   help="with --from, the change: no jobs on these nodes from then on, for so long")  # fmt: skip
    p.add_argument("--for", dest="span", default="7-00:00:00", metavar="TIME",
                   help="with --from: how far to look (default 7-00:00:00)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Compare and show. Raises SlurmSimError."""
    from slurmsim.live.waiting.interval import ENOUGH
    from slurmsim.live.waiting.onlooker import Onlooker
    from slurmsim.twin.build import build
    from slurmsim.twin.changes import read_changes, settled
    from slurmsim.twin.dump import read_dump
    from slurmsim.twin.folder import write
    from slurmsim.twin.opened import opened
    from slurmsim.twin.past import known
    from slurmsim.twin.whatif import compare

    seconds, changes = _seconds(args.span), read_changes(args.drain, args.reserve, args.set)
    if not changes.any:
        raise ConfigError("nothing is changed", field="--from", expected="--drain, --reserve or --set beside it")
    with opened(args.dump) as (folder, twin), tempfile.TemporaryDirectory(prefix="slurmsim-twin-") as name:
        past = known(twin.past) if twin.past is not None else []
        if sum(job.used is not None for job in past) < ENOUGH:
            raise ConfigError("too few jobs have ended to draw run times from", file=str(args.dump), field="sacct.txt",
                              expected="some weeks of sacct records")  # fmt: skip
        other = folder
        if changes.settings:
            scratch, other = Path(name) / "scratch", Path(name) / "cluster"
            scratch.mkdir()
            other.mkdir(mode=0o700)
            write(build(settled(read_dump(args.dump), dict(twin.configuration.texts), changes), scratch), other)
        with Onlooker(folder) as before, Onlooker(other) as after:
            answer = compare(before, after, changes, past, seconds, args.seed)
    if args.json:
        print(json.dumps({"pairs": answer.pairs, "seconds": seconds, "accounts": answer.as_dicts()}, indent=2))
    else:
        show(_as_text(answer, seconds))
    return 0


def _seconds(text: str) -> int:
    try:
        found = parse_duration(text)
    except InputError as error:
        raise ConfigError(error.message, field="--for", expected=error.expected) from None
    if not found or found > MOST_S:
        raise ConfigError(f"{text!r}", field="--for", expected="up to 31 days")
    return found


def _as_text(answer: Answer, seconds: int) -> str:
    from slurmsim.report.text import table

    head = ("account", "jobs", "mean wait", "changed", f"longer in, of {answer.pairs} pairs")
    rows = [(account or "-", f"{jobs:g}", format_duration(round(now)), format_duration(round(then)), str(longer))
            for account, jobs, now, then, longer in answer.rows]  # fmt: skip
    return f"{format_duration(seconds)} from the dump on, in the median of {answer.pairs} pairs of copies:\n\n" + table(
        [head, *rows]
    )
