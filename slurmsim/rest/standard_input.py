"""``slurmrestd`` without a place to listen at, and with a pipe for standard input: requests from there, as from inetd.

Each request is answered on standard output. The connection ends with the input, with a request that asks for that, or
with what is no request: statuses, texts and exit codes are those of a recording of 26.05 (http_parser/libhttp_parser).
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import parse_qsl, unquote

from slurmsim.rest.body_text import MOST_BODY
from slurmsim.rest.messages import Answer, Request, plain

if TYPE_CHECKING:
    from slurmsim.rest.service import Service

LONGEST_LINE = 1 << 16
MOST_LINES = 256
_METHODS = frozenset(b"GET POST PUT DELETE PATCH HEAD OPTIONS CONNECT TRACE".split())
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_URL = re.compile(rb"[\x21-\x7e\x80-\xff]+")
_VERSION = re.compile(rb"HTTP/(\d+)\.(\d+)")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_PHRASES = {200: "OK", 304: "NOT MODIFIED", 400: "BAD REQUEST", 401: "UNAUTHORIZED", 404: "NOT FOUND",
            405: "NOT ALLOWED", 500: "INTERNAL ERROR"}  # fmt: skip


class NoRequest(Exception):
    """What came is no request that is taken: the status and text of the answer, and the exit code."""

    def __init__(self, status: int, text: str, code: int) -> None:
        super().__init__(text)
        self.status, self.text, self.code = status, text, code


def _bad_line() -> NoRequest:
    return NoRequest(500, "Unexpected character added or missing in HTTP", 230)


def is_piped(descriptor: int = 0) -> bool:
    """Return True if something is piped into this program."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def serve(service: Service, source: BinaryIO, sink: BinaryIO) -> int:
    """Answer the requests of `source`; return the exit code."""
    try:
        while (request := read(source)) is not None:
            answer = service.answer(request)
            sink.write(written(answer))
            sink.flush()
            if request.headers.get("connection", "").lower() == "close" or answer.closes:
                break
    except NoRequest as wrong:
        sink.write(written(plain(wrong.status, wrong.text)))
        sink.flush()
        return wrong.code
    return 0


def read(source: BinaryIO) -> Request | None:
    """Return the next request; None at the end of the input, also amid one. Raises NoRequest."""
    line = source.readline(LONGEST_LINE)
    method, _, rest = line.partition(b" ")
    if not line:
        return None
    if method not in _METHODS:
        raise NoRequest(405, "Invalid HTTP method", 228)
    url, _, version = _without_end(rest).partition(b" ")
    if not _URL.fullmatch(url):
        raise NoRequest(500, "Invalid format for URL format", 251)
    _check_version(version)
    headers = _headers(source)
    if headers is None:
        return None
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdecimal()) or len(length) > 18 or int(length) > MOST_BODY:
        raise NoRequest(400, "Unexpected character or unparsable number in HTTP Content-Length header", 231)
    path, _, query = url.decode("latin-1").partition("?")
    body = source.read(int(length))
    return Request(method.decode(), unquote(path), dict(parse_qsl(query)), headers, body, True, "pipe:")


def _check_version(text: bytes) -> None:
    """Raise NoRequest for what is no HTTP, or HTTP of another version."""
    found = _VERSION.fullmatch(text)
    if found is None:
        raise NoRequest(500, "Incompatible versions of client and server code", 237)
    if found[1] != b"1" or found[2] not in (b"0", b"1"):
        raise NoRequest(500, "Only HTTP version 1.1 requests are supported", 235)


def _headers(source: BinaryIO) -> dict[str, str] | None:
    """Return the headers, names in lower case; None if the input ends before they do. Raises NoRequest."""
    found: dict[str, str] = {}
    for _ in range(MOST_LINES):
        line = source.readline(LONGEST_LINE)
        if not line.endswith(b"\n"):
            if len(line) == LONGEST_LINE:
                raise _bad_line()
            return None
        text = _without_end(line)
        if not text:
            return found
        name, colon, value = text.partition(b":")
        if b"\r" in value and _NAME.fullmatch(name):
            raise NoRequest(500, "Missing an expected LF character", 229)
        if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise _bad_line()
        found[name.decode().lower()] = value.decode("latin-1").strip()
    raise _bad_line()


def _without_end(line: bytes) -> bytes:
    """Return a line without its end; a LF alone is one, too."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def written(answer: Answer) -> bytes:
    """Return an answer as HTTP."""
    phrase = _PHRASES.get(answer.status, "")
    head = (f"HTTP/1.1 {answer.status} {phrase}\r\nConnection: Close\r\n"
            f"Content-Length: {len(answer.body)}\r\nContent-Type: {answer.content_type}\r\n\r\n")  # fmt: skip
    return head.encode() + answer.body
