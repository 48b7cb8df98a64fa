"""``slurmsim diff``: what a change of slurm.conf does, in words, and which rules it touches."""

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path

from slurmsim.config.difference.changes import Change, Silent, compare
from slurmsim.releases import DEFAULT, RELEASES, of_new

DESCRIPTION = """Compare two configurations by what they decide, defaults included. Exit code: 0, 1 if one decides
otherwise than the other, 2 if one cannot be read."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, metavar="A.conf")
    parser.add_argument("new", type=Path, metavar="B.conf")
    parser.add_argument("--release", "--slurm-version", choices=RELEASES, default=of_new(os.environ),
                        help=f"release that gives the defaults (default {DEFAULT}, as of new clusters)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print what differs."""
    changes, silent = compare(args.old, args.new, args.release)
    if args.json:
        shown = [{**asdict(one), "takes": _takes(one)} for one in changes]
        print(json.dumps({"changes": shown, "silent": [asdict(one) for one in silent]}, indent=2))
    else:
        print("\n".join(_lines(args.old, args.new, changes, silent)))
    return 1 if changes else 0


def _takes(one: Change) -> str:
    """How a running cluster of slurmsim's takes the change: by ``reconfigure``, or only a ``new`` one."""
    from slurmsim.slurmctld.history.carrying_over import KEYS, OF_NODES

    if one.kind == "key":
        return "reconfigure" if one.name in KEYS else "new"
    if one.kind == "node":
        return "reconfigure" if one.name.rpartition(" ")[2].lower() in OF_NODES else "new"
    return "reconfigure" if one.kind in ("parameter", "partition") else "new"


def _lines(old: Path, new: Path, changes: list[Change], silent: list[Silent]) -> list[str]:
    n = "nothing" if not changes else "1 thing" if len(changes) == 1 else f"{len(changes)} things"
    found = [f"{old} -> {new}: {n} decided otherwise"]
    for one in changes:
        place = f" ({one.place})" if one.place else ""
        found += ["", f"{one.words}{place}", f"    {one.does}"]
        more = [f"rules: docs/rules/{one.rules}.md"] if one.rules else []
        if _takes(one) == "new":
            more.append("a running live cluster does not take it")
        if more:
            found.append(f"    {'; '.join(more)}")
    for modelled, head in ((False, "not modelled, so no replay shows it"), (True, "decides nothing")):
        group = [one for one in silent if one.modelled is modelled]
        if group:
            found += ["", f"{head}:"]
            found += [
                f"    {one.key}: {one.before} -> {one.after}{f' ({one.why})' if one.why else ''}" for one in group
            ]
    return found
