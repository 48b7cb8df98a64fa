"""The sacctmgr commands of a file: one a line, or calls of ``sacctmgr`` among the lines of a shell script.

Of a script everything but the calls, and lines that begin like a command, is passed over: tests, loops, other programs,
redirections. A call that holds a variable of the shell is refused, because nothing here knows its value.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from slurmsim.config.accounting.draft import fail
from slurmsim.config.findings import Place

VERBS = ("add", "create", "modify", "update", "delete", "remove")
_CALL = re.compile(r"(?:^|[\s/;&|(`])sacctmgr(?=\s|$)", re.MULTILINE)
_ENDS = frozenset(";|&()")
_REDIRECTS = frozenset("<>&")


def has_calls(text: str) -> bool:
    """Return True if a line that is no comment calls ``sacctmgr``."""
    return any(_CALL.search(line) for line in text.splitlines() if not line.lstrip().startswith("#"))


def commands_in(text: str, file: str | None) -> Iterator[tuple[list[str], Place]]:
    """Yield each command's words and place, without ``sacctmgr`` and its own options. Raises ConfigError."""
    script = has_calls(text)
    for number, line in _joined(text):
        place = Place(file, number)
        if not script or line.strip().partition(" ")[0].lower() in VERBS:
            yield _without_options(_split(line, place)), place
        elif _CALL.search(line):
            for words in _calls(line, place):
                yield _without_options(words), place


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Lines with those that a backslash at the end continues; the number of the first."""
    held: list[str] = []
    start = 1
    for number, line in enumerate(text.splitlines(), 1):
        start = start if held else number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            held.append(line[:-1])
            continue
        yield start, "".join([*held, line])
        held = []
    if held:
        yield start, "".join(held)


def _split(line: str, place: Place, punctuation: str = "") -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=punctuation)
    lexer.whitespace_split, lexer.commenters = True, "#"
    try:
        return list(lexer)
    except ValueError as error:
        fail(place, "", f"a quote is not closed: {line.strip()[:60]!r} ({error})", "sacctmgr commands")


def _calls(line: str, place: Place) -> Iterator[list[str]]:
    """Yield the words behind each ``sacctmgr`` of a line of a script."""
    call: list[str] | None = None
    skip = False  # the target of a redirection
    for word in [*_split(line, place, ";|&()<>"), ";"]:
        signs = set(word)
        if signs & {"<", ">"} and signs <= _REDIRECTS:
            skip = True
            if call and call[-1].isdigit():  # 2>file
                call.pop()
        elif signs <= _ENDS:
            if call is not None:
                yield call
            call = None
        elif skip:
            skip = False
        elif call is None:
            call = [] if word.rpartition("/")[2] == "sacctmgr" else None
        else:
            if "$" in word or "`" in word:
                fail(place, word, "a variable of the shell in a call of sacctmgr", "its value")
            call.append(word)


def _without_options(words: list[str]) -> list[str]:
    kept = [word for word in words if not (word.startswith("-") and "=" not in word)]
    return kept[1:] if kept and kept[0].rpartition("/")[2] == "sacctmgr" else kept
