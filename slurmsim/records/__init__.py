"""What is known of the fields of a record: one row a field, from which the lists of all other rooms are derived.

Each module is one noun. A row names things and holds no behaviour. What a kind of value means to a room stands once in
that room, by the name of the kind: how scontrol reads it, which shape it has on the wire, how it is told.

(Plain classes, and in the package itself: most commands load them.)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    T = TypeVar("T")

FIRST, LAST = 40, 99  # minor numbers of the first and the last version of data_parser: `42` is v0.0.42


class Option:
    """A long option of sbatch, srun and salloc; its value is sent as it was read.

    Parameters
    ----------
    name
        Without its dashes.
    before
        The option that follows in Slurm's table: what an abbreviation may mean is listed in that order.
    status
        ``supported``, ``accepted`` or ``refused``, as in `slurmsim.commands.submit.options.job_options`.
    part
        Whether it is forgotten between the parts of a heterogeneous job.
    since
        First release that has it, where it came later than the field.
    """

    __slots__ = ("before", "name", "part", "since", "status")

    def __init__(
        self, name: str, before: str, status: str = "accepted", *, part: bool = False, since: str = ""
    ) -> None:
        self.name, self.before, self.status, self.part, self.since = name, before, status, part, since


class Column:
    """A column of squeue: its heading, its name for ``-O`` as Slurm spells it, and its letter for ``-o``."""

    __slots__ = ("header", "letter", "name")

    def __init__(self, header: str, name: str, letter: str = "") -> None:
        self.header, self.name, self.letter = header, name, letter


class Line:
    """A line of ``scontrol show`` that is there where the field has a value.

    Parameters
    ----------
    label
        What stands before the equals sign.
    after
        The group of lines it stands in, named by the line before it.
    end
        What follows the value.
    """

    __slots__ = ("after", "end", "label")

    def __init__(self, label: str, after: str, end: str = "") -> None:
        self.label, self.after, self.end = label, after, end


class Field:
    """One field of a record.

    Parameters
    ----------
    name
        What the daemon calls it: in requests, in answers, and where it is kept beside the record.
    kind
        What its values are. Each room has a table of kinds.
    attribute
        Attribute of the model's record; "" where the field is kept beside it, or computed.
    conf
        Key of its line in slurm.conf, or setting of sacctmgr; "" where none gives it.
    update
        Keywords of ``scontrol create`` and ``update``, each with the least number of its letters, and with a release if
        it came later than the field: ``OverSubscribe:5 Shared:2``, ``MCSLabel:4:26.05``; "" where it cannot be set.
    json
        Its place in the documents of data_parser, ``maximums.nodes``; "" where it is only a part of other places.
    first, last
        Versions of data_parser that have that place.
    shown
        Whether ``scontrol show`` prints it.
    before
        The place that follows in the document, where the rows are not all of it.
    body
        Whether a body of REST may give it, at the same place; None where Slurm's bodies have no such field.
    ruled
        Whether a rule of the daemon says how an update changes it; else the new value takes the old one's place.
    since, until
        First release that has the field, and first without it; "" for all.
    option, column, line
        How it is asked for, and where it is shown.
    """

    __slots__ = (
        "attribute", "before", "body", "column", "conf", "first", "json", "kind", "last", "line", "name", "option",
        "ruled", "shown", "since", "until", "update",
    )  # fmt: skip

    def __init__(
        self, name: str, kind: str, attribute: str = "", conf: str = "", update: str = "", json: str = "", *,
        first: int = FIRST, last: int = LAST, shown: bool = True, before: str = "", body: bool | None = True,
        ruled: bool = False, since: str = "", until: str = "", option: Option | None = None,
        column: Column | None = None, line: Line | None = None,
    ) -> None:  # fmt: skip
        self.name, self.kind, self.attribute, self.conf = name, kind, attribute, conf
        self.update, self.json, self.first, self.last, self.before = update, json, first, last, before
        self.shown, self.body, self.ruled, self.since, self.until = shown, body, ruled, since, until
        self.option, self.column, self.line = option, column, line

    @property
    def beside(self) -> bool:
        """True if its value is kept beside the record, as it was given: the core has no use for it."""
        return bool(self.update) and not self.attribute and self.kind in ("text", "flag")


def merged(table: Iterable[T], more: Iterable[tuple[str, T]], name: Callable[[T], str]) -> tuple[T, ...]:
    """Merge rows into a table; each has the name of the row before which it stands.

    Raises KeyError for a name that no row of `table` has.

    >>> merged("ace", [("c", "b"), ("e", "d")], str)
    ('a', 'b', 'c', 'd', 'e')
    """
    waiting: dict[str, list[T]] = {}
    for before, row in more:
        waiting.setdefault(before, []).append(row)
    found: list[T] = []
    for row in table:
        found += waiting.pop(name(row), ())
        found.append(row)
    if waiting:
        raise KeyError(*waiting)
    return tuple(found)
