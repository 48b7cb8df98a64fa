"""Readers of options: one of some words, a whole number from a least one on, a number within bounds."""

from collections.abc import Callable
from math import inf
from typing import Any


def one_of(*words: str) -> Any:
    """Return a reader of one of `words`; it raises ValueError for any other text."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return read


def whole(least: int, most: int = 2**31 - 1) -> Callable[[str], int]:
    """Return a reader of a whole number from `least` to `most`; it raises ValueError for any other text."""

    def read(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise ValueError(text)
        return number

    return read


def positive(text: str) -> float:
    """Read a finite number above 0. Raises ValueError."""
    number = float(text)
    if not 0 < number < inf:
        raise ValueError(text)
    return number
