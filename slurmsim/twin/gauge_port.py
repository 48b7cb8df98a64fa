"""The gauges of a twin that follows a cluster, on a port of this machine (``slurmsim twin follow --port N``)."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from slurmsim.errors import ConfigError
from slurmsim.local_server import LOOPBACK, Handler, LocalServer, Page

GAUGES = "text/plain; version=0.0.4; charset=utf-8"
MOST_PORT = 65_535


class GaugePort:
    """Serves the text that was told last at ``/metrics``, and health at ``/healthz``, until it is closed.

    Raises ConfigError for a port that cannot be had.
    """

    def __init__(self, port: int) -> None:
        if not 0 <= port <= MOST_PORT:
            raise ConfigError(f"{port}", field="--port", expected=f"0 to {MOST_PORT}")
        self._text = b""
        try:
            self._server = LocalServer((LOOPBACK, port), type("Gauges", (_Gauges,), {"port": self}))
        except OSError as error:
            raise ConfigError(f"{port}: {error.strerror or error}", field="--port", expected="a free port") from None
        self.number = self._server.server_port
        threading.Thread(target=self._server.serve_forever, name="gauges", daemon=True).start()

    def tell(self, text: str) -> None:
        """Serve this from now on."""
        self._text = text.encode("utf-8")

    def page(self, method: str, target: str) -> Page:
        """Return the answer to a request."""
        path = target.partition("?")[0]
        if path not in ("/metrics", "/healthz", "/"):
            return Page(404, b"there are /metrics and /healthz\n")
        if method != "GET":
            return Page(405, b"only GET\n")
        if path == "/metrics":
            return Page(200, self._text, GAUGES)
        return Page(200, b"ok\n" if path == "/healthz" else b"/metrics\n/healthz\n")

    def close(self) -> None:
        """Serve nothing any more."""
        self._server.shutdown()
        self._server.server_close()


class _Gauges(Handler):
    port: GaugePort

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Page:
        return self.port.page(method, target)
