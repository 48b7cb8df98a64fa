"""What a dump lacks or contradicts itself in, each with a weight by which the list is sorted."""

from __future__ import annotations

from enum import IntEnum

from slurmsim.data_classes import dataclass, field

SHOWN = 5  # names a finding gives; of the rest it has the number


class Weight(IntEnum):
    """How much a finding changes what the twin says."""

    LIGHT = 1  # a field that is only shown
    MIDDLE = 2  # some jobs may start in another order, or on other nodes
    HEAVY = 3  # a job, a node or a rule is missing


@dataclass(frozen=True, slots=True)
class Finding:
    """One of them: its weight, what is so, and the names it is about."""

    weight: Weight
    what: str
    names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The finding as a line."""
        if not self.names:
            return self.what
        more = len(self.names) - SHOWN
        return f"{self.what}: {', '.join(self.names[:SHOWN])}{f' and {more:,} more' if more > 0 else ''}"


@dataclass(slots=True)
class Findings:
    """All of them; what is said of several jobs or nodes is one finding."""

    _found: dict[tuple[Weight, str], list[str]] = field(default_factory=dict)

    def add(self, weight: Weight, what: str, name: str = "") -> None:
        """Note `what`, of the job or node called `name`."""
        self._found.setdefault((weight, what), []).extend([name] if name else [])

    def all(self) -> list[Finding]:
        """Return the findings, the heaviest and those of most names first."""
        found = [Finding(weight, what, tuple(names)) for (weight, what), names in self._found.items()]
        return sorted(found, key=lambda one: (-one.weight, -len(one.names), one.what))
