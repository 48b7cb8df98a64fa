"""SIGTERM ends a command as Ctrl-C does: what was computed until then is written, and the exit code says by what."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM


class Ending:
    """What ended this command: `terminated` is True after a SIGTERM."""

    def __init__(self) -> None:
        self.terminated = False

    def code(self, code: int) -> int:
        """Return the exit code of a command that says `code`."""
        return TERMINATED if code == INTERRUPTED and self.terminated else code


@contextlib.contextmanager
def ending() -> Iterator[Ending]:
    """SIGTERM raises KeyboardInterrupt within this block; not where it is ignored, and only in the main thread."""
    found = Ending()

    def interrupt(number: int, frame: FrameType | None) -> None:
        found.terminated = True
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield found
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield found
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
