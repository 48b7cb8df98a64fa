"""``slurmsim record | replay``: a session of commands in a file, and asked again of a fresh cluster."""

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from slurmsim.cli.helps import HELPS
from slurmsim.cli.remainder import command_of
from slurmsim.errors import ConfigError, OutputError
from slurmsim.live import daemon
from slurmsim.protocol import cluster_folder
from slurmsim.releases import RELEASES


def add_parsers(subparsers: Any) -> None:
    record = subparsers.add_parser(
        "record", help=HELPS["record"],
        description="Record from now on, until --stop; or for as long as a command runs.",
    )  # fmt: skip
    record.add_argument("file", nargs="?", metavar="FILE", help="where to; it must not be there yet")
    record.add_argument("--stop", action="store_true", help="end the recording")
    record.add_argument("--state", metavar="DIR", help="the cluster's folder")
    record.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    record.set_defaults(func=run_record)
    replay = subparsers.add_parser("replay", help=HELPS["replay"])
    replay.add_argument("file", metavar="FILE", help="what slurmsim record wrote")
    replay.add_argument("--conf", metavar="FILE", help="slurm.conf of the cluster (default: the recorded one)")
    replay.add_argument(
        "--release", "--slurm-version", choices=RELEASES, help="release to imitate (default: the recorded one)"
    )
    replay.add_argument("--jobs", choices=("run", "simulate"), help="whether scripts really run (default: as recorded)")
    replay.add_argument("--allow-code", action="store_true",
                        help="let scripts and programs of the session run, with your rights")  # fmt: skip
    replay.add_argument("--check", action="store_true", help="exit with 1 if anything comes out differently")
    replay.set_defaults(func=run_replay)


def run_record(args: argparse.Namespace) -> int:
    """Begin or end a recording, or run a command while it is made."""
    words = command_of(args, "record", ["--stop"])
    folder = Path(args.state or cluster_folder(os.environ)).absolute()
    if args.stop:
        if args.file is not None:
            raise ConfigError("--stop ends the recording there is", field="--stop", expected="no FILE")
        return _stop(folder)
    if args.file is None:
        found = daemon.call(folder, "record", action="show")
        print(f"{found['path']}: {found['commands']} commands" if found["path"] else "nothing is recorded")
        return 0
    path = Path(args.file).absolute()
    found = daemon.call(folder, "record", action="start", path=str(path))
    if found["jobs"]:
        print(f"slurmsim: warning: the cluster has had {found['jobs']} jobs, which a replay does not have",
              file=sys.stderr)  # fmt: skip
    if not words:
        print(f"recording to {path}; slurmsim record --stop ends it")
        return 0
    try:
        return subprocess.run(words, env=daemon.environment(folder, os.environ), check=False).returncode
    except OSError as error:
        raise OutputError(f"{words[0]}: {error.strerror}") from None
    finally:
        _stop(folder)


def _stop(folder: Path) -> int:
    found = daemon.call(folder, "record", action="stop")
    if not found["path"]:
        raise ConfigError("nothing is recorded", field="--stop", expected="slurmsim record FILE first")
    print(f"{found['path']}: {found['commands']} commands")
    return 0


def _check_own(file: str) -> None:
    """Raise ConfigError for a recording of another user: a replay runs the programs and scripts in it."""
    try:
        owner = os.stat(file).st_uid
    except OSError:
        return  # reading says so
    if owner not in (os.geteuid(), 0):
        raise ConfigError(f"it belongs to uid {owner}, and what it says would run as you", file=file,
                          expected="a file of one's own, or --allow-code if you trust that user")  # fmt: skip


def run_replay(args: argparse.Namespace) -> int:
    """Ask everything again, and print what differs."""
    from slurmsim.sessions.replay import Changes, replay
    from slurmsim.sessions.session_file import read

    if not args.allow_code:
        _check_own(args.file)
    session = read(Path(args.file))
    if session.jobs:
        print(f"slurmsim: warning: {session.jobs} jobs from before the recording are not there", file=sys.stderr)
    if session.full:
        print("slurmsim: warning: the recording is full: what came later is not in it", file=sys.stderr)
    same = asked = 0
    for outcome in replay(session, Changes(args.conf, args.release, args.jobs, args.allow_code)):
        asked += 1
        same += not outcome.difference
        if outcome.difference:
            command = outcome.command
            print(f"--- {command.number}: {command.user}$ {shlex.join(command.argv)}\n{outcome.difference}")
    inside = sum(one.inside for one in session.commands)
    others = len(session.commands) - asked - inside
    more = f"; {inside} from within jobs not asked" if inside else ""
    more += f"; {others} of other users of the machine not asked, as they would run as you" if others else ""
    print(f"{same} of {asked} commands answered alike{more}")
    return int(args.check and same < asked)
