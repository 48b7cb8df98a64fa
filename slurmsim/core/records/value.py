"""Records that never change and hold nothing that does."""

from __future__ import annotations

from typing import Any, Self


class Value:
    """Base of frozen records of plain values: a copy of one is the record itself.

    So a copy of a controller (`slurmsim.fidelity` tries passes on one) shares them.
    """

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
