"""Options with words as values."""

from __future__ import annotations

from typing import Any


def one_of(*words: str) -> Any:
    """Return a reader of one of `words`; it raises ValueError for any other text."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return read
