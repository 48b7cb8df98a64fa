"""Ends a pass of a policy from outside that takes too long: one thread looks at all that run in this process.

A count of decisions (`read_only.PASS_LIMIT`) ends a pass that decides for ever. A loop without a decision can only be
ended from another thread.
"""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType
from weakref import WeakSet

from slurmsim.errors import PassTooLong

LIMIT_S = 600.0
LIVE_LIMIT_S = 60.0  # where clients wait for an answer
LOOK_S = 0.25


class PassWatch:
    """Context of a pass: within it, `PassTooLong` is raised in this thread once `limit_s` seconds are over.

    It is raised again every `LOOK_S` seconds until the context is left.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._lock = threading.Lock()
        self._due: float | None = None
        self._thread = self._watched_in = 0  # of Python and of the system: a thread and a process
        self._told = False

    def __enter__(self) -> None:
        process = os.getpid()
        if self._watched_in != process:
            _watch(self, process)
            self._watched_in = process
        with self._lock:
            self._thread, self._due = threading.get_ident(), time.monotonic() + self.limit_s

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._due = None
            if self._told:
                self._told = False
                _raise_in(self._thread, None)  # takes back what was not raised yet

    def __reduce__(self) -> tuple[type[PassWatch], tuple[float]]:
        """Return what makes a watch of its own for a copy of a controller."""
        return PassWatch, (self.limit_s,)

    def __str__(self) -> str:
        return f"{self.limit_s:g} s"

    def look(self, now: float) -> None:
        """Raise in the thread of the pass if it is over its limit."""
        with self._lock:
            if self._due is not None and now >= self._due:
                self._told = True
                _raise_in(self._thread, PassTooLong)


_watches: WeakSet[PassWatch] = WeakSet()
_watching = 0  # the process that has the thread


def _watch(watch: PassWatch, process: int) -> None:
    """Have the thread look at `watch`, which starts it in a `process` that has none."""
    global _watching
    _watches.add(watch)
    if _watching != process:
        _watching = process
        threading.Thread(target=_look, name="passes", daemon=True).start()


def _look() -> None:
    pause = threading.Event()  # not `time.sleep`: where a program has replaced it, this thread would never rest
    while True:
        pause.wait(LOOK_S)
        now = time.monotonic()
        for watch in list(_watches):
            watch.look(now)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise `error` in a thread at its next line of Python; None takes back one that was not raised yet."""
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error) if error else None)
