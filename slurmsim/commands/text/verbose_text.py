"""How squeue -v and sinfo -v lay out the options as they were understood."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


RULE = "-" * 29 + "\n"


def block(rows: Mapping[str, object]) -> str:
    """Return a line a row: the name, which is as wide as it is to be, and the value."""
    return "".join(f"{name}= {_word(value)}\n" for name, value in rows.items())


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "(null)" if value is None else str(value)


def joined(words: list[str] | None) -> str | None:
    """Return a list as it was given."""
    return None if words is None else ",".join(words)
