"""slurmctld's own port as 26.05 has it where `MetricsType` is set: health, and metrics for Prometheus.

A process beside the daemon, which begins it and ends it by closing its standard input. It answers clients of this
machine alone. Paths, statuses and texts are those of slurmctld 26.05 (http.c); `MetricsAuthUsers`, `MetricsParameters`
and `PrivateData` say who has to name a user by a token, and which users may ask.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from slurmsim.local_server import LOOPBACK, Handler, LocalServer, Page
from slurmsim.protocol import Client, Refusal, Unreachable
from slurmsim.rest.messages import TEXT, Answer, plain
from slurmsim.rest.metrics import Metrics

BIND_S = 10.0  # how long the port of a daemon that is ending is waited for
OPTIONS = ("MetricsAuthUsers", "MetricsParameters", "PrivateData", "SlurmUser")
UNAUTHORIZED = (401, "Invalid authentication credential")
FORBIDDEN = (403, "Operation not permitted")
UNKNOWN = (404, "Invalid or unknown URL path")
_INDEX = """\
slurmctld index of endpoints:
  '/readyz': check slurmctld is servicing RPCs
  '/livez': check slurmctld is running
  '/healthz': check slurmctld is running
  '/metrics': print available metric endpoints
"""
_METRICS_INDEX = """\
slurmctld index of metrics endpoints:
  '/metrics/jobs': get job metrics
  '/metrics/nodes': get node metrics
  '/metrics/partitions': get partition metrics
  '/metrics/jobs-users-accts': get user and account jobs metrics
  '/metrics/scheduler': get scheduler metrics
"""


def who_may_ask(options: Mapping[str, Any], owner: str = "root") -> frozenset[str] | None:
    """Return the users who may see metrics, SlurmUser, `owner` and root among them; None for all, without a token.

    `MetricsAuthUsers` decides where it is set. Without it `PrivateData` keeps metrics from users, unless
    `MetricsParameters=ignore_private_data` says that it does not matter.
    """
    named = _words(options.get("MetricsAuthUsers"))
    private = {word.casefold() for word in _words(options.get("PrivateData"))} - {"none"}
    ignored = "ignore_private_data" in {word.casefold() for word in _words(options.get("MetricsParameters"))}
    if not named and (not private or ignored):
        return None
    return frozenset({*named, "root", owner, str(options.get("SlurmUser") or "root")})


def _words(text: Any) -> list[str]:
    return [word.strip() for word in str(text or "").split(",") if word.strip() not in ("", "(null)")]


class ControllerPort:
    """What is answered, by method, path and headers (names in lower case).

    Parameters
    ----------
    client
        Asks the daemon, as the cluster's owner.
    user_of
        Returns the user of a token; None for one that is not valid.
    """

    def __init__(self, client: Client, user_of: Any) -> None:
        self._client, self._user_of = client, user_of
        self._owner = ""
        self._metrics = Metrics(client)
        self._line = threading.Lock()  # a client is one conversation

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Answer:
        """Return the answer to one request."""
        path, _, query = target.partition("?")
        if method == "GET":
            with suppress(KeyError):
                return self._of(path, query, headers)
        return _refused(UNKNOWN, method, path)

    def _of(self, path: str, query: str, headers: Mapping[str, str]) -> Answer:
        """Return the answer to a GET. Raises KeyError for a path that there is not."""
        if path == "/":
            return plain(200, _INDEX)
        if path in ("/livez", "/healthz") or (path == "/readyz" and query.casefold() != "verbose"):
            return Answer(204, b"", TEXT)
        if path != "/metrics" and path not in self._metrics.pages:
            raise KeyError(path)
        try:
            with self._line:
                wrong = self._wrong(headers)
                if wrong is not None:
                    return _refused(wrong, "GET", path)
                if path == "/metrics":
                    return plain(200, _METRICS_INDEX)
                return plain(200, "\n".join(self._metrics.pages[path]()) + "\n")
        except (Unreachable, Refusal) as away:
            return plain(503, f"{away.text}\n")

    def _wrong(self, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Return why a request may not see metrics; None if it may."""
        if not self._owner:
            self._owner = str(self._client.call("hello").get("user") or "root")
        allowed = who_may_ask(self._client.call("config", names=list(OPTIONS))["values"], self._owner)
        if allowed is None:
            return None
        token, bearer = headers.get("x-slurm-user-token"), headers.get("authorization")
        if (token is None) == (bearer is None) or (bearer is not None and not bearer.startswith("Bearer ")):
            return UNAUTHORIZED
        user = self._user_of(token if bearer is None else bearer.removeprefix("Bearer "))
        if user is None or headers.get("x-slurm-user-name") not in (None, "", user):
            return UNAUTHORIZED
        return None if user in allowed else FORBIDDEN


def _refused(why: tuple[int, str], method: str, path: str) -> Answer:
    return plain(why[0], f"slurmctld HTTP server request for '{method} {path}':\nFailed: {why[1]}\n")


class _Handler(Handler):
    port: ControllerPort
    server_version = "slurmctld"

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Page:
        told = self.port.answer(method, target, headers)
        return Page(told.status, told.body, told.content_type)


def addresses(host: str) -> list[str]:
    """Return the addresses to listen on: of this machine alone, and the one that the controller's name has."""
    found = [LOOPBACK]
    with suppress(OSError):
        found += [str(one[4][0]) for one in socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)]
    return list(dict.fromkeys(one for one in found if one == LOOPBACK or not one.startswith("127.")))


def _listening(address: str, port: int, handler: type[_Handler]) -> LocalServer:
    """Return a server; the port of a daemon that is ending is waited for. Raises OSError."""
    last = time.monotonic() + BIND_S
    while True:
        try:
            return LocalServer((address, port), handler)
        except OSError:
            if address != LOOPBACK or time.monotonic() > last:
                raise
            time.sleep(0.05)


def _user_of(folder: str) -> Any:
    """Return a function that tells the user of a token; no token is valid without the extra `rest`."""
    try:
        from slurmsim.rest import tokens
    except ImportError:
        return lambda token: None

    def user_of(token: str) -> str | None:
        return tokens.user_of(token, tokens.load_key(folder), time.time())

    return user_of


def main(words: list[str]) -> int:
    """Serve the cluster in a folder on a port until standard input ends; the exit code."""
    folder, port, host = words[0], int(words[1]), words[2]
    handler = type("Handler", (_Handler,), {"port": ControllerPort(Client(folder, None, 60.0), _user_of(folder))})
    for address in addresses(host):
        try:
            server = _listening(address, port, handler)
        except (OSError, OverflowError) as error:
            if address == LOOPBACK:
                why = getattr(error, "strerror", None) or "there is no such port"
                print(f"slurmsim: MetricsType: port {port}: {why}: no metrics there", file=sys.stderr)
                return 1
            continue  # the name of another machine, as in a copied slurm.conf
        threading.Thread(target=server.serve_forever, daemon=True).start()
    while os.read(0, 4096):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
