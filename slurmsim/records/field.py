"""The row of a field."""

from __future__ import annotations

from slurmsim.fast_imports import NamedTuple

FIRST, LAST = 40, 99
"""Minor numbers of the first and the last version of data_parser: `42` is v0.0.42."""


class Field(NamedTuple):
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
        Key of its line in slurm.conf; "" where none gives it.
    update
        Keywords of ``scontrol create`` and ``update``, each with the least number of its letters:
        ``OverSubscribe:5 Shared:2``; "" where it cannot be set.
    json
        Its place in the documents of data_parser, ``maximums.nodes``; "" where it is only a part of other places.
    first, last
        Versions of data_parser that have that place.
    shown
        Whether ``scontrol show`` prints it.
    """

    name: str
    kind: str
    attribute: str = ""
    conf: str = ""
    update: str = ""
    json: str = ""
    first: int = FIRST
    last: int = LAST
    shown: bool = True

    @property
    def beside(self) -> bool:
        """Whether its value is kept beside the record, as it was given: the core has no use for it."""
        return bool(self.update) and not self.attribute and self.kind in ("text", "flag")
