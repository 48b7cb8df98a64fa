"""Broken lines of a ``sacct -P`` dump made whole: records over several lines, and delimiters inside a user's text.

sacct prints SubmitLine, JobName, Constraints and comments raw. A line break in one cuts a record in two; a delimiter
in one gives it a field too many. `Mender` joins the lines of a record and finds the column that the surplus fields
belong to. It does so only where one way is left:

1. every other field looks as its column's texts do (`patterns`);
2. of several such ways, those with nodes named as the nodes of whole lines are;
3. of these, the one with the constraint or job name that SubmitLine asked for.

A record with no way or several is left to the caller, which refuses or drops it.
"""

import re
from collections.abc import Sequence

from slurmsim.data_classes import dataclass, field
from slurmsim_workloads.sacct.fields import FREE_TEXT, USED
from slurmsim_workloads.sacct.patterns import (
    HOLDS_DELIMITER,
    STRONG,
    Looks,
    begin_pattern,
    is_constraint,
    looks_of,
    record_patterns,
)

MOST_SURPLUS = 256
_MOST_WAYS = 256
# Surplus fields for which a pattern is tried: its steps grow with the power of the texts of users in a record.
_PATTERN_SURPLUS = 4
_MOST_STEMS = 200
# Fields looked at in a dump by the way that tries all; beyond it a record counts as not told. A minute's work.
_BUDGET = 50_000_000
_OPTION = {
    "Constraints": re.compile(r"\s(?:-C|--constraint[= ])\s*(\S+)"),
    "JobName": re.compile(r"\s(?:-J|--job-name[= ])\s*(\S+)"),
}
_STEM = re.compile(r"[^\d\[]*")


@dataclass(frozen=True, slots=True)
class Whole:
    """A record made whole: a text a column, and the columns that held a delimiter."""

    fields: Sequence[str]
    held: tuple[str, ...] = ()


def node_stem(nodes: str) -> str:
    """Return the letters a node list begins with: ``n`` of ``n[1-4]``."""
    match = _STEM.match(nodes)
    return match[0] if match else ""


@dataclass(slots=True)
class Mender:
    """Makes the records of one dump whole."""

    names: Sequence[str]  # the columns; an empty last one when lines end with a delimiter
    delimiter: str  # the text between fields
    stems: frozenset[str] = frozenset()  # what the node lists of whole lines begin with
    _looks: list[Looks] = field(init=False)
    _free: list[bool] = field(init=False)
    _holders: list[int] = field(init=False)
    _constraints: int = field(init=False)
    _begin: re.Pattern[str] = field(init=False)
    _patterns: tuple[re.Pattern[str], re.Pattern[str]] | None = field(init=False)
    _budget: int = _BUDGET

    def __post_init__(self) -> None:
        self._looks = [looks_of(name) for name in self.names]
        self._free = [name in HOLDS_DELIMITER for name in self.names]
        first_free = self._free.index(True) if any(self._free) else len(self.names)
        strong = next((i for i, name in enumerate(self.names) if name in STRONG), len(self.names) - 1)
        self._begin = begin_pattern(self.names, max(strong + 1, first_free), self.delimiter)
        self._holders = [i for i, free in enumerate(self._free) if free]
        self._constraints = self.names.index("Constraints") if "Constraints" in self.names else -1
        few = len(self.stems) <= _MOST_STEMS
        self._patterns = record_patterns(self.names, self.delimiter, sorted(self.stems)) if few else None

    def begins(self, line: str) -> bool:
        """Return True if a record begins with `line`: the fields before the first text of a user are well formed."""
        return self._begin.match(line) is not None

    def is_cut(self, line: str) -> bool:
        """Return True if `line` begins a record that never ends: its first field is a job's, others are not."""
        fields = line.split(self.delimiter, 1)
        return len(fields) > 1 and self.names[0] in STRONG and bool(self._looks[0](fields[0]))

    def mend(self, text: str) -> Whole | None:
        """Return the record in `text`, which may have line breaks; None without exactly one way to read it."""
        surplus = text.count(self.delimiter) + 1 - len(self.names)
        if not 0 <= surplus <= MOST_SURPLUS:
            return None
        if surplus <= _PATTERN_SURPLUS and (cells := self._by_pattern(text, surplus)):
            held = [self.names[i] for i in self._holders if self.delimiter in cells[i]] if surplus else ()
            return Whole(cells, tuple(held))
        fields = text.split(self.delimiter)
        self._budget -= (surplus + 1) ** 2 * len(fields)
        if self._budget < 0:
            return None
        ways = self._ways(fields, surplus)
        if len(ways) != 1:
            ways = self._likely(ways)
        if len(ways) != 1:
            return None
        cells, taken = ways[0]
        return Whole(cells, tuple(self.names[i] for i, more in enumerate(taken) if more))

    def _by_pattern(self, text: str, surplus: int) -> Sequence[str] | None:
        """Return the texts when the shortest and the longest texts of users are the same, so no other way is left."""
        if self._patterns is None or (short := self._patterns[0].fullmatch(text)) is None:
            return None
        cells = short.groups()
        if surplus and ((long := self._patterns[1].fullmatch(text)) is None or long.groups() != cells):
            return None
        if self._constraints >= 0 and not is_constraint(cells[self._constraints]):
            return None
        return cells

    def _ways(self, fields: list[str], surplus: int) -> list[tuple[list[str], tuple[int, ...]]]:
        """(texts, surplus fields a column takes) of every way that differs in a column that is read."""
        fits = self._fits(fields, surplus)
        found: dict[tuple[str, ...], tuple[list[str], tuple[int, ...]]] = {}
        paths: list[tuple[int, ...]] = [()] if 0 in fits[0] else []
        tried = 0
        while paths and tried < _MOST_WAYS:
            taken = paths.pop()
            column, used = len(taken), sum(taken)
            if column == len(self.names):
                tried += 1
                cells = self._cells(fields, taken)
                key = tuple(cell for cell, name in zip(cells, self.names, strict=True) if name in USED)
                found.setdefault(key, (cells, taken))
                continue
            for more in range(surplus - used + 1 if self._free[column] else 1):
                if used + more in fits[column + 1] and self._can(column, fields, column + used, more):
                    paths.append((*taken, more))
        return list(found.values()) if not paths else []

    def _fits(self, fields: list[str], surplus: int) -> list[set[int]]:
        """Per column the surplus fields that may have been used before it, seen from the end of the record."""
        fits: list[set[int]] = [set() for _ in self.names] + [{surplus}]
        for column in range(len(self.names) - 1, -1, -1):
            after = fits[column + 1]
            for used in range(surplus + 1):
                most = surplus - used if self._free[column] else 0
                if any(
                    used + more in after and self._can(column, fields, column + used, more) for more in range(most + 1)
                ):
                    fits[column].add(used)
        return fits

    def _can(self, column: int, fields: list[str], at: int, more: int) -> bool:
        name = self.names[column]
        text = fields[at] if name in FREE_TEXT else self.delimiter.join(fields[at : at + more + 1])
        return bool(self._looks[column](text))

    def _cells(self, fields: list[str], taken: tuple[int, ...]) -> list[str]:
        cells, at = [], 0
        for more in taken:
            cells.append(self.delimiter.join(fields[at : at + more + 1]))
            at += more + 1
        return cells

    def _likely(self, ways: list[tuple[list[str], tuple[int, ...]]]) -> list[tuple[list[str], tuple[int, ...]]]:
        """Return those of several ways that other things known speak for."""
        if "NodeList" in self.names and self.stems:
            at = self.names.index("NodeList")
            ways = [way for way in ways if node_stem(way[0][at]) in self.stems] or ways
        if "SubmitLine" not in self.names:
            return ways
        line = self.names.index("SubmitLine")
        for name, option in _OPTION.items():
            if len(ways) > 1 and name in self.names:
                at = self.names.index(name)
                ways = [way for way in ways if (m := option.search(way[0][line])) and m[1] == way[0][at]] or ways
        return ways
