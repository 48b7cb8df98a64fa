"""Rows of a table put into columns: integers, which of them are null, and texts as numbers of those seen so far.

Plain Python as its siblings. As such it is slower than `zip`, so `slurmsim.trace.rows` asks it only where it is an
extension.
"""

from __future__ import annotations

from typing import Any

INTEGER, OPTIONAL, TEXT = 0, 1, 2  # kinds of columns: OPTIONAL are integers that may be null
OPTIONAL_, TEXT_ = 1, 2  # the same for C


def number_of(text: str | None, numbers: dict[str, int]) -> int:
    """The number of `text`, the next one if it is new; None is the empty text."""
    if text is None:
        text = ""
    elif not isinstance(text, str):
        raise TypeError(text)
    number = numbers.get(text)
    if number is None:
        number = numbers[text] = len(numbers)
    return number


def split(
    rows: list[tuple[Any, ...]], kinds: Any, integers: Any, valid: Any, codes: Any, numbers: list[dict[str, int]]
) -> None:
    """The cells of all rows, row by row, as each row lies in one place.

    Parameters
    ----------
    kinds
        Of each column, (n_columns,) int64.
    integers, valid, codes
        Filled: the columns of integers, those that may be null and those of texts, one a line, (columns of that kind,
        n_rows) int64, uint8 and int32. Integers are 0 where null, `valid` has to be 1 everywhere.
    numbers
        Filled: texts seen, in order, for each column of texts.

    Raises
    ------
    TypeError, OverflowError
        A row of another width, or a cell that is not of its column's kind.
    """
    n_columns = len(kinds)
    last: list[Any] = [None] * len(numbers)  # many columns say the same for many rows
    for row_at in range(len(rows)):
        row = rows[row_at]
        if len(row) != n_columns:
            raise TypeError(row)
        integer_at = optional_at = text_at = 0
        for column in range(n_columns):
            cell = row[column]
            if kinds[column] == TEXT_:
                if row_at > 0 and cell is last[text_at]:
                    codes[text_at, row_at] = codes[text_at, row_at - 1]
                else:
                    codes[text_at, row_at] = number_of(cell, numbers[text_at])
                    last[text_at] = cell
                text_at += 1
                continue
            if cell is not None:
                integers[integer_at, row_at] = cell
            elif kinds[column] == OPTIONAL_:
                integers[integer_at, row_at] = 0
                valid[optional_at, row_at] = 0
            else:
                raise TypeError(cell)
            integer_at += 1
            if kinds[column] == OPTIONAL_:
                optional_at += 1
