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


@pytest.mark.parametrize(
    "text",
    [b"", b"INVALID", b"INVALID\r\n\r\n", b"INVALID\r\nINVALID\r\n\r\n", b"GET / HTTP/1.1\r\nINVALID\r\n\r\n",
     b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: " + b"9" * 40 + b"\r\n\r\n",
     b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000],
)  # fmt: skip
def test_what_is_no_request_is_answered_by_the_exit_code(text: bytes) -> None:
    code, told, asked = served(text)
    assert (code, told, asked) == (1, b"", [])
