"""Node lists as Slurm prints them from a node set: table order, consecutive numbers folded into ranges."""

from __future__ import annotations

from collections.abc import Sequence

from slurmsim.core.records.allocation import Allocation
from slurmsim.hostlist import compress, natural_key, numbered


class NodeNamer:
    """Formats sets of table indices as hostlist expressions.

    Neighbours in the table form a *ladder* if each carries the next number, with the same prefix and width. A run of
    consecutive indices on one ladder is one range.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.prefix: list[str] = []
        self.digits: list[str] = []
        ladder: list[int] = []
        current = 0
        for i, name in enumerate(names):
            prefix, digits = numbered(name)
            if i and not (
                digits
                and prefix == self.prefix[-1]
                and self.digits[-1]
                and int(digits) == int(self.digits[-1]) + 1
                and (len(digits) == len(self.digits[-1]) or not digits.startswith("0"))
                and not (len(digits) != len(self.digits[-1]) and self.digits[-1].startswith("0"))
            ):
                current += 1
            ladder.append(current)
            self.prefix.append(prefix)
            self.digits.append(digits)
        self.ladder = ladder
        self.single = current == 0 and bool(names) and bool(self.digits[0])

    def runs(self, runs: Sequence[tuple[int, int]]) -> str:
        """Return the hostlist of `runs` of (first index, length), ascending and disjoint."""
        digits = self.digits
        if self.single:
            if len(runs) == 1 and runs[0][1] == 1:
                return self.names[runs[0][0]]
            if not runs:
                return ""
            parts = [digits[a] if n == 1 else f"{digits[a]}-{digits[a + n - 1]}" for a, n in runs]
            return f"{self.prefix[0]}[{','.join(parts)}]"
        return self._mixed(runs)

    def _mixed(self, runs: Sequence[tuple[int, int]]) -> str:
        groups: list[tuple[str, list[str], int]] = []  # prefix, ranges, how many names
        for first, length in runs:
            at, stop = first, first + length
            while at < stop:
                end = at
                while end + 1 < stop and self.ladder[end + 1] == self.ladder[at]:
                    end += 1
                prefix, low, high = self.prefix[at], self.digits[at], self.digits[end]
                text = low if end == at else f"{low}-{high}"
                if low and groups and groups[-1][0] == prefix and groups[-1][1][0]:
                    name, ranges, count = groups[-1]
                    groups[-1] = (name, [*ranges, text], count + end - at + 1)
                else:
                    groups.append((prefix, [text], end - at + 1))
                at = end + 1
        return ",".join(
            prefix + ranges[0] if count == 1 else f"{prefix}[{','.join(ranges)}]" for prefix, ranges, count in groups
        )

    def allocation(self, a: Allocation) -> str:
        """Return the hostlist of the nodes of `a`."""
        if a.runs is None:
            a.runs = index_runs(a.indices().tolist())
        return self.runs(a.runs)


class SortingNamer(NodeNamer):
    """The same where nodes may come later: those are last in the table, and lists of nodes are by name all the same."""

    def runs(self, runs: Sequence[tuple[int, int]]) -> str:
        """Return the hostlist of `runs` of (first index, length)."""
        found = [self.names[i] for first, length in runs for i in range(first, first + length)]
        return compress(sorted(found, key=natural_key))


def index_runs(indices: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending indices as runs (first, length)."""
    found: list[tuple[int, int]] = []
    first = last = -2
    for i in indices:
        if i != last + 1:
            if first >= 0:
                found.append((first, last - first + 1))
            first = i
        last = i
    if first >= 0:
        found.append((first, last - first + 1))
    return found


def run_length(values: Sequence[int]) -> str:
    """``4(x2),2`` for 4, 4, 2, as SLURM_JOB_CPUS_PER_NODE is written."""
    parts: list[str] = []
    at, n = 0, len(values)
    while at < n:
        end = at
        while end + 1 < n and values[end + 1] == values[at]:
            end += 1
        count = end - at + 1
        parts.append(f"{values[at]}(x{count})" if count > 1 else str(values[at]))
        at = end + 1
    return ",".join(parts)
