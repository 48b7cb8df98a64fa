"""``slurmsim check --from A --to B``: what an upgrade of Slurm changes for a configuration or a job script."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from slurmsim.cli.terminal import show
from slurmsim.config.load import Override
from slurmsim.config.option import LATEST, OLDEST
from slurmsim.upgrade.behaviour import check_order, differences
from slurmsim.upgrade.configuration import read_twice
from slurmsim.upgrade.scripts import compared, submit
from slurmsim.upgrade.text import as_json, as_text, unsure


def upgrade(args: argparse.Namespace, overrides: Sequence[Override]) -> int:
    """Print what changes; 1 where the newer release refuses what the older one took, else 0."""
    old, new = args.old or OLDEST, args.new or LATEST
    check_order(old, new)
    told: dict[str, object] = {}
    lines: list[str] = []
    refused = False
    if args.conf is not None:
        readings = read_twice(args.conf, overrides, old, new)
        found = differences(old, new, readings.cluster)
        told |= as_json(str(args.conf), old, new, readings, found)
        lines += as_text(str(args.conf), old, new, readings, found, everything=args.all)
        refused |= bool(readings.refused)
    if args.script is not None:
        before, after = (submit(args.script, release) for release in (old, new))
        changes = compared(before, after)
        told |= {"script": str(args.script), "from": old, "to": new, "unsure": unsure(old, new), "submission": changes}
        head = [f"{args.script}: {old} -> {new}", *(unsure(old, new) if args.conf is None else [])]
        lines += [*([""] if lines else []), *head, *(f"  {line}" for line in changes or ["submitted alike"])]
        refused |= bool(after.code and not before.code)
    if args.json:
        print(json.dumps(told, indent=2))
    else:
        show("\n".join(lines))
    return 1 if refused else 0
