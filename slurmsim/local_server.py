"""A small server of HTTP for clients of this machine: one request a connection, so many at once, no log.

slurmctld's own port (`slurmsim.rest.controller_port`) and the gauges of a twin that follows a cluster are served by it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

LOOPBACK = "127.0.0.1"
SILENT_S = 10.0
MOST_AT_ONCE = 64  # connections; those above are hung up on


class Page(NamedTuple):
    """What is answered: a status, the body and its type."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


class Handler(BaseHTTPRequestHandler):
    """One connection with one request; `answer` says what comes back."""

    timeout = SILENT_S
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "slurmsim", ""

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Page:
        """Return the answer to a request; `headers` have names in lower case."""
        raise NotImplementedError

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        told = self.answer(self.command, self.path, headers)
        self.send_response_only(told.status)
        self.send_header("Connection", "Close")
        if told.body:
            self.send_header("Content-Length", str(len(told.body)))
            self.send_header("Content-Type", told.content_type)
        self.end_headers()
        self.wfile.write(told.body)
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _serve

    def log_message(self, format: str, *args: Any) -> None:
        """Write no line for a request."""


class LocalServer(ThreadingHTTPServer):
    """Listens at an address. Raises OSError where it cannot."""

    daemon_threads = True
    request_queue_size = MOST_AT_ONCE

    def __init__(self, address: tuple[str, int], handler: type[Handler]) -> None:
        self._room = threading.BoundedSemaphore(MOST_AT_ONCE)
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind, without the name of this machine, which may take seconds to find."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return True for clients of this machine, as long as there is room."""
        here = client_address[0] == LOOPBACK or client_address[0] == request.getsockname()[0]
        return here and self._room.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection, and give its room back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away."""
