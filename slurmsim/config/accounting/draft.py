"""Accounting data while they are read: associations and QOS that may still be edited, each setting with its place."""

from typing import Any, NoReturn

from slurmsim.config.accounting.fields import ASSOCIATION_FIELDS, QOS_FIELDS, Field, Fields, parse_value
from slurmsim.config.findings import Place, Report
from slurmsim.data_classes import dataclass, field
from slurmsim.errors import ConfigError
from slurmsim.tres import MOST_LIMIT

Key = tuple[str, str, str]  # account, user ("" for the account itself), partition
ROOT: Key = ("root", "", "")
ROOT_USER: Key = ("root", "root", "")
NO_QOS = ("-",)  # a list of QOS that allows nothing; an empty one stands for the inherited list


@dataclass(slots=True)
class Item:
    """One association or QOS: values by attribute (``limits.grp_tres``), where each was set; texts without effect."""

    place: Place
    values: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    aside: dict[str, str] = field(default_factory=dict)

    def where(self, target: str) -> Place:
        """Return where the attribute was set, else where the item is."""
        return self.places.get(target, self.place)


@dataclass(slots=True)
class Draft:
    """Everything read so far, in order of creation."""

    report: Report
    cluster: str = ""
    qos: dict[str, Item] = field(default_factory=dict)
    associations: dict[Key, Item] = field(default_factory=dict)
    defaults: dict[str, tuple[str, Place]] = field(default_factory=dict)  # default account by user
    # whether the QOS ``normal`` is there without being named, as in a fresh slurmdbd; not if a table of them was read
    implicit_qos: bool = True
    # True if the root may use every QOS by default; otherwise ``normal``, as slurmdbd gives a new cluster
    open_root: bool = False

    def root(self, place: Place) -> Item:
        """Return the root association, made when it is first spoken of."""
        return self.associations.setdefault(ROOT, Item(place))

    def add_qos(self, name: str, place: Place) -> Item:
        """Return a new QOS. Raises ConfigError when it exists."""
        if name in self.qos:
            fail(place, name, f"QOS {name} is defined twice{_also(self.qos[name])}", "each once")
        return self.qos.setdefault(name, Item(place))

    def add(self, key: Key, place: Place, parent: str = "") -> Item:
        """Return a new association; `parent` of an account. Raises ConfigError when it exists."""
        account, user, partition = key
        found = self.associations.get(key)
        if found is not None and key != ROOT:
            what = f"user {user} in account {account}" if user else f"account {account}"
            what += f" for partition {partition}" if partition else ""
            fail(place, user or account, f"{what} is defined twice{_also(found)}", "each once")
        item = self.associations.setdefault(key, Item(place))
        if parent:
            item.values["parent"], item.places["parent"] = parent, place
        return item

    def set_default(self, user: str, account: str, place: Place) -> None:
        if account:
            self.defaults[user] = (account.lower(), place)

    def set_association(self, item: Item, name: str, text: str, place: Place, operator: str = "") -> None:
        """Set a field of an association by any of its names. Raises ConfigError."""
        self._set(ASSOCIATION_FIELDS, item, name, text, place, operator)

    def set_qos(self, item: Item, name: str, text: str, place: Place, operator: str = "") -> None:
        """Set a field of a QOS by any of its names. Raises ConfigError."""
        self._set(QOS_FIELDS, item, name, text, place, operator)

    def _set(self, fields: Fields, item: Item, name: str, text: str, place: Place, operator: str) -> None:
        try:
            row = fields.find(name)
            if row is None:
                item.aside[name.replace(" ", "").lower()] = text
                why = fields.not_modelled(name)
                if why and text.strip():
                    self.report.warning(place, name, text, f"not modelled: {why}")
                return
            value = parse_value(row, text)
        except ValueError as error:
            message, *expected = error.args
            fail(place, name, message, *expected)
        if operator and row.kind not in ("names", "flags"):
            fail(place, name, f"{operator}= cannot be used here", "=")
        _assign(item, row, value, operator)
        item.places[row.target] = place


def _assign(item: Item, row: Field, value: Any, operator: str) -> None:
    """Put a value in, as sacctmgr edits: TRES one by one, names replaced, added or taken away."""
    values, target = item.values, row.target
    if row.kind.startswith("tres"):
        kept = dict(values.get(target) or {})
        if value is None:
            item_name = row.kind.partition(":")[2]
            kept = {k: v for k, v in kept.items() if k != item_name} if item_name else {}
        for name, amount in (value or {}).items():
            old = kept.pop(name, 0)
            if isinstance(amount, tuple):
                sign, change = amount
                amount = min(old + change, MOST_LIMIT) if sign == "+" else max(old - change, 0)
            if amount is not None:
                kept[name] = amount
        values[target] = kept
    elif row.kind in ("names", "flags"):
        old = values.get(target) or ()
        if operator:
            value = edit_names(old, operator, value, signed=target == "qos")
        elif row.kind == "names" and value and all(name[:1] in ("+", "-") for name in value):
            for name in value:  # with signs it is no new list: the names come to the old one, or leave it
                old = edit_names(old, name[0], (name[1:],), signed=target == "qos")
            value = old
        values[target] = value
    else:
        values[target] = value


def edit_names(old: tuple[str, ...], operator: str, names: tuple[str, ...], *, signed: bool) -> tuple[str, ...]:
    """Return `old` with `names` added (``+``) or taken away (``-``).

    With `signed`, a list that is empty or has signs stands for the inherited one with changes, and stays one.
    """
    relative = signed and (not old or old[0][0] in "+-")
    kept = [name for name in old if name.lstrip("+-") not in names]
    if relative:
        return (*kept, *(operator + name for name in names))
    return (*kept, *names) if operator == "+" else tuple(kept)


def fail(place: Place, name: str, message: str, expected: str | None = None) -> NoReturn:
    """Refuse the data: one line with file, line and field."""
    raise ConfigError(message, file=place.file, line=place.line, field=name or None, expected=expected)


def _also(item: Item) -> str:
    where = item.place
    if where.line is None:
        return f" (also in {where.file})" if where.file else ""
    return f" (first in {where.file}:{where.line})" if where.file else f" (first in line {where.line})"
