"""The first line of a ``sacct -P`` dump: which text stands between its fields, and what they are called.

sacct takes any text as ``--delimiter``. The names of fields are letters and digits, so whatever stands between two
names is the delimiter; no list of usual delimiters is needed.
"""

import re
from pathlib import Path

from slurmsim.errors import WorkloadError
from slurmsim_workloads.sacct.fields import CANONICAL, USED

NAMED_DELIMITERS = {"tab": "\t", "us": "\x1f", "pipe": "|", "comma": ",", "semicolon": ";"}
HEADER_HINT = "the header line of sacct -P; leave out -n (--noheader)"
_BETWEEN = re.compile(r"[^A-Za-z0-9]+")
_LONGEST = 1 << 16


def looks_like_header(line: bytes) -> bool:
    """Return True if a file that begins with `line` can be a sacct dump."""
    text = line[:_LONGEST].decode("utf-8", "replace")
    return "jobid" in text.lower() and bool(find_delimiter(text))


def find_delimiter(header: str) -> str:
    """Return the text that stands between the names of fields; empty when no text makes two names of sacct.

    >>> find_delimiter("JobID|State|User"), find_delimiter("JobID::State::"), find_delimiter("one two")
    ('|', '::', '')
    """
    found = {text for text in _BETWEEN.findall(header[:_LONGEST]) if text.strip(" ")}
    best = max(sorted(found), key=lambda text: known_names(header.split(text)), default="")
    return best if best and known_names(header.split(best)) >= 2 else ""


def known_names(names: list[str]) -> int:
    """Return how many of `names` are fields of sacct."""
    return sum(name.strip().lower() in CANONICAL for name in names)


def read_header(header: str, delimiter: str, line: int, path: Path) -> tuple[list[str], str]:
    """Return the canonical names of the columns of `header`, without its end, and the delimiter (`read_dump`).

    Raises
    ------
    WorkloadError
        The line names no fields of sacct, is padded with blanks, or names a field twice.

    Notes
    -----
    With ``-p`` the line ends with a delimiter, so the last name is empty.
    """
    chosen = NAMED_DELIMITERS.get(delimiter, delimiter) or find_delimiter(header)
    if not chosen:
        if known_names(header.split()) >= 2:
            raise WorkloadError("columns padded with blanks", file=str(path), line=line, expected="output of sacct -P")
        raise WorkloadError(f"no sacct field names in {header[:40]!r}", file=str(path), line=line, expected=HEADER_HINT)
    raw = [name.strip() for name in header.split(chosen)]
    if known_names(raw) < 2:
        raise WorkloadError(f"no sacct field names between {chosen!r}", file=str(path), line=line, expected=HEADER_HINT)
    names = [CANONICAL.get(name.lower(), name) for name in raw]
    for name in USED:
        if names.count(name) > 1:
            raise WorkloadError("the field is there twice", file=str(path), line=line, field=name)
    return names, chosen
