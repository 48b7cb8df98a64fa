"""The environment of this process while clusters are entered: its commands talk to the cluster entered last."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from slurmsim.live.daemon import environment
from slurmsim.protocol import FOLDER_VARIABLE, USER_VARIABLE

_NAMES = ("PATH", FOLDER_VARIABLE, USER_VARIABLE)


class Entered:
    """The clusters that this process has entered and not left, in any order of leaving and from any thread.

    The variables are worked out anew each time, from what they were before the first cluster was entered: a cluster
    that is left never comes back when another one is left after it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folders: list[Path] = []
        self._before: dict[str, str] = {}

    def enter(self, folder: Path) -> None:
        """Let the commands of this process talk to the cluster in `folder`."""
        with self._lock:
            if not self._folders:
                self._before = {name: os.environ[name] for name in _NAMES if name in os.environ}
            self._folders.append(folder)
            self._set()

    def leave(self, folder: Path) -> None:
        """Let them talk to the cluster that was entered before it, or to what was there before all of them."""
        with self._lock:
            if folder in self._folders:
                self._folders.remove(folder)
                self._set()

    def _set(self) -> None:
        wanted = dict(self._before)
        for folder in self._folders:
            wanted = environment(folder, wanted)
        if self._folders:
            wanted.pop(USER_VARIABLE, None)
        for name in _NAMES:
            if name in wanted:
                os.environ[name] = wanted[name]
            else:
                os.environ.pop(name, None)


ENTERED = Entered()
"""The environment belongs to the process, so there is one."""
