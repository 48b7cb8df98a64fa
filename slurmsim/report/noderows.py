"""Which row of a picture a node is in, and which rows a hostlist expression covers.

Works on ranges, never on single names: a job on 4,000 nodes is a handful of intervals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

import numpy as np
import numpy.typing as npt

from slurmsim import hostlist
from slurmsim.data_classes import dataclass
from slurmsim.metrics.columns import IntArray
from slurmsim.numerals import is_number

_PADDED = re.compile(r"(?<!\d)(0\d+)")
_NATURAL = re.compile(r"(\d+)")

# Nodes first to last of one prefix; a name without a number is its own prefix with number -1.
Span = tuple[str, int, int]


def spans(expr: str) -> list[Span]:
    """Return the expression as spans of node numbers. Raises HostlistError when it is none.

    ``n[1-4,7],g1`` gives ``[("n", 1, 4), ("n", 7, 7), ("g", 1, 1)]``.
    """
    if "," not in expr and "[" not in expr:
        return [_single(expr)] if expr else []
    prefix, bracket, _ = expr.partition("[")
    items = [expr] if bracket and expr.count("[") == 1 and "," not in prefix and expr[-1] == "]" else _items(expr)
    return [span for item in items for span in _item_spans(item)]


def _item_spans(item: str) -> list[Span]:
    """Spans of one name or bracketed name."""
    prefix, bracket, rest = item.partition("[")
    if bracket and rest.find("]") == len(rest) - 1 and "[" not in rest:
        try:
            return [_range(prefix, part) for part in rest[:-1].split(",")]
        except ValueError:
            pass  # the general reader says what is wrong with it
    return [_single(name) for name in hostlist.expand(item)]


def _single(name: str) -> Span:
    prefix, digits = hostlist.numbered(name)
    return (prefix, int(digits), int(digits)) if digits else (name, -1, -1)


def _range(prefix: str, part: str) -> Span:
    low, dash, high = part.partition("-")
    first = int(low)
    return (prefix, first, int(high) if dash else first)


def _items(expr: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth, begin = [], 0, 0
    for i, char in enumerate(expr):
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(expr[begin:i])
            begin = i + 1
    parts.append(expr[begin:])
    return [p for p in parts if p]


@dataclass(frozen=True, slots=True)
class _Group:
    numbers: IntArray  # sorted, shape (nodes with this prefix,)
    offset: int
    width: int  # digits that zero padding fills a number up to


class NodeRows:
    """Rows 0 to n - 1 for the nodes of a cluster, prefix by prefix, numbers ascending.

    Nodes that differ in zero padding only, ``n1`` and ``n01``, share a row.

    Parameters
    ----------
    expressions
        Hostlist expressions that together name the nodes.
    in_order
        Prefixes keep the order of their first appearance (the cluster's table order); otherwise they are sorted
        naturally.
    """

    def __init__(self, expressions: Iterable[str], *, in_order: bool = False) -> None:
        seen: dict[str, set[tuple[int, int]]] = {}
        widths: dict[str, int] = {}
        for expr in dict.fromkeys(expressions):
            for prefix, low, high in spans(expr):
                seen.setdefault(prefix, set()).add((low, high))
            if found := _PADDED.search(expr):
                for item in _items(expr) if "," in expr else [expr]:
                    if found := _PADDED.search(item):
                        widths[item[: found.start(1)].partition("[")[0]] = len(found.group(1))
        self._groups: dict[str, _Group] = {}
        self.n = 0
        for prefix in list(seen) if in_order else sorted(seen, key=_natural):
            ranges = [np.arange(low, high + 1) for low, high in sorted(seen[prefix])]
            numbers = ranges[0] if len(ranges) == 1 else np.unique(np.concatenate(ranges))
            self._groups[prefix] = _Group(numbers, self.n, widths.get(prefix, 0))
            self.n += len(numbers)
        self._cache: dict[str, list[tuple[int, int]]] = {}

    def intervals(self, expr: str) -> list[tuple[int, int]]:
        """Half-open row intervals of the nodes `expr` names; nodes that have no row are left out."""
        found = self._cache.get(expr)
        if found is None:
            found = self._cache[expr] = [
                (group.offset + low, group.offset + high)
                for prefix, first, last in spans(expr)
                if (group := self._groups.get(prefix)) is not None
                for low, high in [_bounds(group.numbers, first, last)]
                if high > low
            ]
        return found

    def flat(self, expressions: Iterable[str]) -> tuple[npt.NDArray[np.int64], IntArray, IntArray]:
        """Intervals of many expressions as three arrays: index of the expression, first row, row after the last."""
        places: dict[str, int] = {}
        which = np.array([places.setdefault(expr, len(places)) for expr in expressions], np.int64)
        found = [self.intervals(expr) for expr in places]  # of the different ones alone: many jobs have the same nodes
        counts = np.fromiter(map(len, found), np.int64, len(found))
        pairs = np.fromiter(chain.from_iterable(chain.from_iterable(found)), np.int64, 2 * int(counts.sum()))
        pairs = pairs.reshape(-1, 2)
        begins = np.cumsum(counts) - counts
        lengths = counts[which]
        owner = np.repeat(np.arange(len(which)), lengths)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        rows = np.repeat(begins[which], lengths) + within
        return owner, pairs[rows, 0], pairs[rows, 1]

    def name(self, row: int) -> str:
        for prefix, group in self._groups.items():
            if row < group.offset + len(group.numbers):
                number = int(group.numbers[row - group.offset])
                return prefix if number < 0 else f"{prefix}{number:0{group.width}d}"
        raise IndexError(row)


def _bounds(numbers: IntArray, first: int, last: int) -> tuple[int, int]:
    base, n = int(numbers[0]), len(numbers)
    if int(numbers[-1]) - base == n - 1:  # no gaps, the usual case: no search
        return max(first - base, 0), min(last - base + 1, n)
    return int(np.searchsorted(numbers, first, "left")), int(np.searchsorted(numbers, last, "right"))


def _natural(prefix: str) -> list[tuple[int, int | str]]:
    return [(0, int(part)) if is_number(part) else (1, part) for part in _NATURAL.split(prefix)]
