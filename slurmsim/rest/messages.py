"""Requests and answers as `service` sees them, and what both releases say where no handler is asked."""

from collections.abc import Callable, Mapping
from typing import Any

from slurmsim.commands.json.data_text import as_json, as_yaml
from slurmsim.data_classes import dataclass, field
from slurmsim.release_changes import since
from slurmsim.releases import row

JSON, YAML, TEXT = "application/json", "application/yaml", "text/plain"
YAML_TYPES = frozenset({YAML, "application/x-yaml", "text/yaml"})
BAD_QUERY = (9000, "Query empty or not RFC7320 compliant")
NOT_MODELLED = (2036, "Requested operation not supported on this system")
NOT_FOUND = {
    "23.11": "Unable find requested URL. Please view /openapi/v3 for API reference.",
    "25.11": "Unable to find requested URL endpoint. Please query the '/openapi/v3' endpoint or visit "
             "'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a list of all "
             "possible slurmrestd endpoints.",
}  # fmt: skip
UNPARSABLE = {"23.11": "Unable to parse query.", "25.11": "Failure during parsing"}
UNKNOWN_ACCEPT = {
    "23.11": "Accept content type is unknown", "25.11": "HTTP Accept header content type is unknown or unsupported",
}  # fmt: skip
UNKNOWN_CONTENT = {
    "23.11": "Unsupported Content-Type", "25.11": "HTTP Content-Type header content type is unknown or unsupported",
}  # fmt: skip
UNAUTHORIZED = "Authentication failure"


@dataclass(frozen=True)
class Person:
    """The user of a request: `user` None is the user who runs the server; `by_token`: a token names the user.

    A user with a token that is not `valid` is let in, and refused by slurmctld.
    """

    user: str | None = None
    by_token: bool = False
    valid: bool = True


@dataclass(frozen=True)
class Request:
    """One request; names of headers in lower case."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    local: bool = True  # whether it came over the Unix socket, which only its owner can open
    peer: str = ""


@dataclass(frozen=True)
class Answer:
    """One answer."""

    status: int
    body: bytes
    content_type: str

    @property
    def closes(self) -> bool:
        """True if the connection ends with it."""
        return self.status >= 400


@dataclass(frozen=True)
class Visit:
    """A request after its head was judged: `answer` carries it out, given its body where it `takes_body`."""

    answer: Callable[[bytes], Answer]
    takes_body: bool = False


class Failure(Exception):
    """A request fails with `status` and a plain text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


class Rejected(Exception):
    """A request fails with a document: Slurm's error number and text, which function says so, and what it says.

    `more` are errors that follow it.
    """

    def __init__(
        self, description: str, number: int, error: str, source: str, status: int | None = None,
        entries: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(description)
        self.error: dict[str, Any] = {
            "description": description,
            "error_number": number,
            "error": error,
            "source": source,
        }
        self.status, self.entries = status, entries or {}
        self.more: list[dict[str, Any]] = []
        self.warnings: list[dict[str, str]] = []


@dataclass
class Found:
    """What a handler found."""

    entries: dict[str, Any]
    errors: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200


def plain(status: int, text: str) -> Answer:
    return Answer(status, text.encode(), TEXT)


def refused_status(release: str) -> int:
    """Return the status of what Slurm itself refuses."""
    return 422 if since(release, "refusals_are_unprocessable") else 500


def form_of(accept: str, release: str) -> str:
    """Return the content type of the answer. Raises Failure for one there is not."""
    for part in accept.split(","):
        kind = part.partition(";")[0].strip().lower()
        if kind in ("", "*/*", "application/*", JSON):
            return JSON
        if kind in YAML_TYPES:
            return YAML
    raise Failure(415, row(UNKNOWN_ACCEPT, release))


def written(document: dict[str, Any], form: str) -> bytes:
    text = as_yaml(document, brief=True) if form == YAML else as_json(document, brief=True) + "\n"
    return text.encode("utf-8", "surrogateescape")
