"""The journal: every request that changes something, written down before it is answered.

One line an entry: CRC-32 of the rest in hex, a blank, JSON. A line cut short or damaged ends the journal: it was never
acknowledged. The first line is the header (configuration, first instant, seed), so the folder alone tells everything.
"""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

from slurmsim.errors import OutputError, WorkloadError


class Journal:
    """An append-only file with a checksum a line.

    Parameters
    ----------
    path
        Made when it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1
        self._waiting: list[bytes] = []
        self._size = 0

    def open(self) -> list[Any]:
        """Open for appending; what has been written so far, in order. A torn last line is cut off."""
        try:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            entries, good = _read(self._fd)
            os.ftruncate(self._fd, good)
            os.lseek(self._fd, good, os.SEEK_SET)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot use the journal: {error.strerror}") from None
        self._size = good
        return entries

    def append(self, entry: Any) -> None:
        """Remember to write `entry`; `sync` makes it last."""
        text = json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode()
        self._waiting.append(b"%08x %s\n" % (zlib.crc32(text), text))

    def sync(self) -> None:
        """Write what waits, to the disk. On failure nothing of it is left in the file.

        Raises
        ------
        OutputError
            The disk is full, or worse.
        """
        if not self._waiting:
            return
        data, self._waiting = b"".join(self._waiting), []
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
            os.fdatasync(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            os.lseek(self._fd, self._size, os.SEEK_SET)
            raise OutputError(f"{self.path}: cannot write the journal: {error.strerror}") from None
        self._size += len(data)

    def close(self) -> None:
        """Write what waits and close the file."""
        if self._fd >= 0:
            self.sync()
            os.close(self._fd)
            self._fd = -1


def _read(fd: int) -> tuple[list[Any], int]:
    """Entries, and how many bytes of the file are good."""
    size = os.fstat(fd).st_size
    data = bytearray()
    while len(data) < size:
        part = os.pread(fd, size - len(data), len(data))
        if not part:
            break
        data += part
    entries: list[Any] = []
    good = 0
    while (end := data.find(b"\n", good)) >= 0:
        line = bytes(data[good:end])
        crc, blank, text = line[:8], line[8:9], line[9:]
        try:
            if blank != b" " or int(crc, 16) != zlib.crc32(text):
                break
            entries.append(json.loads(text))
        except ValueError:
            break
        good = end + 1
    if good < size and data.find(b"\n", good) not in (-1, size - 1):
        raise WorkloadError("the journal is damaged in the middle", field=f"byte {good}")
    return entries, good
