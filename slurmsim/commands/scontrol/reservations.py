"""scontrol's requests about reservations: create and update."""

from __future__ import annotations

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scontrol.keywords import keyword_of, tag_matches
from slurmsim.commands.scontrol.session import NO_ERROR, Session
from slurmsim.commands.text.dates import BadDate, parse_date
from slurmsim.commands.text.values import INFINITE, leading_number, minutes_of, seconds_of
from slurmsim.fast_imports import pattern
from slurmsim.records.reservation import RESERVATION
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from slurmsim.records import Field

    Words = Sequence[str]
_BUSY = ("Requested node configuration is not available", "Requested nodes are busy")
_NOTE = (
    "Note, unless nodes are directly requested a reservation must exist in a single partition.\n"
    "If no partition is requested the default partition is assumed.\n"
)
USER_DELETE = "USER_DELETE"
# word, how much of it must be there, name, what may not be taken away
_FLAGS: tuple[tuple[str, int, str, bool], ...] = (
    ("Maintenance", 3, "MAINT", True), ("Overlap", 1, "OVERLAP", False), ("Flex", 1, "FLEX", True),
    ("Ignore_Jobs", 1, "IGNORE_JOBS", True), ("Hourly", 1, "HOURLY", True), ("Daily", 1, "DAILY", True),
    ("Weekday", 1, "WEEKDAY", True), ("Weekend", 1, "WEEKEND", True), ("Weekly", 1, "WEEKLY", True),
    ("Any_Nodes", 1, "ANY_NODES", True), ("License_Only", 1, "ANY_NODES", True), ("Static_Alloc", 1, "STATIC", True),
    ("Part_Nodes", 2, "PART_NODES", True), ("magnetic", 3, "MAGNETIC", True), ("promiscuous", 2, "MAGNETIC", True),
    ("PURGE_COMP", 2, "PURGE_COMP", True), ("First_Cores", 1, "FIRST_CORES", False),
    ("Time_Float", 1, "TIME_FLOAT", False), ("Replace", 1, "REPLACE", False),
    ("Replace_Down", 8, "REPLACE_DOWN", False),
    ("NO_HOLD_JOBS_AFTER_END", 1, "NO_HOLD_JOBS_AFTER", False), ("User_Delete", 1, USER_DELETE, True),
)  # fmt: skip


_BETWEEN = pattern(r",(?!\d)")  # names, not the numbers of one


class _Wrong(Exception):
    """The request cannot be read; everything has been said."""


def _bad(session: Session, text: str) -> _Wrong:
    session.refuse(text)
    return _Wrong()


def create_reservation(session: Session, words: Words) -> None:
    tail = "  No reservation created."
    try:
        request = _read(session, words, tail.strip())
        wrong = wrong_in(request, session.release)
        if wrong:
            raise _bad(session, wrong + tail)
        _send(session, request)
    except _Wrong:
        pass


def _send(session: Session, request: dict[str, Any]) -> None:
    try:
        name = session.io.client.call("create_reservation", reservation=request)["name"]
    except FAILED_CALLS as error:
        *notes, text = text_of(error).split("\n")
        for note in notes:
            session.error(note)
        session.complain("Error creating the reservation", text, loud=True)
        named = request.get("node_list") and since(session.release, "note_without_nodes")
        if text_of(error) in _BUSY and not named:
            session.io.out(_NOTE)
        return
    session.io.out(f"Reservation created: {name}\n")


_WHY = {
    "Core-based reservation can not be updated":
        "Updating core/node TRES not supported for core-based reservations",
}  # fmt: skip
"""What slurmctld says of a refusal beside its text (err_msg of update_resv)."""
_REJECTED = "Reservation update rejected because of "  # how it says which job would lose the reservation


def update_reservation(session: Session, words: Words) -> str:
    """``update reservationname=...``: the error, "" for none."""
    tail = "No reservation update."
    try:
        request = _read(session, words, tail)
    except _Wrong:
        return NO_ERROR
    if "name" not in request:
        session.refuse(f"Reservation must be given.  {tail}")
        return ""
    try:
        session.io.client.call("update_reservation", reservation=request)
    except FAILED_CALLS as error:
        *notes, text = text_of(error).split("\n")
        for note in notes:
            session.error(note)
        if text.startswith(_REJECTED):
            session.error(text)
            text = "Requested reservation is in use"
        if text in _WHY and since(session.release, "why_cores_stay"):
            session.error(_WHY[text])
        if since(session.release, "refused_reservation_once"):
            session.code = 1
        else:
            session.complain("Error updating the reservation", text, loud=True)
        return text
    session.io.out("Reservation updated.\n")
    return ""


def _read(session: Session, words: Words, tail: str) -> dict[str, Any]:
    request: dict[str, Any] = {"flags": []}
    for word in words:
        tag, equals, value = word.partition("=")
        if not equals:
            if word.lower().startswith("res"):
                continue
            if tag_matches(word, "Skip", 2):
                request["flags"].append("+SKIP")
                continue
            raise _bad(session, f"Misformatted parameter '{word}', most options have a parameter after '='.  {tail}")
        sign = tag[-1] if tag[-1:] in ("+", "-") and tag else ""
        keyword = keyword_of(RESERVATION, tag.rstrip("+-") if sign else tag, session.release)
        if keyword is None:
            if tag.lower().startswith("res"):
                continue
            raise _bad(session, f"Unknown parameter {word}.  {tail}")
        field = keyword.row
        nodes_too = field.kind == "node list" and since(session.release, "nodes_of_reservations_signed")
        if sign and field.kind not in ("names", "flags", "minutes") and not nodes_too:
            raise _bad(session, f"The +=/-= notation is not supported when updating {tag[:-1]}.  {tail}")
        _set(session, request, field, value, sign, word, tail)
    return request


def _set(session: Session, request: dict[str, Any], row: Field, value: str, sign: str, word: str, tail: str) -> None:
    field = row.name
    match row.kind:
        case "names":
            if field in request:
                raise _bad(session, f"Parameter {word} specified more than once")
            request[field] = ",".join(sign + one for one in value.split(",")) if sign else value
        case "node list" if sign:
            request[field] = ",".join(sign + one for one in _BETWEEN.split(value))
        case "flags":
            request["flags"] += _flags(session, request, value, sign, tail)
        case "time":
            try:
                request[field] = parse_date(value, session.now)
            except BadDate as bad:
                session.io.error(bad.line)
                what = "start" if field == "start_time" else "end"
                raise _bad(session, f"Invalid {what} time {word}.  {tail}") from None
        case "minutes":
            minutes = minutes_of(value)
            if minutes is None or (minutes < 0 and minutes != INFINITE):
                raise _bad(session, f"Invalid duration {word}.  {tail}")
            request[field] = minutes
            if sign:
                request["duration_sign"] = sign
        case "delay":
            seconds = seconds_of(value)
            if seconds is None or seconds < 0:
                raise _bad(session, f"Invalid duration {word}.  {tail}")
            request[field] = seconds
        case "counts":
            request[field] = _counts(session, field, value)
        case "tres":
            _tres(session, request, value)
        case _:
            request[field] = value


def _counts(session: Session, field: str, value: str) -> list[int]:
    """``4`` or ``2,2``, each with k or m."""
    found = []
    for part in value.split(","):
        number, rest = leading_number(part)
        if rest[:1] in ("k", "K") and rest:
            number, rest = number * 1024, rest[1:]
        elif rest[:1] in ("m", "M") and rest:
            number, rest = number * 1024 * 1024, rest[1:]
        if rest or not part:
            what = "node" if field == "node_cnt" else "core"
            raise _bad(session, f"Invalid {what} count {value}")
        found.append(number)
    return found


def _tres(session: Session, request: dict[str, Any], value: str) -> None:
    """``TRES=cpu=4,node=2,license/matlab=1``."""
    for item in filter(None, value.split(",")):
        name, _, count = item.partition("=")
        lower = name.lower()
        if lower == "cpu":
            request["core_cnt"] = _counts(session, "core_cnt", count)
        elif lower == "node":
            request["node_cnt"] = _counts(session, "node_cnt", count)
        elif lower.startswith("license/"):
            text = f"{name[8:]}:{count}"
            request["licenses"] = f"{request['licenses']},{text}" if request.get("licenses") else text
        else:
            raise _bad(session, f"Error parsing TRES {item}: it is not modelled in reservations")


def _flags(session: Session, request: dict[str, Any], text: str, sign: str, tail: str) -> list[str]:
    """Names with ``+`` or ``-`` before them."""
    found: list[str] = []
    for word in text.split(",") if text else ():
        mark = sign or (word[0] if word[:1] in ("+", "-") and word else "")
        bare = word[1:] if word[:1] in ("+", "-") and word else word
        name, equals, value = bare.partition("=")
        for known, least, flag, removable in _FLAGS:
            if flag == USER_DELETE and not since(session.release, "reservations_users_delete"):
                continue
            if tag_matches(name, known, least) and (removable or mark != "-") and name:
                found.append(("-" if mark == "-" else "+") + flag)
                if flag == "PURGE_COMP" and equals:
                    request["purge_comp"] = seconds_of(value) or 0
                break
        else:
            shown = ",".join(sign + one for one in text.split(",")) if sign else text
            raise _bad(session, f"Error parsing flags {shown}.  {tail}")
    return found


def wrong_in(request: dict[str, Any], release: str) -> str:
    """Return what a new reservation lacks or says twice, or ""; complete a request for a whole partition."""
    get = request.get
    wrong = _wrong_times(get("start_time"), get("end_time"), get("duration")) or _wrong_nodes(request, release)
    if wrong:
        return wrong
    kinds_too = since(release, "whom_a_reservation_is_for")
    if not any(get(key) for key in ("users", "groups", "accounts", *(("qos", "allowed_parts") if kinds_too else ()))):
        others = ", AllowedPartitions, QOS" if kinds_too else ""
        return f"Either Users/Groups{others} and/or Accounts must be specified."
    if get("users") and get("groups"):
        return "Users and Groups are mutually exclusive.  You can have one or the other, but not both."
    return ""


def _wrong_times(start: int | None, end: int | None, duration: int | None) -> str:
    if start is None:
        return "A start time must be given."
    if end is None and duration is None:
        return "An end time or duration must be given."
    if end is not None and duration is not None and start + duration * 60 != end:
        return "StartTime + Duration does not equal EndTime."
    if end is not None and start > end:
        return "Start time cannot be after end time."
    return ""


def _wrong_nodes(request: dict[str, Any], release: str) -> str:
    get = request.get
    flags: list[str] = request["flags"]
    everything = (get("node_list") or "").upper() == "ALL"
    if get("partition") is not None and everything:
        flags.append("+PART_NODES")
    if "+PART_NODES" in flags and (not get("partition") or not everything) and get("node_list") is not None:
        return "PART_NODES flag requires specifying a Partition and ALL nodes."
    nothing = not any(get(key) for key in ("core_cnt", "burst_buffer", "node_cnt", "node_list", "licenses"))
    if nothing and get("watts") is None:
        if get("partition") is None:
            listed = "CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts"
            if since(release, "reservation_lacks_tres"):
                listed = "CoreCnt, Nodes, NodeCnt, TRES or Watts"
            return f"{listed} must be specified."
        flags.append("+PART_NODES")
        request["node_list"] = "ALL"
    return ""
