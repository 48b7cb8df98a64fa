"""A batch script as sbatch reads it: where it comes from, whether it will do, and the options written in it.

Mirrors sbatch (22.05): a line that begins with ``#SBATCH`` holds options until the first line that is a command;
words are split at blanks, quotes group, a backslash escapes, an unescaped ``#`` ends the line. ``#SLURMSIM`` lines are
slurmsim's own (how long a simulated job lasts) and no options; to a real sbatch they are a misspelt ``#SBATCH``.
"""

from __future__ import annotations

import os

from slurmsim.fast_imports import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


MAX_SCRIPT_BYTES = 4 << 20  # the controller's default limit; a longer script is refused by it
TOO_LONG = "Pathname of a file, directory or other parameter too long"
CHANGE_WORD = "Change from #SLURM to #SBATCH in your script and verify the options are valid in sbatch"
PACKJOB = {
    "22.05": 'Warning: the "packjob" component separator is being deprecated. Please, use "hetjob" instead.',
    "23.02": 'warning: The "packjob" component separator is deprecated. Please use "hetjob" instead.',
}
NOT_A_SCRIPT = (
    "This does not look like a batch script.  The first",
    "line must start with #! followed by the path to an interpreter.",
    "For instance: #!/bin/sh",
)
OWN_DIRECTIVE = "#SLURMSIM"
_SPACES = " \t\n\v\f\r"
_SEPARATORS = ("packjob", "hetjob")


class BadScript(Exception):
    """The script cannot be submitted; `lines` are what sbatch complains with, `fatal` how."""

    def __init__(self, *lines: str, fatal: bool = False) -> None:
        self.lines, self.fatal = lines, fatal
        super().__init__(" ".join(lines))


class Directives(NamedTuple):
    """The words of one component's ``#SBATCH`` lines, whether more components follow, and what to warn about."""

    words: list[str]
    more: bool
    old_word: bool
    packjob: bool


def find_script(word: str, work_dir: str, search: str) -> str:
    """Where a script named on the command line is: in the job's folder, then along PATH; else as it was written."""
    if word[:1] in (".", "/"):
        return word
    for folder in (work_dir, *filter(None, search.split(":"))):
        path = f"{work_dir}/{folder}/{word}" if folder.startswith(".") else f"{folder}/{word}"
        if os.path.exists(path) and not os.path.isdir(path):
            return path
    return word


def read_script(path: str | None, cwd: str, standard_input: Callable[[], bytes]) -> str:
    """Return the text of the script at `path`, or from standard input.

    Bytes that are no UTF-8 survive as surrogates.

    Raises
    ------
    BadScript
        There is none, or it is no script.
    """
    if path is None:
        body = standard_input()
    else:
        try:
            descriptor = os.open(os.path.join(cwd, path) if path else "", os.O_RDONLY)
        except OSError:
            raise BadScript(f"Unable to open file {path}") from None
        try:
            body = _contents(descriptor)
        finally:
            os.close(descriptor)
    check_script(body)
    return body.decode("utf-8", "surrogateescape")


def _contents(descriptor: int) -> bytes:
    """At most a little more than a script may have; nothing of a folder."""
    parts: list[bytes] = []
    left = MAX_SCRIPT_BYTES + 2
    while left > 0:
        try:
            part = os.read(descriptor, min(left, 1 << 16))
        except OSError:
            break
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def check_script(body: bytes) -> None:
    """Check what sbatch checks itself. Raises BadScript."""
    if not body:
        raise BadScript("Batch script is empty!")
    if not body.partition(b"\0")[0].strip(_SPACES.encode()):
        raise BadScript("Batch script contains only whitespace!")
    if not body.startswith(b"#!"):
        raise BadScript(*NOT_A_SCRIPT)
    if b"\0" in body:
        raise BadScript("The Slurm controller does not allow scripts that", "contain a NULL character '\\0'.")
    if b"\r\n" in body:
        raise BadScript("Batch script contains DOS line breaks (\\r\\n)", "instead of expected UNIX line breaks (\\n).")


def wrapped(command: str) -> str:
    """Return the script that ``--wrap`` makes of a command line."""
    return f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{command}\n"


def directives(script: str, file: str, component: int = 0) -> Directives:
    """Options a script gives for one component of a heterogeneous job (0: the first, or an ordinary job).

    Parameters
    ----------
    file
        Name used in complaints.

    Raises
    ------
    BadScript
        A quote is not closed, or a word begins with a colon.
    """
    words: list[str] = []
    seen = 0
    old_word = packjob = False
    for number, line in enumerate(script.split("\n"), 1):
        if line.split(maxsplit=1)[:1] == [OWN_DIRECTIVE]:
            continue
        if line.startswith("#SBATCH"):
            rest = line[len("#SBATCH") :]
        elif line.startswith("#SLURM"):
            rest, old_word = line[len("#SLURM") :], True
        elif line.lstrip(_SPACES)[:1] in ("#", ""):
            continue
        else:
            break
        rest = rest.lstrip(_SPACES)
        separator = _separator(rest)
        seen += separator is not None
        packjob |= separator == "packjob"
        if seen > component:
            return Directives(words, True, old_word, packjob)
        if seen == component:
            words.extend(split_line(rest, file, number))
    return Directives(words, False, old_word, packjob)


def _separator(text: str) -> str | None:
    """Which word between components `text` begins with."""
    first = text.split(None, 1)[0].lower() if text.strip(_SPACES) else ""
    return first if first in _SEPARATORS else None


def split_line(text: str, file: str, number: int) -> list[str]:
    """Words of one line of options. An empty quoted word, or a separator of components, ends the line."""
    words: list[str] = []
    at = 0
    while (found := _word(text, at, file, number)) is not None:
        word, at = found
        words.append(word)
    return words


def _word(text: str, start: int, file: str, number: int) -> tuple[str, int] | None:
    """Return the next word and where it ends; None when there is none."""
    at = start
    while text[at : at + 1] and text[at] in _SPACES:
        at += 1
    if text[at : at + 1] == ":":
        raise BadScript(f"{file}: line {number}: Unexpected `:` in [{text[start:]}]", fatal=True)
    if _separator(text[at:]):
        return None
    found: list[str] = []
    quote = ""
    escaped = False
    while at < len(text) and (quote or text[at] not in _SPACES):
        char = text[at]
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
            at += 1
            continue
        elif quote:
            if char == quote:
                quote = ""
                at += 1
                continue
        elif char in "\"'":
            quote = char
            at += 1
            continue
        elif char == "#":
            break
        found.append(char)
        at += 1
    if quote:
        raise BadScript(f"{file}: line {number}: Unmatched `{quote}` in [{text[start:]}]", fatal=True)
    return ("".join(found), at) if found else None


def exported(names: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment ``--export`` lets through: ``ALL``, ``NONE``, names and ``NAME=value`` in a comma list.

    Everything that begins with ``SLURM_`` goes along. Quotes keep commas inside a value.
    """
    if names.upper() == "ALL":
        return dict(environ)
    if names.upper() == "NONE":
        return {name: value for name, value in environ.items() if name.startswith("SLURM")}
    found: dict[str, str] = {}
    for item in _quoted_items(names):
        name, equals, value = item.partition("=")
        if item.upper() == "ALL":
            found.update(environ)
        elif equals:
            found[name] = value
        elif item in environ:
            found[item] = environ[item]
    found.update({name: value for name, value in environ.items() if name.startswith("SLURM_")})
    return found


def named(names: str) -> frozenset[str]:
    """Variables that ``--export`` names without a value.

    >>> sorted(named("ALL,HOME,A=b,X"))
    ['HOME', 'X']
    """
    return frozenset(item for item in _quoted_items(names) if "=" not in item and item.upper() not in ("ALL", "NONE"))


def _quoted_items(text: str) -> list[str]:
    """Split at commas outside quotes; quotes around a whole item go."""
    items: list[str] = []
    quotes = {"'": False, '"': False}
    begin = 0
    for at in range(len(text) + 1):
        char = text[at : at + 1]
        if char and char in quotes:
            quotes[char] = not quotes[char]
        elif (char in (",", "")) and (not char or not any(quotes.values())):
            item = text[begin:at]
            if len(item) > 1 and item[0] in quotes and item[-1] == item[0]:
                item = item[1:-1]
            if at > begin or char:
                items.append(item)
            begin = at + 1
    return items
