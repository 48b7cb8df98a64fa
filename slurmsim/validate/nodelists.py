"""Many hostlist expressions at once into runs of node indices.

A trace of half a million jobs on a large machine names a hundred million nodes, but in a few ranges a job. So names
are never built: the ranges of all expressions are read as numbers, in bulk, and looked up in the node table. What
does not have the plain form ``n[1-3,7]`` goes through `slurmsim.hostlist.expand`, name by name.
"""

import re
from collections.abc import Sequence

import numpy as np

from slurmsim.data_classes import dataclass, field
from slurmsim.errors import InputError
from slurmsim.hostlist import expand
from slurmsim.validate.columns import IntArray

_RANGE = r"[0-9]{1,9}(?:-[0-9]{1,9})?"
_ITEM = re.compile(rf"([^,\[\]\s]*?)(?:\[({_RANGE}(?:,{_RANGE})*)\]|([0-9]{{1,9}}))(?:,|$)")
_NAME = re.compile(r"(.*?)([0-9]{1,9})", re.DOTALL)
_MAX_NUMBER = 1 << 24  # a table by number would be too large beyond; such names go the slow way
_CHUNK = 1 << 14


@dataclass(slots=True)
class NodeRuns:
    """Runs of consecutive nodes: expression `text[i]` names nodes `low[i]`..`high[i]`, both included.

    Ordered by expression, then as written. `count` is the number of known nodes of each expression. `bad` maps an
    expression to what is wrong with it.
    """

    text: IntArray
    low: IntArray
    high: IntArray
    count: IntArray
    bad: dict[int, str]


class _Numbered:
    """Nodes with one prefix: tables by their number."""

    def __init__(self, numbers: IntArray, widths: IntArray, indices: IntArray) -> None:
        size = int(numbers.max()) + 1
        self.index = np.full(size, -1, np.int64)
        self.width = np.zeros(size, np.int64)
        self.index[numbers] = indices
        self.width[numbers] = widths
        # from number first[k] up to k the nodes are neighbours in the node table
        follows = (self.index[1:] == self.index[:-1] + 1) & (self.index[:-1] >= 0)
        begins = np.concatenate([[True], ~follows])
        self.first = np.maximum.accumulate(np.where(begins, np.arange(size), 0))

    def plain(self, low: IntArray, low_width: IntArray, high: IntArray, high_width: IntArray) -> IntArray:
        """Which ranges are one run of the node table; widths count the digits, because n1 is not n01."""
        a, b = np.minimum(low, len(self.index) - 1), np.minimum(high, len(self.index) - 1)
        known = (a == low) & (b == high) & (self.index[a] >= 0) & (self.index[b] >= 0)
        found: IntArray = (
            known & (low <= high) & (self.width[a] == low_width) & (self.width[b] == high_width) & (self.first[b] <= a)
        )
        return found


@dataclass(slots=True)
class _Items:
    """Items of one prefix that wait to be read together."""

    item: list[int] = field(default_factory=list)
    text: list[int] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)


class NodeIndex:
    """The node table, able to read hostlists of its nodes."""

    def __init__(self, names: Sequence[str]) -> None:
        self._by_name = {name: i for i, name in enumerate(names)}
        groups: dict[str, dict[int, tuple[int, int]]] = {}
        ambiguous: set[str] = set()  # prefixes with n1 beside n01
        for i, name in enumerate(names):
            match = _NAME.fullmatch(name)
            if match is None or (number := int(match[2])) >= _MAX_NUMBER:
                continue
            group = groups.setdefault(match[1], {})
            if number in group:
                ambiguous.add(match[1])
            group[number] = (len(match[2]), i)
        self._groups: dict[str, _Numbered] = {}
        for prefix, group in groups.items():
            if prefix not in ambiguous:
                rows = np.array([(number, width, i) for number, (width, i) in group.items()], np.int64)
                self._groups[prefix] = _Numbered(rows[:, 0], rows[:, 1], rows[:, 2])

    def runs(self, texts: Sequence[str]) -> NodeRuns:
        bad: dict[int, str] = {}
        parts = [self._chunk(texts, at, min(at + _CHUNK, len(texts)), bad) for at in range(0, len(texts), _CHUNK)]
        rows = np.concatenate(parts, axis=1) if parts else np.zeros((4, 0), np.int64)
        _, text, low, high = rows
        count = np.bincount(text, weights=high - low + 1, minlength=len(texts)).astype(np.int64)
        return NodeRuns(text, low, high, count, bad)

    def _chunk(self, texts: Sequence[str], begin: int, end: int, bad: dict[int, str]) -> IntArray:
        """Rows item number, expression, low, high of expressions `begin`..`end` - 1, in order."""
        waiting: dict[str, _Items] = {}
        slow: list[tuple[int, int, str]] = []
        item = 0
        for i in range(begin, end):
            text, position = texts[i], 0
            while position < len(text):
                item += 1
                match = _ITEM.match(text, position)
                if match is None or match[1] not in self._groups:
                    slow.append((item, i, text[position:]))
                    break
                items = waiting.setdefault(match[1], _Items())
                items.item.append(item)
                items.text.append(i)
                items.ranges.append(match[2] or match[3])
                position = match.end()
        parts = [self._bulk(prefix, items, slow) for prefix, items in waiting.items()]
        parts += [self._named(*one, bad) for one in slow]
        rows = np.concatenate(parts, axis=1) if parts else np.zeros((4, 0), np.int64)
        return rows[:, np.argsort(rows[0], kind="stable")]

    def _bulk(self, prefix: str, items: _Items, slow: list[tuple[int, int, str]]) -> IntArray:
        """Rows of all `items`; those that are not plain are put on `slow` instead."""
        group = self._groups[prefix]
        data = np.frombuffer(",".join(items.ranges).encode(), np.uint8)
        digit = data >= ord("0")  # the rest are commas and hyphens
        edge = np.flatnonzero(np.diff(digit, prepend=False, append=False))
        starts, ends = edge[::2], edge[1::2]
        width = ends - starts
        value = np.zeros(len(starts), np.int64)
        for k in range(int(width.max())):
            more = width > k
            value[more] = value[more] * 10 + (data[starts[more] + k] - ord("0"))
        is_high = np.concatenate([[False], data[starts[1:] - 1] == ord("-")])
        low = np.flatnonzero(~is_high)
        high = low + np.concatenate([is_high[1:], [False]])[low]
        owner = np.repeat(np.arange(len(items.item)), [ranges.count(",") + 1 for ranges in items.ranges])
        plain = group.plain(value[low], width[low], value[high], width[high])
        if not plain.all():
            odd = np.unique(owner[~plain])
            slow += [(items.item[k], items.text[k], f"{prefix}[{items.ranges[k]}]") for k in odd.tolist()]
            keep = ~np.isin(owner, odd)
            owner, low, high = owner[keep], low[keep], high[keep]
        item, text = np.array(items.item, np.int64)[owner], np.array(items.text, np.int64)[owner]
        return np.stack([item, text, group.index[value[low]], group.index[value[high]]])

    def _named(self, item: int, text: int, expression: str, bad: dict[int, str]) -> IntArray:
        """Rows of one expression, a run for each of its names."""
        try:
            names = expand(expression)
        except InputError as error:
            bad.setdefault(text, error.message)
            names = []
        found = [self._by_name.get(name, -1) for name in names]
        if -1 in found:
            bad.setdefault(text, f"unknown node {names[found.index(-1)]}")
        nodes = np.array([i for i in found if i >= 0], np.int64)
        return np.stack([np.full(len(nodes), item), np.full(len(nodes), text), nodes, nodes])
