"""``slurmsim policies``: the installed scheduler plugins and their options."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from slurmsim.cli.terminal import show
from slurmsim.errors import ConfigError, PolicyError, nearest

if TYPE_CHECKING:
    from slurmsim.policy import InstalledPolicy

DESCRIPTION = """List the installed policies and their options. One that cannot be loaded is listed as broken; asked for
by name it is an error."""


def add_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("names", metavar="NAME", nargs="*", help="only these")
    p.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    """List them. Raises ConfigError for an unknown name, PolicyError for a broken policy that was asked for."""
    from slurmsim.policy import installed_policies

    found = installed_policies()
    good = {one.name for one in found if one.policy is not None}
    broken = {one.name: one for one in found if one.name not in good}
    for name in args.names:
        if name in broken:
            raise PolicyError(name, f"broken: {broken[name].file}: {broken[name].problem}")
        if name not in good:
            known = sorted({one.name for one in found})
            raise ConfigError(f"no policy is called {name!r}{nearest(name, known)}", expected=", ".join(known))
    shown = [_Shown(one) for one in found if not args.names or one.name in args.names]
    if args.json:
        print(json.dumps([_plain(one) for one in shown], indent=2))
    else:
        show(_table(shown))
    return 0


class _Shown:
    """One policy to show. When it is called is a trait of its instances: it may depend on their options."""

    def __init__(self, one: InstalledPolicy) -> None:
        self.name, self.file, self.policy, self.problem = one.name, one.file, one.policy, one.problem
        self.event_driven: bool | None = None
        if self.policy is not None:
            try:
                self.event_driven = bool(self.policy({}).event_driven)
            except Exception as error:  # whatever a stranger's class does
                self.policy, self.problem = None, f"cannot be made: {type(error).__name__}: {error}"


def _plain(one: _Shown) -> dict[str, Any]:
    if one.policy is None:
        return {"name": one.name, "file": one.file, "broken": one.problem}
    return {
        "name": one.name, "file": one.file, "broken": None, "event_driven": one.event_driven,
        "summary": one.policy.summary, "options": _options(one.policy),
    }  # fmt: skip


def _options(policy: Any) -> dict[str, str]:
    return {key: f"{option.help} (default {option.default})" for key, option in policy.OPTIONS.items()}


def _table(found: list[_Shown]) -> str:
    from slurmsim.report.text import table

    lines = [["policy", "called", "what it does"]]
    for one in found:
        if one.policy is None:
            lines.append([one.name, "broken", f"{one.file}: {one.problem}"])
            continue
        called = "at every event" if one.event_driven else "as slurmctld does"
        lines.append([one.name, called, one.policy.summary])
        lines += [["", f"  {key}", text] for key, text in _options(one.policy).items()]
    return table(lines, left=3)
