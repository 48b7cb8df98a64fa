"""Access to the page: a user of this machine who has its address with the token in it, and no other web page.

The token is exchanged for a cookie that no script reads and no other site's request carries. A request with a foreign
Host (a name that was bound to this machine, for one) or a foreign Origin is turned away before anything else.
"""

import hmac
import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin",
}  # fmt: skip
# By a page of ours, not by a redirect: a strict cookie does not travel on one that another site began.
_ENTER = '<!doctype html><meta http-equiv="refresh" content="0;url=/"><title>slurmsim</title>'


class Guard:
    """Lets pass who may, around `app`."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._cookie = f"slurmsim-{port}"
        # token: what the address of the page carries
        self.token, self._session = secrets.token_urlsafe(32), secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send))
            return
        await self._app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        """Return what to answer instead of what was asked for; None to go on."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            return PlainTextResponse("not the address of this page\n", 421)
        if (origin is None and scope["method"] not in ("GET", "HEAD")) or origin not in (None, f"http://{host}"):
            return PlainTextResponse("asked by another page\n", 403)
        if scope["path"] == "/":
            given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
            if given and _same(given, self.token):
                entered = Response(_ENTER, media_type="text/html")
                entered.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
                return entered
        if not _same(_cookies(headers).get(self._cookie, ""), self._session):
            return PlainTextResponse("open the address that slurmsim web has printed\n", 401)
        return None


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _cookies(headers: Headers) -> dict[str, str]:
    found = {}
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        found[name] = value
    return found


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                *message.get("headers", ()),
                *((name.lower().encode(), value.encode()) for name, value in HEADERS.items()),
            ]
        await send(message)

    return sent
