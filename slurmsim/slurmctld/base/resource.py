"""A resource of the database: licenses on a server, of which clusters are allowed parts."""

from __future__ import annotations

from slurmsim.data_classes import dataclass, field

ABSOLUTE, SHARED = "Absolute", "SharedPool"
WHOLE = 100  # what may be allowed in all, per cent; with Absolute it is the count


@dataclass(slots=True)
class Resource:
    """One resource, which its name and its server tell apart from others.

    Parameters
    ----------
    allowed
        The part of each cluster, by its name: per cent, or a count with Absolute.
    last_consumed
        How many are in use anywhere, as its server was last heard to say.
    updated
        When it was last changed, epoch seconds.
    """

    id: int
    name: str
    server: str
    count: int
    description: str
    server_type: str = ""
    flags: list[str] = field(default_factory=list)
    last_consumed: int = 0
    updated: int = 0
    allowed: dict[str, int] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Return the name that jobs ask for: ``matlab@flex``."""
        return f"{self.name}@{self.server}"

    def total(self, cluster: str) -> int:
        """Return how many of them `cluster` has."""
        part = self.allowed[cluster]
        return part if ABSOLUTE in self.flags else self.count * part // WHOLE

    def most(self, flags: list[str] | None = None) -> int:
        """Return what may be allowed in all, with these `flags` or its own."""
        return self.count if ABSOLUTE in (self.flags if flags is None else flags) else WHOLE
