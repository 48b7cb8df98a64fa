"""The names before the equals signs of ``scontrol update``, ``create`` and ``delete``."""

from __future__ import annotations


def tag_matches(tag: str, name: str, least: int) -> bool:
    """Whether a tag is the name, or as much of it as must be there."""
    size = max(len(tag), least)
    return tag.lower()[:size] == name.lower()[:size]
