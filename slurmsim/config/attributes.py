"""Typed attributes of object lines (NodeName, PartitionName, …): lookup in a key table, DEFAULT lines, complaints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from slurmsim.config.findings import Place, Report, Seen
from slurmsim.config.option import Option, Status, nearest
from slurmsim.config.slurm_conf import ConfLine


@dataclass(frozen=True, slots=True)
class Value:
    """One attribute: typed, as written, and where."""

    typed: Any
    text: str
    place: Place


@dataclass(slots=True)
class Attributes:
    """Attributes of one object by lower-cased key; `get` falls back to the table's default."""

    table: Mapping[str, Option]
    place: Place
    values: dict[str, Value] = field(default_factory=dict)

    def get(self, key: str) -> Any:
        """Typed value of `key` (lower case), its default when the lines do not give it."""
        value = self.values.get(key)
        return self.table[key].default if value is None else value.typed

    def given(self, key: str) -> bool:
        """Whether a line (its own or a DEFAULT one) gives `key`."""
        return key in self.values

    def text(self, key: str) -> str:
        """`key` as written, "" when not given."""
        return self.values[key].text if key in self.values else ""

    def place_of(self, key: str) -> Place:
        """Where `key` is given, else where the object is."""
        return self.values[key].place if key in self.values else self.place

    def over(self, defaults: Attributes) -> Attributes:
        """These attributes on top of `defaults`."""
        return Attributes(self.table, self.place, {**defaults.values, **self.values})


def read_attributes(
    line: ConfLine, table: Mapping[str, Option], report: Report, aliases: Mapping[str, str] | None = None
) -> Attributes:
    """Attributes of one line but the first pair, which names the object.

    Unknown keys, bad values and refused options become errors in `report`, options that are not modelled warnings.
    """
    kind, what = line.pairs[0].key, line.pairs[0].value
    result = Attributes(table, line.place)
    for pair in line.pairs[1:]:
        lower = pair.key.lower()
        option = table.get(lower) or table.get((aliases or {}).get(lower, ""))
        place = line.place
        if option is None:
            hint = nearest(pair.key, (row.name for row in table.values()))
            report.error(place, pair.key, pair.value, f"unrecognized key on a {kind} line{hint}")
            continue
        if pair.operator:
            report.error(place, pair.key, pair.value, f"{pair.operator}= cannot be used here", "=")
            continue
        report.seen.append(Seen(place, kind, option.name, pair.value, option))
        if not option.known_in(report.release) and report.strict:
            report.error(place, option.name, pair.value, f"Slurm {report.release} does not know this key")
        target = (aliases or {}).get(lower, lower)
        try:
            typed = table[target].parse(pair.value)
        except ValueError as error:
            message, *expected = error.args
            report.error(place, option.name, pair.value, message, *expected)
            continue
        result.values[target] = Value(typed, pair.value, place)
        if option.status is Status.NOT_MODELLED and not option.master and not option.is_off(pair.value):
            report.warning(place, option.name, pair.value, f"not modelled ({kind}={what}): {option.why}")
    return result
