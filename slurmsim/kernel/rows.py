"""Rows of a table put into columns: integers, which of them are null, and texts as numbers of those seen so far.

Plain Python as its siblings. As such it is slower than `zip`, so `slurmsim.trace.rows` asks it only where it is an
extension.
"""

from __future__ import annotations

from typing import Any

from slurmsim.kernel.constants import OPTIONAL, TEXT


def number_of(text: str | None, numbers: dict[str, int]) -> int:
    """Return the number of `text`, the next one if it is new; None is the empty text."""
    if text is None:
        text = ""
    elif not isinstance(text, str):
        raise TypeError(text)
    number = numbers.get(text)
    if number is None:
        number = numbers[text] = len(numbers)
    return number


def split(
    rows: list[tuple[Any, ...]], begin: int, kinds: Any, integers: Any, valid: Any, codes: Any,
    numbers: list[dict[str, int]],
) -> None:  # fmt: skip
    """Split all rows into cells, row by row, as each row lies in one place.

    Parameters
    ----------
    begin
        Where in the columns the first row goes.
    kinds
        Of each column, (n_columns,) int64.
    integers, valid, codes
        Filled: the columns of integers, those that may be null and those of texts, one a line, (columns of that kind,
        at least begin + n_rows) int64, uint8 and int32. Integers are 0 where null.
    numbers
        Filled: texts seen, in order, for each column of texts.

    Raises
    ------
    TypeError, OverflowError
        A row of another width, or a cell that is not of its column's kind.
    ValueError
        More rows than the columns have room for.
    """
    n_columns = len(kinds)
    if begin < 0 or begin + len(rows) > min(integers.shape[1], valid.shape[1], codes.shape[1]):
        raise ValueError(begin)
    last: list[Any] = [None] * len(numbers)  # many columns say the same for many rows
    for row_at in range(begin, begin + len(rows)):
        row = rows[row_at - begin]
        if len(row) != n_columns:
            raise TypeError(row)
        integer_at = optional_at = text_at = 0
        for column in range(n_columns):
            cell = row[column]
            if kinds[column] == TEXT:
                if row_at > begin and cell is last[text_at]:
                    codes[text_at, row_at] = codes[text_at, row_at - 1]
                else:
                    codes[text_at, row_at] = number_of(cell, numbers[text_at])
                    last[text_at] = cell
                text_at += 1
                continue
            if kinds[column] == OPTIONAL:
                valid[optional_at, row_at] = cell is not None
                optional_at += 1
            elif cell is None:
                raise TypeError(cell)
            integers[integer_at, row_at] = 0 if cell is None else cell
            integer_at += 1
