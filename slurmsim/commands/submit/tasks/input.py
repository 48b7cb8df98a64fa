"""One input that srun passes on: to every task that reads it, the same bytes."""

from __future__ import annotations

import os
import selectors
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


_CHUNK = 1 << 16


class TaskInput:
    """Where tasks read from, and their ends of it.

    Parameters
    ----------
    source
        The descriptor that is read.
    ready
        Who says when there is something to be read.
    after
        Has something done that many seconds from now.
    """

    def __init__(
        self, source: int, ready: selectors.BaseSelector, after: Callable[[float, Callable[[], None]], None]
    ) -> None:
        self._source, self._ready, self._after = source, ready, after
        self._ends: dict[int, int] = {}  # task -> our end of its pipe

    def pipe(self, task: int) -> int:
        """Return the end of a new pipe that the task with that number reads."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        self._ends[task] = writer
        return reader

    def start(self) -> None:
        """All tasks are there: read from now on."""
        try:
            self._ready.register(self._source, selectors.EVENT_READ, self._read)
        except PermissionError:  # a plain file: always ready
            self._copy()

    def close(self, task: int) -> None:
        """Close the pipe of a task that is over or reads no more."""
        end = self._ends.pop(task, None)
        if end is not None:
            with suppress(OSError):
                os.close(end)

    def _close_all(self) -> None:
        for task in list(self._ends):
            self.close(task)

    def _read(self) -> None:
        try:
            chunk = os.read(self._source, _CHUNK)
        except OSError:
            chunk = b""
        if chunk:
            self._feed(chunk)
            return
        self._ready.unregister(self._source)
        self._close_all()

    def _copy(self) -> None:
        """Copy a plain file: what fits into the pipes now, the rest when there is room."""
        chunk = os.read(self._source, _CHUNK)
        if not chunk:
            self._close_all()
            return
        self._feed(chunk)
        self._after(0.0, self._copy)

    def _feed(self, chunk: bytes) -> None:
        for task, end in list(self._ends.items()):
            left = chunk
            os.set_blocking(end, True)
            try:
                while left:
                    left = left[os.write(end, left) :]
            except OSError:
                self.close(task)
