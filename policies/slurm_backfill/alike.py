"""What two lists that follow each other have in common at both ends."""

from __future__ import annotations

from typing import Any


def alike(before: list[Any], now: list[Any]) -> tuple[int, int]:
    """How many are the same objects at the beginning of both lists, and how many of the others at the end of both.

    Lists of `Any`: of tuples whose types are known mypyc makes others, which are never the same.
    """
    n, n_before = len(now), len(before)
    least = min(n, n_before)
    first = 0
    while first < least and before[first] is now[first]:
        first += 1
    least -= first
    rest = 0
    while rest < least and before[n_before - 1 - rest] is now[n - 1 - rest]:
        rest += 1
    return first, rest
