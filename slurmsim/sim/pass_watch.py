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
    """Context of a pass: within it, `PassTooLong` is raised in this thread once about `limit_s` seconds are over.

    It is raised again every `LOOK_S` seconds until the context is left. Entering and leaving one costs next to nothing:
    the thread that looks finds out how long a pass has lasted.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._lock = threading.Lock()
        self._pass, self._within = 0, False  # its number, and whether it goes on
        self._thread = self._watched_in = 0  # of Python and of the system: a thread and a process
        self._seen, self._since = 0, 0.0  # the pass that went on at the last look, and when it was first seen
        self._told = False

    def __enter__(self) -> None:
        process = os.getpid()
        if self._watched_in != process:
            _watch(self, process)
            self._watched_in = process
        self._thread = threading.get_ident()
        self._pass += 1
        self._within = True

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._within = False  # before `_told` is read, as `look` writes that before it reads this
        if self._told:
            with self._lock:
                self._told = False
                _raise_in(self._thread, None)  # takes back what was not raised yet

    def __reduce__(self) -> tuple[type[PassWatch], tuple[float]]:
        """Return what makes a watch of its own for a copy of a controller."""
        return PassWatch, (self.limit_s,)

    def __str__(self) -> str:
        return f"{self.limit_s:g} s"

    def look(self, now: float) -> None:
        """Raise in the thread of the pass if it is over its limit."""
        number = self._pass
        if not self._within or number != self._seen:
            self._seen, self._since = number, now
        elif now >= self._since + self.limit_s:
            with self._lock:
                self._told = True
                if self._within and self._pass == number:
                    _raise_in(self._thread, PassTooLong)
                else:
                    self._told = False


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
