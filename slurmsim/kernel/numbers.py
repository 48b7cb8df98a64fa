"""Lines of whole numbers, put into columns.

Plain Python as its siblings. As such it is slower than NumPy, so `slurmsim_workloads.swf.table` asks it only where it
is an extension; a log of a million jobs is then parsed in 0.2 s of CPU instead of 0.6.
"""

from __future__ import annotations

from typing import Any

from slurmsim.kernel.constants import MOST_DIGITS


def columns_of(text: bytes, first_line: int, begin: int, values: Any, lines: Any) -> int:
    """Put the numbers of all lines into columns; return where the next would go, -1 where this cannot read them.

    It reads lines that are empty or have a whole number for each column, of at most `MOST_DIGITS` digits.

    Parameters
    ----------
    text
        Whole lines, each with a newline at its end.
    first_line
        The number of the first of them.
    begin
        Where in the columns the first numbers go.
    values, lines
        Filled: a line for each column, (n_columns, at least begin and the newlines) int64; and the number of the line
        each value is from, (the same) int64.
    """
    n_columns = len(values)
    row = begin
    column = value = digits = 0
    negative = False
    line = first_line
    for at in range(len(text)):
        sign = text[at]
        if 48 <= sign <= 57:
            digits += 1
            if digits > MOST_DIGITS:
                return -1
            value = value * 10 + sign - 48
        elif sign == 32 or 9 <= sign <= 13:  # blanks, the newline among them
            if digits > 0:
                if column == n_columns:
                    return -1
                values[column, row] = -value if negative else value
                column += 1
                value = digits = 0
                negative = False
            elif negative:
                return -1
            if sign == 10:
                if column == n_columns:
                    lines[row] = line
                    row += 1
                elif column > 0:
                    return -1
                column = 0
                line += 1
        elif sign == 45 and digits == 0 and not negative:
            negative = True
        else:
            return -1
    return row
