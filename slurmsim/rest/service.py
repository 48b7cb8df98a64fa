"""One HTTP request in, one answer out: who asks, which path, which form; no web framework and no waiting.

What a handler finds goes into the document that slurmrestd wraps around everything; statuses and plain texts are those
of the release.
"""

from __future__ import annotations

import json
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from slurmsim.commands.json import frame
from slurmsim.protocol import Client, Refusal, TimedOut, Unreachable
from slurmsim.releases import row
from slurmsim.rest import messages, routes
from slurmsim.rest.calls import Call
from slurmsim.rest.messages import NOBODY, Answer, Failure, Found, Rejected, Request, form_of, plain, written
from slurmsim.rest.metrics import Metrics
from slurmsim.rest.openapi import specification
from slurmsim.rest.routes import Route

MOST_BODY = 32 << 20
_KINDS = {"slurm": ("openapi/slurmctld", "Slurm OpenAPI slurmctld"),
          "slurmdb": ("openapi/slurmdbd", "Slurm OpenAPI slurmdbd"),
          "util": ("openapi/util", "Slurm OpenAPI util")}  # fmt: skip
_SPECIFICATION = {"/openapi", "/openapi/v3", "/openapi.json", "/openapi.yaml"}
_JWT, _LOCAL = "rest_auth/jwt", "rest_auth/local"


class Service:
    """slurmrestd for one cluster.

    Parameters
    ----------
    folder
        The cluster's.
    release
        The Slurm release it is like.
    cluster
        Its name.
    user
        Whom requests over the Unix socket act as; None: whoever runs this.
    accounting
        Whether there is a database.
    authentication
        Which kinds are taken: `rest_auth/local`, `rest_auth/jwt`.
    plugins
        Which paths are served: ``slurmctld``, ``slurmdbd``.
    versions
        Which data_parser versions are; None: all there are.
    user_of
        Whose token it is; None for one that is not valid.
    host
        Where slurmctld runs, for who cannot be told by it.
    """

    def __init__(
        self, folder: str, release: str, cluster: str, *, user: str | None = None, accounting: bool = True,
        authentication: frozenset[str] = frozenset({_JWT, _LOCAL}), plugins: frozenset[str] = routes.PLUGINS,
        versions: tuple[int, ...] | None = None, user_of: Callable[[str], str | None] | None = None,
        host: str = "localhost",
    ) -> None:  # fmt: skip
        self.folder, self.release, self.cluster, self.accounting = folder, release, cluster, accounting
        self._user, self._user_of, self._authentication = user, user_of, authentication
        self._routes = routes.table(release, plugins, versions)
        self.versions = routes.served(release, versions)
        self._plugins, self.host = plugins, host
        self._clients: dict[str | None, Client] = {}
        self.metrics = Metrics(self._client(user))
        self._line = threading.Lock()  # a client of the daemon is one conversation
        self.hosts: frozenset[str] | None = None
        """Names under which it may be asked over TCP; None: any."""

    def answer(self, request: Request) -> Answer:
        """The answer, whatever the request is; requests of several threads are carried out one after the other."""
        try:
            with self._line:
                return self._answer(request)
        except Failure as failure:
            return plain(failure.status, failure.text)
        except Exception:  # our bug: who asks is told no more than that
            traceback.print_exc()
            return plain(500, "slurmsim: internal error")

    def _answer(self, request: Request) -> Answer:
        self._check_site(request)
        if len(request.body) > MOST_BODY:
            raise Failure(413, "Request entity too large")
        if request.path in _SPECIFICATION and request.method == "GET":
            self._person(request)
            form = messages.YAML if request.path.endswith(".yaml") else messages.JSON
            document = specification(self.release, self._plugins, self.versions)
            return Answer(200, written(document, form), form)
        if request.method == "GET":
            told = self.metrics.answer(request.path, self.release)
            if told is not None:
                return told
        found = routes.find(self._routes, request.method, request.path)
        if found is None:
            raise Failure(404, row(messages.NOT_FOUND, self.release))
        user = self._person(request)
        route, version, parts = found
        form = form_of(request.headers.get("accept", ""), self.release)
        return self._handled(request, route, version, parts, user, form)

    @contextmanager
    def _meanwhile(self) -> Iterator[None]:
        """Others are answered while one request waits."""
        self._line.release()
        try:
            yield
        finally:
            self._line.acquire()

    def _check_site(self, request: Request) -> None:
        """A page of another site that a browser shows must not ask, nor one that pretends to be us. Raises Failure."""
        if request.local:
            return
        host = request.headers.get("host", "").lower()
        if self.hosts is not None and host not in self.hosts:
            raise Failure(403, "Host is not one of this server's names")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
            raise Failure(403, "Origin is another site")

    def _person(self, request: Request) -> str | None:
        """Who asks. Raises Failure.

        A token that is not valid is found out by slurmctld, not here: whoever has one is let in, and refused by it.
        """
        headers = request.headers
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        token = headers.get("x-slurm-user-token") or (bearer.strip() if kind.lower() == "bearer" else "")
        if request.local and _LOCAL in self._authentication and not token:
            return self._user
        if not token or _JWT not in self._authentication or self._user_of is None:
            raise Failure(401, messages.UNAUTHORIZED)
        user = self._user_of(token)
        named = headers.get("x-slurm-user-name")
        return NOBODY if user is None or (named and named != user) else user

    def _client(self, user: str | None) -> Client:
        return self._clients.setdefault(user, Client(self.folder, user, 60.0))

    def _handled(
        self, request: Request, route: Route, version: int, parts: dict[str, str], user: str | None, form: str
    ) -> Answer:
        try:
            body = self._body(request) if route.method in ("POST", "DELETE") else None
            call = Call(self.release, self.host, self._client(user), version, parts, dict(request.query), body, user,
                        self._meanwhile)  # fmt: skip
            if user == NOBODY and not route.reports_down:
                raise Rejected(
                    "Protocol authentication error", 1007, "Protocol authentication error", route.source, 511
                )
            found = route.handler(call)
        except Rejected as rejected:
            status = rejected.status or messages.refused_status(self.release)
            found = Found(rejected.entries, [rejected.error, *rejected.more], rejected.warnings, status)
        except Refusal as refusal:
            text = refusal.text.rsplit("\n", 1)[-1]
            error = {"description": "Slurm refuses the request", "error_number": call.number_of(refusal), "error": text,
                     "source": route.source}  # fmt: skip
            found = Found({}, [error], status=messages.refused_status(self.release))
        except Unreachable as away:
            error = {"description": "Unable to reach the controller", "error_number": away.number, "error": away.text,
                     "source": route.source}  # fmt: skip
            found = Found({}, [error], status=504 if isinstance(away, TimedOut) else 502)
        if found.status == 304:
            return Answer(304, b"", form)
        storage = frame.DATABASE if self.accounting else ""
        made_by = frame.plugin(*_KINDS[route.plugin], version, storage)
        client = {"source": request.peer, "user": user if user and user != NOBODY else self._user or "", "group": ""}
        document = frame.document(
            found.entries, self.release, made_by, client, [], self.cluster, found.errors, found.warnings
        )
        return Answer(found.status, written(document, form), form)

    def _body(self, request: Request) -> Any:
        """The body as data; None for none. Raises Failure."""
        if not request.body.strip():
            return None
        kind = request.headers.get("content-type", messages.JSON).partition(";")[0].strip().lower()
        try:
            text = request.body.decode("utf-8")
            if kind == messages.JSON or kind == "":
                return json.loads(text, parse_constant=_no_constant)
            if kind in messages.YAML_TYPES:
                return _yaml(text)
        except (ValueError, RecursionError):
            raise Failure(400, row(messages.UNPARSABLE, self.release)) from None
        raise Failure(415, row(messages.UNKNOWN_CONTENT, self.release))

    def close(self) -> None:
        """Hang up."""
        for client in self._clients.values():
            client.close()


def _no_constant(text: str) -> None:
    raise ValueError(text)


def _yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def now() -> float:
    """The machine's time, which tokens run out by."""
    return time.time()
