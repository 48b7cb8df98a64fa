"""Where a task's input and output go: srun's ``-o``, ``-e``, ``-i`` and their patterns (fname.c, 22.05)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

ALL, EACH, ONE = "all", "each", "one"
_PATTERN = re.compile(r"%(\d*)([%AabjJNnstux])", re.ASCII)
_NUMBERS = frozenset("AabjJnst")
_OF_TASKS = frozenset("nNtu")


@dataclass(frozen=True)
class Target:
    """Where one stream goes: srun's own (`name` None), one file for all, a file for each task, or only task `task`."""

    kind: str
    name: str | None = None
    task: int = -1


def target(text: str | None, tasks: int) -> Target:
    """What an option's text means, patterns not yet filled in."""
    if text is None or text[:3].lower() == "all" or text.startswith("-"):
        return Target(ALL)
    if text.lower() == "none" or text == "/dev/null":
        return Target(EACH, "/dev/null")
    if text.isascii() and text.isdigit() and int(text) < tasks:
        return Target(ONE, None, int(text))
    if "\\" in text:
        return Target(ALL, text)
    letters = {letter for _, letter in _PATTERN.findall(text)}
    return Target(EACH if letters & _OF_TASKS else ALL, text)


def filled(text: str, values: Mapping[str, str]) -> str:
    r"""`text` with its patterns filled in; a backslash anywhere turns them off.

    >>> filled("out-%j-%2t.txt", {"j": "12", "t": "3"}), filled(r"a\%t", {"t": "3"})
    ('out-12-03.txt', 'a%t')
    """
    if "\\" in text:
        return text.replace("\\", "")

    def fill(match: re.Match[str]) -> str:
        width, letter = match[1], match[2]
        if letter == "%":
            return "%"
        value = values.get(letter)
        if value is None:
            return match[0]
        return value.zfill(min(int(width), 10)) if width and letter in _NUMBERS else value

    return _PATTERN.sub(fill, text)
