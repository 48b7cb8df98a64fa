"""POST below ``/slurm`` of nodes, reservations, partitions and requeues, and the lists of hosts of ``/util``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.commands.json import partition
from slurmsim.commands.json.versions import number as unset
from slurmsim.commands.scontrol.reservations import wrong_in
from slurmsim.hostlist import HostlistError, compress, expand
from slurmsim.protocol import INVALID_JOB, Refusal
from slurmsim.records import Field
from slurmsim.records.node import NODE
from slurmsim.records.partition import PARTITION
from slurmsim.records.reservation import RESERVATION
from slurmsim.release_changes import since
from slurmsim.rest.body import (
    Body,
    Row,
    Table,
    number,
    plain_number,
    read_body,
    rows_of,
    shaped,
    skipped,
    string_list,
    text,
    texts,
    tree,
    within,
    words,
)
from slurmsim.rest.messages import BAD_QUERY, NOT_MODELLED, Found, Rejected
from slurmsim.rest.submitting import refused
from slurmsim.slurm_errors import texts as texts_of_errors

if TYPE_CHECKING:
    from slurmsim.rest.calls import Call

Record = dict[str, Any]
INVALID_RESERVATION = (2053, "Requested reservation is invalid")
_NO_NODE = (2018, "Invalid node name specified")
_ANY = Row(skipped)
_META: Table = {"meta": _ANY, "errors": _ANY, "warnings": _ANY}
_STATES = {
    name: name for name in (
        "DOWN", "DRAIN", "FAIL", "FUTURE", "IDLE", "POWER_DOWN", "POWER_DOWN_ASAP", "POWER_DOWN_FORCE", "POWER_UP",
        "RESUME", "UNDRAIN", "CANCEL_REBOOT",
    )
}  # fmt: skip
_OF_NODES: dict[str, Row] = {"text": Row(text), "words": Row(texts), "count": Row(number)}
_GIVEN = {row.name: _OF_NODES[row.kind] for row in NODE if row.update and row.body}
_NODE: Table = {"name": Row(string_list), "state": Row(words(_STATES)), **_GIVEN}
NODE_REFUSED = frozenset({row.name for row in NODE if row.body is False}
                         | {"address", "hostname", "reason_uid", "cert_token", "topology_str"})  # fmt: skip
NODE_TEXTS = _GIVEN.keys() - {"weight"}
_FLAGS = {
    name: name for name in (
        "MAINT", "OVERLAP", "FLEX", "IGNORE_JOBS", "HOURLY", "DAILY", "WEEKDAY", "WEEKEND", "WEEKLY", "ANY_NODES",
        "STATIC", "PART_NODES", "MAGNETIC", "PURGE_COMP", "FIRST_CORES", "TIME_FLOAT", "REPLACE", "REPLACE_DOWN",
        "NO_HOLD_JOBS_AFTER_END", "USER_DELETE",
    )
}  # fmt: skip
_OF_RESERVATIONS: dict[str, Row] = {
    "text": Row(text), **dict.fromkeys(("names", "words", "node list"), Row(texts)),
    **dict.fromkeys(("counts", "minutes", "delay", "time"), Row(number)), "flags": Row(words(_FLAGS, stops=False)),
    "purge": within({"time": Row(number)}, "RESERVATION_DESC_MSG"), "tres": _ANY,
}  # fmt: skip
_BODY = {row.json or row.name: row for row in RESERVATION if row.body and (row.update or row.kind == "purge")}
_RESERVATION: Table = {key: _OF_RESERVATIONS[row.kind] for key, row in _BODY.items()}


# -- nodes ------------------------------------------------------------------------------------------------------------


def update_nodes(call: Call) -> Found:
    """POST nodes: one change of many nodes."""
    source = "_update_nodes"
    refused = sorted(NODE_REFUSED & call.body.keys()) if isinstance(call.body, dict) else []
    if refused:
        raise Rejected(f"{', '.join(refused)}: not modelled by slurmsim", *NOT_MODELLED, source)
    try:
        body, found = read_body(call, {**_NODE, **_META}, "UPDATE_NODE_MSG")
    except Rejected as rejected:
        raise _with_state(call, rejected) from None
    names = [name for one in found.pop("name", ()) for name in _hosts(one)]
    if not names:
        raise Rejected("Failure to update node (null)", *_NO_NODE, source)
    asked = {key: ",".join(value) if isinstance(value, list) else value for key, value in found.items()}
    if "state" in asked:
        asked["state"] = asked["state"].replace(",", "+")
    for name in names:
        try:
            call.client.call("update_node", names=name, **asked)
        except Refusal as refusal:
            raise Rejected(f"Failure to update node {name}", *call.error_of(refusal), source) from None
    return Found({}, warnings=body.warnings)


def _with_state(call: Call, rejected: Rejected) -> Rejected:
    """Return the refusal of an unknown state: from v0.0.41 on the request goes on without it and fails once more."""
    if not rejected.error["source"].startswith("#/state") or call.version <= 40:
        return rejected
    names = [name for one in (call.body.get("name") or ()) for name in _hosts(str(one))] or ["(null)"]
    number = 2180 if since(call.release, "invalid_transition") else 2028
    error = {"description": f"Failure to update node {names[0]}", "error_number": number,
             "error": texts_of_errors(call.release)[number], "source": "_update_nodes"}  # fmt: skip
    rejected.more.append(error)
    return rejected


def _hosts(name: str) -> list[str]:
    try:
        return list(expand(name))
    except HostlistError:
        return [name]


# -- reservations -----------------------------------------------------------------------------------------------------


def post_reservation(call: Call) -> Found:
    """POST reservation: made, or changed where it is there."""
    body, found = read_body(call, {**_RESERVATION, **_META}, "RESERVATION_DESC_MSG")
    return _told(body, [_put_reservation(call, found, _names(call))])


def post_reservations(call: Call) -> Found:
    """POST reservations: as `post_reservation`, one after the other."""
    source, empty = "_parse_resv_desc_list", "No reservation descriptions specified in reservations array"
    table: Table = {"reservations": Row(rows_of(_RESERVATION, "RESERVATION_DESC_MSG")), **_META}
    body, found = read_body(call, table, "OPENAPI_RESERVATION_MOD_REQ")
    if "reservations" not in found:
        raise Rejected(empty, *BAD_QUERY, source, 422)
    if not found["reservations"]:
        body.warn(empty, source)
    there = _names(call)
    return _told(body, [_put_reservation(call, one, there) for one in found["reservations"]])


def _told(body: Body, made: list[Record]) -> Found:
    """Return the reservations, or what was wrong with a flag: they are made without it all the same, as in Slurm."""
    if body.errors:
        return Found({}, body.errors, body.warnings, 500)
    return Found({"reservations": made}, warnings=body.warnings)


def _put_reservation(call: Call, found: Record, there: set[str]) -> Record:
    """Make one that is not `there`, or change it; how it is told. Raises Rejected."""
    name = found.get("name")
    if not name:
        raise Rejected("Reservation must be given.", *INVALID_RESERVATION, "_mod_reservation")
    request = _request(found)
    new = name.lower() not in there
    if new:
        wrong = wrong_in(request, call.release)
        if wrong:
            raise Rejected(f"{wrong}  No reservation created.", *INVALID_RESERVATION, "validate_resv_create_desc")
    verb = "create" if new else "update"
    try:
        call.client.call(f"{verb}_reservation", reservation=request)
    except Refusal as refusal:
        doing = "creating" if new else "updating"
        raise Rejected(f"Error {doing} reservation  {name}", *call.error_of(refusal),
                       f"slurm_{verb}_reservation") from None  # fmt: skip
    there.add(name.lower())
    return _described(found)


def _names(call: Call) -> set[str]:
    from slurmsim.commands.json import documents

    return {one["name"].lower() for one in documents.reservations(call.client, call.version)["reservations"]}


def _request(found: Record) -> Record:
    """Return what the daemon is asked."""
    request: Record = {"flags": [f"+{one.removesuffix('_END')}" for one in found.get("flags") or ()]}
    for key, row in _BODY.items():
        value = found.get(key)
        if row.kind == "text" and value:
            request[row.name] = value
        elif row.kind in ("names", "words", "node list") and value:
            request[row.name] = ",".join(value)
        elif row.kind in ("time", "minutes", "delay") and value is not None:
            request[row.name] = 0xFFFFFFFF if value == -1 else int(value)
        elif row.kind == "counts" and value is not None:
            request[row.name] = [int(value)]
        elif row.kind == "purge" and value and value.get("time") is not None:
            request[row.name] = int(value["time"])
    return request


def _described(found: Record) -> Record:
    """Return the reservation as the request describes it; an instant that is not given is the number that means so."""
    return {key: _DESCRIBED[row.kind](found.get(key)) for key, row in _BODY.items()}


_DESCRIBED: dict[str, Callable[[Any], Any]] = {
    "text": lambda value: value or "", **dict.fromkeys(("counts", "minutes", "delay"), unset),
    **dict.fromkeys(("names", "words", "node list", "flags"), lambda value: value or []), "tres": lambda value: [],
    "time": lambda value: unset(0xFFFFFFFE if value is None else value),
    "purge": lambda value: {"time": unset((value or {}).get("time"))},
}  # fmt: skip
"""Kind -> how its value is told, given what the body has."""


# -- partitions -------------------------------------------------------------------------------------------------------

_P = "PARTITION_INFO"
_READERS: dict[str, Row] = {
    **dict.fromkeys(("text", "names", "node list"), Row(text)),
    **dict.fromkeys(("limit", "node limit", "minutes", "minutes over", "memory"), Row(number)),
    **dict.fromkeys(("count", "small count", "node count"), Row(plain_number)),
}  # fmt: skip
_FLAGS = {
    "DEFAULT": "default", "HIDDEN": "hidden", "NO_ROOT": "disable_root_jobs", "ROOT_ONLY": "root_only",
    "REQ_RESV": "req_resv", "LLN": "lln", "PDOI": "power_down_on_idle",
}  # fmt: skip
_CLEAR = "_CLEAR"
_MODES = {"CLUSTER_GLOBAL": "", "DISABLED": "OFF", **{name: name for name in (
    "SUSPEND", "REQUEUE", "CANCEL", "PRIORITY")}}  # fmt: skip
NOT_PARSED = (9001, "Failure during parsing")
MOST_SHARES = 0x7FFF  # jobs on one resource
_EXCLUSIVE = ("NO", "NODE", "USER", "TOPO")
_SHARES = re.compile(r"(NO|(YES|FORCE)(?::([0-9]{1,5}))?)", re.IGNORECASE)


def _exclusive(body: Body, value: Any, path: str) -> str:
    word = text(body, value, path).upper()
    if word not in _EXCLUSIVE:
        raise body.fail("expected NO, NODE, USER, or TOPO", NOT_PARSED, path)
    return word


def _oversubscribe(body: Body, value: Any, path: str) -> tuple[str, int]:
    """How many jobs share a resource, as scontrol has it: 4 where the text has no number."""
    found = _SHARES.fullmatch(text(body, value, path))
    if found is None:
        raise body.fail("expected NO, YES[:#], or FORCE[:#]", NOT_PARSED, path)
    if found[2] is None:
        return "NO", 1
    kind, count = found[2].upper(), int(found[3] or 4)
    least = 1 if kind == "FORCE" else 2
    if count > MOST_SHARES or count < least:
        told = "count too large" if count > MOST_SHARES else f"{kind} count must be >{'=' * (least == 1)} 1"
        raise body.fail(told, NOT_PARSED, path)
    return kind, count


_OF_WORDS = {
    "partition.state": Row(words({name: name for name in ("INACTIVE", "UP", "DOWN", "DRAIN")})),
    "flags": Row(words({name: name for flag in _FLAGS for name in (flag, flag + _CLEAR)})),
    "preempt_mode": Row(words(_MODES)), "partition.exclusive": Row(shaped(_exclusive, "string")),
    "partition.oversubscribe": Row(shaped(_oversubscribe, "string")),
}  # fmt: skip
"""What of a partition is told in words."""


def settable(rows: Sequence[Field] = PARTITION) -> Table:
    """How the body of a partition is read: places that have a keyword as their kind says, others are passed over."""
    read = {row.json: _READERS[row.kind] for row in rows if row.json and row.update} | _OF_WORDS
    places = dict.fromkeys(".".join(one.key.split(".")[:2]) for one in partition.table(rows))
    return tree({place: read.get(place, _ANY) for place in places}, _P)


_PARTITION = settable()


def _value(one: Record, place: str) -> Any:
    """Return what stands at a place of the body; None where nothing does."""
    outer, _, inner = place.partition(".")
    return (one.get(outer) or {}).get(inner) if inner else one.get(outer)


def post_partitions(call: Call) -> Found:
    """POST partitions: each made, or changed where it is there."""
    table: Table = {"partitions": Row(rows_of(_PARTITION, _P), True), **_META}
    try:
        body, found = read_body(call, table, "OPENAPI_PARTITION_RESP")
    except Rejected as rejected:
        raise _and_rejecting(call, rejected, "query", "_partitions_mod") from None
    there = {str(name) for name in call.client.call("partitions", fields=["name"], show_all=True)["columns"]["name"]}
    for at, one in enumerate(found["partitions"]):
        name = one.get("name") or ""
        request: Record = {"name": name}
        for row in PARTITION:
            value = _value(one, row.json) if row.json and row.update else None
            if value not in (None, ""):
                request[row.name] = 0xFFFFFFFF if value == -1 else value
        state = _value(one, "partition.state")
        request |= {"state_up": state[0]} if state else {}
        request |= _in_words(one)
        verb = "update" if name in there else "create"
        try:
            call.client.call(f"{verb}_partition", partition=request)
        except Refusal as refusal:
            raise Rejected(f"Failed to {verb} partition {name} with description at index {at}", *call.error_of(refusal),
                           f"slurm_{verb}_partition") from None  # fmt: skip
    return Found({}, warnings=body.warnings)


def _in_words(one: Record) -> Record:
    """Return what the words of a partition change: flags, how jobs are preempted, and who shares its nodes."""
    found: Record = {_FLAGS[word.removesuffix(_CLEAR)]: not word.endswith(_CLEAR) for word in one.get("flags") or ()}
    modes = [mode for mode in one.get("preempt_mode") or () if mode]
    found |= {"preempt_mode": ",".join(modes)} if modes else {}
    shares, exclusive = _value(one, "partition.oversubscribe"), _value(one, "partition.exclusive")
    found |= {"over_subscribe": list(shares)} if shares else {}
    return found | ({"exclusive": exclusive} if exclusive else {})


def _and_rejecting(call: Call, rejected: Rejected, what: str, source: str) -> Rejected:
    """Return an error of the body, and that the request is rejected because of it."""
    again = Rejected(f"Rejecting request. Failure parsing {what}", *BAD_QUERY, source, 422)
    rejected.more.append(again.error)
    return rejected


# -- requeues, lists of hosts -----------------------------------------------------------------------------------------

_REQUEUE_FLAGS = {"INCOMPLETE": "incomplete", "HOLD": "hold", "SPECIAL_EXIT": "special"}
_JOB_ID = re.compile(r"[0-9]{1,10}(?:_(?:[0-9]{1,10}|\[[0-9,\-]{1,1000}\]))?")


def requeue_jobs(call: Call) -> Found:
    """POST jobs/requeue: those named, up to the first that cannot be."""
    source = "op_handler_jobs_requeue"
    table: Table = {"jobs": Row(texts), "flags": Row(words(_REQUEUE_FLAGS)), **_META}
    body, found = read_body(call, table, "OPENAPI_JOBS_REQUEUE_REQ")
    if not found.get("jobs"):
        raise Rejected("Query missing JobIds", 2017, INVALID_JOB, source, 404)
    more = {"hold": True} if "hold" in (found.get("flags") or ()) else {}
    for name in found["jobs"]:
        if not _JOB_ID.fullmatch(name):
            raise call.rejected_parameters(source)
        try:
            call.client.call("requeue_job", job_id=name, **more)
        except Refusal as refusal:
            error = call.error_of(refusal)
            status = 404 if error[0] == 2017 else None
            raise Rejected(f"Requeue JobId={name} failed", *error, source, status, {"status": []}) from None
    return Found({"status": []}, warnings=body.warnings)


def hostlist(call: Call) -> Found:
    """POST hostlist: the short form of some names."""
    source = "_convert_hostnames_hostlist"
    try:
        body, found = read_body(call, {"hostnames": Row(texts, True), **_META}, "OPENAPI_HOSTNAMES_REQ_RESP")
    except Rejected as rejected:
        raise _and_rejecting(call, rejected, "request", source) from None
    return Found({"hostlist": compress(found["hostnames"])}, warnings=body.warnings)


def hostnames(call: Call) -> Found:
    """POST hostnames: all names of a short form."""
    source = "_convert_hostnames_hostlist"
    try:
        body, found = read_body(call, {"hostlist": Row(text, True), **_META}, "OPENAPI_HOSTLIST_REQ_RESP")
        names = list(expand(found["hostlist"]))
    except HostlistError:
        wrong = Rejected(f"Invalid hostlist string: {found['hostlist']}", 9216, "Request to parse invalid data",
                         "#/hostlist/", 422)  # fmt: skip
        raise _and_rejecting(call, wrong, "request", source) from None
    except Rejected as rejected:
        raise _and_rejecting(call, rejected, "request", source) from None
    return Found({"hostnames": names}, warnings=body.warnings)


_NEW_NODE: Table = {"node_conf": Row(text, True)}


def create_node(call: Call) -> Found:
    """POST new/node: a line of slurm.conf about nodes, as ``scontrol create`` takes it."""
    source = "_create_node"
    body, found = read_body(call, {**_NEW_NODE, **_META}, "OPENAPI_CREATE_NODE_REQ")
    try:
        call.client.call("create_node", line=found["node_conf"])
    except Refusal as refusal:
        text = refusal.text.rpartition("\n")[2]  # without slurmctld's own line before it
        raise refused(call, Refusal(text, refusal.number), "Failure to create node", source) from None
    return Found({}, warnings=body.warnings)


BODIES: Mapping[str, Table] = {
    "new_node": _NEW_NODE,
    "nodes": _NODE, "reservation": _RESERVATION, "hostnames": {"hostnames": Row(texts, True)},
    "hostlist": {"hostlist": Row(text, True)}, "requeue": {"jobs": Row(texts), "flags": Row(words(_REQUEUE_FLAGS))},
    "reservations": {"reservations": Row(rows_of(_RESERVATION, "RESERVATION_DESC_MSG"))},
    "partitions": {"partitions": Row(rows_of(_PARTITION, _P), True)},
}  # fmt: skip
"""What each write takes, by the name its path has for it."""
