"""The routes of the page: its files, what happens as server-sent events, why a job waits, and what may be done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from slurmsim.errors import SlurmSimError
from slurmsim.faults.kinds import KINDS
from slurmsim.faults.rule import settings_of
from slurmsim.json_text import loads
from slurmsim.live.faults import spoken
from slurmsim.live.settings import seconds_of
from slurmsim.live.waiting.explain import explain
from slurmsim.live.waiting.text import as_text
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.report.web.assets import content
from slurmsim.web.daemon_line import Line
from slurmsim.web.watch import Watch

MOST_BODY = 1 << 16
_READ_S = 10.0
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
_SHARED = ("page.css", "theme.js", "common.js", "vendored/tabulator.min.js", "vendored/tabulator_simple.min.css",
           "workbench.css")  # fmt: skip
"""Files of the pages of runs."""
_OWN = ("index.html", "watch.css", "watch.js", "picture.js")
_DOES = {
    "clock": ("action", "seconds", "rate"), "inject": ("what", "given"), "end_fault": ("id",),
    "node_action": ("action", "nodes", "reason"),
}  # fmt: skip
"""Requests that a page may make of the daemon if its owner allows it, and their arguments."""


def make_app(folder: Path, *, may_change: bool) -> Starlette:
    """Return the page of the cluster in `folder`; `may_change`: its clock, faults and nodes too."""
    page = _Page(folder, may_change)
    routes = [
        Route("/", page.index), Route("/events", page.events), Route("/why", page.why), Route("/faults", page.kinds),
        Route("/do/{call}", page.do, methods=["POST"]),
        *(Route(f"/{name}", _file(name)) for name in (*_SHARED, *_OWN[1:])),
    ]  # fmt: skip
    return Starlette(routes=routes)


def _text(name: str) -> str:
    if name in _OWN:
        return files(__package__).joinpath("page", name).read_text("utf-8")
    return content(name)


def _file(name: str) -> Any:
    async def answer(request: Request) -> Response:
        return Response(_text(name), media_type=_TYPES[name.rpartition(".")[2]])

    return answer


class _Page:
    def __init__(self, folder: Path, may_change: bool) -> None:
        self._folder, self._may_change = folder, may_change
        self._watch = Watch(folder, may_change=may_change)
        self._line = Line(folder)
        self._asked_why = asyncio.Lock()  # a copy of the cluster is made for it: one at a time

    async def index(self, request: Request) -> Response:
        return Response(_text("index.html"), media_type="text/html")

    async def events(self, request: Request) -> Response:
        """Send what the cluster is like, then what is new, one event each."""

        async def told() -> AsyncIterator[str]:
            yield "retry: 1000\n\n"
            async for message in self._watch.pages():
                yield f"data: {message}\n\n" if message else ": still there\n\n"

        return StreamingResponse(told(), media_type="text/event-stream")

    async def why(self, request: Request) -> Response:
        """Why ``job`` waits, in sentences (`slurmsim.live.waiting.explain`)."""
        job = request.query_params.get("job", "")
        try:
            now = int((await self._line.call("clock", action="show"))["now"])
            async with self._asked_why:
                found = await asyncio.to_thread(explain, self._folder, job, now)
        except (SlurmSimError, Refusal, Unreachable) as error:
            return JSONResponse({"error": getattr(error, "text", str(error))}, 404)
        return JSONResponse({"lines": [line for line in as_text(found).splitlines() if line]})

    async def kinds(self, request: Request) -> Response:
        """Return the faults there can be, and what may be said of each."""
        return JSONResponse({
            name: {"about": kind.about, "of": kind.of,
                   "settings": {one: {"about": p.about, "needed": p.needed} for one, p in settings_of(name).items()}}
            for name, kind in KINDS.items()
        })  # fmt: skip

    async def do(self, request: Request) -> Response:
        """Change something."""
        if not self._may_change:
            return JSONResponse({"error": "this page only watches: slurmsim web --control may do more"}, 403)
        call = request.path_params["call"]
        try:
            arguments = _arguments(call, await _body(request))
            return JSONResponse(await self._line.call(call, **arguments))
        except (ValueError, SlurmSimError, Refusal, Unreachable) as error:
            return JSONResponse({"error": getattr(error, "text", str(error))}, 400)


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object that was sent. Raises ValueError."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise ValueError("application/json is expected")
    parts, size = [], 0
    try:
        async with asyncio.timeout(_READ_S):
            async for part in request.stream():
                size += len(part)
                if size > MOST_BODY:
                    raise ValueError(f"at most {MOST_BODY} bytes are expected")
                parts.append(part)
    except TimeoutError:
        raise ValueError(f"a body within {_READ_S:g} s is expected") from None
    try:
        found = loads(b"".join(parts))
    except ValueError:
        raise ValueError("a JSON object is expected") from None
    if not isinstance(found, dict):
        raise ValueError("a JSON object is expected")
    return found


def _arguments(call: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the daemon is told. Raises ValueError, and ConfigError for settings that cannot be."""
    known = _DOES.get(call)
    if known is None:
        raise ValueError(f"no such thing to do: {call[:40]!r}")
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"not known here: {unknown[0][:40]!r}")
    if call == "clock" and isinstance(given.get("seconds"), str):
        given["seconds"] = seconds_of(given["seconds"])
    if call == "inject":
        if not isinstance(given.get("given"), dict):
            raise ValueError("settings of a fault are an object")
        given["given"] = spoken(given["given"])
    return given


__all__ = ["make_app"]
