"""``slurmsim up | down | status | clock | env | calls``: the live cluster."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slurmsim.errors import ConfigError, OutputError
from slurmsim.protocol import FOLDER_VARIABLE, SOCKET, Client, Refusal, Unreachable, cluster_folder, state_folder

COMMANDS = (
    "sacct", "sacctmgr", "salloc", "sattach", "sbatch", "sbcast", "scancel", "scontrol", "sdiag", "sinfo", "sprio",
    "squeue", "sreport", "srun", "sshare", "sstat", "strigger",
)  # fmt: skip
# a real Slurm's must not be reached by accident
MISSING = ("scrontab",)
READY_S = 60.0


def add_parser(subparsers: Any) -> None:
    """Attach the subcommands."""
    up = subparsers.add_parser("up", help="start a live cluster: sbatch, squeue … answer as on a real one")
    up.add_argument("--conf", metavar="FILE", help="slurm.conf of the cluster")
    up.add_argument("--nodes", type=int, default=4, metavar="N", help="nodes of a made-up cluster (4)")
    up.add_argument("--cpus-per-node", type=int, default=8, metavar="C", help="their CPUs (8)")
    up.add_argument("--state", metavar="DIR", help="the cluster's folder (default: under the user's state folder)")
    up.add_argument("--clock", choices=("real",), default="real", help="the machine's clock (default)")
    up.add_argument("--rate", type=float, metavar="R", help="cluster seconds a real second")
    up.add_argument("--frozen", action="store_true", help="time stands still until it is stepped")
    up.add_argument("--fast", action="store_true", help="time jumps from event to event")
    up.add_argument("--start", metavar="TIME", help="first instant, YYYY-MM-DDThh:mm:ss (UTC when it ends with Z)")
    up.add_argument("--user", action="append", default=[], metavar="NAME=UID[:GROUP:GID:HOME]", help="a simulated user")
    up.add_argument(
        "--accounting", nargs="?", const="", action="append", default=[], metavar="FILE",
        help="associations and QOS; without FILE a new database, as of a cluster whose slurmdbd has just been set up",
    )  # fmt: skip
    up.add_argument(
        "--no-accounting", action="store_true", help="nothing is stored: sacct says so, as without slurmdbd"
    )
    up.add_argument(
        "--jobs", choices=("run", "simulate"), default="run", help="scripts really run (default), or only seem to"
    )
    up.add_argument("--slurm-version", default="22.05", metavar="V", help="release to imitate (22.05)")
    up.add_argument("--foreground", action="store_true", help="stay in the foreground")
    up.set_defaults(func=run_up)
    for name, text, run in (
        ("down", "stop the live cluster", run_down),
        ("status", "what the live cluster is doing", run_status),
        ("env", "shell lines that put the commands on PATH: eval \"$(slurmsim env)\"", run_env),
    ):  # fmt: skip
        sub = subparsers.add_parser(name, help=text)
        sub.add_argument("--state", metavar="DIR", help="the cluster's folder")
        sub.set_defaults(func=run)
    clock = subparsers.add_parser("clock", help="show, freeze, step or scale the live cluster's clock")
    clock.add_argument(
        "action", nargs="?", default="show", choices=("show", "freeze", "step", "until-idle", "rate", "fast")
    )
    clock.add_argument("value", nargs="?", help="step: 90, 10m, 2h, 1d; rate: cluster seconds a real second")
    clock.add_argument("--state", metavar="DIR", help="the cluster's folder")
    clock.set_defaults(func=run_clock)
    calls = subparsers.add_parser("calls", help="the commands the live cluster has been asked by")
    calls.add_argument("command", nargs="?", help="only this command")
    calls.add_argument("--state", metavar="DIR", help="the cluster's folder")
    calls.set_defaults(func=run_calls)


def _folder(args: argparse.Namespace) -> Path:
    return Path(args.state or cluster_folder(os.environ)).absolute()


def run_up(args: argparse.Namespace) -> int:
    """Start the daemon, or go on with the cluster of that folder."""
    folder = _folder(args)
    if _alive(folder):
        raise ConfigError("a cluster is running there", file=str(folder), expected="slurmsim down first")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / "log").touch()
        _remember(folder)
        _write_commands(folder)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror}") from None
    header = _header(args, folder)
    if args.foreground:
        from slurmsim.slurmctld.start import serve

        serve(folder, header)
        return 0
    command = [sys.executable, "-m", "slurmsim.slurmctld", str(folder), json.dumps(header)]
    with open(folder / "log", "ab") as log:
        daemon = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
        )
    last = time.monotonic() + READY_S
    while time.monotonic() < last:
        if _alive(folder):
            print(f'cluster in {folder}; eval "$(slurmsim env)" puts its commands on PATH')
            return 0
        if daemon.poll() is not None:
            break
        time.sleep(0.01)
    lines = (folder / "log").read_text("utf-8", "replace").strip().splitlines()
    raise OutputError(f"the daemon did not start: {lines[-1] if lines else 'see ' + str(folder / 'log')}")


def _header(args: argparse.Namespace, folder: Path) -> dict[str, Any] | None:
    if (folder / "journal").exists() and (folder / "journal").stat().st_size:
        return None
    from slurmsim.slurmctld.start import CONF, new_header

    conf = ""
    if args.conf:
        source = Path(args.conf)
        if not source.is_file():
            raise ConfigError("no such file", file=args.conf, expected="a slurm.conf")
        shutil.copyfile(source, folder / CONF)
        for name in ("gres.conf", "topology.conf"):
            if (source.parent / name).is_file():
                shutil.copyfile(source.parent / name, folder / name)
        conf = CONF
    if args.no_accounting and args.accounting:
        raise ConfigError("both --accounting and --no-accounting", expected="one of them")
    storage = "none" if args.no_accounting else "slurmdbd" if "" in args.accounting else ""
    accounting = []
    for source in map(Path, filter(None, args.accounting)):
        if not source.is_file():
            raise ConfigError("no such file", file=str(source), expected="accounting data")
        shutil.copyfile(source, folder / source.name)
        accounting.append(source.name)
    start = int(time.time())
    if args.start:
        start = _instant(args.start)
    mode = "frozen" if args.frozen else "fast" if args.fast else "running"
    users = dict(item.split("=", 1) for item in args.user if "=" in item)
    return new_header(start=start, mode=mode, rate=args.rate or 1.0, conf=conf, nodes=args.nodes,
                      cpus=args.cpus_per_node, users=users, release=args.slurm_version, jobs=args.jobs,
                      accounting=accounting, storage=storage)  # fmt: skip


def _instant(text: str) -> int:
    try:
        found = datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        raise ConfigError(f"bad time {text!r}", field="--start", expected="YYYY-MM-DDThh:mm:ss") from None
    return int((found.replace(tzinfo=UTC) if text.endswith("Z") else found).timestamp())


def _remember(folder: Path) -> None:
    base = Path(state_folder(os.environ))
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    (base / "current").write_text(f"{folder}\n", "utf-8")


def _write_commands(folder: Path) -> None:
    """The commands of this cluster: small programs in a folder of their own."""
    place = folder / "bin"
    place.mkdir(exist_ok=True)
    for name in COMMANDS:
        path = place / name
        path.write_text(
            f"#!{sys.executable} -S\nimport sys\nsys.path[:0] = {_import_path()!r}\n"
            f"from slurmsim.commands.{name} import main\nsys.exit(main())\n",
            "utf-8",
        )
        path.chmod(0o755)
    for name in MISSING:
        path = place / name
        path.write_text(
            f"#!/bin/sh\necho '{name}: error: slurmsim does not have this command yet' >&2\nexit 1\n", "utf-8"
        )
        path.chmod(0o755)


def _import_path() -> list[str]:
    import slurmsim

    return [str(Path(slurmsim.__file__).parents[1])]


def _alive(folder: Path) -> bool:
    if not (folder / SOCKET).exists():
        return False
    try:
        Client(str(folder), timeout_s=2).call("ping")
    except Unreachable:
        return False
    return True


def _call(folder: Path, name: str, **arguments: Any) -> dict[str, Any]:
    try:
        return Client(str(folder)).call(name, **arguments)
    except Unreachable:
        raise OutputError(f"no cluster is running in {folder}; start one with slurmsim up") from None
    except Refusal as refusal:
        raise ConfigError(refusal.text) from None


def run_down(args: argparse.Namespace) -> int:
    """Stop the daemon; its state stays."""
    folder = _folder(args)
    _call(folder, "down")
    last = time.monotonic() + READY_S
    while (folder / SOCKET).exists() and time.monotonic() < last:
        time.sleep(0.01)
    return 0


def run_status(args: argparse.Namespace) -> int:
    """Print what `ping` and the clock say."""
    folder = _folder(args)
    found, clock = _call(folder, "ping"), _call(folder, "clock", action="show")
    when = datetime.fromtimestamp(clock["now"]).isoformat()
    print(f"{found['cluster']} in {folder}: {when}, clock {clock['mode']} at rate {clock['rate']:g}")
    return 0


def run_env(args: argparse.Namespace) -> int:
    """Print the lines to evaluate."""
    folder = _folder(args)
    print(f"export {FOLDER_VARIABLE}={shlex.quote(str(folder))}")
    print(f'export PATH={shlex.quote(str(folder / "bin"))}:"$PATH"')
    return 0


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def run_clock(args: argparse.Namespace) -> int:
    """Show or change the clock."""
    arguments: dict[str, Any] = {"action": args.action}
    if args.action == "step":
        text = args.value or ""
        number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS and text[-1:] else (text, "")
        if not number.isdigit():
            raise ConfigError(f"bad step {text!r}", field="step", expected="seconds, or 10m, 2h, 1d")
        arguments["seconds"] = int(number) * _UNITS[unit]
    elif args.action == "rate":
        try:
            arguments["rate"] = float(args.value)
        except (TypeError, ValueError):
            raise ConfigError(f"bad rate {args.value!r}", field="rate", expected="a number above 0") from None
    clock = _call(_folder(args), "clock", **arguments)
    print(datetime.fromtimestamp(clock["now"]).isoformat(), clock["mode"], f"rate {clock['rate']:g}")
    return 0


def run_calls(args: argparse.Namespace) -> int:
    """One JSON object a call."""
    for one in _call(_folder(args), "calls", command=args.command)["calls"]:
        print(json.dumps(one))
    return 0
