"""Typed attributes of object lines (NodeName, PartitionName, …): lookup in a key table, DEFAULT lines, complaints."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from slurmsim.config.findings import Place, Report, Seen
from slurmsim.config.line_options import SPELLINGS
from slurmsim.config.option import Option, Status
from slurmsim.config.slurm_conf import ConfLine
from slurmsim.data_classes import dataclass, field
from slurmsim.errors import nearest


@dataclass(frozen=True, slots=True)
class Value:
    """One attribute: typed, as written, and where."""

    typed: Any
    text: str
    place: Place


@dataclass(slots=True)
class Attributes:
    """Attributes of one object by lower-cased key; `get` falls back to the table's default.

    Every spelling keeps its own value, as in Slurm; a look-up asks for the spellings of `SPELLINGS` in turn.
    """

    table: Mapping[str, Option]
    place: Place
    values: dict[str, Value] = field(default_factory=dict)

    def find(self, key: str) -> Value | None:
        """Return the value that counts for `key` (lower case), None when no spelling of it is given."""
        return next((self.values[name] for name in SPELLINGS.get(key, (key,)) if name in self.values), None)

    def get(self, key: str) -> Any:
        """Typed value of `key` (lower case), its default when the lines do not give it."""
        value = self.find(key)
        return self.table[key].default if value is None else value.typed

    def given(self, key: str) -> bool:
        """Return True if a line (its own or a DEFAULT one) gives `key`."""
        return self.find(key) is not None

    def text(self, key: str) -> str:
        """Return `key` as written, "" when not given."""
        value = self.find(key)
        return "" if value is None else value.text

    def place_of(self, key: str) -> Place:
        """Return where `key` is given, else where the object is."""
        value = self.find(key)
        return self.place if value is None else value.place

    def over(self, defaults: Attributes) -> Attributes:
        """Return these attributes on top of `defaults`, each spelling on its own."""
        return Attributes(self.table, self.place, {**defaults.values, **self.values})

    def without(self, keys: Container[str]) -> Attributes:
        kept = {key: value for key, value in self.values.items() if key not in keys}
        return Attributes(self.table, self.place, kept)

    def settled(self) -> Attributes:
        """Return the same, each meaning under one key: an override then wins whatever spelling the file or it has."""
        meanings = {key: value for key in SPELLINGS if (value := self.find(key)) is not None}
        plain = self.without({name for names in SPELLINGS.values() for name in names})
        return Attributes(self.table, self.place, {**plain.values, **meanings})

    def note_unread(self, report: Report) -> None:
        """Say which values do not count beside another spelling."""
        read = {id(self.find(key)) for key in SPELLINGS}
        for names in SPELLINGS.values():
            for name in names:
                value = self.values.get(name)
                if value is not None and id(value) not in read:
                    first = next(other for other in names if other in self.values)
                    report.note(value.place, self.table[name].name, value.text,
                                f"not read: {self.table[first].name}={self.values[first].text} counts")  # fmt: skip


def read_attributes(line: ConfLine, table: Mapping[str, Option], report: Report) -> Attributes:
    """Attributes of one line but the first pair, which names the object.

    Unknown keys, bad values and refused options become errors in `report`, options that are not modelled warnings.
    """
    kind, what = line.pairs[0].key, line.pairs[0].value
    result = Attributes(table, line.place)
    for pair in line.pairs[1:]:
        lower = pair.key.lower()
        option = table.get(lower)
        place = line.place
        if option is None:
            hint = nearest(pair.key, (row.name for row in table.values()))
            report.error(place, pair.key, pair.value, f"unrecognized key on a {kind} line{hint}")
            continue
        report.seen.append(Seen(place, kind, option.name, pair.value, option))
        if not option.known_in(report.release) and report.strict:
            report.error(place, option.name, pair.value, f"Slurm {report.release} does not know this key")
        if pair.operator:
            report.warning(place, option.name, pair.value, f"{pair.operator}= is read as =, as Slurm does")
        if lower in result.values:
            report.warning(place, option.name, pair.value, "set more than once, the last value is used")
        try:
            typed, remark = option.read(pair.value)
        except ValueError as error:
            message, *expected = error.args
            report.error(place, option.name, pair.value, message, *expected)
            continue
        if remark:
            report.warning(place, option.name, pair.value, remark)
        if refused := option.refused(pair.value):
            report.fatal_in_strict(place, option.name, pair.value, refused)
        result.values[lower] = Value(typed, pair.value, place)
        if option.status is Status.NOT_MODELLED and not option.master and not option.is_off(pair.value):
            report.warning(place, option.name, pair.value, f"not modelled ({kind}={what}): {option.why}")
    return result
