"""A connection to the daemon for a program that does other things meanwhile."""

import asyncio
import contextlib
import socket
from pathlib import Path
from typing import Any

from slurmsim.protocol import MAX_ANSWER, SOCKET, Refusal, Unreachable, connect, length_of, pack, unpack

_TIMEOUT_S = 5.0  # for a daemon that is there to accept


class Line:
    """One connection, made when it is needed; one request at a time."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder / SOCKET)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._lock = asyncio.Lock()

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Ask and wait. Raises Unreachable, and Refusal with Slurm's text."""
        async with self._lock:
            try:
                answer = await self._asked(pack({"call": name, "args": arguments}))
            except (OSError, EOFError, ValueError) as error:
                self.close()
                raise Unreachable(str(error), "receive") from None
            except BaseException:  # the caller has given up: the next answer would be taken for that of the next call
                self.close()
                raise
        if "refused" in answer:
            raise Refusal(answer["refused"][1], answer["refused"][0])
        found: dict[str, Any] = answer["ok"]
        return found

    async def _asked(self, message: bytes) -> dict[str, Any]:
        if self._streams is None:
            plain = await asyncio.to_thread(connect, self._path, _TIMEOUT_S)
            sock = socket.socket(fileno=plain.detach())
            sock.setblocking(False)
            self._streams = await asyncio.open_unix_connection(sock=sock)
        reader, writer = self._streams
        writer.write(message)
        await writer.drain()
        size = length_of(await reader.readexactly(4))
        if size > MAX_ANSWER:
            raise ValueError("answer too long")
        answer: dict[str, Any] = unpack(await reader.readexactly(size))
        return answer

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._streams[1].close()
            self._streams = None
