"""Options whose values are words."""

from __future__ import annotations

from typing import Any


def one_of(*words: str) -> Any:
    """Reads one of `words`; raises ValueError for any other text."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return read
