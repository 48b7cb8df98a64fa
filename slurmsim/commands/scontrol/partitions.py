"""scontrol's requests about partitions: update and create; keywords are those of `slurmsim.records.partition`."""

from __future__ import annotations

from slurmsim.commands.scontrol.keywords import keyword_of
from slurmsim.commands.scontrol.session import NO_ERROR, Session
from slurmsim.commands.text.values import INFINITE, leading_number, minutes_of
from slurmsim.records.partition import PARTITION
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Words = Sequence[str]


class _Wrong(Exception):
    """A value is wrong; everything has been said. `quiet`: the exit code stays what it is."""


_MODES = frozenset({"OFF", "CANCEL", "GANG", "REQUEUE", "SUSPEND", "WITHIN", "PRIORITY"})
if TYPE_CHECKING:
    Reader = Callable[[Session, str, str, str], Any]


def _text(session: Session, value: str, name: str, word: str) -> str:
    return value


def _bad(session: Session, *lines: str) -> _Wrong:
    session.code = 1
    for line in lines:
        session.error(line)
    return _Wrong()


def _minutes(session: Session, value: str, name: str, word: str) -> int | None:
    minutes = minutes_of(value)
    if minutes is None or (minutes < 0 and minutes != INFINITE):
        raise _bad(session, f"Invalid input {word}")
    return None if minutes == INFINITE else minutes


def _number(most: int, unlimited: bool = False) -> Reader:
    def read(session: Session, value: str, name: str, word: str) -> int | None:
        if unlimited and value.upper() in ("UNLIMITED", "INFINITE"):
            return None
        number, rest = leading_number(value)
        if rest or not value or not 0 <= number <= most:
            raise _bad(session, f"Invalid {name} value: {value}")
        return number

    return read


def _node_count(session: Session, value: str, name: str, word: str) -> int | None:
    if value.upper() in ("UNLIMITED", "INFINITE"):
        return None
    number, rest = leading_number(value)
    if rest or not value or number < 0:
        session.refuse(
            f'"{value}" is not a valid node count' if name != "MaxNodes" else f'"{value}" is not a valid {name}'
        )
        return 1
    return number


def _yes_or_no(session: Session, value: str, name: str, word: str) -> bool:
    upper = value.upper()
    if value and "NO".startswith(upper):
        return False
    if value and "YES".startswith(upper):
        return True
    raise _bad(session, f"Invalid input: {word}", f"Acceptable {name} values are YES and NO")


def _share(session: Session, value: str, name: str, word: str) -> tuple[str, int]:
    kind, colon, count = value.partition(":")
    upper = kind.upper()
    number = leading_number(count)[0] if colon else 4
    for known, found in (("NO", ("NO", 1)), ("EXCLUSIVE", ("EXCLUSIVE", 0)), ("YES", ("YES", number)),
                         ("FORCE", ("FORCE", number))):  # fmt: skip
        if kind and known.startswith(upper):
            return found
    shown = word.partition(":")[0]
    raise _bad(session, f"Invalid input: {shown}",
               "Acceptable OverSubscribe values are NO, EXCLUSIVE, YES:#, and FORCE:#")  # fmt: skip


def _exclusive(session: Session, value: str, word: str) -> str:
    """NO, NODE, USER or TOPO. Raises _Wrong."""
    if value.upper() not in ("NO", "NODE", "USER", "TOPO"):
        raise _bad(session, f"Invalid input: {word}", "Acceptable Exclusive values are NO, NODE, USER, TOPO")
    return value.upper()


def _mode(session: Session, value: str, name: str, word: str) -> str:
    words = [part for part in value.upper().split(",") if part]
    if not words or not _MODES.issuperset(words):
        raise _bad(session, f"Invalid input: {word}")
    return ",".join(words)


def _state(session: Session, value: str, name: str, word: str) -> str:
    for state in ("INACTIVE", "DOWN", "UP", "DRAIN"):
        if value and state.startswith(value.upper()):
            return state
    raise _bad(session, f"Invalid input: {word}", "Acceptable State values are UP, DOWN, DRAIN and INACTIVE")


_READERS: dict[str, Reader] = {
    **dict.fromkeys(("text", "names", "node list"), _text), "flag": _yes_or_no, "minutes": _minutes,
    "minutes over": _number(0xFFFF, True), "count": _number(INFINITE), "limit": _number(INFINITE, True),
    **dict.fromkeys(("small count", "priority"), _number(0xFFFF)), "memory": _number((1 << 63) - 1),
    **dict.fromkeys(("node count", "node limit"), _node_count), "share": _share, "state": _state, "modes": _mode,
}  # fmt: skip
"""Kind -> the reader of its values."""


def _read(session: Session, words: Words) -> dict[str, Any]:
    """Return the request. Raises _Wrong."""
    request: dict[str, Any] = {}
    for word in words:
        tag, equals, value = word.partition("=")
        if not equals:
            raise _bad(session, f"Invalid input: {word}  Request aborted")
        if tag.lower() == "exclusive" and since(session.release, "exclusive_of_partitions"):
            request["exclusive"] = _exclusive(session, value, word)
            continue
        keyword = keyword_of(PARTITION, tag, session.release)
        if keyword is None:
            raise _bad(session, f"Update of this parameter is not supported: {word}\n", "Request aborted")
        row = keyword.row
        request[row.name] = _READERS[row.kind](session, value, keyword.name, word)
    return request


def update_partition(session: Session, words: Words) -> str:
    """``update partitionname=...``: the error, "" for none."""
    try:
        request = _read(session, words)
    except _Wrong:
        return NO_ERROR
    if "name" not in request:
        session.refuse("PartitionName must be given.")
        return ""
    if len(request) <= 1:
        session.refuse("No changes specified")
        return ""
    return session.request("update_partition", partition=request)


def create_partition(session: Session, words: Words) -> None:
    try:
        request = _read(session, words)
    except _Wrong:
        return
    if "name" not in request:
        session.refuse("PartitionName must be given.")
    elif request["name"].lower() == "default":
        session.refuse('PartitionName cannot be "DEFAULT".')
    elif error := session.request("create_partition", partition=request):
        session.complain("Error creating the partition", error, loud=True)
