"""``slurmrestd`` without a place to listen at, and with a pipe for standard input: requests from there, as from inetd.

Each request is answered on standard output. The connection ends with the input, with a request that asks for that, or
with what is no request.
"""

from __future__ import annotations

import os
import stat
from http import HTTPStatus
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import parse_qsl, unquote

from slurmsim.rest.body_text import MOST_BODY
from slurmsim.rest.messages import Answer, Request

if TYPE_CHECKING:
    from slurmsim.rest.service import Service

LONGEST_LINE = 1 << 16
MOST_LINES = 256


class NoRequest(Exception):
    """What came is no HTTP."""


def is_piped(descriptor: int = 0) -> bool:
    """Return True if something is piped into this program."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def serve(service: Service, source: BinaryIO, sink: BinaryIO) -> int:
    """Answer the requests of `source`; return the exit code."""
    answered = 0
    try:
        while (request := read(source)) is not None:
            answer = service.answer(request)
            sink.write(written(answer))
            sink.flush()
            answered += 1
            if request.headers.get("connection", "").lower() == "close" or answer.closes:
                break
    except NoRequest:
        return 1
    return 0 if answered else 1


def read(source: BinaryIO) -> Request | None:
    """Return the next request; None at the end of the input. Raises NoRequest."""
    line = source.readline(LONGEST_LINE)
    if not line.strip():
        return None
    words = line.decode("latin-1").split()
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise NoRequest
    headers: dict[str, str] = {}
    for _ in range(MOST_LINES):
        line = source.readline(LONGEST_LINE)
        if line in (b"\r\n", b"\n"):
            break
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or not name or name != name.strip():
            raise NoRequest
        headers[name.lower()] = value.strip()
    else:
        raise NoRequest
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdecimal()) or int(length) > MOST_BODY:
        raise NoRequest
    path, _, query = words[1].partition("?")
    return Request(words[0], unquote(path), dict(parse_qsl(query)), headers, source.read(int(length)), True, "pipe:")


def written(answer: Answer) -> bytes:
    """Return an answer as HTTP."""
    phrase = HTTPStatus(answer.status).phrase.upper()
    head = (f"HTTP/1.1 {answer.status} {phrase}\r\nConnection: {'Close' if answer.closes else 'Keep-Alive'}\r\n"
            f"Content-Length: {len(answer.body)}\r\nContent-Type: {answer.content_type}\r\n\r\n")  # fmt: skip
    return head.encode() + answer.body
