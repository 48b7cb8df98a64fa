"""Rows of the CSV files that options name: whatever is no CSV is one error with its file and line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from slurmsim.errors import ConfigError

Row = dict[str, str | None]
"""Cells by the names of the first line; None for a cell that is missing, the key None has those that are too many."""


def csv_rows(text: str, file: str, field: str) -> tuple[tuple[str, ...], Iterator[tuple[int, Row]]]:
    """Return the names of the first line, and the rows behind it with their line numbers.

    Parameters
    ----------
    field
        The option that names the file, for errors.

    Raises
    ------
    ConfigError
        A line is no CSV: at once for the first one, else when its row is asked for.
    """
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        names = tuple(rows.fieldnames or ())
    except csv.Error as error:
        raise _wrong(error, rows, file, field) from None
    return names, _each(rows, file, field)


def _each(rows: csv.DictReader[str], file: str, field: str) -> Iterator[tuple[int, Row]]:
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:  # a cell of more than 131,072 characters, a carriage return
        raise _wrong(error, rows, file, field) from None


def _wrong(error: csv.Error, rows: csv.DictReader[str], file: str, field: str) -> ConfigError:
    return ConfigError(str(error), file=file, line=rows.line_num, field=field, expected="CSV")


def columns_are(names: Sequence[str]) -> str:
    """Return what the columns of a file are, in one line of bounded length.

    >>> columns_are(["time", "watts"]), columns_are([]), columns_are(["a\\nb"])
    ('columns are time, watts', 'columns are missing', "columns are 'a\\\\nb'")
    """
    shown = ", ".join(names)[:200] or "missing"
    return f"columns are {shown if shown.isprintable() else repr(shown)}"
