"""What several kernels need: arrays of 64-bit integers, and which ends two lists have in common."""

from __future__ import annotations

from array import array
from typing import Any


def zeros(n: int) -> array[int]:
    """Return `n` integers of 64 bits, and no room beyond them: whatever looks for an index beyond an array sees it."""
    return array("q", (0,)) * n


def wider(values: array[int], room: int) -> array[int]:
    """Return `room` integers: all of `values`, which are fewer, and zeros behind them."""
    made = more = zeros(room)
    for i in range(len(values)):
        more[i] = values[i]
    return made


def alike(before: list[Any], now: list[Any]) -> tuple[int, int]:
    """How many are the same objects at the beginning of both lists, and how many of the others at the end of both."""
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
