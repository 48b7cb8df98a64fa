"""The shortest form of a difference: commands or jobs are left out while it stays (delta debugging, with a cap)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shortest(items: Sequence[T], differs: Callable[[list[T]], bool], most: int) -> list[T]:
    """A part of `items` that still differs and of which no single item can be left out, as far as `most` tries reach.

    `differs` asks both sides, which costs seconds for commands and minutes for workloads; so does each try. Halves are
    left out first, then smaller and smaller parts (Zeller and Hildebrandt's ddmin, complements only).
    """
    kept, parts, tries = list(items), 2, 0
    while len(kept) > 1:
        size = -(-len(kept) // parts)
        for begin in range(0, len(kept), size):
            rest = kept[:begin] + kept[begin + size :]
            if tries >= most:
                return kept
            tries += 1
            if rest and differs(rest):
                kept, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(kept))
    return kept
