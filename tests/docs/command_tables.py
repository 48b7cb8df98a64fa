"""Writes the README's table of slurmsim's commands from the parser: ``python tests/docs/command_tables.py``.

A row is a group of commands; what each does is its own line of ``slurmsim --help``. `GROUPS` (slurmsim.cli.helps)
names every command once.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from slurmsim.cli import build_parser
from slurmsim.cli.helps import GROUPS

PAGE = Path(__file__).resolve().parents[2] / "README.md"
PLACE = re.compile(r"(?P<begin><!-- table: commands -->\n).*?(?P<end><!-- end -->)", re.DOTALL)
PAGES = {
    "run": "workloads", "check": "configuration", "diff": "diff", "convert": "workloads", "generate": "generators",
    "calibrate": "calibrate", "report": "report", "compare": "metrics", "why": "why", "validate": "validation",
    "efficiency": "systems/lomonosov", "fidelity": "fidelity", "whatif": "whatif", "sweep": "campaigns",
    "arena": "campaigns", "strategy": "strategy", "up": "live", "web": "web", "inject": "faults",
    "policies": "writing-a-policy", "predictors": "predictors", "dispatch": "systems/eurora", "parm": "systems/parm",
    "bench": "systems/README",
}  # fmt: skip
"""Command -> the page about it."""


def helps() -> dict[str, str]:
    """Subcommand -> its line of help, without an example behind a colon."""
    action = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return {choice.dest: (choice.help or "").partition(": slurmsim ")[0] for choice in action._choices_actions}


def _said(name: str, text: str) -> str:
    shown = f"[`{name}`](docs/{PAGES[name]}.md)" if name in PAGES else f"`{name}`"
    return f"{shown} {text.split(': ')[0].rstrip(':')}"


def table() -> str:
    """As Markdown, a row a group."""
    said = helps()
    rows = [f"| {head} | {'<br>'.join(_said(name, said[name]) for name in names)} |" for head, names in GROUPS.items()]
    return "\n".join(["| about | `slurmsim …` |", "|---|---|", *rows])


def page() -> str:
    """README.md with the table as it should be."""
    return PLACE.sub(lambda found: f"{found['begin']}{table()}\n{found['end']}", PAGE.read_text("utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
