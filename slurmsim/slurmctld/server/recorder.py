"""The recorder of a session: every command a client gave, one JSON object a line, in a file only its owner can read.

The first line says what the cluster is made of. A line is written when its command has ended; one that was cut off by a
kill is left out when the file is read, so what is there is always good. A mark in the cluster's folder names the file
and tells commands to say more of themselves; a daemon that finds it goes on recording.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from slurmsim.protocol import RECORDING, Refusal
from slurmsim.slurmctld.history.state_folder import StateFolder
from slurmsim.version import __version__

FORMAT = 1
MOST = 256 << 20  # bytes of the file; a last line says that there is no more
_OPEN = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_NOT_OF_IT = ("texts", "after", "snapshot")


class Recorder:
    """What is recorded of one cluster, if anything."""

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder
        self._mark = folder.path / RECORDING
        self._fd: int | None = None
        self.path: str | None = None
        self.count = self.size = 0
        self._go_on()

    def _go_on(self) -> None:
        """Take up what an earlier daemon recorded; without its file there is nothing to go on with."""
        try:
            path = self._mark.read_text("utf-8", "surrogateescape")
            self._fd = os.open(path, _OPEN)
            last = b"\n"
            with open(path, "rb") as file:
                while piece := file.read(1 << 20):
                    self.size, self.count, last = self.size + len(piece), self.count + piece.count(b"\n"), piece[-1:]
        except OSError:
            self.stop()
            return
        self.path = path
        if last != b"\n":
            self._write(b"\n")

    def start(
        self, path: str, now: int, owner: str, jobs: int, made_of: Mapping[str, Any], files: Mapping[str, str]
    ) -> None:
        """Record from now on. Raises Refusal.

        Parameters
        ----------
        made_of, files
            The header of the cluster's journal, and the texts of its configuration.
        owner
            The name of the cluster's owner.
        jobs
            How many the cluster has had.
        """
        if self.path is not None:
            raise Refusal(f"{self.path} is being recorded already")
        if not os.path.isabs(path):
            raise Refusal("a recording goes to a file: its whole path is expected")
        try:
            self._fd = os.open(path, _OPEN | os.O_CREAT | os.O_EXCL, 0o600)
            self.path, self.count, self.size = path, 0, 0
            own = {name: value for name, value in made_of.items() if name not in _NOT_OF_IT}
            head = {
                "format": FORMAT, "slurmsim": __version__, "at": now, "folder": str(self._folder.path),
                "owner": owner, "jobs": jobs, "made_of": own, "files": dict(files)
            }  # fmt: skip
            self._write(json.dumps(head).encode() + b"\n")
            mark = self._folder.open(RECORDING, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.write(mark, path.encode("utf-8", "surrogateescape"))
            os.close(mark)
        except OSError as error:
            self.stop()
            raise Refusal(f"{path}: {error.strerror}") from None

    def begin(self, now: int) -> dict[str, Any]:
        """Note that a command begins; return its number and its second."""
        if self.path is None:
            return {}
        self.count += 1
        return {"n": self.count, "began": now}

    def add(self, entry: Mapping[str, Any]) -> None:
        """Add a command that has ended. A full disk loses it."""
        if self.path is None:
            return
        line = json.dumps(entry).encode() + b"\n"
        if self.size + len(line) > MOST:
            self._write(json.dumps({"full": True}).encode() + b"\n")
            self.stop()
            return
        self._write(line)

    def _write(self, line: bytes) -> None:
        """Write the whole line or nothing of it: a part would spoil the next line."""
        assert self._fd is not None
        with suppress(OSError):
            written = os.write(self._fd, line)
            if written < len(line):
                os.ftruncate(self._fd, self.size)
            else:
                self.size += written

    def stop(self) -> None:
        """No more."""
        self._mark.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Give the file back; a daemon that comes later goes on."""
        if self._fd is not None:
            os.close(self._fd)
        self._fd = self.path = None
