"""Tables as sacct, sacctmgr, sshare, sreport and sstat print them: a heading, a line of dashes, cells with a width.

Mirrors print_fields.c (22.05). A cell's text is cut to its width and ends in ``+`` then; numbers are never cut. With
``-p`` and ``-P`` cells are separated by a delimiter, and nothing is padded or cut.
"""

from __future__ import annotations

from slurmsim.fast_imports import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


PADDED, ENDING, NO_ENDING = 0, 1, 2
"""How cells are set apart: by blanks, by delimiters after each, by delimiters between them."""
TEXT, NUMBER, DATE = "text", "number", "date"


class Head(NamedTuple):
    """A column: its heading, its width (negative: justified left), and how its cells are treated."""

    name: str
    width: int
    kind: str = TEXT


class Style(NamedTuple):
    """How a table is printed."""

    parsable: int = PADDED
    delimiter: str = "|"
    header: bool = True


def heading(heads: Sequence[Head], style: Style) -> str:
    """Return the heading, and the dashes below it; empty where none is wanted."""
    if not style.header or not heads:
        return ""
    if style.parsable:
        return _joined([head.name for head in heads], style)
    names = "".join(_pad(head.name[: abs(head.width)], head.width) + " " for head in heads)
    return names + "\n" + "".join("-" * abs(head.width) + " " for head in heads) + "\n"


def line(heads: Sequence[Head], cells: Iterable[str | None], style: Style) -> str:
    """One row; a cell that is None is empty."""
    if style.parsable:
        return _joined(["" if cell is None else cell for cell in cells], style)
    return "".join(_cell(head, cell) + " " for head, cell in zip(heads, cells, strict=True)) + "\n"


def _joined(cells: list[str], style: Style) -> str:
    text = style.delimiter.join(cells)
    return text + (style.delimiter if style.parsable == ENDING else "") + "\n"


def _cell(head: Head, cell: str | None) -> str:
    width = abs(head.width)
    if cell is None:
        return " " * max(width, 1)
    if head.kind == NUMBER:
        return _pad(cell, head.width)
    if head.kind == DATE and len(cell) > width:
        return "#" * width  # it did not fit its buffer
    raw = cell.encode("utf-8", "surrogateescape")
    if len(raw) > width:
        cell = (raw[: width - 1] + b"+").decode("utf-8", "surrogateescape") if width else ""
    return _pad(cell, head.width)


def _pad(text: str, width: int) -> str:
    raw = len(text.encode("utf-8", "surrogateescape"))
    blanks = " " * max(abs(width) - raw, 0)
    return text + blanks if width < 0 else blanks + text


def double(value: float, width: int, style: Style) -> str:
    """Return a number with six decimals; one that does not fit is written with an exponent (print_fields_double).

    >>> double(0.5, 10, Style()), double(12345.678, 10, Style())
    ('  0.500000', '1.2346e+04')
    """
    if style.parsable:
        return f"{value:f}"
    text = f"{value:{abs(width)}f}"
    if len(text) <= abs(width):
        return text
    long = f"{value:{abs(width)}.{abs(width)}e}"
    fitting = abs(width)
    if len(long) > fitting:
        fitting -= len(long) - fitting
    return f"{value:{max(fitting, 0)}.{max(fitting, 0)}e}"
