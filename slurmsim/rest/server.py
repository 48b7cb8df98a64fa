"""``slurmrestd``: the service behind Starlette and uvicorn, on a Unix socket or a port of this machine.

It is a process of its own, run by any user of the cluster; it speaks the socket protocol and may do what its user may.
Only the cluster's owner can act for others by tokens, since no other user can read the key.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import signal
import socket
import stat
import sys
from collections.abc import Sequence
from typing import Any

from slurmsim.commands.json.versions import SERVED, served
from slurmsim.errors import ConfigError
from slurmsim.http_doors import Doors, protocol
from slurmsim.protocol import USER_VARIABLE, Client, Refusal, Unreachable, cluster_folder
from slurmsim.releases import VERSIONS
from slurmsim.rest import routes, standard_input, tokens
from slurmsim.rest.incoming import Incoming
from slurmsim.rest.messages import UNAUTHORIZED, Answer, Failure, Request, plain
from slurmsim.rest.service import Service, now

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_KINDS = ("rest_auth/local", "rest_auth/jwt")
_THREADS = 512
"""Requests at once: those that wait for an allocation have a thread each, and must not take all there are."""
_METHODS = ["GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"]
_REFUSED = {"-f": "a slurm.conf of its own", "-g": "a group", "-u": "a user", "-t": "a number of threads",
            "--max-connections": "a number of connections", "--generate-openapi-spec": "writing the document",
            "--become-user": "changing users"}  # fmt: skip


def application(service: Service) -> Any:
    """Return the ASGI application of a service: a request is judged by its head before its body is read."""
    from anyio import CapacityLimiter, to_thread
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect
    from starlette.requests import Request as Asked
    from starlette.responses import Response
    from starlette.routing import Route

    incoming = Incoming()
    threads = CapacityLimiter(_THREADS)

    def told(answer: Answer) -> Response:
        more = {"Connection": "close"} if answer.closes else {}
        return Response(answer.body, answer.status, {**more, "Content-Type": answer.content_type})

    async def handle(asked: Asked) -> Response:
        request = _request(asked)
        visit = service.head(request)
        if isinstance(visit, Answer):
            return told(visit)
        try:
            body = await incoming.read(request.headers, asked.stream()) if visit.takes_body else b""
        except ClientDisconnect:
            return Response(status_code=400)
        except Failure as failure:
            return told(plain(failure.status, failure.text))
        return told(await to_thread.run_sync(service.carry_out, visit, body, limiter=threads))

    async def broken(asked: Asked, error: Exception) -> Response:
        return told(plain(400, UNAUTHORIZED if isinstance(error, PermissionError) else "Bad request"))

    return Starlette(
        routes=[Route("/{path:path}", handle, methods=_METHODS)], exception_handlers={Exception: broken, 400: broken}
    )


def _request(asked: Any) -> Request:
    """Return the head of a request, as the service has it."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in asked.headers.raw}
    local = asked.client is None or not asked.client.host
    peer = "unix:" if local else f"[{asked.client.host}]:{asked.client.port}"
    path = re.sub("/+", "/", asked.url.path)  # slurmrestd reads the names between slashes
    return Request(asked.method, path, dict(asked.query_params), headers, b"", local, peer)


def make_service(
    folder: str, *, user: str | None = None, authentication: frozenset[str] = frozenset(_KINDS),
    plugins: frozenset[str] = routes.PLUGINS, versions: tuple[int, ...] | None = None,
) -> Service:  # fmt: skip
    """Return the service of the cluster in `folder`. Raises ConfigError for a release without recorded answers.

    Tokens are taken where this process may read the cluster's key.
    """
    hello = Client(folder, user).call("hello")
    release = str(hello["slurm_version"])
    if not served(release):
        raise ConfigError(f"slurmrestd of Slurm {release} is not modelled", field="slurm_version",
                          expected=" or ".join(name for name, versions in SERVED.items() if versions))  # fmt: skip
    user_of = None
    if "rest_auth/jwt" in authentication and os.stat(folder).st_uid == os.getuid():
        key = tokens.load_key(folder)

        def user_of(token: str) -> str | None:
            return tokens.user_of(token, key, now())

    return Service(
        folder, release, str(hello["cluster"]), user=user, accounting=bool(hello.get("accounting", True)),
        authentication=authentication, plugins=plugins, versions=versions, user_of=user_of,
        host=str(hello.get("host") or "localhost"),
    )  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="slurmrestd", description=__doc__)
    parser.add_argument("where", nargs="*", metavar="unix:/PATH | HOST:PORT",
                        help="where to listen; SLURMRESTD_LISTEN, else a socket in the cluster's folder")  # fmt: skip
    parser.add_argument("-a", metavar="KINDS", default=os.environ.get("SLURMRESTD_AUTH_TYPES", ",".join(_KINDS)),
                        help="rest_auth/local and rest_auth/jwt, or list")  # fmt: skip
    parser.add_argument("-s", metavar="PLUGINS", default=os.environ.get("SLURMRESTD_OPENAPI_PLUGINS"),
                        help="slurmctld and slurmdbd, or list")  # fmt: skip
    parser.add_argument("-d", metavar="VERSIONS", default=os.environ.get("SLURMRESTD_DATA_PARSER_PLUGINS"),
                        help="data_parser versions: v0.0.42, or list")  # fmt: skip
    parser.add_argument("-v", action="count", default=0, help="a line a request")
    parser.add_argument("-V", action="store_true", help="the release")
    parser.add_argument("--state", metavar="DIR", help="the cluster's folder")
    for option, what in _REFUSED.items():
        parser.add_argument(option, nargs="?", const="", default=None, help=argparse.SUPPRESS, dest=f"no_{what}")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal; the exit code."""
    args = _parser().parse_args(argv)
    try:
        return _serve(args)
    except ConfigError as error:
        print(f"slurmrestd: error: {error}", file=sys.stderr)
        return 2
    except (Unreachable, Refusal) as error:
        print(f"slurmrestd: error: {error.text}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"slurmrestd: fatal: {error.filename or args.where}: {error.strerror or error}", file=sys.stderr)
        return 1


def _words(text: str, known: Sequence[str], what: str) -> list[str] | None:
    """Return the words of a list option; None, everything printed, for ``list``. Raises ConfigError."""
    if text == "list":
        print(f"Possible {what} plugins:", file=sys.stderr)
        print("\n".join(known))
        return None
    if what == "data_parser":
        text = re.sub(r"\+(prefer|minimize|no)_refs\b|\+inline_enums\b", "", text)  # the form of the document only
    found = [word if word in known else next((k for k in known if k.endswith(f"/{word}")), "") or word
             for word in text.split(",") if word]  # fmt: skip
    for word in found:
        if word not in known:
            raise ConfigError(f"{word} is no {what} plugin that is modelled", field=what, expected=", ".join(known))
    return found


def _serve(args: argparse.Namespace) -> int:
    for name, value in vars(args).items():
        if name.startswith("no_") and value is not None:
            raise ConfigError(f"{name.removeprefix('no_')} is not modelled", field="options", expected="slurmrestd -h")
    folder = args.state or cluster_folder(os.environ)
    hello = Client(folder, os.environ.get(USER_VARIABLE) or None).call("hello")
    release = str(hello["slurm_version"])
    if args.V:
        print(f"slurm {VERSIONS[release]}")
        return 0
    kinds = _words(args.a, _KINDS, "rest_auth")
    plugins = _words(args.s or ",".join(sorted(routes.PLUGINS)), sorted(routes.PLUGINS), "openapi")
    known = [f"data_parser/v0.0.{version}" for version in served(release)]
    versions = _words(args.d or ",".join(known), known, "data_parser")
    if kinds is None or plugins is None or versions is None:
        return 0
    service = make_service(
        folder, user=os.environ.get(USER_VARIABLE) or None, authentication=frozenset(kinds),
        plugins=frozenset(plugins), versions=tuple(int(name.rpartition(".")[2]) for name in versions),
    )  # fmt: skip
    wanted = args.where or [w for w in os.environ.get("SLURMRESTD_LISTEN", "").split(",") if w]
    if not wanted and standard_input.is_piped():
        try:
            return standard_input.serve(service, sys.stdin.buffer, sys.stdout.buffer)
        finally:
            service.close()
    if len(wanted) > 1:
        raise ConfigError("more than one place to listen at is not modelled", field="where", expected="one")
    where = wanted[0] if wanted else f"unix:{os.path.join(folder, 'slurmrestd.sock')}"
    listening, told = _listen(where, service)
    print(f"slurmrestd: listening on {told}", file=sys.stderr, flush=True)
    try:
        asyncio.run(_run(service, listening, args.v))
    finally:
        listening.close()
        if where.startswith("unix:"):
            os.unlink(where.removeprefix("unix:"))
        service.close()
    return 0


async def _run(service: Service, listening: socket.socket, verbose: int) -> None:
    import uvicorn

    level = "info" if verbose else "error"
    config = uvicorn.Config(
        application(service), log_level=level, access_log=bool(verbose), server_header=False, lifespan="off",
        loop="asyncio", http=protocol(Doors()), ws="none", h11_max_incomplete_event_size=1 << 16, proxy_headers=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]  # it would end by them, untidily

    def stop() -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    await server.serve([listening])


def _listen(where: str, service: Service) -> tuple[socket.socket, str]:
    """Return the socket, and how it is told. Raises ConfigError and OSError.

    A Unix socket is its owner's alone; a port is one of this machine's, and takes tokens only.
    """
    if where.startswith("unix:"):
        path = where.removeprefix("unix:")
        if os.path.exists(path) and stat.S_ISSOCK(os.stat(path).st_mode):
            os.unlink(path)  # of one that ended without
        made = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            made.bind(path)
        finally:
            os.umask(before)
        made.listen()  # what connects from now on waits until the service answers
        return made, where
    host, colon, port = where.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"{where} is no place to listen at", field="where", expected="unix:/PATH or HOST:PORT")
    if host not in LOOPBACK:
        raise ConfigError(f"{host or 'every address'}: only this machine is served", field="where",
                          expected="localhost, 127.0.0.1 or [::1]")  # fmt: skip
    made = socket.create_server((host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    number = made.getsockname()[1]
    service.hosts = frozenset(f"{name}:{number}" for name in ("localhost", "127.0.0.1", "[::1]"))
    return made, f"{host}:{number}"


if __name__ == "__main__":
    sys.exit(main())
