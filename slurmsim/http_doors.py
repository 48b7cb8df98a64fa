"""Connections of an HTTP server of this machine: each user has a quota, and a silent client is cut off.

The kernel names the user at the other end: by the credentials of a Unix socket, or by the socket table for a TCP
connection within this machine. A user who opens hundreds of connections, or sends half a head, does not keep other
users out.
"""

from __future__ import annotations

import resource
import socket
import struct
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

MOST_OF_PEER = 128  # connections of one user; those above take the place of his own oldest without a request
SILENT_S = 10.0  # seconds in which a connection has to bring a whole head
LOOK_S = 2.5
_SPARE = 128  # descriptors for everything else
_MOST = 4096
_CREDENTIALS = struct.Struct("3i")
# linux/sock_diag.h and linux/inet_diag.h: a request for the one socket with those two ends, and the answer
_SOCK_DIAG, _BY_FAMILY, _REQUEST = 4, 20, 1
_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBxI")
_ENDS = struct.Struct("!HH16s16s")
_REST = struct.Struct("=I8s")
_UID_AT = _HEADER.size + 4 + _ENDS.size + _REST.size + 12


def peer_of(connection: Any) -> int | None:
    """Return the uid at the other end; None where the kernel does not tell."""
    if connection.family == socket.AF_UNIX:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        return int(_CREDENTIALS.unpack(credentials)[1])
    try:
        return _asked_of_kernel(connection.family, connection.getpeername(), connection.getsockname())
    except (OSError, struct.error, IndexError):
        return None


def _asked_of_kernel(family: int, theirs: Any, ours: Any) -> int | None:
    """Return the owner of the socket at `theirs` that is connected to `ours`. Raises OSError."""
    ends = [socket.inet_pton(family, end[0]).ljust(16, b"\0") for end in (theirs, ours)]
    asked = (_ASKED.pack(family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + _ENDS.pack(theirs[1], ours[1], *ends)
             + _REST.pack(0, b"\xff" * 8))  # fmt: skip
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as kernel:
        kernel.settimeout(1.0)
        kernel.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 1, 0) + asked)
        answer = kernel.recv(4096)
    if len(answer) < _UID_AT + 4 or _HEADER.unpack_from(answer)[1] != _BY_FAMILY:
        return None
    return int(struct.unpack_from("=I", answer, _UID_AT)[0])


class Doors:
    """All connections of one server.

    Parameters
    ----------
    most_of_peer
        How many one user may have.
    silent_s
        Seconds without a request after which a connection is hung up on.
    peer_of
        Tells the user at the other end.
    """

    def __init__(
        self, most_of_peer: int = MOST_OF_PEER, silent_s: float = SILENT_S,
        peer_of: Callable[[Any], int | None] = peer_of,
    ) -> None:  # fmt: skip
        self.most_of_peer, self.silent_s, self._peer_of = most_of_peer, silent_s, peer_of
        self._of: dict[int | None, dict[Any, None]] = {}  # each peer's, the oldest first
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        self.most = max(32, (_MOST if soft == resource.RLIM_INFINITY else min(soft, _MOST)) - _SPARE)

    def enter(self, connection: Any, sock: Any) -> int | None:
        """Take a connection in, and hang up on what is too much; the peer, for `leave`."""
        peer = self._peer_of(sock)
        mine = self._of.setdefault(peer, {})
        mine[connection] = None
        if len(mine) > self.most_of_peer:
            self._make_room(peer)
        if sum(map(len, self._of.values())) > self.most:
            self._make_room(max(self._of, key=lambda one: len(self._of[one])))
        return peer

    def leave(self, connection: Any, peer: int | None) -> None:
        """Take note that `connection` is closed."""
        mine = self._of.get(peer, {})
        mine.pop(connection, None)
        if not mine:
            self._of.pop(peer, None)

    def _make_room(self, peer: int | None) -> None:
        """Hang up on a peer's oldest connection without a request, on the newest if all have one."""
        mine = self._of[peer]
        given_up = next((one for one in mine if not one.busy), None) or next(reversed(mine))
        del mine[given_up]
        given_up.hang_up()


def protocol(doors: Doors) -> Any:
    """Return uvicorn's HTTP protocol, for ``Config(http=…)``, with connections that go through `doors`."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Guarded(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._quiet_since = time.monotonic()
            self._look: asyncio.TimerHandle | None = None
            self._peer = doors.enter(self, transport.get_extra_info("socket"))
            self._look_again()

        @property
        def busy(self) -> bool:
            """True if a request is being answered."""
            return self.cycle is not None and not self.cycle.response_complete

        def _look_again(self) -> None:
            now = time.monotonic()
            if self.busy:
                self._quiet_since = now
            if now - self._quiet_since >= doors.silent_s:
                self.hang_up()
            else:
                self._look = self.loop.call_later(min(LOOK_S, doors.silent_s), self._look_again)

        def hang_up(self) -> None:
            """Close at once, whatever is on its way."""
            self.transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._look is not None:
                self._look.cancel()
            doors.leave(self, self._peer)
            super().connection_lost(exc)

    return Guarded
