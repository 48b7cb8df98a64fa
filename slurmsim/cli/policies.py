"""``slurmsim policies``: the installed scheduler plugins and their options."""

from __future__ import annotations

import argparse
import json
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    p = subparsers.add_parser("policies", help="list the installed policies and their options")
    p.add_argument("--json", action="store_true", help="as JSON")
    p.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """List them. Raises PolicyError for one that cannot be loaded."""
    from slurmsim.policy import load_policy, policy_names
    from slurmsim.report.text import table

    rows: list[dict[str, Any]] = []
    for name in policy_names():
        policy = load_policy(name)
        options = {key: f"{option.help} (default {option.default})" for key, option in policy.OPTIONS.items()}
        rows.append({"name": name, "event_driven": policy.event_driven, "summary": policy.summary, "options": options})
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    lines = [["policy", "called", "what it does"]]
    for row in rows:
        lines.append([row["name"], "at every event" if row["event_driven"] else "as slurmctld does", row["summary"]])
        lines += [["", f"  {key}", text] for key, text in row["options"].items()]
    print(table(lines, left=3))
    return 0
