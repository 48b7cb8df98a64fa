"""What commands print for people: plain in a pipe or a file, in colour and no wider than the window in a terminal.

Tables are those of `slurmsim.report.text.table`: a header, a line of dashes, a line a row.
"""

import os
import re
import shutil
import sys
import textwrap
from itertools import zip_longest

from slurmsim.shown import Stream, shown

_DASHES = re.compile(r"-+(?:  -+)+")
_LEAST = 24  # characters a column of texts keeps
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def show(text: str) -> None:
    """Print `text`; in a terminal its tables fit the window, and headers stand out unless NO_COLOR is set."""
    if not sys.stdout.isatty() or not isinstance(sys.stdout, Stream):
        print(text)
        return
    width, color = shutil.get_terminal_size().columns, not os.environ.get("NO_COLOR")
    sys.stdout.write_styled(for_terminal(shown(text), width, color=color) + "\n")


def for_terminal(text: str, width: int, *, color: bool) -> str:
    """Return `text` with tables of at most `width` columns, where cells can be wrapped, and headers in bold."""
    lines, fitted = text.split("\n"), list[str]()
    i = 0
    while i < len(lines):
        if i + 1 < len(lines) and _DASHES.fullmatch(lines[i + 1]):
            end = i + 2
            while end < len(lines) and lines[end]:
                end += 1
            fitted += _fitted(lines[i], lines[i + 1], lines[i + 2 : end], width, color)
            i = end
        else:
            fitted.append(lines[i])
            i += 1
    return "\n".join(fitted)


def _fitted(header: str, dashes: str, rows: list[str], width: int, color: bool) -> list[str]:
    """Return the lines of one table; the widest column is wrapped where there is no room."""
    spans = [match.span() for match in re.finditer("-+", dashes)]
    over = len(dashes) - width
    widest = max(range(len(spans)), key=lambda k: spans[k][1] - spans[k][0])
    begin, end = spans[widest]
    kept = max(_LEAST, end - begin - over)
    if over > 0 and kept < end - begin:
        rows = [line for row in rows for line in _wrapped(row, begin, end, kept)]
        header = f"{header[:begin]}{header[begin:end].strip():<{kept}}{header[end:]}".rstrip()
        dashes = f"{dashes[:begin]}{'-' * kept}{dashes[end:]}"
    if color:
        header, dashes = f"{_BOLD}{header}{_PLAIN}", f"{_DIM}{dashes}{_PLAIN}"
    return [header, dashes, *rows]


def _wrapped(row: str, begin: int, end: int, kept: int) -> list[str]:
    """Return the lines of one row, with its cell from `begin` to `end` wrapped to `kept` characters."""
    cell = textwrap.wrap(row[begin:end].strip(), kept) or [""]
    first, rest = row[:begin], row[end:]
    lines = zip_longest([first], cell, [rest], fillvalue="")
    return [f"{left:<{begin}}{part:<{kept}}{right}".rstrip() for left, part, right in lines]
