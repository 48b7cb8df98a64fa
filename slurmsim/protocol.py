"""Messages between commands and the daemon: JSON objects with a length before them, over a Unix socket.

A request is ``{"call": name, "args": {…}, "user": who to act as or null}``; an answer ``{"ok": {…}}`` or
``{"refused": [number, text]}`` with Slurm's error number and text. Who asks is the socket's peer, never the message.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Mapping
from typing import Any

MAX_REQUEST = 16 << 20
"""Bytes of one request: a script of 4 MiB, escaped at worst, and its environment."""
MAX_ANSWER = 1 << 30
_LENGTH = struct.Struct(">I")
SOCKET = "slurmctld.sock"
FOLDER_VARIABLE, USER_VARIABLE = "SLURMSIM_CLUSTER_DIR", "SLURMSIM_USER"


class Unreachable(Exception):
    """No daemon answers."""


class Refusal(Exception):
    """The daemon refuses: `text` is Slurm's, `number` its error number (0 where none is known)."""

    def __init__(self, text: str, number: int = 0) -> None:
        super().__init__(text)
        self.text, self.number = text, number


def pack(message: Mapping[str, Any]) -> bytes:
    """One message as it goes over the wire."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")
    return _LENGTH.pack(len(body)) + body


def unpack(body: bytes) -> Any:
    """The message in `body`, without its length. Raises ValueError for what is no message."""
    return json.loads(body.decode("utf-8", "surrogateescape"))


def length_of(header: bytes) -> int:
    """Length of the body that follows the four bytes `header`."""
    return int(_LENGTH.unpack(header)[0])


def state_folder(environ: Mapping[str, str]) -> str:
    """Where clusters live when nobody says otherwise."""
    base = environ.get("XDG_STATE_HOME") or os.path.join(environ.get("HOME") or "/", ".local", "state")
    return os.path.join(base, "slurmsim")


def cluster_folder(environ: Mapping[str, str]) -> str:
    """The folder of the cluster that commands talk to: the variable's, else what the file ``current`` names."""
    named = environ.get(FOLDER_VARIABLE)
    if named:
        return named
    base = state_folder(environ)
    try:
        with open(os.path.join(base, "current"), encoding="utf-8") as file:
            return file.read().strip() or os.path.join(base, "default")
    except OSError:
        return os.path.join(base, "default")


class Client:
    """A connection to one daemon, made at the first call.

    Parameters
    ----------
    folder
        The cluster's folder; its socket is in there.
    user
        Whom to act as; only the cluster's owner may. None: oneself.
    timeout_s
        How long to wait for an answer; None: for ever.
    """

    def __init__(self, folder: str, user: str | None = None, timeout_s: float | None = 60.0) -> None:
        self.folder, self.user, self.timeout_s = folder, user, timeout_s
        self._socket: socket.socket | None = None

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> Client:
        """The client for the cluster that the environment, or the file, names."""
        return cls(cluster_folder(environ), environ.get(USER_VARIABLE) or None)

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Ask and wait. Raises Unreachable, or Refusal with Slurm's text."""
        message = pack({"call": name, "args": arguments, "user": self.user})
        for again in (True, False):
            fresh = self._socket is None
            try:
                connection = self._connect()
                connection.sendall(message)
                answer = unpack(self._read(connection))
                break
            except (OSError, EOFError, ValueError) as error:
                self.close()
                if fresh or not again:
                    raise Unreachable(str(error)) from None
        if "refused" in answer:
            number, text = answer["refused"]
            raise Refusal(text, number)
        found: dict[str, Any] = answer["ok"]
        return found

    def patient(self) -> Client:
        """Another connection to the same daemon, for calls that are answered when there is something to tell."""
        return Client(self.folder, self.user, None)

    def post(self, name: str, **arguments: Any) -> int:
        """Ask without waiting for the answer; the descriptor it can be read from. Raises Unreachable."""
        try:
            connection = self._connect()
            connection.sendall(pack({"call": name, "args": arguments, "user": self.user}))
        except OSError as error:
            self.close()
            raise Unreachable(str(error)) from None
        return connection.fileno()

    def receive(self) -> dict[str, Any]:
        """The answer to `post`. Raises Unreachable and Refusal."""
        assert self._socket is not None
        try:
            answer = unpack(self._read(self._socket))
        except (OSError, EOFError, ValueError) as error:
            self.close()
            raise Unreachable(str(error)) from None
        if "refused" in answer:
            raise Refusal(answer["refused"][1], answer["refused"][0])
        found: dict[str, Any] = answer["ok"]
        return found

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> socket.socket:
        if self._socket is None:
            self._socket = connect(os.path.join(self.folder, SOCKET), self.timeout_s)
        return self._socket

    @staticmethod
    def _read(connection: socket.socket) -> bytes:
        length = length_of(_exactly(connection, _LENGTH.size))
        if length > MAX_ANSWER:
            raise ValueError("answer too long")
        return _exactly(connection, length)


def connect(path: str, timeout_s: float | None) -> socket.socket:
    """A connected socket. A path too long for a socket's name is reached through its folder's descriptor."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.settimeout(timeout_s)
    try:
        if len(os.fsencode(path)) < 100:
            found.connect(path)
        else:
            folder = os.open(os.path.dirname(path), os.O_RDONLY)
            try:
                found.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
            finally:
                os.close(folder)
    except OSError:
        found.close()
        raise
    return found


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise EOFError("the daemon hung up")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
