"""A table of ``scrontab`` as the command reads it: comments, ``#SCRON`` options, variables, and lines with times.

Mirrors scrontab 24.11 and 26.05. Options count for the next line with times, whatever stands between. A variable is
put in place of its first ``$NAME`` in each later command, one variable after the other; jobs do not have it otherwise.
``#SLURMSIM`` lines say what the next job does where it is simulated; to Slurm they are comments.
"""

from __future__ import annotations

from slurmsim.commands.submit.scripts.batch_script import OWN_DIRECTIVE
from slurmsim.cron import CronError, parse
from slurmsim.fast_imports import NamedTuple
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BROKEN = "something is broken"
_OPTIONS = "#SCRON"
_BLANKS = " \t"
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_IN_NAMES = {"24.11": _LETTERS, "26.05": f"{_LETTERS}_"}  # what names of variables are made of; they may be empty


class BadTable(Exception):
    """A line cannot be read; `lines` are what scrontab says of it, and `at` is its number."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines
        self.at = 0


class Entry(NamedTuple):
    """One recurring job."""

    # times, spec: as they were written, and as Slurm shows them
    times: str
    spec: str
    command: str  # with values in place of variables
    own: list[str]  # its ``#SLURMSIM`` lines
    # first, last: its lines, counted from 1, from its first option on
    first: int
    last: int

    @property
    def name(self) -> str:
        """What the job is called where no option says."""
        return self.command.partition(" ")[0]

    @property
    def lines(self) -> str:
        """Where it stands, as scrontab says it."""
        return f"{self.first}-{self.last}"

    @property
    def script(self) -> str:
        """What runs."""
        own = "".join(f"{line}\n" for line in self.own)
        return (
            f"#!/bin/sh\n# This job was submitted through scrontab\n# crontab time request was: '{self.times}'\n"
            f"{own}{self.command}\n"
        )


def entries(text: str, release: str, options: Callable[[list[str]], None]) -> Iterator[Entry]:
    """Yield the recurring jobs of a table, in order.

    Parameters
    ----------
    options
        Told the words of each ``#SCRON`` line, before the entry they are for.

    Raises
    ------
    BadTable
        At the first line that cannot be read.
    """
    reader = _Reader(row(_IN_NAMES, release), options)
    number = 0
    try:
        for number, line in enumerate(text.split("\n"), 1):
            yield from reader.line(number, line)
    except BadTable as bad:
        bad.at = number
        raise


class _Reader:
    """What the lines so far have said."""

    def __init__(self, in_names: str, options: Callable[[list[str]], None]) -> None:
        self._in_names, self._options = in_names, options
        self._variables: dict[str, str] = {}
        self._first = 0
        self._own: list[str] = []

    def line(self, number: int, line: str) -> Iterator[Entry]:
        """Yield the entry a line is, if it is one. Raises BadTable."""
        content = line.lstrip(_BLANKS)
        if content.startswith(_OPTIONS):
            self._first = self._first or number
            self._options([word for word in line[len(_OPTIONS) :].replace("\t", " ").split(" ") if word])
        elif content.startswith(OWN_DIRECTIVE):
            self._own.append(content)
        elif content and not content.startswith("#"):
            found = _variable(content, self._in_names)
            if found is not None:
                self._variables[found[0]] = found[1]
                return
            yield _entry(content, self._variables, self._own, self._first or number, number)
            self._first, self._own = 0, []


def _entry(line: str, variables: dict[str, str], own: list[str], first: int, last: int) -> Entry:
    try:
        times, command = parse(line)
        if times.next_after(0) is None:  # 30 February
            raise CronError
    except CronError as wrong:
        raise BadTable(*filter(None, (wrong.complaint, BROKEN))) from None
    written = line[: len(line) - len(command)].rstrip(_BLANKS)
    for name, value in variables.items():
        command = command.replace(f"${name}", value, 1)
    return Entry(written, times.text, command, own, first, last)


def _variable(line: str, in_names: str) -> tuple[str, str] | None:
    """Name and value of a line that sets one; None for any other. Raises BadTable."""
    name, equals, value = line.partition("=")
    name = name.rstrip(_BLANKS)
    if not equals or any(letter.lower() not in in_names for letter in name):
        return None
    value = value.lstrip(_BLANKS)
    quote = value[:1]
    if quote not in ("'", '"'):
        return name, value
    inside, closed, rest = value[1:].partition(quote)
    if not closed:
        raise BadTable("not match", BROKEN)
    if rest.strip(_BLANKS):
        raise BadTable(BROKEN)
    return name, inside
