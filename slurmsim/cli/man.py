"""Manual pages from the parser: ``python -m slurmsim.cli.man FOLDER`` writes slurmsim.1 and slurmsim-COMMAND.1."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from slurmsim.cli import build_parser
from slurmsim.cli.helps import GROUPS, HELPS
from slurmsim.version import __version__


def overview_page() -> str:
    """Return slurmsim(1): what it is, and the commands in their groups."""
    lines = [*_head("slurmsim", "a Slurm in one process: replay job logs, start live clusters")]
    lines += [".SH SYNOPSIS", ".B slurmsim", "COMMAND [OPTION ...]"]
    for about, names in GROUPS.items():
        lines.append(f".SH {_text(about.upper())}")
        for name in names:
            lines += [".TP", f".BR slurmsim\\-{name} (1)", _text(HELPS[name])]
    return "\n".join([*lines, *_EXIT]) + "\n"


def command_page(name: str, parser: argparse.ArgumentParser) -> str:
    """Return slurmsim-NAME(1), from a subcommand's parser."""
    lines = [*_head(f"slurmsim-{name}", HELPS[name]), ".SH SYNOPSIS"]
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    lines.append(_text(usage))
    if parser.description:
        lines += [".SH DESCRIPTION", _text(" ".join(parser.description.split()))]
    lines.append(".SH OPTIONS")
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.help is not argparse.SUPPRESS:
            lines += [".TP", f".B {_text(formatter._format_action_invocation(action))}"]
            lines.append(_text(formatter._expand_help(action)) if action.help else "")
    return "\n".join(line for line in [*lines, *_EXIT, ".SH SEE ALSO", ".BR slurmsim (1)"] if line) + "\n"


_EXIT = (
    ".SH EXIT STATUS", ".TP", ".B 0", "all went well", ".TP", ".B 1", "it was tried and failed, or no cluster runs",
    ".TP", ".B 2", "the command or a file is wrong", ".TP", ".B 130", "interrupted",
)  # fmt: skip


def _head(name: str, about: str) -> Iterator[str]:
    yield f'.TH "{_text(name.upper())}" 1 "" "slurmsim {__version__}"'
    yield ".SH NAME"
    yield f"{_text(name)} \\- {_text(about)}"


def _text(text: str) -> str:
    """Return `text` on one line, with what troff reads otherwise escaped."""
    shown = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown


def pages() -> dict[str, str]:
    """Return every page by the name of its file."""
    found = {"slurmsim.1": overview_page()}
    action = next(one for one in build_parser()._actions if isinstance(one, argparse._SubParsersAction))
    return found | {f"slurmsim-{name}.1": command_page(name, parser) for name, parser in action.choices.items()}


def main(folder: str) -> int:
    """Write the pages into `folder`."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (place / name).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "man1"))
