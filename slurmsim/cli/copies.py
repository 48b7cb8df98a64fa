"""``slurmsim snapshot | restore | fork``: copies of a live cluster, in a file or beside it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmsim.cli.helps import HELPS
from slurmsim.cli.remainder import command_of
from slurmsim.errors import ConfigError, OutputError
from slurmsim.live import daemon
from slurmsim.live.cluster import Cluster, Origin
from slurmsim.live.settings import Settings
from slurmsim.protocol import cluster_folder

if TYPE_CHECKING:
    from slurmsim.slurmctld.history.copies import Copied


def add_parsers(subparsers: Any) -> None:
    snapshot = subparsers.add_parser("snapshot", help=HELPS["snapshot"])
    snapshot.add_argument("file", metavar="FILE")
    _state(snapshot)
    snapshot.set_defaults(func=run_snapshot)
    restore = subparsers.add_parser("restore", help=HELPS["restore"])
    restore.add_argument("file", metavar="FILE")
    restore.add_argument("--state", metavar="DIR", required=True, help="the new cluster's folder")
    clock = restore.add_mutually_exclusive_group()
    clock.add_argument("--frozen", action="store_true", help="time stands still until it is stepped")
    clock.add_argument("--fast", action="store_true", help="time jumps from event to event")
    clock.add_argument("--rate", type=float, metavar="R", help="cluster seconds a real second")
    restore.set_defaults(func=run_restore)
    fork = subparsers.add_parser(
        "fork", help=HELPS["fork"],
        description="Run a command in a copy of the live cluster that is gone afterwards, or start one in a folder.",
    )  # fmt: skip
    _state(fork)
    fork.add_argument("--to", metavar="DIR", help="start the copy in this folder and leave it running")
    fork.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    fork.set_defaults(func=run_fork)


def _state(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", metavar="DIR", help="the cluster's folder")


def _folder(args: argparse.Namespace) -> Path:
    return Path(args.state or cluster_folder(os.environ)).absolute()


def run_snapshot(args: argparse.Namespace) -> int:
    """Write the file and say of which instant it is."""
    path = Path(args.file).absolute()
    now = _save(_folder(args), path)
    print(f"{path}: the cluster of {datetime.fromtimestamp(now).isoformat()}")
    return 0


def _save(folder: Path, path: Path) -> int:
    """Write the cluster in `folder` down; its last instant. Raises OutputError, ConfigError."""
    from slurmsim.slurmctld.history.copies import save_stopped
    from slurmsim.slurmctld.history.state_folder import holder

    if holder(folder) is not None or daemon.is_alive(folder):
        return int(daemon.call(folder, "snapshot", timeout_s=None, path=str(path))["now"])
    return save_stopped(folder, path)


def run_restore(args: argparse.Namespace) -> int:
    """Make the folder, and say how to start what is in it."""
    from slurmsim.slurmctld.history.copies import make

    if args.rate is not None and not 0 < args.rate < 1e9:
        raise ConfigError(f"{args.rate:g} is no rate", field="--rate", expected="a number above 0")
    folder = Path(args.state).absolute()
    mode = "frozen" if args.frozen else "fast" if args.fast else "running" if args.rate is not None else None
    made = make(Path(args.file).absolute(), folder, mode=mode, rate=args.rate)
    _say(made)
    print(f"the cluster of {datetime.fromtimestamp(made.now).isoformat()} in {folder}; "
          f"slurmsim up --state {folder} starts it")  # fmt: skip
    return 0


def _say(made: Copied) -> None:
    if made.n_real:
        jobs = "job runs" if made.n_real == 1 else "jobs run"
        print(f"slurmsim: {made.n_real:,} {jobs} as processes of the first cluster; simulated here", file=sys.stderr)


def run_fork(args: argparse.Namespace) -> int:
    """Run a command in a copy, or start one that stays."""
    from slurmsim.slurmctld.history.copies import make

    words = command_of(args, "fork")
    if bool(words) == (args.to is not None):
        raise ConfigError("one of them is needed", field="fork", expected="-- COMMAND, or --to DIR")
    with tempfile.TemporaryDirectory(prefix="slurmsim-fork-") as scratch:
        path = Path(scratch) / "cluster"
        _save(_folder(args), path)
        if args.to is None:
            return _run_in_copy(path, words)
        folder = Path(args.to).absolute()
        _say(make(path, folder, mode="frozen"))
    for line in daemon.start(folder, daemon.prepare(folder, Settings())):
        print(line, file=sys.stderr)
    print(f"a copy in {folder}, its clock is frozen; slurmsim down --state {folder} stops it")
    return 0


def _run_in_copy(path: Path, words: list[str]) -> int:
    with Cluster(Settings(), None, Origin(path, "frozen")):
        try:
            code = subprocess.run(words, check=False).returncode
        except OSError as error:
            raise OutputError(f"{words[0]}: {error.strerror}") from None
    return code if code >= 0 else 128 - code
