"""The journal: every request that changes something and every decision, written down before a client is answered.

One line an entry: CRC-32 in hex, the entry's number, JSON, with blanks between. Numbers follow each other, and a line's
CRC goes on from the CRC of the line before it, so that no line fits at another place or into another journal. The first
line is the header: format, writer, a random name, the configuration, and the number of the last entry it stands on.

Entries may go to the disk beside our work (`write`). `confirmed` says up to which number they have gone; before it acts
on an entry, the server waits for that.

Room on the disk is taken before a request is carried out, so a full disk refuses requests and loses none: behind the
last line the file holds zeros, which reading takes for its end. The small file `journal.mark` beside it says which
number was acknowledged last; it is never ahead of the disk, so a journal that ends before it was cut.
"""

import errno
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from slurmsim import wire_json
from slurmsim.errors import OutputError
from slurmsim.slurmctld.history.disk_syncs import DiskSyncs, Point
from slurmsim.slurmctld.history.journal_file import (
    FORMAT,
    MARK_BYTES,
    Contents,
    read_contents,
    whole_file,
    written_mark,
)
from slurmsim.slurmctld.snapshot.file import sync_folder
from slurmsim.version import __version__

ROOM = 256 << 10  # bytes taken at a time
OVERHEAD = 8 + 1 + 20 + 1 + 1  # bytes of a line around its JSON, at most
SCHEMA = {"request": 1, "decided": 1, "conf": 1, "met": 1}  # versions of what the kinds of entries hold
_MARK = ".mark"
# file systems that cannot take room in advance
_CANNOT = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENODEV)
_SAFE = os.O_CLOEXEC | os.O_NOFOLLOW


class Journal:
    """An append-only file of numbered lines, each with a checksum.

    Parameters
    ----------
    path
        `begin` makes it, `open` goes on with it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # called by a thread when something that `write` began is on the disk; without it `write` waits for that
        self.told: Callable[[], None] | None = None
        self.failure = ""  # why the appended entries have been lost; the caller that appended them empties this
        self._fd = self._mark_fd = -1
        self._id = ""
        self._written = self._safe = Point()  # to the file, and as far as it needs to be on the disk
        self._syncs = DiskSyncs()
        self._waiting: list[bytes] = []
        self._durable = False  # something waits that has to be on the disk
        self._taken = 0  # of the file
        self._head = 0
        self.after = 0  # the number of the last entry before this file

    # -- begin and open ---------------------------------------------------------------------------------------------

    def begin(self, header: Mapping[str, Any], after: int = 0, entries: bytes = b"") -> dict[str, Any]:
        """Start a new file in place of the one that is there, at once whole and on the disk; the header as written.

        Parameters
        ----------
        header
            What the cluster is made of. Its ``id`` is kept, else drawn; format and writer are ours.
        after
            The number of the last entry that the new file stands on: its own go on from there.
        entries
            JSON of entries to begin with, a line each.

        Raises
        ------
        OutputError
            The folder cannot be written.
        """
        full = {"format": FORMAT, "writer": f"slurmsim {__version__}", "schema": SCHEMA, "id": os.urandom(8).hex(),
                **{name: value for name, value in header.items() if name not in ("format", "writer", "schema")},
                "after": after}  # fmt: skip
        first, crc = _line(after, self.text(full), 0)
        lines, last = [first], after
        for text in entries.splitlines():
            last += 1
            line, crc = _line(last, text, crc)
            lines.append(line)
        part = self.path.with_name(self.path.name + ".new")
        data = b"".join(lines)
        try:
            fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC | _SAFE, 0o600)
            try:
                _write(fd, data)
                os.fsync(fd)
                part.rename(self.path)
                sync_folder(self.path.parent)
            except BaseException:
                os.close(fd)
                raise
        except OSError as error:
            raise OutputError(f"{self.path}: cannot write the journal: {error.strerror}") from None
        self._close()
        self._fd, self._id, self._head, self.after = fd, str(full["id"]), len(first), after
        self._begin_at(Point(last, len(data), crc))
        return full

    def open(self, found: Contents | None = None) -> Contents:
        """Open for appending; what has been written so far, `found` where it has been read already.

        A torn last line that was never acknowledged is cut off.

        Raises
        ------
        OutputError
            There is none, it cannot be used, or a line of it that cannot be read was acknowledged.
        """
        found = found or read(self.path)
        try:
            self._fd = os.open(self.path, os.O_RDWR | _SAFE)
            os.ftruncate(self._fd, found.good)
            os.lseek(self._fd, found.good, os.SEEK_SET)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot use the journal: {error.strerror}") from None
        self._id, self._head = str(found.header.get("id", "")), found.head
        self.after = int(found.header.get("after", 0))
        self._begin_at(Point(found.last, found.good, found.crc))
        return found

    def _begin_at(self, point: Point) -> None:
        """Note that the file is open, and that what it holds is on the disk."""
        self._written = self._safe = point
        self._taken = point.size
        try:
            self._syncs.open(self.path)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot use the journal: {error.strerror}") from None
        path = mark_of(self.path)
        try:
            self._mark_fd = os.open(path, os.O_RDWR | os.O_CREAT | _SAFE, 0o600)
        except OSError as error:
            raise OutputError(f"{path}: cannot write the journal's mark: {error.strerror}") from None
        self._note_acknowledged()

    def _note_acknowledged(self) -> None:
        """Nothing waits for this to be on the disk: a mark that is behind is true as well."""
        with suppress(OSError):  # no room even for that
            os.pwrite(self._mark_fd, written_mark(self._id, self._safe.number), 0)

    @property
    def last(self) -> int:
        """The number of the last entry that has been written."""
        return self._written.number

    @property
    def noted(self) -> int:
        """The number of the last entry, written or not."""
        return self._written.number + len(self._waiting)

    @property
    def confirmed(self) -> int:
        """Up to this number all entries are on the disk that have to be."""
        return self._safe.number

    @property
    def size(self) -> int:
        """Bytes of all that has been written."""
        return self._written.size

    @property
    def grown(self) -> int:
        """Bytes of the entries, by whichever daemon: what came since the snapshot that the file stands on."""
        return self._written.size - self._head

    def texts_from(self, offset: int) -> bytes:
        """JSON of the entries behind a place that `size` told before, a line each, as `begin` takes them."""
        data = os.pread(self._fd, self.size - offset, offset)
        if len(data) != self.size - offset:
            raise OutputError(f"{self.path}: cannot read the journal")
        return b"\n".join(line.split(b" ", 2)[2] for line in data.splitlines())

    # -- writing ----------------------------------------------------------------------------------------------------

    def reserve(self, size: int) -> None:
        """Make sure that entries of `size` bytes can be written. Raises OutputError: the disk is full, or worse."""
        waiting = sum(map(len, self._waiting)) + OVERHEAD * (len(self._waiting) + 1)
        wanted = self.size + waiting + size
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
    def text(entry: Any) -> bytes:
        """Return the JSON of one entry. Raises ValueError, TypeError for what is no data."""
        return wire_json.dumps_ascii(entry).encode()

    def append(self, entry: Any, *, durable: bool = True) -> None:
        """Remember to write `entry`; what is not `durable` need not outlive a failure of the machine."""
        self.append_text(self.text(entry), durable=durable)

    def append_text(self, text: bytes, *, durable: bool = True) -> None:
        """Remember to write what `text` made of an entry."""
        self._waiting.append(text)
        self._durable |= durable

    def write(self) -> None:
        """Write what waits, and have it go to the disk beside our work; `confirmed` tells when it has.

        It goes on waiting while there are as many syncs as help; then the next one takes all of it.

        Raises
        ------
        OutputError
            The disk is full, or worse: nothing beyond `confirmed` is left in the file, and nothing waits.
        """
        if self.told is None:
            self.sync()
            return
        try:
            self._confirm(self._syncs.done())
            if not self._waiting or (self._syncs.full if self._durable else self._syncs):
                return
            durable = self._write_lines()
            if durable:
                self._syncs.begin(self._written, self.told)
            else:
                self._safe = self._written
        except OSError as error:
            raise self._failed(error) from None

    def sync(self) -> None:
        """Write what waits, and wait until all of it is on the disk. Raises OutputError."""
        try:
            self._confirm(self._syncs.done(all_of_them=True))
            if self._waiting:
                durable = self._write_lines()
                if durable:
                    os.fdatasync(self._fd)
                self._safe = self._written
                if durable:
                    self._note_acknowledged()
        except OSError as error:
            raise self._failed(error) from None

    def _confirm(self, points: Iterable[Point]) -> None:
        for point in points:
            self._safe = point
            self._note_acknowledged()

    def _write_lines(self) -> bool:
        """Give what waits to the file; whether it has to be on the disk."""
        lines, crc, last = [], self._written.crc, self.last
        for text in self._waiting:
            last += 1
            line, crc = _line(last, text, crc)
            lines.append(line)
        durable, self._durable = self._durable, False
        data = b"".join(lines)
        _write(self._fd, data)
        self._waiting.clear()
        self._written = Point(last, self.size + len(data), crc)
        self._taken = max(self._taken, self.size)
        return durable

    def _failed(self, error: OSError) -> OutputError:
        """Leave nothing that was not confirmed: what came behind rests on what was lost."""
        self._syncs.abandon()
        self._waiting.clear()
        self._durable = False
        self._written = self._safe
        os.ftruncate(self._fd, self.size)
        os.lseek(self._fd, self.size, os.SEEK_SET)
        self._taken = self.size
        self.failure = f"{self.path}: cannot write the journal: {error.strerror}"
        return OutputError(self.failure)

    def close(self) -> None:
        """Write what waits, to the disk, give the room left back, and close the file."""
        if self._fd < 0:
            return
        self.sync()
        os.ftruncate(self._fd, self.size)
        os.fdatasync(self._fd)
        self._note_acknowledged()
        self._close()

    def _close(self) -> None:
        self._syncs.close()
        for fd in (self._fd, self._mark_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._mark_fd = -1


def read(path: Path) -> Contents:
    """Return what is in the journal at `path`; its daemon may be writing it. Raises OutputError."""
    try:
        data = whole_file(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot read the journal: {error.strerror}") from None
    found = read_contents(data, str(path), mark(path))
    if found.problem:
        raise OutputError(found.problem)
    return found


def mark(path: Path) -> bytes:
    """Return the mark of the journal at `path`, as it is in its file; empty where there is none."""
    try:
        return whole_file(mark_of(path))[:MARK_BYTES]
    except OSError:
        return b""


def mark_of(path: Path) -> Path:
    return path.with_name(path.name + _MARK)


def _line(number: int, text: bytes, crc: int) -> tuple[bytes, int]:
    """Return a line, and its CRC for the next one."""
    body = b"%d %s" % (number, text)
    crc = zlib.crc32(body, crc)
    return b"%08x %s\n" % (crc, body), crc


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
