"""The environment of this process while clusters are entered: its commands talk to the cluster entered last."""

import os
import threading
from pathlib import Path

from slurmsim.live.daemon import commands_folder, environment
from slurmsim.protocol import FOLDER_VARIABLE, USER_VARIABLE

_WHO = (FOLDER_VARIABLE, USER_VARIABLE)


class Entered:
    """The clusters that this process has entered and not left, in any order of leaving and from any thread.

    A cluster that is left takes away what it brought, its own folder on PATH, and nothing else: what the program
    itself put on PATH meanwhile stays there.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folders: list[Path] = []
        self._before: dict[str, str] = {}

    def enter(self, folder: Path) -> None:
        """Let the commands of this process talk to the cluster in `folder`."""
        with self._lock:
            if not self._folders:
                self._before = dict(os.environ)
            self._folders.append(folder)
            self._talk_to(folder)

    def leave(self, folder: Path) -> None:
        """Let them talk to the cluster that was entered before it, or to what was there before all of them."""
        with self._lock:
            if folder not in self._folders:
                return
            self._folders.remove(folder)
            if folder not in self._folders:
                self._forget(commands_folder(folder))
            if self._folders:
                self._talk_to(self._folders[-1])
            else:
                self._restore()

    def _talk_to(self, folder: Path) -> None:
        found = environment(folder, os.environ)
        for name in ("PATH", FOLDER_VARIABLE):
            os.environ[name] = found[name]
        os.environ.pop(USER_VARIABLE, None)

    def _forget(self, commands: str) -> None:
        if commands not in self._before.get("PATH", "").split(os.pathsep):
            parts = os.environ.get("PATH", "").split(os.pathsep)
            os.environ["PATH"] = os.pathsep.join(part for part in parts if part != commands)

    def _restore(self) -> None:
        for name in _WHO:
            if name in self._before:
                os.environ[name] = self._before[name]
            else:
                os.environ.pop(name, None)
        if "PATH" not in self._before and os.environ.get("PATH") == os.defpath:
            del os.environ["PATH"]


ENTERED = Entered()  # the environment belongs to the process, so there is one
