"""scontrol's requests about partitions: update and create; every keyword is a row with the reader of its value."""

from __future__ import annotations

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scontrol.session import NO_ERROR, Session
from slurmsim.commands.scontrol.tags import tag_matches
from slurmsim.commands.text.values import INFINITE, leading_number, minutes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


if TYPE_CHECKING:
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
        session.code = 1
        session.error(
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


def _mode(session: Session, value: str, name: str, word: str) -> str:
    words = [part for part in value.upper().split(",") if part]
    if not words or any(
        part not in ("OFF", "CANCEL", "GANG", "REQUEUE", "SUSPEND", "WITHIN", "PRIORITY") for part in words
    ):
        session.error(f"Invalid input: {word}")
        session.code = 1
        raise _Wrong
    return ",".join(words)


def _state(session: Session, value: str, name: str, word: str) -> str:
    for state in ("INACTIVE", "DOWN", "UP", "DRAIN"):
        if value and state.startswith(value.upper()):
            return state
    raise _bad(session, f"Invalid input: {word}", "Acceptable State values are UP, DOWN, DRAIN and INACTIVE")


_u16, _u32, _u64 = _number(0xFFFF), _number(INFINITE), _number((1 << 63) - 1)

# name, how much of it must be there, reader, field; the first row that matches counts
_ROWS: tuple[tuple[str, int, Reader, str], ...] = (
    ("PartitionName", 2, _text, "name"), ("MaxTime", 4, _minutes, "max_time"), ("CpuBind", 7, _text, "cpu_bind"),
    ("DefaultTime", 8, _minutes, "default_time"), ("MaxCPUsPerNode", 4, _number(INFINITE, True), "max_cpus_per_node"),
    ("MaxNodes", 4, _node_count, "max_nodes"), ("MinNodes", 2, _node_count, "min_nodes"),
    ("Default", 7, _yes_or_no, "default"), ("DisableRootJobs", 1, _yes_or_no, "disable_root_jobs"),
    ("ExclusiveUser", 1, _yes_or_no, "exclusive_user"), ("Hidden", 1, _yes_or_no, "hidden"),
    ("LLN", 1, _yes_or_no, "lln"), ("RootOnly", 3, _yes_or_no, "root_only"), ("ReqResv", 3, _yes_or_no, "req_resv"),
    ("OverSubscribe", 5, _share, "over_subscribe"), ("Shared", 2, _share, "over_subscribe"),
    ("OverTimeLimit", 5, _number(0xFFFF, True), "over_time_limit"), ("PreemptMode", 3, _mode, "preempt_mode"),
    ("Priority", 3, _u16, "priority"), ("PriorityJobFactor", 3, _u16, "priority_job_factor"),
    ("PriorityTier", 3, _u16, "priority_tier"), ("State", 2, _state, "state_up"), ("Nodes", 1, _text, "nodes"),
    ("AllowGroups", 6, _text, "allow_groups"), ("AllowAccounts", 6, _text, "allow_accounts"),
    ("AllowQos", 6, _text, "allow_qos"), ("DenyAccounts", 5, _text, "deny_accounts"), ("DenyQos", 5, _text, "deny_qos"),
    ("AllocNodes", 6, _text, "allow_alloc_nodes"), ("Alternate", 3, _text, "alternate"),
    ("GraceTime", 5, _u32, "grace_time"), ("DefMemPerCPU", 10, _u64, "def_mem_per_cpu"),
    ("DefMemPerNode", 10, _u64, "def_mem_per_node"), ("MaxMemPerCPU", 10, _u64, "max_mem_per_cpu"),
    ("MaxMemPerNode", 10, _u64, "max_mem_per_node"), ("QoS", 3, _text, "qos"),
    ("JobDefaults", 4, _text, "job_defaults"), ("TresBillingWeights", 1, _text, "billing_weights"),
)  # fmt: skip


def _read(session: Session, words: Words) -> dict[str, Any]:
    """The request. Raises _Wrong."""
    request: dict[str, Any] = {}
    for word in words:
        tag, equals, value = word.partition("=")
        if not equals:
            raise _bad(session, f"Invalid input: {word}  Request aborted")
        for name, least, reader, field in _ROWS:
            if tag_matches(tag, name, least):
                request[field] = reader(session, value, name, word)
                break
        else:
            raise _bad(session, f"Update of this parameter is not supported: {word}\n", "Request aborted")
    return request


def update_partition(session: Session, words: Words) -> str:
    """``update partitionname=...``: the error, "" for none."""
    try:
        request = _read(session, words)
    except _Wrong:
        return NO_ERROR
    if "name" not in request:
        session.code = 1
        session.error("PartitionName must be given.")
        return ""
    if len(request) <= 1:
        session.code = 1
        session.error("No changes specified")
        return ""
    try:
        session.io.client.call("update_partition", partition=request)
    except FAILED_CALLS as error:
        return text_of(error)
    return ""


def create_partition(session: Session, words: Words) -> None:
    """``create partitionname=...``."""
    try:
        request = _read(session, words)
    except _Wrong:
        return
    if "name" not in request:
        session.code = 1
        session.error("PartitionName must be given.")
    elif request["name"].lower() == "default":
        session.code = 1
        session.error('PartitionName cannot be "DEFAULT".')
    else:
        try:
            session.io.client.call("create_partition", partition=request)
        except FAILED_CALLS as error:
            session.complain("Error creating the partition", text_of(error), loud=True)
