"""Numbers as users type them."""

from __future__ import annotations

MOST_DIGITS = 18
"""Digits of a number that surely fits Slurm's 64 bits."""


def is_number(text: str) -> bool:
    """Whether `text` is a whole number: ASCII digits, and no more of them than 64 bits hold.

    `str.isdigit` alone also takes ``²`` and 5,000 digits, of which `int` makes errors.

    >>> is_number("12"), is_number(""), is_number("²"), is_number("-1"), is_number("9" * 19)
    (True, False, False, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
