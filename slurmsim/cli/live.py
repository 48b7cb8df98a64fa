"""``slurmsim up | down | status | shell | as | env | clock | calls``: the live cluster from the command line."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

from slurmsim.cli.helps import HELPS
from slurmsim.cli.progress import slow_bar
from slurmsim.cli.remainder import command_of
from slurmsim.duration import format_duration
from slurmsim.errors import ConfigError, OutputError
from slurmsim.input_file import read_text
from slurmsim.live import daemon, gallery
from slurmsim.live.going_on import check_going_on, put_back, replace_conf
from slurmsim.live.settings import NEW_DATABASE, Settings, exists, programs_named, seconds_of
from slurmsim.model.power import OPTIONS
from slurmsim.protocol import cluster_folder
from slurmsim.releases import DEFAULT, FLAVOURS, of_new
from slurmsim.slurmctld.history.header import JOURNAL

_CLOCKS = {
    "real": "the machine's clock", "running": "{rate:g} seconds a second", "frozen": "frozen", "fast": "fast"
}  # fmt: skip


def add_parsers(subparsers: Any) -> None:
    _add_up(subparsers)
    for name, run in (
        ("down", run_down),
        ("status", run_status),
        ("shell", run_shell),
        ("env", run_env),
        ("as", run_as),
        ("clock", run_clock),
        ("calls", run_calls),
    ):  # fmt: skip
        sub = subparsers.add_parser(name, help=HELPS[name])
        sub.add_argument("--state", metavar="DIR", help="the cluster's folder")
        sub.set_defaults(func=run)
        if name == "env":
            sub.add_argument("--profile", action="store_true", help="lines for ~/.profile, for login shells")
        elif name == "as":
            sub.add_argument("user", metavar="USER")
            sub.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND")
        elif name == "clock":
            actions = ("show", "freeze", "step", "until-idle", "rate", "fast")
            sub.add_argument("action", nargs="?", default="show", choices=actions)
            sub.add_argument("value", nargs="?", help="step: 90, 10m, 2h, 1d12h; rate: cluster seconds a real second")
        elif name == "down":
            sub.add_argument("--force", action="store_true", help="kill a daemon that does not answer; its state stays")
        elif name == "status":
            sub.add_argument("--json", action="store_true", help="one JSON object")
        elif name == "calls":
            sub.add_argument("command", nargs="?", help="only this command")
            sub.add_argument("--json", action="store_true", help="one JSON object a call")


def _add_up(subparsers: Any) -> None:
    up = subparsers.add_parser("up", help=HELPS["up"])
    made_of = up.add_argument_group("what it is made of")
    made_of.add_argument("--conf", metavar="FILE", help="slurm.conf of the cluster")
    made_of.add_argument("--nodes", type=int, metavar="N", help="nodes of a made-up cluster (4)")
    made_of.add_argument("--cpus-per-node", type=int, metavar="C", help="their CPUs (8)")
    made_of.add_argument("--gpus-per-node", type=int, metavar="G", help="their GPUs (0)")
    made_of.add_argument(
        "--accounting", action="append", nargs="?", const=NEW_DATABASE, default=[], metavar="FILE",
        help="associations and QOS; without FILE a database as new as slurmdbd sets one up",
    )  # fmt: skip
    made_of.add_argument(
        "--user", action="append", default=[], metavar="NAME=UID[:GROUP:GID:HOME]", help="a simulated user"
    )
    made_of.add_argument(
        "--operator", action="append", default=[], metavar="USER", help="a user who may cancel and update all jobs"
    )
    made_of.add_argument(
        "--policy", metavar="NAME[:key=value,…]", help="an installed policy in place of the conf's SchedulerType"
    )
    made_of.add_argument("--streams", metavar="FILE", help="streams of jobs in TOML: users who submit by themselves")
    made_of.add_argument(
        "--release", "--slurm-version", dest="slurm_version", metavar="V", help=f"release to imitate ({DEFAULT})"
    )
    made_of.add_argument(
        "--flavour", choices=tuple(FLAVOURS), help="the build that --version names (upstream: a site's own)"
    )
    power = up.add_argument_group("power of simulated jobs, in watts, as slurmsim run has it")
    power.add_argument("--power-budget", metavar="W|FILE", help="what all nodes may draw: watts, or CSV time,watts")
    power.add_argument("--power-cap", metavar="W", help="cap of every processor; all jobs need an application")
    power.add_argument("--base-w", metavar="W", help="what a node with a job draws beside its processor (56)")
    power.add_argument("--full-w", metavar="W", help="the most a processor draws (60)")
    power.add_argument("--idle-w", metavar="W", help="what a node without a job draws (0)")
    power.add_argument("--carbon", metavar="FILE", help="carbon intensity for policies, CSV time,g_per_kwh[,forecast]")
    power.add_argument("--limit", metavar="HOW", help="time limits of jobs with an application: scale (default), keep")
    up.add_argument("--boot-time", type=int, metavar="SECONDS", help="how long a node takes to boot (60)")
    clock = up.add_mutually_exclusive_group()
    clock.add_argument("--clock", choices=("real",), help="the machine's time (default)")
    clock.add_argument("--rate", type=float, metavar="R", help="cluster seconds a real second")
    clock.add_argument("--frozen", action="store_true", help="time stands still until it is stepped")
    clock.add_argument("--fast", action="store_true", help="time jumps from event to event")
    up.add_argument("--start", metavar="TIME", help="first instant, YYYY-MM-DDThh:mm:ss (UTC when it ends with Z)")
    up.add_argument("--no-accounting", action="store_true", help="nothing is stored: sacct answers as without slurmdbd")
    up.add_argument(
        "--allow-code", action="store_true",
        help="run programs that slurm.conf names: Prolog, Epilog, TaskProlog, TaskEpilog",
    )  # fmt: skip
    up.add_argument(
        "--jobs", choices=("run", "simulate"),
        help="scripts really run, or only seem to (run, unless the clock is frozen or fast)",
    )  # fmt: skip
    up.add_argument(
        "--gallery", action="store_true", help="a new cluster with jobs and nodes in every state, its clock frozen"
    )
    up.add_argument("--state", metavar="DIR", help="the cluster's folder (default: under the user's state folder)")
    up.add_argument(
        "--reconfigure", action="store_true", help="a cluster that exists takes the files of --conf in place of its own"
    )
    up.add_argument(
        "--salvage", action="store_true", help="go on with what can be read of a damaged journal, keeping the original"
    )
    up.add_argument(
        "--web", nargs="?", const="watch", choices=("watch", "control"),
        help="serve a page to watch it too, or to change its clock, nodes and faults as well (slurmsim web)",
    )  # fmt: skip
    up.add_argument("--foreground", action="store_true", help="stay in the foreground")
    up.set_defaults(func=run_up)


def _folder(args: argparse.Namespace) -> Path:
    return Path(args.state or cluster_folder(os.environ)).absolute()


def run_up(args: argparse.Namespace) -> int:
    """Start the daemon, or go on with the cluster of that folder."""
    folder = _folder(args)
    with ExitStack() as scratch:
        settings = _of_gallery(args, folder, scratch) if args.gallery else _settings(args)
        return _up(args, folder, settings)


def _of_gallery(args: argparse.Namespace, folder: Path, scratch: ExitStack) -> Settings:
    """Return the settings of a new cluster that shows every state. Raises ConfigError for what does not go with it."""
    for name in _given(args):
        if name != "--slurm-version":
            raise ConfigError("it does not go with --gallery", field=name, expected="one or the other")
    if args.foreground or exists(folder):
        what = "it does not go with --foreground" if args.foreground else f"{folder} has a cluster already"
        raise ConfigError(what, field="--gallery", expected="a new folder: --state DIR")
    made = gallery.settings_of(Path(scratch.enter_context(tempfile.TemporaryDirectory(prefix="slurmsim-"))))
    return Settings(**made, release=args.slurm_version or of_new(os.environ))


def _up(args: argparse.Namespace, folder: Path, settings: Settings) -> int:
    before: dict[str, Any] = {}
    if args.reconfigure and args.conf is None:
        raise ConfigError("nothing to take", field="--reconfigure", expected="--conf FILE with it")
    if args.web and args.foreground:
        raise ConfigError(
            "it does not go with --foreground", field="--web", expected="slurmsim web in another terminal"
        )
    prepared = daemon.prepare(folder, settings)
    if prepared.header is None:
        with _released(prepared):
            given = _given(args)
            check_going_on(folder, settings, [name for name in given if not (args.reconfigure and name == "--conf")])
            if args.reconfigure:
                before = replace_conf(folder, Path(args.conf), settings.release)
    if args.salvage and (folder / JOURNAL).is_file():
        from slurmsim.slurmctld.history.salvage import salvage  # what keeps a journal takes long to load

        print(salvage(folder) or f"{folder}: the journal is not damaged", file=sys.stderr)
    daemon.remember(folder)
    with slow_bar("requests", shown=sys.stderr.isatty()) as progress:
        if args.foreground:
            from slurmsim.slurmctld.server.start import serve

            return serve(prepared.folder, prepared.header, progress, lambda: print(f"cluster in {folder}", flush=True))
        try:
            warnings = daemon.start(folder, prepared, progress)
        except OutputError:
            put_back(folder, before)
            raise
        except KeyboardInterrupt:
            print("slurmsim: interrupted: the cluster was still starting and has been ended; its state is as it was",
                  file=sys.stderr)  # fmt: skip
            return 130
    for line in [*warnings, *([] if args.gallery else _not_run(folder, settings))]:
        print(line, file=sys.stderr)
    if args.gallery:
        gallery.fill(folder)
        for what, found in zip(("jobs", "nodes"), gallery.shown(folder), strict=True):
            print(what, ", ".join(f"{state} {count}" for state, count in sorted(found.items())))
    print(f'cluster in {folder}; eval "$(slurmsim env)" puts its commands on PATH, slurmsim shell opens a shell')
    if args.web:
        from slurmsim.live.web import start_page

        print(f"page at {start_page(folder, may_change=args.web == 'control').url}")
    return 0


def _not_run(folder: Path, settings: Settings) -> list[str]:
    """Return what to say of programs in a new cluster's slurm.conf that nothing allows to run."""
    if settings.conf is None or settings.allow_code:
        return []
    named = programs_named(read_text(folder / "slurm.conf", "utf-8", "replace"))
    return [f"{', '.join(named)} of slurm.conf: not run without --allow-code"] if named else []


def _given(args: argparse.Namespace) -> list[str]:
    """Return the options of `up` that say what the cluster is."""
    names = ("conf", "nodes", "cpus_per_node", "gpus_per_node", "accounting", "no_accounting", "user", "operator",
             "policy", "streams", "slurm_version", "flavour", "clock", "rate", "frozen", "fast", "start", "jobs",
             "allow_code", "boot_time", *OPTIONS)  # fmt: skip
    return [f"--{name.replace('_', '-')}" for name in names if getattr(args, name) not in (None, False, [])]


@contextlib.contextmanager
def _released(prepared: daemon.Prepared) -> Iterator[None]:
    """Give the folder back when preparations fail."""
    try:
        yield
    except BaseException:
        prepared.folder.close()
        raise


def _settings(args: argparse.Namespace) -> Settings:
    if args.conf is not None and (args.nodes, args.cpus_per_node, args.gpus_per_node) != (None, None, None):
        raise ConfigError("--nodes, --cpus-per-node and --gpus-per-node do not go with --conf", field="--nodes",
                          expected="one or the other")  # fmt: skip
    power = {name: text for name in OPTIONS if (text := getattr(args, name)) is not None}
    users = {}
    for item in args.user:
        name, equals, text = item.partition("=")
        if not equals:
            raise ConfigError(item, field="--user", expected="NAME=UID[:GROUP:GID:HOME]")
        users[name] = text
    sizes = {
        name: value
        for name in ("nodes", "cpus_per_node", "gpus_per_node")
        if (value := getattr(args, name)) is not None
    }
    mode = "frozen" if args.frozen else "fast" if args.fast else "running" if args.rate is not None else "real"
    return Settings(
        **sizes, conf=args.conf, accounting=tuple(args.accounting), mode=mode,
        rate=1.0 if args.rate is None else args.rate, start=args.start, jobs=args.jobs, users=users,
        release=args.slurm_version or of_new(os.environ), storage=not args.no_accounting,
        operators=tuple(name for item in args.operator for name in item.split(",")), streams=args.streams,
        power=power, flavour=args.flavour or "upstream", policy=_policy(args.policy), allow_code=args.allow_code,
        **({} if args.boot_time is None else {"boot_time": args.boot_time}),
    )  # fmt: skip


def _policy(text: str | None) -> str:
    """Return an installed policy as a slurm.conf names it. Raises ConfigError for another."""
    if text is None:
        return ""
    from slurmsim.policy import configured_policy

    configured_policy(text)  # a daemon reads it from a file, so it names no code
    return text.removeprefix("sched/")


def run_down(args: argparse.Namespace) -> int:
    """Stop the daemon; its state stays."""
    folder = _folder(args)
    daemon.stop(folder, force=args.force)
    print(f"stopped; the cluster's state stays in {folder}, and slurmsim up goes on with it", file=sys.stderr)
    return 0


def run_status(args: argparse.Namespace) -> int:
    """Print how the daemon, its clock, its nodes and its jobs are. Raises OutputError when there is none."""
    folder = _folder(args)
    found = daemon.call(folder, "status")
    states = daemon.call(folder, "nodes", fields=["state"])["columns"]["state"]
    found["nodes"] = {"total": len(states), **{state.lower(): states.count(state) for state in sorted(set(states))}}
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    clock, journal, queue, nodes = found["clock"], found["journal"], found["queue"], found["nodes"]
    when = datetime.fromtimestamp(clock["now"]).isoformat(" ")
    jobs = ", ".join(f"{count:,} {name}" for name, count in queue.items() if count or name in ("pending", "running"))
    kind = "compiled" if found["compiled"] else "pure Python"
    for name, text in (
        ("cluster", f"{found['cluster']} in {found['folder']}"),
        ("daemon", f"process {found['pid']}, up {format_duration(int(found['uptime_s']))}, "
                   f"{found['memory_bytes'] / 1e6:,.0f} MB; slurmsim {found['version']} ({kind}), "
                   f"Slurm {found['slurm_version']}"),
        ("clock", f"{when}, {_CLOCKS[clock['mode']].format(rate=clock['rate'])}"),
        ("nodes", ", ".join(f"{nodes[name]:,} {name}" for name in nodes if name != "total")),
        ("jobs", f"{jobs}; scripts {'really run' if found['jobs'] == 'run' else 'are simulated'}"),
        ("journal", f"{journal['entries']:,} entries, {journal['bytes'] / 1e6:,.1f} MB"),
    ):  # fmt: skip
        print(f"{name:8} {text}")
    if found.get("policy_error"):
        print(f"{'error':8} {found['policy_error']}")
    if aside := found["accounting"]["put_aside"]:
        print(
            f"{'rows':8} {len(aside):,} damaged and put aside: {', '.join(aside[:5])}{' …' if len(aside) > 5 else ''}"
        )
    if found["faults"]["rules"]:
        print(f"{'faults':8} {found['faults']['rules']:,} injected, which met {found['faults']['met']:,}")
    if found["streams"]:
        print(f"{'streams':8} {'; '.join(map(_stream_line, found['streams']))}")
    return 0


def _stream_line(one: dict[str, Any]) -> str:
    """``hep: 12 submitted, 3 buffered``."""
    more = [f"{one[name]:,} {name}" for name in ("buffered", "dropped", "refused") if one[name]]
    if not one["open"]:
        more.append("no more to come")
    return ", ".join([f"{one['name']}: {one['submitted']:,} submitted", *more])


def run_env(args: argparse.Namespace) -> int:
    """Print the lines to evaluate."""
    print(daemon.profile_lines(os.environ) if args.profile else daemon.shell_lines(_folder(args)), end="")
    return 0


def run_shell(args: argparse.Namespace) -> int:
    """Become a shell that talks to the cluster."""
    folder = _folder(args)
    daemon.call(folder, "ping")
    return _become([os.environ.get("SHELL") or "/bin/sh"], daemon.environment(folder, os.environ))


def run_as(args: argparse.Namespace) -> int:
    """Become a command that acts as another user of the cluster."""
    words = command_of(args, "as")
    if not words:
        raise ConfigError("no command is given", field="as", expected="slurmsim as USER -- COMMAND")
    folder = _folder(args)
    daemon.call(folder, "ping")
    return _become(words, daemon.environment(folder, os.environ, args.user))


def _become(words: list[str], environ: dict[str, str]) -> int:
    sys.stdout.flush()
    try:
        os.execvpe(words[0], words, environ)
    except OSError as error:
        raise OutputError(f"{words[0]}: {error.strerror}") from None


def run_clock(args: argparse.Namespace) -> int:
    """Show or change the clock."""
    arguments: dict[str, Any] = {"action": args.action}
    if args.action == "step":
        arguments["seconds"] = seconds_of(args.value or "")
    elif args.action == "rate":
        try:
            arguments["rate"] = float(args.value)
        except (TypeError, ValueError):
            raise ConfigError(f"bad rate {args.value!r}", field="rate", expected="a number above 0") from None
    clock = daemon.call(_folder(args), "clock", timeout_s=None, **arguments)
    print(datetime.fromtimestamp(clock["now"]).isoformat(), clock["mode"], f"rate {clock['rate']:g}")
    return 0


def run_calls(args: argparse.Namespace) -> int:
    """Print a line for each call: time, user, exit code, seconds, and the words."""
    answer = daemon.call(_folder(args), "calls", command=args.command)
    if answer["damaged"]:
        print(f"slurmsim: warning: damaged lines are left out: {', '.join(answer['damaged'])}", file=sys.stderr)
    for one in answer["calls"]:
        if args.json:
            print(json.dumps(one))
        else:
            when = datetime.fromtimestamp(one["at"]).isoformat()
            met = f"  [{', '.join(one['faults'])}]" if one.get("faults") else ""
            print(f"{when} {one['user']:10} {one['rc']:3} {one['seconds']:8.3f} s  {shlex.join(one['argv'])}{met}")
    return 0
