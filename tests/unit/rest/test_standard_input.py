"""Requests that come on standard input, and what is answered there."""

from __future__ import annotations

import io

import pytest

from slurmsim.rest.messages import Answer, Request
from slurmsim.rest.standard_input import serve

GET = b"GET /openapi?x=1%202 HTTP/1.1\r\nHost: here\r\nConnection: Close\r\n\r\n"


class Service:
    """Answers with what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def answer(self, request: Request) -> Answer:
        self.asked.append(request)
        return Answer(404 if request.path == "/none" else 200, request.body or b"found", "text/plain")


def served(text: bytes) -> tuple[int, bytes, list[Request]]:
    service, sink = Service(), io.BytesIO()
    code = serve(service, io.BytesIO(text), sink)  # type: ignore[arg-type]
    return code, sink.getvalue(), service.asked


def test_a_request_is_answered() -> None:
    code, told, asked = served(GET)
    assert code == 0
    assert told.startswith(b"HTTP/1.1 200 OK\r\n") and told.endswith(b"\r\n\r\nfound")
    assert (asked[0].method, asked[0].path, asked[0].query) == ("GET", "/openapi", {"x": "1 2"})
    assert asked[0].local and asked[0].headers["host"] == "here"


def test_requests_follow_each_other_until_one_says_close() -> None:
    more = b"POST /job HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"
    code, told, asked = served(more + GET + more)
    assert code == 0
    assert [one.path for one in asked] == ["/job", "/openapi"]
    assert b"\r\n\r\nbody" in told


def test_one_that_fails_ends_the_connection() -> None:
    code, told, asked = served(b"GET /none HTTP/1.1\r\n\r\n" + GET)
    assert (code, len(asked)) == (0, 1)
    assert b"Connection: Close" in told


NO_METHOD = (228, "405 NOT ALLOWED", "Invalid HTTP method")
NO_VERSION = (237, "500 INTERNAL ERROR", "Incompatible versions of client and server code")
BAD_LINE = (230, "500 INTERNAL ERROR", "Unexpected character added or missing in HTTP")
BAD_LENGTH = (231, "400 BAD REQUEST", "Unexpected character or unparsable number in HTTP Content-Length header")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"INVALID", NO_METHOD), (b"INVALID\r\n\r\n", NO_METHOD), (b"GERP / HTTP/1.1\r\n\r\n", NO_METHOD),
        (b"get / HTTP/1.1\r\n\r\n", NO_METHOD), (b"\x00\x01\x02\xff", NO_METHOD),
        (b"G\xffT /openapi HTTP/1.1\r\n\r\n", NO_METHOD),
        (b"GET /open\x00api HTTP/1.1\r\n\r\n", (251, "500 INTERNAL ERROR", "Invalid format for URL format")),
        (b"GET / HTTP/abc\r\n\r\n", NO_VERSION), (b"GET /openapi HTTP/1.\xff\r\n\r\n", NO_VERSION),
        (b"GET / HTTP/9.9\r\n\r\n", (235, "500 INTERNAL ERROR", "Only HTTP version 1.1 requests are supported")),
        (b"GET / HTTP/1.1\r\nINVALID\r\n\r\n", BAD_LINE), (b"GET / HTTP/1.1\r\nX\x00Y: v\r\n\r\n", BAD_LINE),
        (b"GET / HTTP/1.1\r\nFoo: ba\x01r\r\n\r\n", BAD_LINE),
        (b"GET / HTTP/1.1\r\n\x01Foo: bar\r\n\r\n", BAD_LINE),
        (b"GET / HTTP/1.1\r\nFoo: bar\r\n\xff\xfe\r\n\r\n", BAD_LINE),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000, BAD_LINE),
        (b"GET / HTTP/1.1\r\nHost: x\rY\r\n\r\n", (229, "500 INTERNAL ERROR", "Missing an expected LF character")),
        (b"POST / HTTP/1.1\r\nContent-Length: abc\r\n\r\n", BAD_LENGTH),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", BAD_LENGTH),
        (b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 40 + b"\r\n\r\n", BAD_LENGTH),
    ],
)  # fmt: skip
def test_what_is_no_request_is_answered_as_26_05_did(text: bytes, told: tuple[int, str, str]) -> None:
    code, answer, asked = served(text)
    assert (code, asked) == (told[0], [])
    assert answer.startswith(f"HTTP/1.1 {told[1]}\r\nConnection: Close\r\n".encode())
    assert answer.endswith(f"\r\n\r\n{told[2]}".encode())


def test_requests_before_one_that_is_none_are_answered() -> None:
    code, told, asked = served(b"GET /openapi HTTP/1.1\r\n\r\n\xde\xad\xbe\xef")
    assert (code, len(asked)) == (228, 1)
    assert told.count(b"HTTP/1.1 ") == 2


@pytest.mark.parametrize("text", [b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_an_input_that_ends_amid_a_request_is_left_alone(text: bytes) -> None:
    assert served(text) == (0, b"", [])
