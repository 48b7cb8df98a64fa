"""Keywords of ``scontrol create`` and ``update``, from the rows of a noun."""

from __future__ import annotations

from slurmsim.records import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Keyword:
    """A keyword of ``scontrol update``, the least number of its letters, its releases, and its row."""

    __slots__ = ("least", "name", "row", "since", "until")

    def __init__(self, row: Field, name: str, least: str, since: str = "") -> None:
        self.row, self.name, self.least = row, name, int(least)
        self.since, self.until = since or row.since, row.until


def keywords(rows: Iterable[Field]) -> list[Keyword]:
    """Return the keywords of a noun, in the order of its rows.

    >>> found = keywords([Field("extra", "text", update="Extra:3", since="24.11")])
    >>> [(word.name, word.least, word.since) for word in found]
    [('Extra', 3, '24.11')]
    """
    return [Keyword(row, *word.split(":")) for row in rows for word in row.update.split()]
