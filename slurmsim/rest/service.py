"""One HTTP request in, one answer out: who asks, which path, which form; no web framework and no waiting.

A request is judged by its head (`Service.head`) before its body is read at all; bodies are read outside the line in
which requests are carried out.

What a handler finds goes into the document that slurmrestd wraps around everything; statuses and plain texts are those
of the release.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from slurmsim.commands.json import frame
from slurmsim.protocol import Client, Refusal, TimedOut, Unreachable
from slurmsim.releases import row
from slurmsim.rest import messages, routes
from slurmsim.rest.body_text import MOST_BODY, read_json
from slurmsim.rest.calls import Call, number_of
from slurmsim.rest.messages import Answer, Failure, Found, Person, Rejected, Request, Visit, form_of, plain, written
from slurmsim.rest.metrics import Metrics
from slurmsim.rest.openapi import specification
from slurmsim.rest.routes import Route
from slurmsim.yaml_text import Unreadable, read_yaml

T = TypeVar("T")
_KINDS = {"slurm": ("openapi/slurmctld", "Slurm OpenAPI slurmctld"),
          "slurmdb": ("openapi/slurmdbd", "Slurm OpenAPI slurmdbd"),
          "util": ("openapi/util", "Slurm OpenAPI util")}  # fmt: skip
_SPECIFICATION = {"/openapi", "/openapi/v3", "/openapi.json", "/openapi.yaml"}
_JWT, _LOCAL = "rest_auth/jwt", "rest_auth/local"


class Service:
    """slurmrestd for one cluster.

    Parameters
    ----------
    release
        The Slurm release it is like.
    user
        The user that requests over the Unix socket act as; None: the user who runs this.
    accounting
        Whether there is a database.
    authentication
        Which kinds are taken: `rest_auth/local`, `rest_auth/jwt`.
    plugins
        Which paths are served: ``slurmctld``, ``slurmdbd``.
    versions
        Which data_parser versions are; None: all there are.
    user_of
        Returns the user of a token; None for a token that is not valid.
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
        self._clients: dict[Person, Client] = {}
        self._documents: dict[str, bytes] = {}
        self.metrics = Metrics(Client(folder, user, 60.0))
        self._line, self._metrics_line = threading.Lock(), threading.Lock()  # a client is one conversation
        self.hosts: frozenset[str] | None = None
        """Names under which it may be asked over TCP; None: any."""

    def answer(self, request: Request) -> Answer:
        """Return the answer, whatever the request is; those of several threads are carried out one after the other."""
        visit = self.head(request)
        return visit if isinstance(visit, Answer) else self.carry_out(visit, request.body)

    def head(self, request: Request) -> Visit | Answer:
        """Return what is left to do after the head of a request was judged, or the answer; its body is not read."""
        return self._guarded(lambda: self._visit(request))

    def carry_out(self, visit: Visit, body: bytes) -> Answer:
        """Return the answer to a visit, with its body where it takes one."""
        return self._guarded(lambda: visit.answer(body))

    def _guarded(self, what: Callable[[], T]) -> T | Answer:
        try:
            return what()
        except Failure as failure:
            return plain(failure.status, failure.text)
        except Exception:  # our bug: who asks is told no more than that
            traceback.print_exc()
            return plain(500, "slurmsim: internal error")

    def _visit(self, request: Request) -> Visit:
        self._check_site(request)
        if request.path in _SPECIFICATION and request.method == "GET":
            self._person(request)
            form = messages.YAML if request.path.endswith(".yaml") else messages.JSON
            return Visit(lambda _: Answer(200, self._specification(form), form))
        if request.method == "GET" and request.path.startswith("/metrics"):
            return Visit(lambda _: self._metrics(request.path))
        found = routes.find(self._routes, request.method, request.path)
        if found is None:
            raise Failure(404, row(messages.NOT_FOUND, self.release))
        person = self._person(request)
        form = form_of(request.headers.get("accept", ""), self.release)
        takes_body = found[0].method in ("POST", "DELETE") and person.valid
        return Visit(lambda body: self._handled(request, found, person, form, body), takes_body)

    def _specification(self, form: str) -> bytes:
        """Return the OpenAPI document, made once."""
        if form not in self._documents:
            self._documents[form] = written(specification(self.release, self._plugins, self.versions), form)
        return self._documents[form]

    def _metrics(self, path: str) -> Answer:
        """Return the metrics. Any client may ask, so they have a connection of their own and delay only each other."""
        try:
            with self._metrics_line:
                told = self.metrics.answer(path, self.release)
        except Unreachable as away:
            return plain(504 if isinstance(away, TimedOut) else 502, f"{away.text}\n")
        if told is None:
            raise Failure(404, row(messages.NOT_FOUND, self.release))
        return told

    @contextmanager
    def _meanwhile(self) -> Iterator[None]:
        """Others are answered while one request waits."""
        self._line.release()
        try:
            yield
        finally:
            self._line.acquire()

    def _check_site(self, request: Request) -> None:
        """Raise Failure for a request of another site's page in a browser, or of one that pretends to be ours."""
        if request.local:
            return
        host = request.headers.get("host", "").lower()
        if self.hosts is not None and host not in self.hosts:
            raise Failure(403, "Host is not one of this server's names")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
            raise Failure(403, "Origin is another site")

    def _person(self, request: Request) -> Person:
        """Return the user of a request. Raises Failure.

        slurmctld finds out that a token is not valid, not this: the request is let in, and slurmctld refuses it.
        """
        headers = request.headers
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        token = headers.get("x-slurm-user-token") or (bearer.strip() if kind.lower() == "bearer" else "")
        if request.local and _LOCAL in self._authentication and not token:
            return Person(self._user)
        if not token or _JWT not in self._authentication or self._user_of is None:
            raise Failure(401, messages.UNAUTHORIZED)
        user = self._user_of(token)
        named = headers.get("x-slurm-user-name")
        return Person(user, by_token=True, valid=user is not None and named in (None, "", user))

    def connect(self, person: Person) -> Client:
        """Return a connection for a person: the daemon judges the user of a token, not the owner who runs this."""
        return Client(self.folder, person.user, 60.0, asks=person.by_token)

    def _client(self, person: Person) -> Client:
        if person not in self._clients:
            self._clients[person] = self.connect(person)
        return self._clients[person]

    def _handled(
        self, request: Request, asked: tuple[Route, int, dict[str, str]], person: Person, form: str, data: bytes
    ) -> Answer:
        route, version, parts = asked
        found = self._found(request, route, version, parts, person, self._body(request, data))
        if found.status == 304:
            return Answer(304, b"", form)
        storage = frame.DATABASE if self.accounting else ""
        made_by = frame.plugin(*_KINDS[route.plugin], version, storage)
        user = person.user if person.valid else None
        client = {"source": request.peer, "user": user or self._user or "", "group": ""}
        document = frame.document(
            found.entries, self.release, made_by, client, [], self.cluster, found.errors, found.warnings
        )
        return Answer(found.status, written(document, form), form)

    def _found(
        self, request: Request, route: Route, version: int, parts: dict[str, str], person: Person, body: Any
    ) -> Found:
        """Return what the handler finds, or why it does not."""
        try:
            if not person.valid and not route.reports_down:
                raise Rejected(
                    "Protocol authentication error", 1007, "Protocol authentication error", route.source, 511
                )
            with self._line:
                call = Call(self.release, self.host, self._client(person), version, parts, dict(request.query), body,
                            person, self._meanwhile)  # fmt: skip
                return route.handler(call)
        except Rejected as rejected:
            status = rejected.status or messages.refused_status(self.release)
            return Found(rejected.entries, [rejected.error, *rejected.more], rejected.warnings, status)
        except Refusal as refusal:
            text = refusal.text.rsplit("\n", 1)[-1]
            error = {"description": "Slurm refuses the request", "error_number": number_of(refusal, self.release),
                     "error": text, "source": route.source}  # fmt: skip
            return Found({}, [error], status=messages.refused_status(self.release))
        except Unreachable as away:
            error = {"description": "Unable to reach the controller", "error_number": away.number, "error": away.text,
                     "source": route.source}  # fmt: skip
            return Found({}, [error], status=504 if isinstance(away, TimedOut) else 502)

    def _body(self, request: Request, data: bytes) -> Any:
        """Return the body as data; None for none. Raises Failure. No other request waits for it."""
        if request.method not in ("POST", "DELETE") or not data.strip():
            return None
        kind = request.headers.get("content-type", messages.JSON).partition(";")[0].strip().lower()
        read = read_json if kind in (messages.JSON, "") else read_yaml if kind in messages.YAML_TYPES else None
        if len(data) > MOST_BODY:
            raise Failure(413, "Request entity too large")
        if read is None:
            raise Failure(415, row(messages.UNKNOWN_CONTENT, self.release))
        try:
            return read(data)
        except Unreadable:
            raise Failure(400, row(messages.UNPARSABLE, self.release)) from None

    def close(self) -> None:
        """Hang up."""
        for client in (*self._clients.values(), self.metrics.client):
            client.close()


def now() -> float:
    """Return the machine's time, which tokens run out by."""
    return time.time()
