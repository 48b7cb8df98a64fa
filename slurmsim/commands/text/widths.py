"""Widths of columns as users type them: ints of 32 bits, as in Slurm. Its commands break at widths of gigabytes."""

from __future__ import annotations

from slurmsim.commands.text.values import int32, leading_number

MOST_WIDTH = 1 << 16


def width_of(text: str) -> int:
    """Return the width a text begins with, 0 where there is none; negative widths justify left.

    >>> width_of("12"), width_of("-5x"), width_of(""), width_of("20000000000"), width_of("99999999999")
    (12, -5, 0, -65536, 65536)
    """
    return max(-MOST_WIDTH, min(int32(leading_number(text)[0]), MOST_WIDTH))
