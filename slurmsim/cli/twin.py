"""``slurmsim twin collect | load | anonymize | follow``: a live cluster made of what a real one's commands print."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from slurmsim.cli.terminal import show
from slurmsim.duration import parse_duration
from slurmsim.errors import ConfigError, InputError, clipped
from slurmsim.numerals import is_number
from slurmsim.releases import RELEASES
from slurmsim.twin.collect import DAYS, MOST_DAYS, collect, script

if TYPE_CHECKING:
    from slurmsim.twin.gauge_port import GaugePort
    from slurmsim.twin.twin import Twin

MOST_ERROR = 2000  # characters of a round's error
LEAST_EVERY_S, MOST_EVERY_S = 1, 86_400
DESCRIPTION = """A twin of a real cluster. `collect` asks its commands, which only read, and writes their answers into a
folder. `load` makes a live cluster of that second of such a folder or tar, its clock frozen, and lists what the answers
lack; `anonymize` takes the names of people out of them; `follow` reads dump after dump and tells what the last twin
missed. squeue, scontrol, fork, why and the rest take the cluster as any other (docs/twin.md)."""


def add_options(p: argparse.ArgumentParser) -> None:
    below = p.add_subparsers(metavar="ACTION", dest="action", required=True)
    asks = below.add_parser(
        "collect", help="ask the cluster that the commands on PATH talk to, or print the script that does"
    )
    asks.add_argument("folder", metavar="FOLDER", nargs="?", type=Path, help="where the answers go; must not exist")
    asks.add_argument("--print", action="store_true", dest="printed", help="print the script, to run elsewhere")
    asks.add_argument("--days", type=int, default=DAYS, metavar="N", help=f"days of sacct records (default {DAYS})")
    makes = below.add_parser("load", help="make the live cluster of that second")
    makes.add_argument("dump", metavar="DUMP", type=Path, help="folder or tar of answers")
    makes.add_argument("--state", metavar="DIR", type=Path, required=True, help="the new cluster's folder")
    add_reading(makes)
    makes.add_argument("--json", action="store_true", help="print what was found as JSON")
    hides = below.add_parser("anonymize", help="write a dump without names of people, to share it")
    hides.add_argument("dump", metavar="DUMP", type=Path, help="folder or tar of answers")
    hides.add_argument("file", metavar="FILE", type=Path, help="where it goes: FILE.tar.gz")
    keeps_up = below.add_parser("follow", help="read dump after dump, and tell which starts the last twin missed")
    keeps_up.add_argument("command", metavar="COMMAND", nargs="*",
                          help="prints a tar of a dump; without it the cluster on PATH is asked")  # fmt: skip
    keeps_up.add_argument("--every", default="60", metavar="TIME", help="from round to round (60s, 5, 00:05:00)")
    keeps_up.add_argument("--rounds", type=int, metavar="N", help="end after so many")
    keeps_up.add_argument("--metrics", metavar="FILE", type=Path, help="gauges for Prometheus, written each round")
    keeps_up.add_argument("--port", metavar="N", type=int,
                          help="the same at http://127.0.0.1:N/metrics (0: any that is free)")  # fmt: skip
    keeps_up.add_argument("--web", action="store_true",
                          help="serve a page of the last twin: queue, plan, why each job waits")  # fmt: skip
    keeps_up.add_argument("--slurm-version", metavar="REL", choices=RELEASES, help="be like that release")


def add_reading(p: argparse.ArgumentParser) -> None:
    """Add the options of whatever reads a dump."""
    p.add_argument("--slurm-version", metavar="REL", choices=RELEASES, help="be like that release, not the dump's own")
    p.add_argument("--run-times", metavar="FILE", type=Path,
                   help="CSV job,seconds[,exit]: how long jobs run; all others run to their limits")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Carry out the action. Raises SlurmSimError."""
    return {"collect": _collect, "load": _load, "anonymize": _anonymize, "follow": _follow}[args.action](args)


def _collect(args: argparse.Namespace) -> int:
    if not 0 < args.days <= MOST_DAYS:
        raise ConfigError(f"{args.days}", field="--days", expected=f"1 to {MOST_DAYS}")
    if args.printed == (args.folder is not None):
        raise ConfigError("one of them is needed", field="twin collect", expected="FOLDER, or --print")
    if args.printed:
        print(script(args.days), end="")
        return 0
    print(collect(args.folder.absolute(), args.days))
    return 0


def _anonymize(args: argparse.Namespace) -> int:
    from slurmsim.twin.anonymize import write_anonymized
    from slurmsim.twin.dump import read_dump

    write_anonymized(read_dump(args.dump), args.file)
    print(f"{args.file}: users, groups and accounts have pseudonyms; names of jobs, paths and texts are gone")
    return 0


def _load(args: argparse.Namespace) -> int:
    from slurmsim.twin.opened import make
    from slurmsim.twin.run_times import read_run_times
    from slurmsim.twin.view import as_dict, as_text

    run_times = read_run_times(args.run_times) if args.run_times is not None else None
    with tempfile.TemporaryDirectory(prefix="slurmsim-twin-") as scratch:
        twin = make(args.dump, args.state.absolute(), Path(scratch), args.slurm_version or "", run_times)
    if args.json:
        print(json.dumps(as_dict(twin), indent=2))
    else:
        show(as_text(twin))
        print(f"\nslurmsim up --state {args.state} starts it; its clock stands still until it is stepped.")
    return 0


def _follow(args: argparse.Namespace) -> int:
    from slurmsim.twin.follow import Follower, Round, Totals, as_gauges, as_line, follow, write_gauges

    every = _every(args.every)
    if args.rounds is not None and args.rounds < 1:
        raise ConfigError(f"{args.rounds}", field="--rounds", expected="1 or more")
    totals = Totals()
    last: list[Round] = []
    with ExitStack() as ends:
        port = _gauge_port(args.port, ends)
        follower = Follower(args.slurm_version or "", _page(ends) if args.web else None)

        def tell(one: Round) -> None:
            totals.add(one)
            last[:] = [one]
            publish()  # before the line: a reader of the line finds the gauges of its round
            show(as_line(one))
            sys.stdout.flush()

        def fail(error: Exception) -> None:
            totals.failed += 1
            publish()
            print(f"slurmsim: error: {clipped(str(error), MOST_ERROR)}", file=sys.stderr, flush=True)

        def publish() -> None:
            gauges = as_gauges(last[0] if last else None, totals)
            if args.metrics is not None:
                write_gauges(args.metrics, gauges)
            if port is not None:
                port.tell(gauges)

        publish()
        follow(args.command, every, args.rounds, follower, tell, fail)
    return 0 if totals.rounds else 1


def _gauge_port(number: int | None, ends: ExitStack) -> GaugePort | None:
    if number is None:
        return None
    from slurmsim.twin.gauge_port import GaugePort

    port = GaugePort(number)
    ends.callback(port.close)
    print(f"gauges at http://127.0.0.1:{port.number}/metrics", flush=True)
    return port


def _page(ends: ExitStack) -> Callable[[Twin], None]:
    """Return what serves each twin on a page; its address is printed once.

    Raises ModuleNotFoundError where the extra ``web`` is not installed, before any round.
    """
    for name in ("uvicorn", "starlette"):  # what the page's own process will import
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    from slurmsim.live.followed import FollowedPage
    from slurmsim.twin.folder import write

    page = FollowedPage()
    ends.callback(page.close)

    def serve(twin: Twin) -> None:
        known = page.url
        page.show(lambda folder: write(twin, folder))
        if not known:
            print(f"page at {page.url}", flush=True)

    return serve


def _every(text: str) -> float:
    number = text.removesuffix("s")
    try:
        seconds = float(number) if is_number(number) else parse_duration(text)
    except InputError as error:
        raise ConfigError(error.message, field="--every", expected=error.expected) from None
    if seconds is None or not LEAST_EVERY_S <= seconds <= MOST_EVERY_S:
        raise ConfigError(f"{text!r}", field="--every", expected="1 s to 1 day")
    return seconds
