"""Bodies of slurmdb's writes: tables of accounts, associations, users, QOS and WCKeys, and the settings they stand for.

A limit's row names the setting of sacctmgr's it is: both are carried out by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from slurmsim.records import Field
from slurmsim.records import accounting as records
from slurmsim.rest.body import (
    SHAPES,
    Body,
    Reader,
    Row,
    Table,
    flag,
    known_qos,
    number,
    one_qos,
    plain_number,
    rows_of,
    shaped,
    since_version,
    skipped,
    text,
    texts,
    tree,
    tres,
    within,
    words,
)

Setting = list[str]
LEVELS = {"Not Set": "None", "None": "None", "Operator": "Operator", "Administrator": "Administrator"}
QOS_FLAGS = {
    "NOT_SET": "", "ADD": "", "REMOVE": "", "DENY_LIMIT": "DenyOnLimit",
    "ENFORCE_USAGE_THRESHOLD": "EnforceUsageThreshold", "NO_DECAY": "NoDecay", "NO_RESERVE": "NoReserve",
    "OVERRIDE_PARTITION_QOS": "OverPartQOS", "PARTITION_MAXIMUM_NODE": "PartitionMaxNodes",
    "PARTITION_MINIMUM_NODE": "PartitionMinNodes", "PARTITION_TIME_LIMIT": "PartitionTimeLimit",
    "RELATIVE": "Relative", "REQUIRED_RESERVATION": "RequiresReservation", "USAGE_FACTOR_SAFE": "UsageFactorSafe",
}  # fmt: skip
MODES = {"DISABLED": "OFF", **{word: word for word in ("SUSPEND", "REQUEUE", "CANCEL", "GANG", "WITHIN")}}


def one(name: str) -> Reader:
    """Return a number that is the setting `name`."""
    return shaped(lambda body, value, path: _setting(name, number(body, value, path)), "number")


def plain(name: str) -> Reader:
    """As `one`, of a number that is no object."""
    return shaped(lambda body, value, path: _setting(name, plain_number(body, value, path)), "integer")


def clock(name: str) -> Reader:
    """Seconds that are the setting `name`."""

    def read(body: Body, value: Any, path: str) -> list[Setting]:
        seconds = number(body, value, path)
        if seconds is None or seconds < 0:
            return _setting(name, seconds)
        minutes, rest = divmod(int(seconds), 60)
        return [[name, "", f"{minutes // 60}:{minutes % 60:02}:{rest:02}"]]

    return shaped(read, "number")


def counts(name: str) -> Reader:
    """Return a list of TRES that is the setting `name`."""

    def read(body: Body, value: Any, path: str) -> list[Setting]:
        told = tres(body, value, path)
        return [[name, "", told]] if told else []

    return shaped(read, "tres")


def _setting(name: str, value: float | None) -> list[Setting]:
    return [] if value is None else [[name, "", f"{value:.15g}" if isinstance(value, float) else str(value)]]


def names(name: str, read: Reader) -> Reader:
    """Return a list of names that is the setting `name`."""

    def found(body: Body, value: Any, path: str) -> list[Setting]:
        told = read(body, value, path)
        return [[name, "", told if isinstance(told, str) else ",".join(told)]] if told else []

    return shaped(found, SHAPES[read])


def settings(found: Any) -> Iterator[Setting]:
    """All settings of a table that was read, however deep they lie."""
    if isinstance(found, Mapping):
        for value in found.values():
            yield from settings(value)
    elif isinstance(found, list) and found and isinstance(found[0], list):
        yield from found


_ANY = Row(skipped)
_SHORT: Table = dict.fromkeys(("account", "cluster", "partition", "user", "id"), _ANY)
_COORDINATORS = Row(rows_of({"name": Row(text, True), "direct": _ANY}, "COORD"))
ACCOUNT: Table = {
    "name": Row(text, True), "description": Row(text, True), "organization": Row(text, True),
    "associations": Row(rows_of(_SHORT, "ASSOC_SHORT")), "coordinators": _COORDINATORS, "flags": _ANY,
}  # fmt: skip
WCKEY: Table = {
    "name": Row(text, True), "cluster": Row(text, True), "user": Row(text, True), "id": _ANY, "accounting": _ANY,
    "flags": _ANY,
}  # fmt: skip
USER: Table = {
    "name": Row(text, True), "administrator_level": Row(words(LEVELS)),
    "associations": Row(rows_of(_SHORT, "ASSOC_SHORT")), "coordinators": _COORDINATORS,
    "default": within({"account": Row(text), "wckey": Row(text), "qos": _ANY}, "USER"), "flags": _ANY,
    "old_name": _ANY, "wckeys": Row(rows_of(WCKEY, "WCKEY")),
}  # fmt: skip


def _of_kind(row: Field) -> Row:
    """How a field of an association or a QOS is read: as its setting, if it has one."""
    return _KINDS[row.kind](row.conf) if row.conf else _PLAIN.get(row.kind, _ANY)


_PLAIN = {"text": Row(text), "flag": Row(flag)}
_KINDS: dict[str, Callable[[str], Row]] = {
    **dict.fromkeys(("limit", "minutes", "factor", "priority"), lambda name: Row(one(name))),
    **dict.fromkeys(("seconds", "shares"), lambda name: Row(plain(name))),
    "tres": lambda name: Row(counts(name)), "exempt": lambda name: Row(clock(name)),
    "text": lambda name: Row(names(name, text)), "name": lambda name: Row(names(name, one_qos)),
    "names": lambda name: Row(names(name, known_qos)), "flags": lambda name: Row(names(name, words(QOS_FLAGS))),
    "modes": lambda name: Row(names(name, words(MODES))),
}  # fmt: skip
"""Kind -> how it is read as the setting of that name."""
ASSOCIATION: Table = tree(
    {row.json: _of_kind(row) for row in records.ASSOCIATION if row.json}
    | {"user": Row(text, True), "accounting": _ANY, "flags": _ANY, "id": _ANY}, "ASSOC",
)  # fmt: skip
_LONG = {"QOS": "qoslevel", "MinPrioThreshold": "minpriothresh"}
ASSOCIATION_LIMITS: Table = {
    _LONG.get(row.conf, row.conf.lower()): _of_kind(row) for row in records.ASSOCIATION if row.conf and row.json
} | {"parent": Row(text)}
_TOTAL, _COUNT = "limits.max.tres.minutes.total", "limits.max.jobs.count"
QOS: Table = tree(
    {row.json: _of_kind(row) for row in records.QOS if row.json}
    | {_TOTAL: Row(counts("GrpTRESRunMins"), first=42), _COUNT: Row(since_version(42, "QOS", one("GrpSubmitJobs")))},
    "QOS",
)
CLUSTER: Table = {
    "name": Row(text, True), "controller": _ANY, "flags": _ANY, "nodes": _ANY, "select_plugin": _ANY,
    "associations": _ANY, "rpc_version": _ANY, "tres": _ANY,
}  # fmt: skip


def listed(key: str, table: Table, name: str, *, required: bool = True) -> Table:
    """Return the body that has a list of `table` under `key`."""
    return {key: Row(rows_of(table, name), required), "meta": _ANY, "errors": _ANY, "warnings": _ANY}


def condition(required: tuple[str, ...], *, needed: bool) -> Table:
    """Return the body of ``…_association``: what is made in which accounts, and what is said of it."""
    cond: dict[str, Row] = {
        key: Row(texts, key in required) for key in ("accounts", "clusters", "partitions", "users", "wckeys")
    }
    cond["association"] = within(ASSOCIATION_LIMITS, "ASSOC_REC_SET")
    users: Table = {
        "adminlevel": Row(words(LEVELS)), "defaultqos": _ANY, "defaultaccount": Row(text), "defaultwckey": Row(text),
    }  # fmt: skip
    accounts: Table = {"description": Row(text), "organization": Row(text)}
    kind, rows = ("user", users) if "users" in required else ("account", accounts)
    return {
        "association_condition": Row(within(cond, "ADD_ASSOC_COND").read, needed),
        kind: Row(within(rows, f"{kind.upper()}_SHORT").read, needed and kind == "user"),
        "meta": _ANY, "errors": _ANY, "warnings": _ANY,
    }  # fmt: skip


BODIES: Mapping[str, Table] = {
    "db_accounts": listed("accounts", ACCOUNT, "ACCOUNT"), "db_users": listed("users", USER, "USER"),
    "db_associations": listed("associations", ASSOCIATION, "ASSOC"), "db_qos": listed("qos", QOS, "QOS"),
    "db_wckeys": listed("wckeys", WCKEY, "WCKEY"), "db_clusters": listed("clusters", CLUSTER, "CLUSTER_REC"),
    "db_users_association": condition(("users",), needed=True), "db_accounts_association": condition((), needed=True),
}  # fmt: skip
"""What each write takes, by the name its path has for it."""
