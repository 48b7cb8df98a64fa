"""The line grammar shared by slurm.conf and gres.conf: comments, continuation, escapes, quotes, Include.

Mirrors Slurm's configuration parser (22.05 to 26.05, seen with all three). The order decides:

1. ``#`` starts a comment, inside quotes too, unless an odd number of ``\\`` stands before it. So no comment continues.
2. A ``\\`` at the end of what is left, blanks after it allowed, joins the next line. ``\\\\`` does not.
3. ``\\x`` becomes ``x``, whatever ``x`` is.
4. ``key=value`` pairs follow, blanks around ``=`` allowed. A value is in double quotes, and then a blank or the end
   follows, or it ends at the first blank and keeps its quotes. ``+=``, ``-=``, ``*=`` and ``/=`` mean ``=``.

Keys keep the spelling of the file; whatever looks them up ignores case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from slurmsim.config.files import DISK, Files
from slurmsim.config.findings import Place
from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError

_INCLUDE = re.compile(r"include\s+(\S+)(.*)", re.IGNORECASE | re.ASCII | re.DOTALL)
_PAIR = re.compile(r"\s*([A-Za-z0-9_.]+)\s*([-+*/]?)=\s*(?:\"([^\"]*)\"(?=\s|$)|(\S+))(?:\s+|$)", re.ASCII)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)#.*", re.DOTALL)
_CONTINUES = re.compile(r"(?<!\\)((?:\\\\)*)\\\s*\Z", re.ASCII)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MOST_INCLUDES = 1000
_MAX_DEPTH = 10  # of Include: deeper means files that include each other


@dataclass(frozen=True, slots=True)
class Pair:
    """One ``key=value``; `operator` is "" or one of ``+ - * /`` written before the ``=``, without effect in Slurm."""

    key: str
    value: str
    operator: str = ""


@dataclass(frozen=True, slots=True)
class ConfLine:
    """One logical line: its pairs in order, and where its first physical line stands."""

    place: Place
    pairs: tuple[Pair, ...]


def read_conf(path: Path, files: Files = DISK) -> list[ConfLine]:
    """Return all logical lines of a file and of the files it includes.

    Parameters
    ----------
    path
        The file; an Include in it that is no absolute path is sought beside it.

    Raises
    ------
    ConfigError
        A file cannot be read, includes itself, or holds a line that is no list of ``key=value``.
    """
    reader = _Reader(path.parent, files)
    return list(reader.file(path, str(path), None, 0))


def parse_conf(lines: Sequence[str] | str, name: str) -> list[ConfLine]:
    """Return all logical lines of a configuration given as text; `name` stands for the file in errors.

    Raises
    ------
    ConfigError
        As `read_conf`; an Include too, because there is no folder to seek it in.
    """
    physical = lines.split("\n") if isinstance(lines, str) else [line.rstrip("\r\n") for line in lines]
    return list(_Reader(None).lines(physical, name, 0))


class _Reader:
    """Walks files; remembers the ClusterName seen so far, for ``%c`` in Include."""

    def __init__(self, folder: Path | None, files: Files = DISK) -> None:
        self.folder, self.files = folder, files
        self.cluster_name = ""
        self._includes = 0

    def file(self, path: Path, shown: str, asked: tuple[Place, str] | None, depth: int) -> Iterator[ConfLine]:
        """Lines of one file; `asked` is the Include that wants it and what it says."""
        try:
            text = self.files.text(path, "utf-8-sig", "replace")
        except OSError as error:
            reason = (error.strerror or "unreadable").lower()
            if asked is None:
                raise ConfigError(f"cannot read the file: {reason}", file=shown) from None
            place, target = asked
            raise ConfigError(
                f"cannot read {target!r}: {reason}", file=place.file, line=place.line, field="Include"
            ) from None
        yield from self.lines(text.split("\n"), shown, depth)

    def lines(self, physical: Iterable[str], shown: str, depth: int) -> Iterator[ConfLine]:
        for number, text in _logical(physical):
            place = Place(shown, number)
            if not text.strip():
                continue
            if include := _INCLUDE.fullmatch(text):
                if include[2].strip():
                    raise ConfigError(f"cannot parse {include[2].strip()!r}", file=shown, line=number, field="Include",
                                      expected="one file a line, without quotes")  # fmt: skip
                yield from self.include(include[1], place, depth)
                continue
            pairs = _pairs(text.strip(), place)
            if pairs[0].key.lower() == "clustername":
                self.cluster_name = pairs[0].value
            yield ConfLine(place, pairs)

    def include(self, target: str, place: Place, depth: int) -> Iterator[ConfLine]:
        def refuse(message: str, expected: str | None = None) -> ConfigError:
            return ConfigError(message, file=place.file, line=place.line, field="Include", expected=expected)

        if self.folder is None:
            raise refuse(f"cannot include {target!r} into a configuration that is not a file")
        if depth >= _MAX_DEPTH:
            raise refuse(f"{target!r} is nested more than {_MAX_DEPTH} deep: do files include each other?")
        self._includes += 1
        if self._includes > _MOST_INCLUDES:
            raise refuse(f"more than {_MOST_INCLUDES} files are included: do files include each other?")
        if "%c" in target:
            if not self.cluster_name:
                raise refuse(f"%c in {target!r} stands for a ClusterName not set yet", "ClusterName above the Include")
            target = target.replace("%c", self.cluster_name.lower())
        if "*" in target:
            raise refuse(f"{target!r}: Slurm does not expand patterns", "one Include a file")
        path = self.folder / target  # an absolute target replaces the folder
        yield from self.file(path, str(path), (place, target), depth + 1)


def _logical(physical: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Join continued lines, take comments and escapes away; yield the number of the first physical line with each."""
    held: list[str] = []
    start = 0
    for number, line in enumerate(physical, 1):
        if not held:
            start = number
        bare = _COMMENT.sub(r"\1", line)
        end = _CONTINUES.search(bare)
        held.append(bare[: end.end(1)] if end else bare)
        if end is None:
            yield start, _ESCAPE.sub(r"\1", "".join(held))
            held = []
    if held:
        yield start, _ESCAPE.sub(r"\1", "".join(held))


def _pairs(text: str, place: Place) -> tuple[Pair, ...]:
    pairs = []
    position = 0
    while position < len(text):
        match = _PAIR.match(text, position)
        if match is None:
            rest = text[position:]
            raise ConfigError(f"cannot parse {rest!r}", file=place.file, line=place.line, expected="Key=value")
        value = match[3] if match[3] is not None else match[4]
        pairs.append(Pair(match[1], value, match[2]))
        position = match.end()
    return tuple(pairs)
