"""The process that started a daemon and waits for it, at the other end of a pipe.

Lines: ``DONE TOTAL`` while the journal is carried out again, ``ready`` at the end. When the starting process gives up,
it closes the pipe or dies. If that happens before the daemon is ready, the daemon ends, too.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from slurmsim.errors import OutputError

EVERY_S = 0.2
READY = b"ready"
Progress = Callable[[int, int], None]


class Starter:
    """The daemon's end of the pipe `descriptor`."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor

    def progress(self, done: int, total: int) -> None:
        """Tell how far the start is. Raises OutputError if the starting process has gone."""
        self._write(b"%d %d" % (done, total))

    def ready(self) -> None:
        """Tell that the daemon answers, as the last line. Raises OutputError if the starting process has gone."""
        self._write(READY)
        os.close(self._descriptor)
        self._descriptor = -1  # another file will soon have this number

    def _write(self, text: bytes) -> None:
        try:
            os.write(self._descriptor, text + b"\n")
        except BrokenPipeError:
            raise OutputError("the process that started this daemon has gone away before it was ready") from None


def watched(entries: Sequence[Any], progress: Progress | None) -> Iterator[Any]:
    """Yield the entries one by one; `progress` is told now and then how many there have been, of how many."""
    if progress is None:
        yield from entries
        return
    progress(0, len(entries))
    due = time.monotonic() + EVERY_S
    for done, entry in enumerate(entries):
        if time.monotonic() > due:
            progress(done, len(entries))
            due = time.monotonic() + EVERY_S
        yield entry
    progress(len(entries), len(entries))
