"""Syncs of one file that go on in threads: several at once, told of in the order in which they were begun.

A disk takes some milliseconds for a sync, whatever is in it, and serves several at once in hardly more time than one.
The system tells each descriptor once that a write has failed. So each sync has a descriptor of its own: what one of
them was told can then not be missing where another is asked.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

from slurmsim.data_classes import dataclass

MOST = 4  # syncs at once: more gain nothing, as each then has a request or two


@dataclass(frozen=True, slots=True)
class Point:
    """How far a journal is written: number of the last entry, bytes, and the checksum the next one goes on from."""

    number: int = 0
    size: int = 0
    crc: int = 0


class DiskSyncs:
    """Of the file that was opened last."""

    def __init__(self) -> None:
        self._idle: list[int] = []  # descriptors
        self._going: deque[tuple[Point, int, Future[None]]] = deque()
        self._threads: ThreadPoolExecutor | None = None

    def __bool__(self) -> bool:
        """Return True if one has been begun and not told of."""
        return bool(self._going)

    @property
    def full(self) -> bool:
        """True if none can be begun."""
        return not self._idle

    def open(self, path: Path) -> None:
        """Have descriptors of `path`; nothing is going on. Raises OSError."""
        self.close()
        for _ in range(MOST):
            self._idle.append(os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW))

    def begin(self, point: Point, told: Callable[[], None]) -> None:
        """Have all that is in the file up to `point` go to the disk; `told` is called by the thread when it has."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(MOST, "journal")
        descriptor = self._idle.pop()
        future = self._threads.submit(os.fdatasync, descriptor)
        self._going.append((point, descriptor, future))
        future.add_done_callback(lambda _: told())

    def done(self, *, all_of_them: bool = False) -> Iterator[Point]:
        """Yield the points that are on the disk, in turn; wait for `all_of_them`. Raises OSError at one that failed."""
        while self._going and (all_of_them or self._going[0][2].done()):
            point, descriptor, future = self._going.popleft()
            self._idle.append(descriptor)
            future.result()
            yield point

    def abandon(self) -> None:
        """Wait for what is going on, whatever comes of it."""
        wait([future for _, _, future in self._going])
        self._idle += [descriptor for _, descriptor, _ in self._going]
        self._going.clear()

    def close(self) -> None:
        """Give descriptors and threads back."""
        self.abandon()
        while self._idle:
            os.close(self._idle.pop())
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None
