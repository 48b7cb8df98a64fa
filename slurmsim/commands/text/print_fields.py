"""The format engine of ``-o`` and ``-O``: which columns, how wide, and every row as a line.

One engine for squeue, sinfo and their relatives; what a column shows is a row in a table (`Column`). Mirrors the
parsing and printing of squeue and sinfo (22.05):

- ``%[.][N]X`` is a field, everything up to the next ``%`` its literal suffix, and signs in a row count as one;
  ``.`` justifies right, N is the width, no N the natural width;
- text longer than N is cut to its first N bytes. A column marked `uncut` keeps all of it when justified right;
- an unset text is ``(null)``, but nothing at all where a left-justified width is below 6;
- ``Name[:[.]N[suffix]]`` separated by commas are the long names, 20 wide without ``:``.

Rendering is by column: the values of one column are turned into texts together, and one ``%`` format makes the lines.
"""

from __future__ import annotations

from slurmsim.commands.text.widths import width_of
from slurmsim.fast_imports import NamedTuple
from slurmsim.protocol import alike
from slurmsim.releases import has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any


NULL = "(null)"  # what C prints for a missing text. Compared by identity: a comment may well be "(null)".
LONG_WIDTH = 20
_LOOK = 64

if TYPE_CHECKING:
    Table = dict[str, list[Any]]
    """Records by column, all of one length."""

_DIGITS = "0123456789"
_BLANKS = " \t\n\r\f\v"


class Column(NamedTuple):
    """One thing a format may ask for."""

    header: str  # its heading
    fields: tuple[str, ...]  # the record fields it is made of; only these are asked from the daemon
    # makes the text: called with what is common to all rows, then the fields' values. None prints the one field.
    render: Callable[..., str] | None = None
    # letter, names: how ``-o`` and ``-O`` call it; names in lower case. Empty: not at all.
    letter: str = ""
    names: tuple[str, ...] = ()
    # uncut, header_uncut: the rows, the heading are not cut when justified right
    uncut: bool = False
    header_uncut: bool = False
    marked: bool = False  # rows of class `Uncut` are not cut when justified right
    header_left: bool = False  # the heading is justified left whatever was asked
    # since, until: first release that has it, and the first that has not any more ("": none)
    since: str = ""
    until: str = ""
    group: str = ""  # what sinfo keeps apart when this column is asked for


def column_of(header: str, *fields: str, render: object = None, **more: object) -> Column:
    """Return a column that shows `fields`."""
    return Column(header, fields, render, **more)  # type: ignore[arg-type]


class Uncut(str):
    """A text that is not cut, though its column cuts other texts: a node list in a column that also shows reasons."""

    __slots__ = ()


class Spec(NamedTuple):
    """One column as asked for. Without `column` it is only its suffix."""

    column: Column | None
    width: int
    right: bool
    suffix: str


class Layout:
    """A parsed format: text before everything, the columns, and the names that mean nothing."""

    __slots__ = ("prefix", "specs", "unknown")

    def __init__(self, prefix: str, specs: tuple[Spec, ...], unknown: tuple[str, ...]) -> None:
        self.prefix, self.specs, self.unknown = prefix, specs, unknown

    def fields(self) -> set[str]:
        """Record fields the columns need."""
        return {field for spec in self.specs if spec.column for field in spec.column.fields}

    def columns(self) -> list[Column]:
        return [spec.column for spec in self.specs if spec.column]


def by_letter(columns: Iterable[Column], release: str) -> dict[str, Column]:
    """Return the columns `release` has, by the letter of ``-o``."""
    return {column.letter: column for column in columns if column.letter and exists(column, release)}


def by_name(columns: Iterable[Column], release: str) -> dict[str, Column]:
    """Return the columns `release` has, by their long names in lower case."""
    return {name: column for column in columns if exists(column, release) for name in column.names}


def exists(column: Column, release: str) -> bool:
    return has(release, column.since, column.until)


def parse_letters(text: str, columns: Mapping[str, Column], *, all_upper_blank: bool = False) -> Layout:
    """Return a ``-o`` format.

    Parameters
    ----------
    all_upper_blank
        In ``%all``, a blank follows the capital letters' columns (sinfo).
    """
    everything = text.lower() == "%all"
    if everything:
        text = _all_letters(all_upper_blank)
    prefix, sign, rest = text.partition("%")
    specs, unknown = [], []
    for token in rest.split("%") if sign else ():
        if not token:
            continue  # signs in a row
        right = token[0] == "."
        at = right + len(token[right:]) - len(token[right:].lstrip(_DIGITS))
        letter = token[at : at + 1]
        column = columns.get(letter)
        if column is not None:
            specs.append(Spec(column, width_of(token[right:at] or "0"), right, token[at + 1 :]))
        elif not everything:
            specs.append(Spec(None, 0, False, f"%{token}"))
            unknown.append(letter)
    return Layout(prefix, tuple(specs), tuple(unknown))


def _all_letters(upper_blank: bool) -> str:
    lower = "|".join(f"%{chr(code)}" for code in range(ord("a"), ord("z") + 1))
    blank = " " if upper_blank else ""
    return lower + "".join(f"|%{chr(code)}{blank}" for code in range(ord("A"), ord("Z") + 1))


def parse_names(text: str, columns: Mapping[str, Column], *, all_layout: Layout | None = None) -> Layout:
    """Return a ``-O`` format. `all_layout` is what the word ``all`` stands for where it means something (sinfo)."""
    specs: list[Spec] = []
    unknown: list[str] = []
    for token in text.split(","):
        if not token:
            continue
        name, colon, size = token.partition(":")
        right, width, suffix = False, LONG_WIDTH, ""
        if colon:
            right = size.startswith(".")
            size = size[right:]
            number, suffix = leading_number(size)
            width = width_of(number) if number else 0
        column = columns.get(name.lower())
        if column is not None:
            specs.append(Spec(column, width, right, suffix))
        elif all_layout is not None and name.lower() == "all":
            specs.extend(all_layout.specs)
        else:
            specs.append(Spec(None, 0, False, suffix))
            unknown.append(name)
    return Layout("", tuple(specs), tuple(unknown))


def leading_number(text: str) -> tuple[str, str]:
    """Return the number a text begins with, as C's strtol reads it, and what follows; without one nothing and the text.

    By hand, since every call of squeue asks and a regular expression takes as long to load as a tenth of that.

    >>> leading_number("10|"), leading_number(" -3"), leading_number("+x"), leading_number("")
    (('10', '|'), ('-3', ''), ('', '+x'), ('', ''))
    """
    rest = text.lstrip(_BLANKS)
    sign = rest[:1] if rest[:1] in ("+", "-") else ""
    after = rest[len(sign) :].lstrip(_DIGITS)
    number = rest[: len(rest) - len(after)]
    return ("", text) if number == sign else (number, after)


def header(layout: Layout, widths: Mapping[str, int] | None = None) -> str:
    """Return the heading's line; `widths` gives columns a width of their own, by heading."""
    parts = [layout.prefix]
    for column, width, right, suffix in layout.specs:
        if column is not None:
            if widths:
                width = widths.get(column.header, width)
            right = right and not column.header_left
            parts.append(fit(column.header, width, right, cut=not column.header_uncut))
        parts.append(suffix)
    return "".join(parts)


def lines(layout: Layout, common: Any, table: Table, count: int, widths: Mapping[str, int] | None = None) -> list[str]:
    """One line a record.

    Parameters
    ----------
    common
        Handed to every `Column.render`.
    table
        The records' fields, each with `count` values.
    widths
        As for `header`.
    """
    form = [layout.prefix.replace("%", "%%")]
    texts: list[Sequence[str]] = []
    for column, width, right, suffix in layout.specs:
        if column is not None:
            if widths:
                width = widths.get(column.header, width)
            column_texts = column_values(column, common, table)
            same = _are_one(column_texts, column)
            flags, column_texts = _fitted(column, width, right, column_texts[:1] if same else column_texts)
            if same:
                flags = (flags % column_texts[0]).replace("%", "%%")
            else:
                texts.append(column_texts)
            form.append(flags)
        form.append(suffix.replace("%", "%%"))
    template = "".join(form)
    if not texts:
        return [template.replace("%%", "%")] * count
    return [template % row for row in zip(*texts, strict=True)]


def column_values(column: Column, common: Any, table: Table) -> list[str]:
    """Return the texts of one column, as wide as they are; one text for all rows if these are alike."""
    fields = [table[field] for field in column.fields]
    n = len(fields[0])
    if n > 1 and all(map(alike, fields)):
        return column_values(column, common, {name: table[name][:1] for name in column.fields}) * n
    if column.render is None:
        return [NULL if value is None else value if value.__class__ is str else str(value) for value in fields[0]]
    render = column.render
    if len(fields) == 1:
        return each_once(lambda values: [render(common, value) for value in values], fields[0])
    return each_once(lambda rows: [render(common, *row) for row in rows], list(zip(*fields, strict=True)))


def _are_one(texts: Sequence[str], column: Column) -> bool:
    """Return True if it is one text in all rows; equal ones may differ in what cuts them (`NULL`, `Uncut`)."""
    if not texts or texts[-1] is not texts[0] or texts.count(texts[0]) != len(texts):
        return False
    return (texts[0] != NULL and not column.marked) or len(set(map(id, texts))) == 1


def each_once(make: Callable[[Sequence[Any]], list[Any]], values: Sequence[Any]) -> list[Any]:
    """Return what `make` makes of all values; equal ones are made once, as many rows say few things.

    A look at the first tells whether they repeat; some, as lists are, cannot be told apart so.
    """
    try:
        if len(set(values[:_LOOK])) <= _LOOK // 2 < len(values):
            distinct = list(set(values))
            known = dict(zip(distinct, make(distinct), strict=True))
            return [known[value] for value in values]
    except TypeError:
        pass
    return make(values)


def _fitted(column: Column, width: int, right: bool, texts: list[str]) -> tuple[str, list[str]]:
    """Return the ``%`` conversion that fits the texts of a column, and the texts for it."""
    if width == 0:
        return "%s", texts
    if width < 0:
        return "%s ", texts  # a blank after it, nothing cut
    if not "".join(texts).isascii():  # C counts bytes
        return "%s", [fit(text, width, right, cut=not column.uncut) for text in texts]
    if not right:
        if width < len(NULL):
            texts = ["" if text is NULL else text for text in texts]
        return f"%-{width}.{width}s", texts
    if column.marked:
        return f"%{width}s", [text if text.__class__ is Uncut else text[:width] for text in texts]
    return (f"%{width}s" if column.uncut else f"%{width}.{width}s"), texts


def fit(text: str, width: int, right: bool, *, cut: bool = True) -> str:
    """One text, padded and cut to `width` bytes as C's printf does."""
    if width == 0:
        return text
    if width < 0:
        return text + " "
    if text is NULL and not right and width < len(NULL):
        return " " * width
    raw = text.encode("utf-8", "surrogateescape")
    if len(raw) > width and not (right and (not cut or text.__class__ is Uncut)):
        raw = raw[:width]
    padding = b" " * (width - len(raw))
    return (padding + raw if right else raw + padding).decode("utf-8", "surrogateescape")
