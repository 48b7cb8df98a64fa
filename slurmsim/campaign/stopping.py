"""Ctrl-C once lets what runs finish, twice stops it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopping_gently() -> Iterator[Callable[[], bool]]:
    """Within it the first SIGINT only makes the yielded function true; the second raises KeyboardInterrupt.

    In another thread than the main one nothing changes.
    """
    told = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal told
        if told:
            raise KeyboardInterrupt
        told = True
        print("\nslurmsim: what runs is finished; Ctrl-C again to stop at once", file=sys.stderr)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield lambda: told
    finally:
        signal.signal(signal.SIGINT, before)
