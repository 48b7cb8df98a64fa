"""The page as a process: a port of this machine's own, an address to open, an end."""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import uvicorn

from slurmsim.errors import OutputError
from slurmsim.http_doors import Doors, protocol
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.web.app import make_app
from slurmsim.web.daemon_line import Line
from slurmsim.web.guard import Guard

_GONE_S = 5  # seconds for which a cluster may be away, for a page that ends with it
_NEVER = 1 << 62
_PATIENCE_S = 1  # for pages that are open when it ends


def serve(
    folder: Path, port: int, *, may_change: bool, with_cluster: bool, ready: Callable[[str], None],
    with_input: bool = False,
) -> None:  # fmt: skip
    """Serve the page of the cluster in `folder` until the process is interrupted.

    Parameters
    ----------
    port
        On 127.0.0.1; 0: any that is free.
    may_change
        Pages may change the clock, faults and nodes.
    with_cluster
        End when the daemon does.
    ready
        Is told the address.
    with_input
        End when standard input does: the process that holds its other end is gone.

    Raises
    ------
    OutputError
        The port cannot be had.
    """
    with _bound(port) as listening:
        number = listening.getsockname()[1]
        guard = Guard(make_app(folder, may_change=may_change), number)
        server = uvicorn.Server(uvicorn.Config(
            guard, log_level="critical", access_log=False, lifespan="off", server_header=False, date_header=False,
            timeout_graceful_shutdown=_PATIENCE_S, ws="none", loop="asyncio", http=protocol(Doors()),
        ))  # fmt: skip
        ready(f"http://127.0.0.1:{number}/?token={guard.token}")
        asyncio.run(_run(server, listening, folder if with_cluster else None, with_input=with_input))


async def _run(server: uvicorn.Server, listening: socket.socket, folder: Path | None, *, with_input: bool) -> None:
    if with_input:
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), _end_with_input, server)
    ends = asyncio.create_task(_end_with(folder, server)) if folder is not None else None
    try:
        await server.serve(sockets=[listening])
    finally:
        if ends is not None:
            ends.cancel()


def _end_with_input(server: uvicorn.Server) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        server.should_exit = True


async def _end_with(folder: Path, server: uvicorn.Server) -> None:
    """Notice that the daemon is gone: a question that is never answered ends then."""
    line, away = Line(folder), 0
    while away < _GONE_S:
        with contextlib.suppress(Unreachable, Refusal):
            await line.call("ping")
            away = 0
            await line.call("news", since=_NEVER)
        away += 1
        await asyncio.sleep(1)
    server.should_exit = True


def _bound(port: int) -> socket.socket:
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise OutputError(f"port {port}: {error.strerror}") from None
    return listening
