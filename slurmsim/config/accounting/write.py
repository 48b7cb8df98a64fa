"""Accounting data as the tables ``sacctmgr show qos -P`` and ``show assoc -P`` print; they can be read again."""

from collections.abc import Iterable, Mapping
from typing import Any

from slurmsim.config.accounting.draft import NO_QOS
from slurmsim.config.accounting.fields import ASSOCIATION_FIELDS, QOS_FIELDS, Field
from slurmsim.duration import format_duration
from slurmsim.model.accounting import PARENT_SHARES, Accounting, Association, Qos


def qos_table(accounting: Accounting) -> str:
    """Return all QOS, in their order."""
    fields = [field for field in QOS_FIELDS.rows if ":" not in field.kind]
    rows = [[qos.name, *(_text(field, _value(qos, field)) for field in fields)] for qos in accounting.qos]
    return _table(["Name", *(field.name for field in fields)], rows)


def association_table(accounting: Accounting) -> str:
    """Return all associations, in the order of creation."""
    fields = [f for f in ASSOCIATION_FIELDS.rows if ":" not in f.kind and f.target not in ("qos", "parent")]
    every = [qos.name for qos in accounting.qos]
    rows = []
    for number, one in enumerate(accounting.associations, 1):
        default = one.account if one.is_default else ""
        own = [str(number), one.account, one.user, one.partition, one.parent, default, _qos(one, every)]
        rows.append([*own, *(_text(field, _value(one, field)) for field in fields)])
    head = ["ID", "Account", "User", "Partition", "ParentName", "DefaultAccount", "QOS"]
    return _table([*head, *(field.name for field in fields)], rows)


def _qos(one: Association, every: Iterable[str]) -> str:
    if one.qos is None:  # those of the account above; at the root, where there is none, all
        return "" if one.parent or one.user else ",".join(every)
    return ",".join(one.qos or NO_QOS)


def _value(item: Association | Qos, field: Field) -> Any:
    inner, dot, name = field.target.partition(".")
    return getattr(getattr(item, inner), name) if dot else getattr(item, inner)


def _text(field: Field, value: Any) -> str:
    if value is None:
        return ""
    kind = field.kind
    if kind in ("names", "flags"):
        return ",".join(sorted(value) if kind == "flags" else value)
    if kind == "tres":
        assert isinstance(value, Mapping)
        return ",".join(f"{name}={amount}" for name, amount in value.items())
    if kind in ("time", "duration"):
        return format_duration(value)
    return "parent" if kind == "shares" and value == PARENT_SHARES else str(value)


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    return "".join("|".join(row) + "\n" for row in (head, *rows))
