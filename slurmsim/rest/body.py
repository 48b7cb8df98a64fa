"""Bodies of requests read as data_parser reads them: tables of fields, what is missing, unknown or of another kind.

A field is a row: its name, how it is read, and whether it has to be there. What cannot be read ends the request with
the error Slurm has for it; what is only odd is a warning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.data_classes import dataclass, field
from slurmsim.rest.messages import Rejected, refused_status

if TYPE_CHECKING:
    from slurmsim.rest.calls import Call

NO_PATH = (9200, "Unable to resolve path")
NO_TABLE = (9209, "Data parser expected a dictionary or object")
NO_FLAG = (9207, "Data parser unable to parse invalid flag")
NO_NUMBER = (9202, "Unable to convert Data type")
NO_QOS = (2066, "Invalid qos specification")
_KINDS: tuple[tuple[type, str, str], ...] = (
    (bool, "boolean", "boolean"), (str, "string", "string"), (int, "integer", "64 bit integer"),
    (float, "number", "floating point number"), (list, "array", "list"), (dict, "object", "dictionary"),
)  # fmt: skip
Reader = Callable[["Body", Any, str], Any]


@dataclass(frozen=True)
class Row:
    """A field of a table; `first` is the first version that knows it."""

    read: Reader
    required: bool = False
    first: int = 0


Table = Mapping[str, Row]
SHAPES: dict[Reader, Any] = {}
"""What a reader takes, for the OpenAPI document: a word, a table, or a list of a table and the name of its records."""


def shaped(read: Reader, shape: Any) -> Reader:
    """`read`, said to take `shape`."""
    SHAPES[read] = shape
    return read


@dataclass
class Body:
    """One body on its way: which release and version reads it, and what it warns about.

    `qos` returns the names of the known QOS; it is called when they are first needed.
    """

    release: str
    version: int
    qos: Callable[[], Iterable[str]]
    warnings: list[dict[str, str]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    """What does not stop the request, and is told when it is over."""

    def warn(self, description: str, source: str) -> None:
        self.warnings.append({"description": description, "source": source})

    def fail(self, description: str, error: tuple[int, str], path: str) -> Rejected:
        """Return what cannot be read at `path`."""
        number, text = error
        status = refused_status(self.release) if number in (NO_PATH[0], NO_QOS[0]) else 500
        return Rejected(description, number, text, f"#{path}", status)

    def table(self, value: Any, path: str, rows: Table, name: str) -> dict[str, Any]:
        """Return the fields of a table that are there; null stands for one that is not. Raises Rejected."""
        if not isinstance(value, dict):
            kind = kind_of(value)[1]
            raise self.fail(f"Rejecting {kind} when dictionary expected", NO_TABLE, path)
        found: dict[str, Any] = {}
        rows = {key: row for key, row in rows.items() if row.first <= self.version}
        for key, row in rows.items():
            one = value.get(key)
            if one is not None:
                found[key] = row.read(self, one, f"{path}{key}/")
            elif row.required:
                raise self.fail(f"Missing required field '{key}' in dictionary", NO_PATH, f"{path}{key}/")
        for key, one in value.items():
            if key not in rows:
                self.warn(f'Ignoring unknown field "{key}" of type {kind_of(one)[1]} in DATA_PARSER_{name}',
                          f"#{path}{key}/")  # fmt: skip
        return found

    def other_kind(self, value: Any, wanted: str, path: str) -> None:
        """Warn that `value` is of another kind than `wanted`, of OpenAPI's names."""
        slurms = next(inner for _, outer, inner in _KINDS if outer == wanted)
        outer, inner = kind_of(value)
        shown = f": {json.dumps(value)}" if self.version > 40 and not isinstance(value, (list, dict)) else ""
        self.warn(f"Expected OpenAPI type={wanted} (Slurm type={slurms}) but got OpenAPI type={outer} "
                  f"(Slurm type={inner}){shown}", f"#{path}")  # fmt: skip


def read_body(
    call: Call, rows: Table, name: str, qos: Callable[[], Iterable[str]] = tuple
) -> tuple[Body, dict[str, Any]]:
    """Return the body of a request and its fields; no body counts as an empty one. Raises Rejected.

    The error has the warnings so far.
    """
    body = Body(call.release, call.version, qos)
    try:
        return body, body.table({} if call.body is None else call.body, "/", rows, name)
    except Rejected as rejected:
        rejected.warnings = body.warnings
        raise


def kind_of(value: Any) -> tuple[str, str]:
    """OpenAPI's name of a value's kind, and Slurm's."""
    return next(((outer, inner) for kind, outer, inner in _KINDS if isinstance(value, kind)), ("null", "null"))


# -- readers ----------------------------------------------------------------------------------------------------------


def text(body: Body, value: Any, path: str) -> str:
    """Return a text; a number is one, too."""
    if isinstance(value, str):
        return value.replace("\0", "")
    body.other_kind(value, "string", path)
    return "" if isinstance(value, (list, dict)) else json.dumps(value)


def flag(body: Body, value: Any, path: str) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        body.other_kind(value, "boolean", path)
    return value if isinstance(value, bool) else str(value).lower() in ("true", "yes", "1")


def number(body: Body, value: Any, path: str) -> int | float | None:
    """Return a number, or the object of one; None for one that is not set, -1 for one without end."""
    if isinstance(value, dict):
        if value.get("infinite"):
            return -1
        if not value.get("set", "number" in value):
            return None
        value = value.get("number", 0)
    elif body.version <= 40:
        body.other_kind(value, "object", path)
        raise body.fail(f"Expected dictionary but got {kind_of(value)[1]}", NO_TABLE, path)
    if isinstance(value, str) and value.upper() in ("INFINITE", "UNLIMITED", "INFINITY"):
        return -1
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and len(value) < 19:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) > 1 << 62:
        raise body.fail(f"Expected integer but got {json.dumps(value)}", NO_NUMBER, path)
    return value


def plain_number(body: Body, value: Any, path: str) -> int | float | None:
    """Return a number that is no object in any version."""
    if body.version <= 40 and isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return number(body, value, path)


def texts(body: Body, value: Any, path: str) -> list[str]:
    """Return a list of texts; a text of them, with commas, is one, too."""
    if isinstance(value, str):
        return [part for part in value.split(",") if part]
    if isinstance(value, dict):
        value = list(value.values())
    return [text(body, one, f"{path.removesuffix('/')}[{at}]/") for at, one in enumerate(_listed(value))]


def string_list(body: Body, value: Any, path: str) -> list[str]:
    """Return a list of texts; anything else is odd."""
    if not isinstance(value, list):
        body.other_kind(value, "array", path)
    return texts(body, value, path)


def known_qos(body: Body, value: Any, path: str) -> list[str]:
    """Names of QOS there are."""
    found = texts(body, value, path)
    known = set(body.qos()) if found else set()
    for name in found:
        if name.lstrip("+-") not in known:
            raise body.fail(f"Unable to resolve QOS: {name}", NO_QOS, path)
    return found


def one_qos(body: Body, value: Any, path: str) -> str:
    """Return the name of a QOS there is, or nothing."""
    return next(iter(known_qos(body, [value] if isinstance(value, str) and value else [], path)), "")


def words(known: Mapping[str, str], *, stops: bool = True) -> Reader:
    """Make the reader of a list of flags; `known` has our word for each. `stops`: an unknown flag ends the request."""
    upper = {name.upper(): ours for name, ours in known.items()}

    def read(body: Body, value: Any, path: str) -> list[str]:
        found = []
        for at, word in enumerate(_listed(value.split(",") if isinstance(value, str) else value)):
            ours = upper.get(str(word).upper())
            if ours is None:
                more = body.version <= 40
                place = f"{path.removesuffix('/')}[{at}]/"
                wrong = body.fail(f'Unknown flag "{word}"', NO_FLAG, place)
                if more:
                    wrong.more.append(body.fail("Parsing flags failed", NO_FLAG, path).error)
                if stops or body.version <= 40:
                    raise wrong
                body.errors.append(wrong.error)
                continue
            found.append(ours)
        return found

    return shaped(read, "strings")


def tres(body: Body, value: Any, path: str) -> str:
    """Read a list of TRES as the text sacctmgr takes; unknown kinds are passed over, as in Slurm."""
    parts = []
    for one in _listed(value):
        if not isinstance(one, dict) or not isinstance(one.get("type"), str):
            continue
        name = one["type"].lower() + (f"/{one['name']}" if one.get("name") else "")
        if name.partition("/")[0] in _TRES:
            parts.append(f"{name}={int(plain_number(body, one.get('count', 0), path) or 0)}")
    return ",".join(parts)


_TRES = frozenset({"cpu", "mem", "energy", "node", "billing", "fs", "vmem", "pages", "gres", "license", "bb", "ic"})


def within(rows: Table, name: str) -> Row:
    return Row(shaped(lambda body, value, path: body.table(value, path, rows, name), rows))


def tree(places: Mapping[str, Row], name: str) -> Table:
    """Return the nested table of fields with points in their places: ``max.jobs`` is `jobs` in a table `max`."""
    found: dict[str, Row] = {}
    inner: dict[str, dict[str, Row]] = {}
    for place, row in places.items():
        outer, _, rest = place.partition(".")
        if rest:
            inner.setdefault(outer, {})[rest] = row
        else:
            found[outer] = row
    return found | {outer: within(tree(rows, name), name) for outer, rows in inner.items()}


def since_version(version: int, name: str, read: Reader) -> Reader:
    """Return a field that versions before take for a table without fields."""
    empty = within({}, name).read
    return shaped(
        lambda body, value, path: (read if body.version >= version else empty)(body, value, path), SHAPES.get(read)
    )


def rows_of(rows: Table, name: str) -> Reader:
    """Return a list of tables; a single one counts as a list."""

    def read(body: Body, value: Any, path: str) -> list[dict[str, Any]]:
        found = value if isinstance(value, list) else [value]
        return [body.table(one, f"{path.removesuffix('/')}[{at}]/", rows, name) for at, one in enumerate(found)]

    return shaped(read, [rows, name.lower()])


def skipped(body: Body, value: Any, path: str) -> None:
    """Read a field that is known and has no effect."""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


SHAPES |= {
    text: "string", flag: "boolean", number: "number", plain_number: "integer", texts: "strings",
    string_list: "strings", known_qos: "strings", one_qos: "string", tres: "tres",
}  # fmt: skip
