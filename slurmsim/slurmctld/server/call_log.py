"""The log of the commands that were called: one JSON object a line in the cluster's folder, for people and tests."""

from __future__ import annotations

import json
import os
from typing import Any

from slurmsim.json_text import loads
from slurmsim.slurmctld.history.state_folder import StateFolder

NAME, OLD = "calls", "calls.old"
_KINDS = (("user", str), ("at", int), ("argv", list), ("rc", int), ("seconds", float))
MOST = 32 << 20  # bytes of the file; then it is put aside under another name, and the one before that is gone


class CallLog:
    """Calls in the order they ended.

    Parameters
    ----------
    folder
        The cluster's, where the file is `NAME`; the one put aside is called the same with ``.old`` behind.
    """

    def __init__(self, folder: StateFolder) -> None:
        self._folder, self._path = folder, folder.path / NAME
        self._fd: int | None = None
        self._size = 0

    def add(self, entry: dict[str, Any]) -> None:
        """Write one call down. A full disk loses it."""
        line = json.dumps(entry, ensure_ascii=True).encode() + b"\n"
        try:
            if self._fd is None:
                self._fd = self._folder.open(NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                self._size = os.fstat(self._fd).st_size
            self._size += os.write(self._fd, line)
        except OSError:
            return
        if self._size > MOST:
            self.close()
            self._path.replace(self._path.with_name(OLD))

    def calls(self, command: str | None = None) -> tuple[list[dict[str, Any]], list[str]]:
        """Return what was called, or only calls of one command; and where a line is damaged, ``calls:12``."""
        found, damaged = [], []
        for name in (OLD, NAME):
            try:
                with open(self._folder.open(name, os.O_RDONLY), encoding="utf-8", errors="replace") as file:
                    text = file.read()
            except OSError:
                continue
            for number, line in enumerate(text.split("\n"), 1):
                one = _entry(line)
                if one is None:
                    damaged += [f"{name}:{number}"] if line.endswith("}") else []  # else cut short by a full disk
                elif command is None or one["argv"][:1] == [command]:
                    found.append(one)
        return found, damaged

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _entry(line: str) -> dict[str, Any] | None:
    """Return the call in a line; None if it cannot be read."""
    try:
        one = loads(line)
    except ValueError:
        return None
    whole = isinstance(one, dict) and all(isinstance(one.get(name), kind) for name, kind in _KINDS)
    return one if whole else None
