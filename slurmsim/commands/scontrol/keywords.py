"""The names before the equals signs of ``scontrol update``, ``create`` and ``delete``, from the rows of a noun."""

from __future__ import annotations

from slurmsim.releases import has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slurmsim.records import Field


def tag_matches(tag: str, name: str, least: int) -> bool:
    """Return True if a tag is the name, or as much of it as must be there."""
    size = max(len(tag), least)
    return tag.lower()[:size] == name.lower()[:size]


class Keyword:
    """A keyword of ``scontrol update``, the least number of its letters, its releases, and its row."""

    __slots__ = ("least", "name", "row", "since", "until")

    def __init__(self, row: Field, name: str, least: str, since: str = "") -> None:
        self.row, self.name, self.least = row, name, int(least)
        self.since, self.until = since or row.since, row.until


def keywords(rows: Iterable[Field]) -> Iterator[Keyword]:
    """Return the keywords of a noun, in the order of its rows.

    >>> from slurmsim.records import Field
    >>> found = keywords([Field("extra", "text", update="Extra:3", since="24.11")])
    >>> [(word.name, word.least, word.since) for word in found]
    [('Extra', 3, '24.11')]
    """
    return (Keyword(row, *word.split(":")) for row in rows for word in row.update.split())


def keyword_of(rows: Iterable[Field], tag: str, release: str) -> Keyword | None:
    """Return the first keyword that a tag may be; None if it is none of the release."""
    known = (word for word in keywords(rows) if tag_matches(tag, word.name, word.least))
    return next((word for word in known if has(release, word.since, word.until)), None)
