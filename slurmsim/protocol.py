"""Messages between commands and the daemon: JSON objects with a length before them, over a Unix socket.

A request is ``{"call": name, "args": {…}, "user": who to act as or null}``; an answer ``{"ok": {…}}`` or
``{"refused": [number, text]}`` with Slurm's error number and text. Who asks is the socket's peer, never the message. A
server that passes on what others ask says so with ``"asks": true``: then `user` himself asks, and is judged as a peer.
"""

from __future__ import annotations

import os
import time

from slurmsim import wire_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence
    from typing import Any
else:
    import _socket as socket  # of which the standard module is a wrapper that takes as long to load as Python to start


MAX_REQUEST = 16 << 20  # bytes of one request: a script of 4 MiB, escaped at worst, and its environment
MAX_ANSWER = 1 << 30
_LENGTH = 4  # bytes of a length, the highest first
SOCKET = "slurmctld.sock"
FOLDER_VARIABLE, USER_VARIABLE = "SLURMSIM_CLUSTER_DIR", "SLURMSIM_USER"
PATIENCE_VARIABLE = "SLURMSIM_MESSAGE_TIMEOUT"
"""Seconds instead of slurm.conf's MessageTimeout, for tests that do not want to wait."""
MESSAGE_TIMEOUT_S = 10.0
FAULTS = "faults"
RECORDING = "recording"
"""The file in a cluster's folder that is there while commands have to ask which faults they meet."""
CURRENT = "current"  # the small file in the user's state folder that names the default cluster of commands
HOME: str | None = None  # the cluster that has this program in its folder; set by the programs of a cluster


class Unreachable(Exception):
    """No daemon answers; `step` says what did not work, in Slurm's words: ``connect``, ``send`` or ``receive``."""

    number = 1800  # SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR

    def __init__(self, why: str, step: str = "connect") -> None:
        super().__init__(why)
        self.step = step

    @property
    def text(self) -> str:
        """What Slurm's commands say."""
        return f"Unable to contact slurm controller ({self.step} failure)"


class TimedOut(Unreachable):
    """No answer came in time; the request may have been carried out."""

    number = 5004  # SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT

    def __init__(self) -> None:
        super().__init__("timed out", "receive")

    @property
    def text(self) -> str:
        return "Socket timed out on send/recv operation"


INVALID_JOB = "Invalid job id specified"
DENIED = "Access/permission denied"
BAD_REQUEST = "Invalid argument"  # what slurmctld answers to a message it cannot use (slurmctld_req, 22.05)
BAD_NUMBER = 22  # EINVAL
NO_DEFAULT_QOS = "This request would make it so some associations would not have access to their default qos."

SUPER_USER = "You must be a super user to modify a users admin level"


class Refusal(Exception):
    """The daemon refuses: `text` is Slurm's, `number` its error number (0 where none is known)."""

    def __init__(self, text: str, number: int = 0) -> None:
        super().__init__(text)
        self.text, self.number = text, number


def alike(values: Sequence[Any]) -> bool:
    """Return True if all rows of a column say the same, as in most of a long queue; 1 and True are not the same."""
    if not values:
        return True
    first = values[0]
    if values[-1] != first or values.count(first) != len(values):
        return False
    return not isinstance(first, (int, float)) or len(set(map(type, values))) == 1


def pack(message: Mapping[str, Any]) -> bytes:
    """One message as it goes over the wire."""
    text = wire_json.dumps(message)
    try:
        body = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 has no bytes for
        body = text.encode("utf-8", "surrogatepass")
    return len(body).to_bytes(_LENGTH, "big") + body


def unpack(body: bytes) -> Any:
    """Return the message in `body`, without its length. Raises ValueError for what is no message."""
    return wire_json.loads(body.decode("utf-8", "surrogateescape"))


def length_of(header: bytes) -> int:
    """Length of the body that follows the four bytes `header`."""
    return int.from_bytes(header, "big")


def state_folder(environ: Mapping[str, str]) -> str:
    """Return the default folder of clusters."""
    base = environ.get("XDG_STATE_HOME") or os.path.join(environ.get("HOME") or "/", ".local", "state")
    return os.path.join(base, "slurmsim")


def cluster_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of the commands' cluster: the variable's, the program's own, or what `CURRENT` names."""
    named = environ.get(FOLDER_VARIABLE) or HOME
    if named:
        return named
    base = state_folder(environ)
    try:
        with open(os.path.join(base, CURRENT), encoding="utf-8") as file:
            return file.read().strip() or os.path.join(base, "default")
    except OSError:
        return os.path.join(base, "default")


def message_timeout(folder: str, environ: Mapping[str, str]) -> float:
    """Seconds for which commands try to reach the controller: MessageTimeout of slurm.conf, or the variable's."""
    named = environ.get(PATIENCE_VARIABLE)
    if named:
        try:
            return float(named)
        except ValueError:
            return 0.0
    try:
        with open(os.path.join(folder, "slurm.conf"), encoding="utf-8", errors="replace") as file:
            for line in file:
                key, _, value = line.partition("=")
                if key.strip().lower() == "messagetimeout":
                    return float(value.split()[0])
    except (OSError, ValueError, IndexError):
        pass
    return MESSAGE_TIMEOUT_S


class Client:
    """A connection to one daemon, made at the first call.

    Parameters
    ----------
    folder
        The cluster's folder; its socket is in there.
    user
        The user to act as; only the cluster's owner may name another user. None: the caller.
    asks
        `user` himself asks, by a token: the daemon judges him, not the owner who passes his request on.
    timeout_s
        How long to wait for an answer; None: for ever.
    patience_s
        How long to try to connect when no daemon is there.
    """

    def __init__(
        self, folder: str, user: str | None = None, timeout_s: float | None = 60.0, patience_s: float = 0.0, *,
        asks: bool = False,
    ) -> None:  # fmt: skip
        self.folder, self.user, self.timeout_s, self.patience_s = folder, user, timeout_s, patience_s
        self.asks = asks
        # timed_out: a daemon was there and did not answer in time
        self.timed_out = self._heard = False
        self._socket: socket.socket | None = None

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> Client:
        """Return the client for the cluster of the environment, or of the file; as patient as Slurm's commands."""
        folder = cluster_folder(environ)
        patience = message_timeout(folder, environ)
        return cls(folder, environ.get(USER_VARIABLE) or None, patience or None, patience)

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Ask and wait. Raises Unreachable (TimedOut for a daemon that is silent), or Refusal with Slurm's text.

        Nothing is asked twice: once a request is sent, its answer is lost if the daemon goes away.
        """
        self.post(name, **arguments)
        return self.receive()

    def patient(self) -> Client:
        """Another connection to the same daemon, for calls that are answered when there is something to tell."""
        return Client(self.folder, self.user, None, self.patience_s, asks=self.asks)

    def post(self, name: str, **arguments: Any) -> int:
        """Ask without waiting for the answer; the descriptor it can be read from. Raises Unreachable and Refusal.

        A daemon that has never answered is waited for once, not at every call.
        """
        if self.timed_out and not self._heard:
            raise TimedOut
        asked: dict[str, Any] = {"call": name, "args": arguments, "user": self.user}
        message = pack({**asked, "asks": True} if self.asks else asked)
        if len(message) - _LENGTH > MAX_REQUEST:  # the daemon would hang up, and look as if it were away
            raise Refusal(f"a request of {len(message):,} bytes; slurmsim takes {MAX_REQUEST:,} at most")
        try:
            self._send(message)
        except OSError as error:
            raise self._lost(error, "send") from None
        assert self._socket is not None
        return self._socket.fileno()

    def _lost(self, error: Exception, step: str) -> Unreachable:
        """Hang up: what to raise for what went wrong in that step."""
        self.close()
        if isinstance(error, TimeoutError):
            self.timed_out = True
            return TimedOut()
        return Unreachable(str(error), step)

    def receive(self) -> dict[str, Any]:
        """Return the answer to `post`. Raises Unreachable and Refusal."""
        assert self._socket is not None
        try:
            answer = unpack(self._read(self._socket))
        except (OSError, EOFError, ValueError) as error:
            raise self._lost(error, "receive") from None
        self._heard = True
        if "refused" in answer:
            raise Refusal(answer["refused"][1], answer["refused"][0])
        found: dict[str, Any] = answer["ok"]
        return found

    def _send(self, message: bytes) -> None:
        """Send on the connection there is; if the daemon hung up since the last call, on a new one."""
        if self._socket is not None:
            try:
                self._socket.sendall(message, socket.MSG_NOSIGNAL)
                return
            except OSError:
                self.close()
        self._socket = self._connect()
        self._socket.sendall(message, socket.MSG_NOSIGNAL)

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> socket.socket:
        """Return a connection; try once a second while patience lasts, then never again, as the commands do."""
        path = os.path.join(self.folder, SOCKET)
        tries = max(1, int(self.patience_s)) if os.path.isdir(self.folder) else 1
        self.patience_s = 0.0
        for left in range(tries - 1, -1, -1):
            try:
                return connect(path, self.timeout_s)
            except OSError as error:
                if not left:
                    raise Unreachable(str(error)) from None
            time.sleep(1)
        raise AssertionError("unreachable: the last try raises")

    @staticmethod
    def _read(connection: socket.socket) -> bytes:
        length = length_of(_exactly(connection, _LENGTH))
        if length > MAX_ANSWER:
            raise ValueError("answer too long")
        return _exactly(connection, length)


def connect(path: str, timeout_s: float | None) -> socket.socket:
    """Return a connected socket, at run time the plain one of `_socket`, which is no context manager.

    A path too long for a socket's name is reached through its folder's descriptor.
    """
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.settimeout(timeout_s)
    last = None if timeout_s is None else time.monotonic() + timeout_s
    try:
        while True:
            try:
                _open(found, path)
                return found
            except BlockingIOError:  # so many want to connect that even the queue for it is full
                if last is not None and time.monotonic() > last:
                    raise
                time.sleep(0.01)
    except OSError:
        found.close()
        raise


def _open(connection: socket.socket, path: str) -> None:
    if len(os.fsencode(path)) < 100:
        connection.connect(path)
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    finally:
        os.close(folder)


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise EOFError("the daemon hung up")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
