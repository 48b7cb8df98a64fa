"""Connections of clients: the user at the other end, whole messages in, whole answers out, no client starves others.

A client has one request on its way at a time. The server hangs up on a message that is garbage, too long or too slow,
and on a client that leaves its answer unread. Big messages share some memory (`bodies`), so that no client fills all of
it. When descriptors run short, the client that has been silent longest has to go. Other users than the owner have three
quarters of the connections together; beyond these, the user with most of them gives one up.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import struct
from collections.abc import Callable
from typing import Any, Protocol

from slurmsim.protocol import MAX_REQUEST, length_of, pack, unpack
from slurmsim.slurmctld.processes.allocation_clients import Holders
from slurmsim.slurmctld.server.bodies import Bodies

BIG = 256 << 10
ACCEPTED = 8  # turns of asyncio's loop, more than lie between a client's being accepted and `serve`
READ_S, WRITE_S = 30.0, 120.0
SPARE = 256  # descriptors for files, jobs and everything else
_PEER = struct.Struct("3i")


class Request(Protocol):
    """A request that was taken in; `future` is the answer, or that there will be one later in another future."""

    future: asyncio.Future[dict[str, Any]]


class Connections:
    """All clients of one server.

    Parameters
    ----------
    ask
        Takes in one message of a peer with that uid.
    leave
        Called with a request when its client waits for the answer no more.
    holders
        Told which connection looks after which allocation.
    """

    def __init__(self, ask: Callable[[Any, int], Request], leave: Callable[[Any], None], holders: Holders) -> None:
        self._ask, self._leave, self._holders = ask, leave, holders
        self._silent: dict[asyncio.StreamWriter, None] = {}  # between requests, the longest first
        self._all: dict[asyncio.StreamWriter, asyncio.Task[Any] | None] = {}
        self._bodies = Bodies()
        self._most = max(64, _descriptors() - SPARE)
        self._of: dict[int, dict[asyncio.StreamWriter, None]] = {}  # by uid, of users who are not the owner

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Talk to one client until it hangs up."""
        self._all[writer] = asyncio.current_task()
        while len(self._all) > self._most and self._silent:
            oldest = next(iter(self._silent))
            del self._silent[oldest]
            self._all.pop(oldest, None)
            oldest.transport.abort()
        held: set[int] = set()
        try:
            uid = _peer(writer.get_extra_info("socket"))
            if uid not in (0, os.geteuid()):
                self._of.setdefault(uid, {})[writer] = None
                self._leave_room()
            await self._talk(reader, writer, uid, held)
        except (asyncio.CancelledError, asyncio.IncompleteReadError, OSError, ValueError, KeyError, TypeError,
                AttributeError, RecursionError, MemoryError):  # fmt: skip
            pass  # the server ends; or the client hung up, is too slow, or talks something else
        finally:
            self._silent.pop(writer, None)
            self._all.pop(writer, None)
            for uid in [uid for uid, theirs in self._of.items() if writer in theirs]:
                self._give_up(uid, writer)
            writer.close()
            self._holders.leave(held)

    def _leave_room(self) -> None:
        """Hang up on a user who has too many connections: on the oldest that is silent, or else on the newest."""
        if 4 * sum(map(len, self._of.values())) <= 3 * self._most:
            return
        uid = max(self._of, key=lambda one: len(self._of[one]))
        theirs = self._of[uid]
        given_up = next((one for one in theirs if one in self._silent), None) or next(reversed(theirs))
        self._silent.pop(given_up, None)
        self._give_up(uid, given_up)
        given_up.transport.abort()

    def _give_up(self, uid: int, writer: asyncio.StreamWriter) -> None:
        del self._of[uid][writer]
        if not self._of[uid]:
            del self._of[uid]

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, uid: int, held: set[int]) -> None:
        while True:
            self._silent[writer] = None
            header = await reader.readexactly(4)
            self._silent.pop(writer, None)
            size = length_of(header)
            if size > MAX_REQUEST:
                return
            async with asyncio.timeout(READ_S):
                if size <= BIG:
                    body = await reader.readexactly(size)
                else:
                    body = await self._bodies.read(reader, writer, size)
            message = unpack(body)
            request = self._ask(message, uid)
            answer = await request.future
            if "wait" in answer.get("ok", ()):
                self._holders.take(message, answer["ok"], held)
                answer = await self._later(request, reader)
            self._holders.asked(message, answer, held)
            writer.write(pack(answer))
            if writer.transport.get_write_buffer_size():
                await asyncio.wait_for(writer.drain(), WRITE_S)

    async def _later(self, request: Request, reader: asyncio.StreamReader) -> dict[str, Any]:
        """Return the answer when it comes. Raises ConnectionError when the client hangs up before."""
        hung_up = asyncio.ensure_future(reader.read(1))
        either: set[asyncio.Future[Any]] = {request.future, hung_up}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if request.future.done():
                return request.future.result()
            raise ConnectionError
        finally:
            hung_up.cancel()
            self._leave(request)
            await asyncio.wait((hung_up,))  # the next request is read only when this read is over

    async def close(self) -> None:
        """Hang up on all clients, also on those that do not read; none is taken in or answered any more."""
        for _ in range(ACCEPTED):
            await asyncio.sleep(0)
        for writer in self._all:
            writer.transport.abort()
        talking = [task for task in self._all.values() if task is not None]
        if talking:
            await asyncio.wait(talking)  # not cancelled, because wait_for may lose that


def more_descriptors() -> None:
    """Let this process open as many files as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _descriptors() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 65_536 if soft == resource.RLIM_INFINITY else min(soft, 65_536)


def _peer(connection: socket.socket) -> int:
    """Return the uid at the other end."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    return int(_PEER.unpack(credentials)[1])
