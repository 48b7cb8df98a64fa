"""The journal: every request that changes something, written down before it is answered.

One line an entry: CRC-32 of the rest in hex, a blank, JSON. A line cut short or damaged ends the journal: it was never
acknowledged. The first line is the header (configuration, first instant), so the folder alone tells everything.

Room on the disk is taken before a request is carried out, so a full disk refuses requests and loses none: behind the
last line the file holds zeros, which reading takes for its end.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from pathlib import Path
from typing import Any

from slurmsim.errors import OutputError, WorkloadError

ROOM = 256 << 10
"""Bytes taken at a time."""
# file systems that cannot take room in advance
_CANNOT = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENODEV)


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
        self._durable = False  # something waits, or is written, that has to be on the disk
        self._size = 0  # of what has been written
        self._taken = 0  # of the file
        self.entries = 0  # that have been written, the header among them

    def open(self) -> list[Any]:
        """Open for appending; what has been written so far, in order. A torn last line is cut off."""
        try:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            entries, good = _read(self._fd)
            os.ftruncate(self._fd, good)
            os.lseek(self._fd, good, os.SEEK_SET)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot use the journal: {error.strerror}") from None
        self._size = self._taken = good
        self.entries = len(entries)
        return entries

    @property
    def size(self) -> int:
        """Bytes that have been written; the file may be longer, by room that was taken."""
        return self._size

    def reserve(self, size: int) -> None:
        """Make sure that entries of `size` bytes can be written. Raises OutputError: the disk is full, or worse."""
        wanted = self._size + sum(map(len, self._waiting)) + size
        if wanted <= self._taken:
            return
        error: OSError | None = None
        for room in (ROOM, 0):  # the last bytes of a disk count too
            try:
                os.posix_fallocate(self._fd, self._taken, wanted + room - self._taken)
            except OSError as failed:
                if failed.errno in _CANNOT:
                    return  # writing will tell
                error = failed
            else:
                self._taken = wanted + room
                return
        assert error is not None
        raise OutputError(f"{self.path}: cannot write the journal: {error.strerror}")

    @staticmethod
    def line(entry: Any) -> bytes:
        """The line of one entry. Raises ValueError, TypeError for what is no data."""
        text = json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode()
        return b"%08x %s\n" % (zlib.crc32(text), text)

    def append(self, entry: Any, *, durable: bool = True) -> None:
        """Remember to write `entry`; what is not `durable` need not outlive a failure of the machine."""
        self.append_line(self.line(entry), durable=durable)

    def append_line(self, line: bytes, *, durable: bool = True) -> None:
        """Remember to write what `line` made of an entry."""
        self._waiting.append(line)
        self._durable |= durable

    def sync(self) -> None:
        """Write what waits, to the disk. On failure nothing of it is left in the file.

        Raises
        ------
        OutputError
            The disk is full, or worse.
        """
        if not self._waiting:
            return
        data, count, self._waiting = b"".join(self._waiting), len(self._waiting), []
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
            if self._durable:
                os.fdatasync(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            os.lseek(self._fd, self._size, os.SEEK_SET)
            self._taken = self._size
            raise OutputError(f"{self.path}: cannot write the journal: {error.strerror}") from None
        finally:
            self._durable = False
        self._size += len(data)
        self.entries += count
        self._taken = max(self._taken, self._size)

    def close(self) -> None:
        """Write what waits, give the room left back, and close the file."""
        if self._fd >= 0:
            self.sync()
            os.ftruncate(self._fd, self._size)
            os.close(self._fd)
            self._fd = -1


def read(path: Path) -> list[Any]:
    """All entries of the journal at `path`, which somebody may be writing. Raises OutputError, WorkloadError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return _read(fd)[0]
        finally:
            os.close(fd)
    except OSError as error:
        raise OutputError(f"{path}: cannot read the journal: {error.strerror}") from None


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
    if _whole_line_after(data, good):
        raise WorkloadError("the journal is damaged in the middle", field=f"byte {good}")
    return entries, good


def _whole_line_after(data: bytearray, good: int) -> bool:
    """Whether a line that is whole follows the first bad one: then more than the end was damaged."""
    at = data.find(b"\n", good)
    while 0 <= at < len(data) - 1:
        end = data.find(b"\n", at + 1)
        if end < 0:
            return False
        line = bytes(data[at + 1 : end]).lstrip(b"\0")
        try:
            if line[8:9] == b" " and int(line[:8], 16) == zlib.crc32(line[9:]):
                return True
        except ValueError:
            pass
        at = end
    return False
