"""How squeue and sinfo lay out their long help, and the lists of what a format may ask for."""

from __future__ import annotations

from slurmsim import releases
from slurmsim.commands.text.option_reader import Rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def option_help(command: str, rows: Rows, words: Mapping[str, str], release: str) -> str:
    """Return the options that `release` has, with what each is for: `words`, by key."""
    lines, asking = [f"Usage: {command} [OPTIONS]"], ["", "Help options:"]
    told: set[str] = set()
    for name, argument, key, since, until in rows:
        if key in told or not releases.has(release, since, until):
            continue
        told.add(key)
        letter = f"-{key}, " if len(key) == 1 else "    "
        value = {"no": "", "required": "=VALUE", "optional": "[=VALUE]"}[argument]
        part = asking if name.lower().startswith(("help", "usage", "version")) else lines
        part.append(f"  {letter}--{name}{value}".ljust(32) + f" {words[key]}")
    return "\n".join([*lines, *asking]) + "\n"


def names(listed: str, release: str) -> list[str]:
    """Those of a list in one text that `release` has; ``NAME@RELEASE`` is there since then."""
    rows = [(name, since, "") for name, _, since in (word.partition("@") for word in listed.split())]
    return releases.listed(rows, release)


def name_table(listed: Iterable[str]) -> str:
    """Four names a line."""
    return _in_rows([f"{name:<20}" for name in listed], 4)


def letter_table(letters: Iterable[str | None]) -> str:
    """Eight letters a line; columns without one are not in it."""
    return _in_rows([f"%{letter}    " for letter in letters if letter], 8)


def _in_rows(cells: Sequence[str], per_row: int) -> str:
    return "".join("".join(cells[at : at + per_row]) + "\n" for at in range(0, len(cells), per_row))
