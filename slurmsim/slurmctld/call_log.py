"""The log of the commands that were called: one JSON object a line in the cluster's folder, for people and tests."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

MOST = 32 << 20
"""Bytes of the file; then it is put aside under another name, and the one before that is gone."""


class CallLog:
    """Calls in the order they ended.

    Parameters
    ----------
    path
        The file; the one put aside is called the same with ``.old`` behind.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._old = path, path.with_name(path.name + ".old")
        self._fd: int | None = None
        self._size = 0

    def add(self, entry: dict[str, Any]) -> None:
        """Write one call down. A full disk loses it."""
        line = json.dumps(entry, ensure_ascii=True).encode() + b"\n"
        try:
            if self._fd is None:
                self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                self._size = os.fstat(self._fd).st_size
            self._size += os.write(self._fd, line)
        except OSError:
            return
        if self._size > MOST:
            self.close()
            self.path.replace(self._old)

    def calls(self, command: str | None = None) -> list[dict[str, Any]]:
        """What was called, or only calls of one command."""
        found = []
        for path in (self._old, self.path):
            try:
                text = path.read_text("utf-8", "replace")
            except OSError:
                continue
            for line in text.splitlines():
                try:
                    one = json.loads(line)
                except ValueError:
                    continue  # cut short when the disk was full
                if command is None or one["argv"][:1] == [command]:
                    found.append(one)
        return found

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
