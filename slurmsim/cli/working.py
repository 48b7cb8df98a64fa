"""A line that says a command is still at work, for commands that have no progress bar of their own."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from slurmsim.shown import Stream

_AFTER_S, _EVERY_S = 2.0, 1.0
_CLEAR = "\r\x1b[K"


@contextmanager
def working(what: str, *, shown: bool) -> Iterator[None]:
    """Say on a terminal how long `what` has been at work, from two seconds on.

    The line goes when the command prints something, and does not come back: its results follow one another.
    """
    streams = [one for one in (sys.stdout, sys.stderr) if isinstance(one, Stream)]
    if not shown or sys.__stderr__ is None or not sys.__stderr__.isatty():
        yield
        return
    line = _Line(what, sys.__stderr__)
    for stream in streams:
        stream.before = line.end
    try:
        yield
    finally:
        line.end()


class _Line:
    """The line on one stream, written by a thread of its own."""

    def __init__(self, what: str, stream: TextIO) -> None:
        self._what, self._stream = what, stream
        self._began = time.monotonic()
        self._over = threading.Event()
        self._lock = threading.Lock()  # what is written is either before the end or not at all
        self._written = False
        threading.Thread(target=self._show, daemon=True).start()

    def _show(self) -> None:
        wait = _AFTER_S
        while not self._over.wait(wait):
            with self._lock:
                if self._over.is_set():
                    return
                self._written = True
                self._stream.write(f"{_CLEAR}{self._what}: {time.monotonic() - self._began:.0f} s so far")
                self._stream.flush()
            wait = _EVERY_S

    def end(self) -> None:
        """Remove the line, once."""
        with self._lock:
            if not self._over.is_set() and self._written:
                self._stream.write(_CLEAR)
                self._stream.flush()
            self._over.set()
