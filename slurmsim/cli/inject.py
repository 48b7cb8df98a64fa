"""``slurmsim inject``: faults on request in the live cluster, from the command line."""

import argparse
import json
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from slurmsim.errors import ConfigError
from slurmsim.faults.kinds import KINDS, kind_of
from slurmsim.faults.rule import COMMON, NEVER, settings_of
from slurmsim.live import daemon
from slurmsim.live.faults import spoken
from slurmsim.numerals import is_number

_ALL = "all"
_EXAMPLE = "slurmsim inject timeout command=sbatch every=3 lost=answer; slurmsim inject OUT_OF_MEMORY job='train*'"

DESCRIPTION = f"Let something go wrong in the live cluster.\n\n  {_EXAMPLE}"


def add_options(inject: argparse.ArgumentParser) -> None:
    kinds = "\n".join(f"  {name:14} {kind.about}" for name, kind in KINDS.items())
    common = "\n".join(f"  {name:14} {parameter.about}" for name, parameter in COMMON.items())
    inject.formatter_class = argparse.RawDescriptionHelpFormatter
    inject.epilog = (
        f"faults:\n{kinds}\n\nsettings of all faults of commands and jobs:\n{common}\n\n"
        "slurmsim inject WHAT --help-settings lists those of one fault."
    )
    inject.add_argument("what", nargs="?", metavar="WHAT", help="the fault")
    inject.add_argument("settings", nargs="*", metavar="NAME=VALUE",
                        help="which commands, users or jobs it strikes, when, and how")  # fmt: skip
    inject.add_argument("--list", action="store_true", help="the faults there are, and how many they met")
    inject.add_argument("--remove", metavar="ID|all", help="end a fault, or all of them")
    inject.add_argument("--help-settings", action="store_true", help="what may be said of this fault")
    inject.add_argument("--json", action="store_true", help="one JSON object a fault")
    inject.add_argument("--state", metavar="DIR", help="the cluster's folder")


def run(args: argparse.Namespace) -> int:
    """Inject, list or remove."""
    if sum((args.what is not None, args.list, args.remove is not None)) != 1:
        raise ConfigError("one of them is needed", field="inject", expected="WHAT, --list or --remove ID")
    if args.help_settings:
        for name, parameter in settings_of(kind_of(args.what or "")[0]).items():
            default = "needed" if parameter.needed else json.dumps(parameter.default)
            print(f"{name:14} {parameter.about} ({default})")
        return 0
    call = partial(daemon.call, folder_of(args))
    if args.remove is not None:
        wanted = args.remove
        if wanted != _ALL and not is_number(wanted):
            raise ConfigError(f"bad fault {wanted!r}", field="--remove", expected="a number, or all")
        found = call("end_fault", **({} if wanted == _ALL else {"id": int(wanted)}))["faults"]
    elif args.list:
        found = call("faults")["faults"]
    else:
        found = [call("inject", what=args.what, given=spoken(_given(args.settings)))["fault"]]
    if not found and not args.json:
        print("no faults")
    for rule in found:
        print(json.dumps(rule) if args.json else line(rule))
    return 0


def folder_of(args: argparse.Namespace) -> Path:
    """Return the cluster's folder."""
    from slurmsim.cli.live import _folder

    return _folder(args)


def _given(words: list[str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ConfigError(f"bad setting {word!r}", field="inject", expected="NAME=VALUE")
        if name in given:
            raise ConfigError("given twice", field=name, expected="it once")
        given[name] = value
    return given


def line(rule: dict[str, Any]) -> str:
    """Return a rule for people: its number, what it does, how many it met of those it saw, until when."""
    said = {name: rule[name] for name in ("command", "user", "job", "every", "probability", "after", "times", "seed")}
    said = {name: value for name, value in said.items() if value != COMMON[name].default} | {
        name: value for name, value in rule["parameters"].items() if value not in ("", None)
    }
    words = " ".join(f"{name}={_short(value)}" for name, value in said.items())
    ends = "" if rule["until"] == NEVER else f", until {datetime.fromtimestamp(rule['until']).isoformat()}"
    return f"{rule['id']:>3} {rule['what']} {words}".rstrip() + f" (met {rule['met']} of {rule['seen']}{ends})"


def _short(value: Any) -> str:
    if isinstance(value, list):  # a span of time, or its distribution
        return ":".join(map(str, value[1:] if value[0] == "fixed" else value))
    text = json.dumps(value) if not isinstance(value, str) else value
    return text if len(text) <= 40 and "\n" not in text else f"{len(text)} characters"
