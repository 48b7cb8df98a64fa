"""What a journal's bytes say: header and entries, where they end, and what is wrong with them.

Reading tells apart a clean end, a torn last line (never acknowledged), and a tail that was cut. It finds a line that
came twice, is missing, stands at another's place or is damaged, and a header that is torn or of another format. It
changes nothing.
"""

import os
import re
import zlib
from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass, field
from slurmsim.input_file import MOST_LOG, open_input
from slurmsim.json_text import loads
from slurmsim.slurmctld.history import journal_format1
from slurmsim.version import __version__

FORMAT = 2
MARK_BYTES = 64
_LINE = re.compile(rb"([0-9a-f]{8}) (0|[1-9][0-9]{0,18}) (\S.*)", re.DOTALL)


@dataclass(slots=True)
class Contents:
    """What was read."""

    # header, entries: the first line, and the others with their numbers
    header: dict[str, Any] = field(default_factory=dict)
    entries: list[tuple[int, Any]] = field(default_factory=list)
    format: int = FORMAT  # the file's
    # head, good: how many bytes the header has, and how many of all are good
    head: int = 0
    good: int = 0
    # crc, last: Checksum and number of the last good line
    crc: int = 0
    last: int = 0
    problem: str = ""  # what is wrong, in a sentence; empty for nothing
    # numbers of the first and the last entry that were written and cannot be read; None for none
    lost: tuple[int, int] | None = None
    latest_id: int = 0  # the highest job id that entries behind the damage speak of, as far as they can be read


def whole_file(path: Path) -> bytes:
    """Return the bytes of a file that is no link; of one that grows, those it has now. Raises OSError."""
    with open_input(path, links=False, most=MOST_LOG) as file:
        fd = file.fileno()
        size, data = os.fstat(fd).st_size, bytearray()
        while len(data) < size:
            part = os.pread(fd, size - len(data), len(data))
            if not part:
                break
            data += part
        return bytes(data)


def written_mark(name: str, last: int) -> bytes:
    """Return the mark of a journal of that name with all entries up to `last` on the disk."""
    text = b"%s %020d" % (name.encode(), last)
    return (b"%08x %s\n" % (zlib.crc32(text), text)).ljust(MARK_BYTES)


def acknowledged(mark: bytes, name: str) -> int:
    """Return the number in the mark of a journal of that name; 0 where it is another's, or cannot be read."""
    crc, _, text = mark.rstrip().partition(b" ")
    if crc != b"%08x" % zlib.crc32(text):
        return 0
    journal, _, number = text.partition(b" ")
    return int(number) if journal == name.encode() and number.isdigit() else 0


def read_contents(data: bytes, path: str, mark: bytes = b"") -> Contents:
    """Read the bytes of a journal.

    Parameters
    ----------
    path
        The file's name, for what is wrong.
    mark
        The bytes of its mark.
    """
    end = data.find(b"\n")
    first = data[: end if end >= 0 else len(data)]
    if not data.strip(b"\0"):
        return Contents(
            problem=f"{path}: the journal is empty: nothing is known of its cluster; remove it for a new one"
        )
    header = _json_of(first)
    if isinstance(header, dict):
        version = header.get("format", header.get("version"))
        if isinstance(version, int) and version > FORMAT:
            writer = header.get("writer", "a newer slurmsim")
            return Contents(problem=f"{path}: written by {writer} in format {version}; this is slurmsim {__version__}, "
                                    f"which reads formats 1 and {FORMAT}")  # fmt: skip
        if version == 1 and journal_format1.fits(first):
            return _read_format1(data, path)
    line = _LINE.fullmatch(first) if end >= 0 else None
    if line is None or not isinstance(header, dict) or int(line[1], 16) != zlib.crc32(first[9:]):
        return Contents(problem=f"{path}: line 1: the header is torn or damaged, and without it the entries cannot be "
                                "read; a copy of the file is needed")  # fmt: skip
    found = Contents(header, head=end + 1, good=end + 1, crc=int(line[1], 16), last=int(line[2]))
    _read_entries(data, found)
    _judge(data, path, found, acknowledged(mark, str(header.get("id", ""))))
    return found


def _json_of(line: bytes) -> Any:
    """Return the JSON that ends a line, None where there is none."""
    try:
        return loads(line[line.index(b"{") :])
    except ValueError:
        return None


def _read_format1(data: bytes, path: str) -> Contents:
    entries, good, damaged = journal_format1.read(data)
    found = Contents(entries[0], list(enumerate(entries[1:], 1)), format=1, good=good, last=len(entries) - 1)
    if damaged:
        found.problem = (
            f"{path}: line {len(entries) + 1}: damaged in the middle; lines that were acknowledged follow it"
        )
    return found


def _read_entries(data: bytes, found: Contents) -> None:
    """All lines that follow each other."""
    at, crc, last, entries = found.good, found.crc, found.last, found.entries
    while (end := data.find(b"\n", at)) >= 0:
        body = data[at + 9 : end]
        following = zlib.crc32(body, crc)
        if data[at : at + 9] != b"%08x " % following:
            break
        number, _, text = body.partition(b" ")
        if number != b"%d" % (last + 1):
            break
        try:
            entries.append((last + 1, loads(text)))
        except ValueError:
            break
        at, crc, last = end + 1, following, last + 1
    found.good, found.crc, found.last = at, crc, last


def _judge(data: bytes, path: str, found: Contents, told: int) -> None:
    """Say what is wrong behind the last good line, if anything is; entries up to `told` were acknowledged."""
    rest = data[found.good :]
    expected = found.last + 1
    where = f"{path}: line {expected - int(found.header.get('after', 0)) + 1}"
    if not rest.strip(b"\0"):
        what = f"{where}: the file ends before number {expected}: its tail was cut" if told >= expected else ""
        numbers: list[int] = []
    else:
        first, *others = rest.split(b"\n")
        head = _LINE.fullmatch(first.lstrip(b"\0")) if others else None
        later = [line for part in others[:-1] if (line := _LINE.fullmatch(part.lstrip(b"\0"))) is not None]
        numbers = [int(line[2]) for line in later]
        what = _named(where, expected, int(head[2]) if head is not None else None, numbers, told)
        if head is not None:
            numbers.append(int(head[2]))
        found.latest_id = max((_id_of(line[3]) for line in (*later, *([head] if head else []))), default=0)
    if what:
        most = max(told, *numbers, expected) if numbers else max(told, expected)
        found.lost = (expected, most)
        count = most - expected + 1
        found.problem = (
            f"{what}; {'an entry' if count == 1 else f'{count} entries'} from number {expected} on cannot be read "
            f"(acknowledged up to {told or 'an unknown number'}); slurmsim up --salvage keeps the file as it is "
            "beside a journal of what can be read, and goes on with that"
        )


def _named(where: str, expected: int, number: int | None, later: list[int], told: int) -> str:
    """Return what is wrong with the first bad line, which has that number; "" for a torn, unacknowledged end."""
    if number is not None and number < expected:
        return f"{where}: damaged in the middle: number {expected} was expected, number {number} came once more"
    if number is not None and number > expected and not (later and later[0] == expected + 1):
        if expected in later:
            return f"{where}: damaged in the middle: numbers {number} and {expected} have changed places"
        missing = f"number {expected} is" if number == expected + 1 else f"numbers {expected} to {number - 1} are"
        return f"{where}: damaged in the middle: {missing} missing"
    if later:
        return f"{where}: damaged in the middle: number {expected} was expected and cannot be read"
    if told >= expected:
        return f"{where}: the end is torn or damaged: number {expected} was expected and cannot be read"
    return ""


def _id_of(text: bytes) -> int:
    """Return the highest job id that the entry behind a damage speaks of, as far as it can be read."""
    try:
        entry = loads(text)
    except ValueError:
        return 0
    outcome = entry[5] if isinstance(entry, list) and len(entry) > 5 else None
    found = outcome.get("last_id") if isinstance(outcome, dict) else None
    return found if isinstance(found, int) else 0
