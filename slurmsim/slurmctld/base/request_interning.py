"""Requests look alike: one object for equal parts of them, so that 100,000 jobs keep one environment, not 100,000."""

from __future__ import annotations

from typing import Any

MOST = 20_000  # parts remembered; then all are forgotten, which costs memory only
MOST_CHARACTERS = 16 << 20  # and how long they may be together: scripts, environments, names, of the jobs of all users
_MAPS = ("environment", "rlimits")


class Same:
    """What has been seen before."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._maps: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._characters = 0

    def share(self, asked: dict[str, Any]) -> dict[str, Any]:
        """`asked` with earlier equal texts and environments in place of its own."""
        if len(self._texts) + len(self._maps) > MOST or self._characters > MOST_CHARACTERS:
            self._texts.clear()
            self._maps.clear()
            self._characters = 0
        texts = self._texts
        found = {}
        for name, value in asked.items():
            if type(value) is str:
                known = texts.setdefault(value, value)
                if known is value:
                    self._characters += len(value)
                value = known
            elif type(value) is dict and name in _MAPS:
                value = self._map(value)
            found[texts.setdefault(name, name)] = value
        return found

    def _map(self, value: dict[str, Any]) -> dict[str, Any]:
        try:
            key = tuple(value.items())
            known = self._maps.get(key)
        except TypeError:  # lists in it: no environment
            return value
        if known is None:
            texts = self._texts
            known = {texts.setdefault(k, k): texts.setdefault(v, v) if type(v) is str else v for k, v in value.items()}
            self._maps[tuple(known.items())] = known
            self._characters += sum(len(v) for v in known.values() if type(v) is str)
        return known
